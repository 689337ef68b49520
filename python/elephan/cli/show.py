"""``elephan show``: the report of a run or a paper, or the description of a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, naming, targets
from elephan.cli.numbers import Asked, show_numbers
from elephan.cli.packets import Packets
from elephan.cli.tables import print_text
from elephan.scenario import ScenarioError, catalog, own, rust_files, transports
from elephan.scenario.words import nearest

if TYPE_CHECKING:
    from elephan.runs import Run


@click.command("show")
@click.argument("names", nargs=-1, required=True, metavar="RUN…|NAME")
@click.option(
    "--out", metavar="DIR", callback=targets.writable_folder,
    help="Folder of the report. [default: the run's folder, or reports/ID]",
)  # fmt: skip
@click.option(
    "--csv", metavar="DIR", callback=targets.writable_folder,
    help="Instead, write the run's tables there as CSV files.",
)  # fmt: skip
@click.option(
    "--parquet", metavar="DIR", callback=targets.writable_folder,
    help="Instead, write the run's tables there as Parquet files.",
)  # fmt: skip
@click.option(
    "--pcapng", metavar="FILE", callback=targets.writable_file,
    help="Instead, write the run's packets there, for programs such as Wireshark.",
)  # fmt: skip
@click.option("--at", metavar="SIDE", help="Packets at the sender or at the receiver. [default: sender]")
@click.option(
    "--qlog", metavar="FILE", callback=targets.writable_file,
    help="Instead, write a log of the run's senders there, for programs such as qvis.",
)  # fmt: skip
@click.option("--metric", "wanted", multiple=True, metavar="NAME", help="Instead, print this metric of the run.")
@click.option(
    "--window", nargs=2, metavar="FROM TO", help="Time window. [default: the measured part; the whole run for packets]"
)
@click.option("--flow", "flows", multiple=True, metavar="NAME", help="Of this flow. [default: all flows]")
@click.option("--link", metavar="NAME", help="Of this link. [default: the bottleneck]")
@common.programs_option
@common.store_option
@common.json_option
def command(
    names: tuple[str, ...],
    out: str | None,
    csv: str | None,
    parquet: str | None,
    pcapng: str | None,
    at: str | None,
    qlog: str | None,
    wanted: tuple[str, ...],
    window: tuple[str, str] | None,
    flows: tuple[str, ...],
    link: str | None,
    allow_programs: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """The report of a run or of a paper, or the description of an algorithm, a queue or a metric; several runs side by
    side.

    A run is named by its id, the beginning of its id, its folder, or 'last', the run saved last. 'last~1' is the run
    saved before it. For --pcapng and --qlog, a scenario without an event log is run again.
    """
    packets = Packets(pcapng, qlog, at, window, flows, allow_programs)
    packets.check()
    asked = Asked(wanted, window, flows, link)
    name = names[0]
    if len(names) > 1:
        if csv is not None or parquet is not None or packets or asked or out is not None:
            raise ScenarioError("several runs are shown side by side; the options are for one run", source="show")
        show_side_by_side(names, store, as_json)
        return
    if csv is not None or parquet is not None or packets:
        if packets and (wanted or link is not None):
            raise ScenarioError("--pcapng and --qlog write packets, --metric and --link are for numbers", source="show")
        export_run(name, csv, parquet, packets, store, as_json)
        return
    if asked:
        show_numbers(a_run(name, store, "--metric asks for a number of a run"), asked, as_json)
        return
    if (
        name.partition(":")[0] in catalog.algorithms() | transports.listing() | catalog.queues()
        or name in catalog.all_queues()
    ):
        show_descriptor(name, as_json)
        return
    if own.names_file(name) and (".py" in name or name.endswith(".c") or rust_files.names(name)):
        show_entry(own.describe(name), as_json)
        return
    folder = find_run(name, store)
    if folder is not None:
        show_run(folder, out, as_json)
        return
    show_other(name, out, store, as_json)


def find_run(name: str, store: str | None) -> Path | None:
    """The folder of a run, also of a damaged one; ``None`` if no run has this name.

    Raises:
        ScenarioError: several ids begin with the name.
    """
    from elephan import runs

    return naming.folder_of(name, runs.Store(store))


def show_side_by_side(names: Sequence[str], store: str | None, as_json: bool) -> None:
    """Print the numbers of several runs, with one column for each run.

    Raises:
        ScenarioError: a name is not the name of a run.
    """
    from elephan import runs
    from elephan.runs.difference import side_by_side

    where = runs.Store(store)
    found = [naming.run_of(name, where, "show") for name in names]
    if as_json:
        common.print_json({"runs": [run.summary() for run in found]})
        return
    naming.say_which(found)
    numbers = side_by_side([run.summary() for run in found])
    none = common.Missing("not defined for the run, or the run has no such flow or link")
    rows = [
        [name, *(each[name] if each.get(name) is not None else none for each in numbers)]
        for name in dict.fromkeys(name for each in numbers for name in each)
    ]
    common.print_table("", ["result", *naming.letters(len(found))], rows)


def a_run(name: str, store: str | None, what: str) -> Run:
    """The run with a name.

    Raises:
        ScenarioError: there is no such run; ``what`` is the option that needs a run.
        DamagedRunError: the run's files are damaged.
    """
    from elephan import runs

    folder = find_run(name, store)
    if folder is None:
        raise ScenarioError(f"'{name}' is not a run; {what}", source="show")
    return runs.Run.load(folder)


def export_run(
    name: str, csv: str | None, parquet: str | None, packets: Packets, store: str | None, as_json: bool
) -> None:
    """Write a run's tables or packets as files for other programs, and print their names.

    Raises:
        ScenarioError: there is no such run, or the output would replace the run's own files.
    """
    from elephan import runs

    run = a_run(name, store, "--csv, --parquet, --pcapng and --qlog write files of a run")
    written: list[Path] = []
    try:
        written += run.to_csv(csv) if csv is not None else []
        written += run.to_parquet(parquet) if parquet is not None else []
        written += packets.write(run) if packets else []
    except runs.DamagedRunError:
        raise
    except runs.RunError as error:
        raise ScenarioError(str(error), source="show") from None
    if as_json:
        common.print_json({"id": run.id, "files": [str(path) for path in written]})
        return
    for path in written:
        common.say(str(path))


def show_run(folder: Path, out: str | None, as_json: bool) -> None:
    """Write a run's report and print its path, or print its summary."""
    from elephan import runs

    run = runs.Run.load(folder)
    if as_json:
        common.print_json(run.summary())
        return
    from elephan import report
    from elephan.cli.run import print_run

    print_run(run)
    common.say(f"report: {report.run_report(run, Path(out) if out else folder)}")


def show_other(name: str, out: str | None, store: str | None, as_json: bool) -> None:
    """Show a paper or a metric.

    Raises:
        ScenarioError: nothing has this name.
    """
    from elephan import metrics, papers
    from elephan.metrics.registry import find

    metric = find(name)
    if metric is not None:
        if as_json:
            common.print_json({"name": metric.name, "unit": metric.unit, "source": metric.source, "doc": metric.doc})
            return
        print_text(f"{metric.name}, {metric.unit}\n\n{metric.doc}\n\nsource: {metric.source}")
        return
    if name in own.points():
        show_entry(own.describe(name), as_json)
        return
    if name in papers.ids():
        from elephan.cli.paper import command as paper

        arguments = [name, *(["--out", out] if out else []), *(["--store", store] if store else [])]
        paper.main([*arguments, *(["--json"] if as_json else [])], standalone_mode=False)
        return
    from elephan.runs import Store

    known = [
        *Store(store).ids(),
        "last",
        *catalog.spellings(catalog.algorithms()),
        *own.points(),
        *catalog.all_queues(),
        *metrics.registry(),
        *papers.ids(),
    ]
    if name.endswith(".toml") and Path(name).is_file():
        raise ScenarioError(f"'{name}' is a scenario; run it with 'elephan run {name}'", source="show")
    near, count = nearest(name, known), len(Store(store).ids())
    runs = f"'elephan runs' lists the {count:,} saved runs" if count else "no run is saved"
    meant = f"did you mean '{near}'?" if near else f"{runs}, and 'elephan list' lists everything else"
    raise ScenarioError(f"'{name}' is not a run, a paper, an algorithm, a queue or a metric; {meant}", source="show")


def show_descriptor(name: str, as_json: bool) -> None:
    """Show an algorithm or a queue: its description, its presets and its parameters.

    Raises:
        ScenarioError: there is no such preset.
    """
    named = catalog.algorithms() | transports.listing()
    entries = named if name.partition(":")[0] in named else catalog.all_queues()
    show_entry(catalog.check_name(name, entries, "an algorithm"), as_json)


def show_entry(entry: catalog.Descriptor, as_json: bool) -> None:
    """Prints a descriptor, for people or as JSON."""
    if as_json:
        common.print_json(entry)
        return
    print_text(f"{entry['name']}: {entry['title']}\n{entry.get('source', '')}\n\n{entry.get('doc', '')}\n")
    presets: list[Any] = [
        [f"{entry['name']}:{preset['name']}".rstrip(":"), preset["title"], settings(preset.get("overrides") or {})]
        for preset in entry.get("presets", [])
    ]
    if presets:
        common.print_table("presets", ["name", "what it is", "changes"], presets)
    parameters = [catalog.parameter_row(parameter) for parameter in entry.get("parameters", [])]
    variables = [catalog.variable_row(variable) for variable in entry.get("variables", [])]
    for title, rows in (("parameters", parameters), ("internal variables", variables)):
        if rows:
            common.print_table(title, list(rows[0]), [list(row.values()) for row in rows], least=["source", "type"])


def settings(overrides: dict[str, Any]) -> str:
    """Settings of a preset, in the syntax of a scenario file."""
    from elephan.scenario.toml import write_value

    return ", ".join(f"{name} = {write_value(value)}" for name, value in overrides.items() if value is not None)
