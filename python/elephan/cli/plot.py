"""``elephan plot``: windows, rates, round-trip times and queues of runs over time, as files for papers and screens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elephan.cli import common, naming, targets
from elephan.cli.memory import memory_option
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import parse_time
from elephan.scenario.words import hint, listed, nearest

if TYPE_CHECKING:
    from elephan.report.overlays import Overlay
    from elephan.runs import Run, Store
    from elephan.scenario import Scenario

QUANTITIES = ("cwnd", "rate", "rtt", "queue")
DEFAULT = "plot.html"


@click.command("plot")
@click.argument("names", nargs=-1, required=True, metavar="RUN…|SCENARIO.toml…")
@click.option(
    "--what", default=",".join(QUANTITIES), metavar="NAME,…",
    help="Quantities, one below another: cwnd, rate, rtt, queue. [default: all four]",
)  # fmt: skip
@click.option(
    "--algorithms", metavar="NAME,…", help="Run each of these alone on the path of the scenario, and overlay them."
)
@click.option("--by", metavar="run|flow", help="Small multiples: panels for each run, or for each flow.")
@click.option("--flow", "flows", multiple=True, metavar="NAME", help="Only this flow. [default: all flows]")
@click.option("--from", "begin", metavar="TIME", help="Start of the shown time. [default: 0 s]")
@click.option("--to", "end", metavar="TIME", help="End of the shown time. [default: the end of the longest run]")
@click.option(
    "--size",
    metavar="SIZE",
    help="Size of a PDF, SVG or PNG: page (7.16 in), column (3.5 in), or '12x8 cm'. [default: page]",
)
@click.option("--title", metavar="TEXT", help="Title over the figure. [default: the runs' common title]")
@click.option(
    "--out", "outs", multiple=True, metavar="FILE",
    help=f"File to write: .pdf, .svg, .png, or .html to zoom in. May be repeated. [default: {DEFAULT}]",
)  # fmt: skip
@common.backend_option
@common.set_option
@common.jobs_option
@memory_option
@common.store_option
@common.json_option
@click.pass_context
def command(
    context: click.Context,
    names: Sequence[str],
    what: str,
    algorithms: str | None,
    by: str | None,
    flows: Sequence[str],
    begin: str | None,
    end: str | None,
    size: str | None,
    title: str | None,
    outs: Sequence[str],
    backend: str,
    assignments: Sequence[str],
    jobs: int | None,
    memory: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Plot runs over time: overlaid, or as small multiples.

    A run is named by its id, the beginning of its id, its folder, or 'last', the run saved last. 'last~1' is the run
    saved before it. A scenario file is run first, unless its result is saved. One algorithm has one color. Many flows
    are shown as a median with quantile bands.
    """
    from elephan import runs

    common.check_backend(backend)
    quantities = words(what, "--what", QUANTITIES)
    paths = [_checked(name, context) for name in dict.fromkeys(outs or (DEFAULT,))]
    _check_size(size)
    if by not in (None, "run", "flow"):
        raise ScenarioError(f"'{by}' is not run or flow", source="--by")
    where = runs.Store(store)
    wanted = [_input(name, assignments, where) for name in names]
    chosen = [] if algorithms is None else words(algorithms, "--algorithms")
    labels = None
    if algorithms is not None:
        bases = [item if not isinstance(item, runs.Run) else item.scenario for item in wanted]
        chosen = words(algorithms, "--algorithms")
        several = len(bases) > 1
        labels = [f"{base.title or base.hash}: {name}" if several else name for base in bases for name in chosen]
        wanted = [alone(base, name) for base in bases for name in chosen]
        title = title if title is not None or several else bases[0].title
    titles = [(item.manifest.get("title") if isinstance(item, runs.Run) else item.title) or "" for item in wanted]
    span = _span(begin, end, max(item.form.duration_ps for item in wanted) / 1e12)
    found = _runs(wanted, backend, where, jobs, memory)
    overlay = _overlay(found, quantities, by, flows, span, title, labels, titles)
    for path in paths:
        _write(overlay, found, path, size)
    for line in dict.fromkeys(line for run in found for line in run.warnings):
        common.warn(line)
    if as_json:
        common.print_json({"runs": [run.id for run in found], "files": [str(path) for path in paths]})
        return
    for path in paths:
        common.say(str(path))


def _runs(
    wanted: Sequence[Run | Scenario], backend: str, store: Store, jobs: int | None, memory: int | None
) -> list[Run]:
    """The runs, in the order of the arguments; scenarios without a saved result are run."""
    from elephan import runs

    stated = [item for item in wanted if not isinstance(item, runs.Run)]
    if not stated:
        return [item for item in wanted if isinstance(item, runs.Run)]
    with meter() as progress:
        done = iter(runs.sweep(stated, on=backend, store=store, jobs=jobs, progress=progress, memory=memory))
    return [item if isinstance(item, runs.Run) else next(done) for item in wanted]


def words(text: str, option: str, allowed: Sequence[str] = ()) -> list[str]:
    """The words separated by commas, without duplicates.

    Raises:
        ScenarioError: there is no word, or a word is not allowed; the message names the most similar allowed word.
    """
    found = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise ScenarioError(f"'{text}' names nothing; write names with commas between them", source=option)
    for word in found:
        if allowed and word not in allowed:
            raise ScenarioError(f"'{word}' is not a quantity; {hint(word, allowed)}", source=option)
    return found


def _checked(name: str, context: click.Context) -> Path:
    """The path of an output file, after a check.

    Raises:
        ScenarioError: the file has an unknown suffix, or cannot be written.
    """
    from elephan.report.overlays import KINDS

    if Path(name).suffix.lower() not in KINDS:
        raise ScenarioError(f"'{name}' does not end in {listed(KINDS)}", source="--out")
    parameter = next(param for param in context.command.params if param.name == "outs")
    checked = targets.writable_file(context, parameter, name)
    assert checked is not None
    return Path(checked)


def _check_size(size: str | None) -> None:
    from elephan.report.overlays import inches

    try:
        inches(size)
    except ValueError as error:
        raise ScenarioError(str(error), source="--size") from None


def _input(name: str, assignments: Sequence[str], store: Store) -> Run | Scenario:
    """Load a scenario from a file, or a saved run.

    Raises:
        ScenarioError: the scenario is wrong, or the name is neither a scenario's nor a run's.
    """
    if name.endswith(".toml"):
        return common.load_scenario(name, common.overrides_of(assignments))
    if assignments:
        raise ScenarioError(f"'{name}' is a run, which is saved as it is; --set is for scenario files", source="--set")
    from elephan.runs import index

    if naming.folder_of(name, store) is None:
        near = nearest(name, [str(path) for path in Path(name).parent.glob("*.toml")])
        advice = f"did you mean '{near}'?" if near else index.nearest_run(name, store)
        raise ScenarioError(f"'{name}' is neither a saved run nor a scenario file; {advice}", source="plot")
    return naming.run_of(name, store, "plot")


def alone(scenario: Scenario, algorithm: str) -> Scenario:
    """The scenario with only its first flow, whose algorithm becomes ``algorithm``; sources of transfers are kept.

    Raises:
        ScenarioError: the path has no flow, or the algorithm cannot run there.
    """
    from elephan.scenario import Scenario

    tables = scenario.to_dict()
    if not tables.get("flow"):
        raise ScenarioError("the scenario has no [[flow]] for an algorithm to take the place of", source="--algorithms")
    first = {
        key: value
        for key, value in tables["flow"][0].items()
        if key not in ("name", "parameters", "count", "start_spread", "rtts")
    }
    try:
        return Scenario.from_dict(tables | {"flow": [first | {"algorithm": algorithm}], "title": algorithm})
    except ScenarioError as error:
        message = error.message if error.path.startswith("flow") else f"{error.path}: {error.message}"
        raise ScenarioError(message, source=f"--algorithms {algorithm}") from None


def _overlay(
    found: Sequence[Run],
    quantities: Sequence[str],
    by: str | None,
    flows: Sequence[str],
    span: tuple[float, float] | None,
    title: str | None,
    labels: Sequence[str] | None,
    titles: Sequence[str],
) -> Overlay:
    from elephan.metrics import MetricError
    from elephan.report import plots

    try:
        return plots.plot(
            found,
            quantities,
            by="run" if by == "run" else "flow" if by == "flow" else None,
            flows=list(flows) or None,
            span=span,
            title=title,
            labels=labels,
            titles=titles,
        )
    except MetricError as error:
        raise ScenarioError(str(error), source="plot") from None


def _span(begin: str | None, end: str | None, longest_s: float) -> tuple[float, float] | None:
    """The interval of time to show, s; ``None`` for the whole runs.

    Raises:
        ScenarioError: a text is not a time, or the interval is not within the longest run.
    """
    if begin is None and end is None:
        return None
    span = (_time("--from", begin, 0.0), _time("--to", end, longest_s))
    if not span[0] < span[1] <= longest_s:
        raise ScenarioError(
            f"{span[0]:g} s to {span[1]:g} s is not within the {longest_s:g} s of the runs",
            source="--from" if end is None else "--to",
        )
    return span


def _time(option: str, text: str | None, default_s: float) -> float:
    try:
        return default_s if text is None else parse_time(text) / 1e12
    except ScenarioError as error:
        raise error.located(source=option) from None


def _write(overlay: Overlay, found: Sequence[Run], path: Path, size: str | None) -> None:
    from elephan.report import plots

    if path.suffix.lower() == ".html":
        plots.write_html(overlay, found, path)
    else:
        overlay.save(path, size)
