"""``elephan evaluate``: algorithms judged by a suite of criteria."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, targets
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.overrides import parse_assignment

if TYPE_CHECKING:
    from elephan.suites import Evaluation

_OPTIONS = ("suite", "budget", "only", "against", "on", "parameter")
LEVELS = ("concern", "fail", "worse")


@click.command("evaluate")
@click.argument("algorithms", nargs=-1, required=True, metavar="ALG…")
@click.option(
    "--suite", default="rfc9743", show_default=True, metavar="SUITE",
    help="Suite of criteria: a name (elephan list suites), or a folder, ./mysuite.",
)  # fmt: skip
@click.option("--against", metavar="ALG", help="Compare with this algorithm: better, worse, same or not settled.")
@click.option("--only", multiple=True, metavar="ID|§", help="Judge only this criterion or section; repeat for several.")
@click.option(
    "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the algorithms, not of --against; repeat for several.",
)  # fmt: skip
@click.option(
    "--on", "backend", default="sim", metavar="BACKEND,…",
    help="Where to run the suite; with several backends, their differences are first. [default: sim]",
)  # fmt: skip
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
    suite: str,
    against: str | None,
    only: Sequence[str],
    parameters: Sequence[str],
    backend: str,
    quick: bool,
    fail_on: str | None,
    junit: str | None,
    markdown: str | None,
    budget: str | None,
    seeds: int | None,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Judge algorithms by a suite of criteria, such as those of RFC 9743.

    Saved results are reused, so an interrupted evaluation continues. A criterion that fails is a result; the
    exit status is 0 unless --fail-on is given.
    """
    from elephan import runs
    from elephan.report import pages
    from elephan.suites import document, evaluate, reporting, writing
    from elephan.suites.sides import sides

    if fail_on == "worse" and against is None:
        raise ScenarioError("'worse' is in comparison with another algorithm; write --against ALG", source="--fail-on")
    if against is not None and not parameters and set(algorithms) == {against}:
        raise ScenarioError(f"'{against}' would be compared with itself; name another algorithm", source="--against")
    with _named_options(), common.collecting_seldom(), meter() as progress:
        found = evaluate(
            list(algorithms), suite, against=against, only=only, parameters=_parameters(parameters),
            on=[name.strip() for name in backend.split(",")],
            quick=quick, seeds=seeds, budget=budget, jobs=jobs, store=runs.Store(store), progress=progress,
        )  # fmt: skip
    report = reporting.evaluation_report(found, out, runs.Store(store)) if out is not None else None
    if junit is not None:
        pages.write(Path(junit), writing.junit(found, fail_on))
    if markdown is not None:
        pages.write(Path(markdown), writing.markdown(found))
    if as_json:
        documents = [document(one, report) for one in found]
        beside = [one.to_json() for one in sides(found)]
        several = {"sides": beside, "evaluations": documents} if beside else {"evaluations": documents}
        common.print_json(documents[0] if len(documents) == 1 else several)
    else:
        _print(found)
        for path in (report, junit, markdown):
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
        option = f"--{error.source}" if error.source in _OPTIONS else error.source
        raise ScenarioError(error.message, path=error.path, source=option or "evaluate") from None


def _parameters(assignments: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in assignments:
        try:
            name, value = parse_assignment(text)
        except ScenarioError as error:
            raise error.located(source="--parameter") from None
        found[name] = value
    return found


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
    common.say(f"{len(first.manifests)} runs, {first.wall_seconds:.0f} s")
    for note in dict.fromkeys(note for one in found for note in one.notes):
        common.say(f"note: {note}")
