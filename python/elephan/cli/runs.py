"""``elephan runs``: lists, finds, compares, verifies and removes saved runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, naming, targets
from elephan.cli.progress import meter
from elephan.cli.tables import printable
from elephan.cli.verbs import LIST, ListedGroup
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import number_of

if TYPE_CHECKING:
    from elephan.runs.difference import Changed
    from elephan.runs.index import Entry, Listing

_SHOWN = 30
"""Largest number of runs in a list without ``--limit``."""


@click.group("runs", cls=ListedGroup, subcommand_metavar="[list|find|diff|verify|export|cite|prune|size] [ARGS]...")
def command() -> None:
    """The saved runs: without a verb, a list of them.

    A run is named by its id, the beginning of its id, its folder, or 'last', the run saved last. 'last~1' is the run
    saved before it.
    """


def _algorithm(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--algorithm", metavar="NAME", help="Only runs with a flow of this algorithm.")(function)


def _limit(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--limit", type=common.Count(1, 10_000_000), metavar="N",
        help=f"At most this many runs. [default: {_SHOWN}; all with --json]",
    )(function)  # fmt: skip


@command.command(LIST, short_help="list them, the newest first")
@_algorithm
@click.option("--since", metavar="DATE", help="Only runs made since then: 2026-11-20, or 7d for the last seven days.")
@_limit
@common.store_option
@common.json_option
def list_runs(algorithm: str | None, since: str | None, limit: int | None, store: str | None, as_json: bool) -> None:
    """The saved runs, the newest first."""
    from elephan.runs import RunError, Store, index

    try:
        begin = None if since is None else index.parse_since(since, datetime.now(UTC))
    except RunError as error:
        raise ScenarioError(str(error), source="--since") from None
    where = Store(store)
    found = index.listing(where)
    _check_algorithm(algorithm, found.entries)
    _print(index.chosen(found.entries, algorithm=algorithm, since=begin), found, limit, as_json, where.root)


@command.command("find", short_help="list the runs that match all given words")
@click.argument("text", nargs=-1, required=True, metavar="TEXT…")
@_limit
@common.store_option
@common.json_option
def find(text: Sequence[str], limit: int | None, store: str | None, as_json: bool) -> None:
    """Find the runs that match all words of TEXT: title, flow, algorithm, backend, beginning of an id, or date
    (2026-11-20)."""
    from elephan.runs import Store, index

    where = Store(store)
    found = index.listing(where)
    _print(index.chosen(found.entries, text=" ".join(text)), found, limit, as_json, where.root)


def _check_algorithm(name: str | None, entries: Sequence[Entry]) -> None:
    """Reject a name that is no algorithm; a user's own algorithm is accepted if saved runs have it.

    Raises:
        ScenarioError: the name is unknown; the message names the most similar name.
    """
    from elephan.scenario import catalog

    if name is None or any(entry.uses(name) for entry in entries):
        return
    catalog.check_name(name, catalog.algorithms(), "an algorithm")


def _print(entries: Sequence[Entry], found: Listing, limit: int | None, as_json: bool, root: Path) -> None:
    if as_json:
        common.print_json([entry.to_json() for entry in entries[:limit]])
        return
    from elephan.runs import index

    shown = entries[: limit or _SHOWN]
    settings = index.settings(shown)
    rows = [
        [
            entry.id, entry.name, settings.get(entry.id, ""), ", ".join(entry.algorithms), entry.backend, entry.seed,
            f"{entry.created.astimezone(UTC):%Y-%m-%d %H:%M}", size_text(entry.size_bytes),
        ]
        for entry in shown
    ]  # fmt: skip
    if rows:
        header = ["run", "name", "differs in", "algorithms", "backend", "seed", "made (UTC)", "size"]
        if not any(settings.values()):
            header.remove("differs in")
            rows = [[cell for i, cell in enumerate(row) if i != 2] for row in rows]
        common.print_table("", header, rows, least=["size", "backend", "seed", "algorithms", "made (UTC)"])
    for folder in found.damaged:
        common.warn(f"{folder}: its manifest cannot be read; 'elephan runs verify' shows the reason")
    more = f"; --limit {len(entries)} shows all" if len(shown) < len(entries) else ""
    common.say(f"{len(shown)} of {number_of(len(found.entries), 'run')} in {root}{more}")


@command.command("diff", short_help="the differences of two")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@common.store_option
@common.json_option
def diff(first: str, second: str, store: str | None, as_json: bool) -> None:
    """Print the differences of two runs: fields of the scenarios, and results with their ratio (B over A)."""
    from elephan.runs import Store, difference

    where = Store(store)
    runs = [naming.run_of(name, where, "runs diff") for name in (first, second)]
    found = difference.difference(*runs)
    if as_json:
        common.print_json(
            {
                "a": runs[0].id,
                "b": runs[1].id,
                "equal": found.equal,
                "same_tables": found.same_tables,
                "scenario": [{"field": row.name, "a": row.first, "b": row.second} for row in found.scenario],
                "results": [
                    {"name": row.name, "a": row.first, "b": row.second, "ratio": row.ratio} for row in found.results
                ],
            }
        )
        return
    naming.say_which(runs)
    if found.scenario:
        rows = [[row.name, _field(row.first), _field(row.second)] for row in found.scenario]
        common.print_table("fields that differ", ["field", "A", "B"], rows)
    if found.results:
        common.print_table("results that differ", ["result", "A", "B", "B/A"], [_result(row) for row in found.results])
    if found.equal:
        common.say("the runs are equal: the same scenario, and the same tables")
    elif not found.results:
        common.say("the results are equal" + ("" if found.same_tables else " in the summaries; the tables differ"))


def _field(value: Any) -> str:
    from elephan.scenario.toml import write_value

    return "(not set)" if value is None else value if isinstance(value, str) else write_value(value)


def _result(row: Changed) -> list[Any]:
    none = common.Missing("this run does not have the result")
    ratio = row.ratio if row.ratio is not None else common.Missing("no ratio to 0 or to a missing value")
    return [row.name, *(none if value is None else value for value in (row.first, row.second)), ratio]


@command.command("verify", short_help="compare their files with the digests")
@click.argument("names", nargs=-1, metavar="[RUN]…")
@common.store_option
@common.json_option
def verify(names: Sequence[str], store: str | None, as_json: bool) -> None:
    """Compare every file of the saved runs with its digest. No scenario is run.

    Exit status 1 and a line for each damaged run, if a run is damaged.
    """
    from elephan.runs import Store, index, looks_like_run, saved

    where = Store(store)
    if names:
        folders = []
        for name in names:
            folder = naming.folder_of(name, where)
            if folder is None:
                raise ScenarioError(
                    f"'{name}' is not a saved run; {index.nearest_run(name, where)}", source="runs verify"
                )
            folders.append(folder)
    else:
        folders = [path for path in where.entries() if looks_like_run(path)]
    damaged: dict[str, str] = {}
    with meter() as progress:
        for count, folder in enumerate(folders, start=1):
            damaged |= saved.damaged([folder])
            progress(count, len(folders), count, len(folders))
    if as_json:
        rows = [{"id": name, "why": why} for name, why in damaged.items()]
        common.print_json({"checked": len(folders), "damaged": rows})
    else:
        for why in damaged.values():
            common.say(why)
        common.say(f"{len(folders) - len(damaged)} of {len(folders)} runs are as they were saved")
    if damaged:
        raise click.exceptions.Exit(1)


@command.command("export", short_help="write some as the folder of an artefact")
@click.argument("names", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--out", required=True, metavar="DIR", callback=targets.writable_folder, help="New folder for the artefact."
)
@click.option("--title", metavar="TEXT", default="", help="Title of the artefact.")
@click.option(
    "--license", "license_url", metavar="URL", default="", help="License of the results. [default: none stated]"
)
@common.store_option
@common.json_option
def export(names: Sequence[str], out: str, title: str, license_url: str, store: str | None, as_json: bool) -> None:
    """Write runs as an RO-Crate: their files, their scenarios, how to repeat and to cite them, and the metadata.

    The files are compared with their digests before.
    """
    from elephan.export import crate
    from elephan.runs import Store

    where = Store(store)
    runs = [naming.run_of(name, where, "runs export") for name in names]
    try:
        made = crate.write(list({run.id: run for run in runs}.values()), Path(out), title, license_url)
    except crate.CrateError as error:
        raise ScenarioError(str(error), source="runs export") from None
    if as_json:
        common.print_json({"dir": str(made), "runs": [run.id for run in runs]})
        return
    common.say(str(made))


@command.command("cite", short_help="BibTeX entries of some")
@click.argument("names", nargs=-1, required=True, metavar="RUN…")
@common.store_option
@common.json_option
def cite(names: Sequence[str], store: str | None, as_json: bool) -> None:
    """Print BibTeX entries of runs, with what a reader needs to have the same bytes again."""
    from elephan.export import bibtex, crate
    from elephan.runs import Store

    where = Store(store)
    runs = [naming.run_of(name, where, "runs cite") for name in names]
    entries = {run.id: bibtex.of_run(run.manifest, crate.title_of(run)) for run in runs}
    if as_json:
        common.print_json(entries)
        return
    common.say("\n".join(entries.values()).rstrip())


@command.command("prune", short_help="remove unused runs")
@click.option("--older-than", metavar="AGE", help="Runs older than this: 30d, 12h, 2w.")
@click.option("--unused", is_flag=True, help="Runs whose scenario is named in no file of the report folders.")
@click.option(
    "--reports", multiple=True, metavar="DIR", help="Folders of reports for --unused. [default: reports]"
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Remove the runs; without this option they are only listed.")
@common.store_option
@common.json_option
def prune(
    older_than: str | None, unused: bool, reports: Sequence[str], yes: bool, store: str | None, as_json: bool
) -> None:
    """Remove runs that are old, or that no report uses; with both options, runs that are old and unused.

    Without --yes the runs are only listed. A run in progress in another process is kept.
    """
    from elephan.runs import Store, index
    from elephan.runs import prune as pruning

    where = Store(store)
    before, used = _limits(older_than, unused, reports)
    chosen = pruning.prunable(index.listing(where).entries, before=before, used=used)
    done = pruning.prune(where, chosen) if yes else pruning.Pruned([], [])
    octets = sum(entry.size_bytes for entry in (done.removed if yes else chosen))
    if as_json:
        common.print_json(
            {
                "removed": [entry.to_json() for entry in done.removed],
                "would_remove": [] if yes else [entry.to_json() for entry in chosen],
                "busy": [entry.id for entry in done.busy],
                "bytes": octets,
            }
        )
        return
    for entry in done.busy:
        common.warn(f"{entry.id}: another process computes it; it stays")
    for entry in done.removed if yes else chosen:
        common.say(printable(f"{entry.id}  {entry.created.astimezone(UTC):%Y-%m-%d}  {entry.name}"))
    if yes:
        common.say(f"removed {number_of(len(done.removed), 'run')}, {size_text(octets)}")
    else:
        how = "; nothing was removed: add --yes for that" if chosen else ""
        common.say(f"{number_of(len(chosen), 'run')}, {size_text(octets)}, would be removed{how}")


def _limits(older_than: str | None, unused: bool, reports: Sequence[str]) -> tuple[datetime | None, set[str] | None]:
    """The time before which runs are removed, and the scenarios whose runs are kept.

    Raises:
        ScenarioError: neither option is given, or a folder does not exist.
    """
    from elephan.runs import RunError, index
    from elephan.runs import prune as pruning

    if older_than is None and not unused:
        raise ScenarioError("no runs are selected; write --older-than 30d, --unused, or both", source="runs prune")
    if reports and not unused:
        raise ScenarioError("it only applies with --unused; write --unused too", source="--reports")
    for folder in reports:
        if not Path(folder).is_dir():
            raise ScenarioError(f"'{folder}' is not a folder", source="--reports")
    try:
        before = None if older_than is None else datetime.now(UTC) - index.parse_age(older_than)
    except RunError as error:
        raise ScenarioError(str(error), source="--older-than") from None
    return before, pruning.referenced([Path(folder) for folder in reports or ("reports",)]) if unused else None


@command.command("size", short_help="their number and size")
@common.store_option
@common.json_option
def size(store: str | None, as_json: bool) -> None:
    """Print the number and the size of the saved runs, for each set of algorithms."""
    from elephan.runs import Store, index

    where = Store(store)
    found = index.listing(where)
    total = sum(entry.size_bytes for entry in found.entries)
    sums = index.by_algorithms(found.entries)
    if as_json:
        rows = [{"algorithms": key, "runs": count, "bytes": octets} for key, (count, octets) in sums.items()]
        common.print_json(
            {"dir": str(where.root), "runs": len(found.entries), "bytes": total, "damaged": len(found.damaged),
             "by_algorithms": rows}
        )  # fmt: skip
        return
    if sums:
        cells = [[key, count, size_text(octets)] for key, (count, octets) in sums.items()]
        common.print_table("", ["algorithms", "runs", "size"], cells)
    damaged = f", {len(found.damaged)} without a readable manifest" if found.damaged else ""
    common.say(f"{number_of(len(found.entries), 'run')}, {size_text(total)} in {where.root}{damaged}")


def size_text(octets: int) -> str:
    """A number of bytes with three digits and a unit."""
    amount = float(octets)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"
