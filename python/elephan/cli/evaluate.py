"""``elephan evaluate``: algorithms or programs judged by a suite of criteria."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, patches, targets
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import number_of

if TYPE_CHECKING:
    from elephan.suites import Evaluation
    from elephan.suites.evaluating import Judged

_OPTIONS = ("suite", "budget", "only", "limit", "against", "on", "parameter")
_OF_PROGRAMS = ("server", "client", "name")
LEVELS = ("concern", "fail", "worse")


@click.command("evaluate")
@click.argument("algorithms", nargs=-1, metavar="[ALG…]")
@click.option(
    "--suite", metavar="SUITE",
    help="Suite of criteria: a name (elephan list suites), or a folder, ./mysuite. [default: rfc9743; transport for a "
    "program]",
)  # fmt: skip
@click.option("--against", metavar="ALG", help="Compare with this algorithm: better, worse, same or not settled.")
@click.option("--server", metavar="COMMAND", help="Judge a program: its server, './mine serve {address}:{port}'.")
@click.option("--client", metavar="COMMAND", help="Its client, './mine fetch {address}:{port} {bytes}'.")
@click.option("--against-server", metavar="COMMAND", help="Compare with this server, for example an earlier build.")
@click.option("--against-client", metavar="COMMAND", help="Compare with this client.")
@click.option("--name", metavar="NAME", help="Name of the program in tables. [default: the client's file]")
@click.option("--against-name", metavar="NAME", help="Name of the other program.")
@click.option(
    "--program", "fields", multiple=True, metavar="FIELD=VALUE",
    help="Other field of [[program]], of both: sender=client, port=5201, ready=listening, environment.CC=reno, "
    "files=./venv; repeat for several.",
)  # fmt: skip
@common.programs_option
@click.option("--only", multiple=True, metavar="ID|§", help="Judge only this criterion or section; repeat for several.")
@click.option(
    "--limit", "limits", multiple=True, metavar="ID=VALUE",
    help="Another limit of a criterion, in the unit of its verdict: tail-drop='30 %'; repeat for several.",
)  # fmt: skip
@click.option(
    "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the algorithms, not of --against; repeat for several.",
)  # fmt: skip
@click.option(
    "--on", "backend", metavar="BACKEND,…",
    help="Where to run the suite; with several backends, their differences are first. [default: sim; linux for a "
    "program]",
)  # fmt: skip
@patches.patch_option
@patches.before_after_option
@click.option("--quick", is_flag=True, help="Fewer cells, shorter runs and 8 seeds; verdicts are preliminary.")
@click.option(
    "--fail-on", type=common.Word(LEVELS, "a level"),
    help="Exit with status 1 if a criterion fails, is of concern or is worse than --against.",
)  # fmt: skip
@click.option("--junit", metavar="FILE", callback=targets.writable_file, help="Write the verdicts as JUnit XML.")
@click.option(
    "--markdown",
    metavar="FILE",
    callback=targets.writable_file,
    help="Write the verdicts as Markdown, for a pull request.",
)
@click.option(
    "--draft", metavar="FILE", callback=targets.writable_file,
    help="Write the verdicts as an appendix of an Internet-Draft, in the Markdown of kramdown-rfc.",
)  # fmt: skip
@click.option(
    "--bibtex", metavar="FILE", callback=targets.writable_file, help="Write a BibTeX entry of the evaluation."
)
@click.option(
    "--budget", metavar="TIME",
    help="Maximum wall time; cells beyond it are omitted and never pass. [default: none for 8 seeds]",
)  # fmt: skip
@click.option(
    "--seeds", type=common.Count(1, 1000), metavar="N",
    help="Replicates of each run. [default: 8, then 16 or 32 if these do not settle a criterion]",
)  # fmt: skip
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Write a report there.")
@common.jobs_option
@common.store_option
@common.json_option
def command(
    algorithms: Sequence[str],
    suite: str | None,
    against: str | None,
    server: str | None,
    client: str | None,
    against_server: str | None,
    against_client: str | None,
    name: str | None,
    against_name: str | None,
    fields: Sequence[str],
    allow_programs: bool,
    only: Sequence[str],
    limits: Sequence[str],
    parameters: Sequence[str],
    backend: str | None,
    patch: str | None,
    before_after: bool,
    quick: bool,
    fail_on: str | None,
    junit: str | None,
    markdown: str | None,
    draft: str | None,
    bibtex: str | None,
    budget: str | None,
    seeds: int | None,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Judge algorithms by a suite of criteria, such as those of RFC 9743; or a program, by its server and client.

    Saved results are reused, so an interrupted evaluation continues. A criterion that fails is a result; the
    exit status is 0 unless --fail-on is given.
    """
    from elephan import runs
    from elephan.report import pages
    from elephan.suites import document, drafts, evaluate, reporting, writing
    from elephan.suites.sides import sides

    own = _program(fields, {"server": server, "client": client, "name": name})
    changed = {"server": against_server, "client": against_client, "name": against_name}
    judged, other = _judged(algorithms, against, own, changed)
    if fail_on == "worse" and other is None:
        option = "--against ALG" if own is None else "--against-client COMMAND"
        raise ScenarioError(f"'worse' is in comparison with another one; write {option}", source="--fail-on")
    if against is not None and not parameters and set(algorithms) == {against}:
        raise ScenarioError(f"'{against}' would be compared with itself; name another algorithm", source="--against")
    named = None if backend is None else [name.strip() for name in backend.split(",")]
    where = patches.among(named or ["sim" if own is None else patches.BACKEND], patch, before_after=before_after)
    with _named_options(), meter() as progress:
        found = evaluate(
            judged, suite, against=other, only=only, limits=_limits(limits),
            parameters=common.parameters_of(parameters, "--parameter"), on=where,
            quick=quick, seeds=seeds, budget=budget, jobs=jobs, store=runs.Store(store), progress=progress,
            allow_programs=allow_programs,
        )  # fmt: skip
    report = reporting.evaluation_report(found, out, runs.Store(store)) if out is not None else None
    if junit is not None:
        pages.write(Path(junit), writing.junit(found, fail_on))
    if markdown is not None:
        pages.write(Path(markdown), writing.markdown(found))
    if draft is not None:
        pages.write(Path(draft), drafts.draft(found))
    if bibtex is not None:
        pages.write(Path(bibtex), drafts.entry(found))
    if as_json:
        documents = [document(one, report) for one in found]
        beside = [one.to_json() for one in sides(found)]
        several = {"sides": beside, "evaluations": documents} if beside else {"evaluations": documents}
        common.print_json(documents[0] if len(documents) == 1 else several)
    else:
        _print(found)
        for path in (report, junit, markdown, draft, bibtex):
            if path is not None:
                common.say(str(path))
    if fail_on is not None and any(one.reaches(fail_on) for one in found):
        raise click.exceptions.Exit(1)


@contextmanager
def _named_options() -> Iterator[None]:
    """Within this context, replace an argument of the Python function in error messages by the name of the user's
    option."""
    try:
        yield
    except ScenarioError as error:
        if error.path in _OF_PROGRAMS:
            prefix = "against-" if error.source == "against" else ""
            raise ScenarioError(error.message, source=f"--{prefix}{error.path}") from None
        option = f"--{error.source}" if error.source in _OPTIONS else error.source
        raise ScenarioError(error.message, path=error.path, source=option or "evaluate") from None


def _limits(stated: Sequence[str]) -> dict[str, str]:
    """Limits by criterion.

    Raises:
        ScenarioError: one is not ID=VALUE, or a criterion has two.
    """
    found: dict[str, str] = {}
    for text in stated:
        name, is_there, value = text.partition("=")
        if not is_there:
            raise ScenarioError(f"'{text}' has no value; write ID=VALUE, tail-drop='30 %'", source="--limit")
        if name.strip() in found:
            raise ScenarioError(f"'{name.strip()}' has two limits; state one", source="--limit")
        found[name.strip()] = value
    return found


def _program(fields: Sequence[str], stated: dict[str, str | None]) -> dict[str, Any] | None:
    """The table of the judged program; ``None`` if the options state none.

    Raises:
        ScenarioError: a field is not NAME=VALUE.
    """
    found: dict[str, Any] = {option: value for option, value in stated.items() if value is not None}
    for text in fields:
        field, is_there, value = text.partition("=")
        if not is_there:
            raise ScenarioError(f"'{text}' has no value; write FIELD=VALUE", source="--program")
        if field.startswith("environment."):
            found.setdefault("environment", {})[field.removeprefix("environment.")] = value
        elif field == "files":
            found.setdefault("files", []).append(value)
        else:
            found[field] = int(value) if field == "port" and value.isdecimal() else value
    return found or None


def _judged(
    algorithms: Sequence[str], against: str | None, own: dict[str, Any] | None, changed: dict[str, str | None]
) -> tuple[list[Judged], Judged | None]:
    """The judged algorithms or the judged program, and the one for comparison.

    Raises:
        ScenarioError: there is neither an algorithm nor a program, or both.
    """
    given = {option: value for option, value in changed.items() if value is not None}
    if own is None and not given:
        if not algorithms:
            raise ScenarioError("write an algorithm, or --server and --client of a program", source="evaluate")
        return list(algorithms), against
    if algorithms or against is not None:
        raise ScenarioError("an algorithm and a program are judged by different suites; write one", source="evaluate")
    own = own or {}
    if not given:
        return [own], None
    return [own], {key: value for key, value in own.items() if key != "name"} | given


def _print(found: Sequence[Evaluation]) -> None:
    """Print the differences between backends, a paragraph about each algorithm, and a line for each section."""
    from elephan.suites.sides import sides
    from elephan.suites.words import paragraph, said_of

    for beside in sides(found):
        common.say(said_of(beside))
        common.say("")
    for one in found:
        common.say(paragraph(one))
        common.say("")
    first = found[0]
    if len(found) == 1:
        changed = ["against"] if first.against is not None else []
        rows = [section.row(against=first.against is not None) for section in first.sections]
        common.print_table(first.suite.table.title, ["§", "section", "verdict", *changed, "why"], rows)
    else:
        rows = [
            [s.name, s.title, *(one.sections[i].verdict.replace("_", " ") for one in found)]
            for i, s in enumerate(first.sections)
        ]
        common.print_table(first.suite.table.title, ["§", "section", *(one.name for one in found)], rows)
    common.say(f"{number_of(len(first.manifests), 'run')}, {first.wall_seconds:.0f} s")
    for note in dict.fromkeys(note for one in found for note in one.notes):
        common.say(f"note: {note}")
