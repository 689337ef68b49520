"""``elephan sweep``: a scenario over a grid of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, patches, replicates, targets, unchanged
from elephan.cli.memory import memory_option
from elephan.cli.progress import meter
from elephan.scenario import ScenarioError
from elephan.scenario.overrides import covers, parse_value
from elephan.scenario.words import number_of

if TYPE_CHECKING:
    from elephan.runs import Run, Sweep
    from elephan.runs.swept import Per

Values = dict[str, list[Any]]
"""The values of each axis."""


@click.command("sweep")
@click.argument("scenario", metavar="SCENARIO.toml")
@click.option(
    "--grid", "axes", multiple=True, metavar="KEY=V1,V2,…", help="Values of a field; several axes are crossed."
)
@common.set_option
@common.seeds_option
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    help="Show this metric of each run, or of each flow. [default: goodput, utilization, loss]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE|DIR", callback=targets.table_page_or_folder,
    help="Also write the runs to FILE.csv or FILE.parquet, a report to FILE.html, or all of these and plots to DIR.",
)  # fmt: skip
@common.backend_option
@patches.patch_option
@common.programs_option
@common.jobs_option
@memory_option
@click.option("--cluster", metavar="ADDRESS", help="Distribute the runs over a Dask cluster, tcp://host:port.")
@common.store_option
@common.json_option
def command(
    scenario: str,
    axes: Sequence[str],
    assignments: Sequence[str],
    seeds: int | None,
    metrics: Sequence[str],
    out: str | None,
    backend: str,
    patch: str | None,
    allow_programs: bool,
    jobs: int | None,
    memory: int | None,
    cluster: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Run a scenario over a grid of values.

    Saved results are reused, so the same command continues after an interruption. With --seeds, metrics are
    means over the seeds with their 95 % intervals.
    """
    from elephan import runs
    from elephan.runs.grids import points_of

    common.check_backend(backend)
    backend = patches.patched(backend, patch)
    check_metrics(metrics)
    values = parse_grid(axes)
    if not values and seeds is None:
        raise ScenarioError(
            "missing; write a field with its values, as in --grid flow[0].algorithm=cubic,bic (one run: elephan run)",
            source="--grid",
        )
    fixed = common.overrides_of(assignments)
    check_overlap(fixed, values)
    if seeds and runs.SEED in values:
        raise ScenarioError("the seeds are an axis already; leave --seeds out", source="--grid seed")
    grid = runs.Grid.of(points_of(values), lambda point: common.load_scenario(scenario, fixed, point), seeds)
    failed: runs.SweepError | None = None
    done: Sweep[Any]
    with meter() as progress:
        try:
            done = runs.sweep(
                grid,
                on=backend,
                jobs=jobs,
                store=runs.Store(store),
                cluster=cluster,
                progress=progress,
                memory=memory,
                allow_programs=allow_programs,
            )
        except runs.SweepError as error:
            if not error.runs.made:
                raise
            failed, done = error, error.runs
    written = write(done, out, metrics) if out is not None else []
    for line in unchanged.alike(done):
        common.warn(line)
    if as_json:
        common.print_json(document(done, metrics, seeds))
    else:
        print_runs(done, metrics, seeds)
        replicates.tell(done.made, backend, point_names(done))
        for path in written:
            common.say(str(path))
    if failed is not None:
        raise failed


def parse_grid(axes: Sequence[str]) -> Values:
    """Values of each field from the ``--grid`` options, in their order.

    Raises:
        ScenarioError: an axis has no key or no value, or two axes have the same key.
    """
    from elephan.runs.grids import check_values

    grid: Values = {}
    for text in axes:
        key, equals, values = text.partition("=")
        chosen = [parse_value(value) for value in split_values(values)]
        if not equals or not key.strip() or not chosen:
            raise ScenarioError(
                f"'{text}' is not an axis; write KEY=V1,V2,… for example flow[0].algorithm=cubic,bic", source="--grid"
            )
        if key.strip() in grid:
            raise ScenarioError(f"'{key.strip()}' is there twice; write its values in one axis", source="--grid")
        check_values(chosen, f"--grid {key.strip()}")
        grid[key.strip()] = chosen
    return grid


def check_overlap(fixed: Mapping[str, Any], grid: Values) -> None:
    """Reject fields that are set twice, since the later value would silently replace the earlier one.

    ``--set 'flow[*].algorithm=bic' --grid 'flow[0].algorithm=cubic,reno'`` is allowed: the grid changes only one flow.

    Raises:
        ScenarioError: a field is set twice; the message has both options.
    """
    from elephan.runs.grids import check_distinct

    for axis in grid:
        for key in fixed:
            if covers(axis, key):
                raise ScenarioError(
                    f"'{key}' is set by --set {key}={fixed[key]} too; write it in one of the two",
                    source=f"--grid {axis}",
                )
    check_distinct(list(grid), "--grid")


def split_values(text: str) -> list[str]:
    """Split values at commas, except commas inside quotes, brackets and braces."""
    parts, depth, quote, start = [], 0, "", 0
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def check_metrics(names: Sequence[str]) -> None:
    """Reject unknown metrics before the runs.

    Raises:
        ScenarioError: a metric is unknown; the message names the most similar metric.
    """
    if names:
        from elephan.metrics import MetricError, get

        for name in names:
            try:
                get(name)
            except MetricError as error:
                raise ScenarioError(str(error), source="--metric") from None


def _rows_of(names: Sequence[str]) -> Per:
    """Kind of the rows: one for each flow if a metric is defined for each flow, otherwise one for each run."""
    from elephan.metrics import get

    return "flow" if any(get(name).scope == "flow" for name in names) else "run"


def write(done: Sweep[Any], out: str, names: Sequence[str]) -> list[Path]:
    """Write the sweep in the format of the file's suffix, or in all formats into a folder. Returns the written files.

    Raises:
        OSError: a file cannot be written.
    """
    from elephan.runs import tables

    target, per, chosen = Path(out), _rows_of(names), list(names) or None
    if target.suffix == ".html" and not target.is_dir():
        return [done.report(target, chosen)]
    frame = done.frame(chosen, per=per)
    if target.suffix in targets.TABLES and not target.is_dir():
        tables.write_one(frame, target)
        return [target]
    target.mkdir(parents=True, exist_ok=True)
    means = done.aggregate(chosen, per=per)
    written = [target / name for name in ("runs.csv", "runs.parquet", "means.csv")]
    for path, table in zip(written, (frame, frame, means), strict=True):
        tables.write_one(table, path)
    return [
        *written,
        *_plots(done, target, list(means["metric"].unique(maintain_order=True))),
        done.report(target, chosen),
    ]


def _plots(done: Sweep[Any], folder: Path, names: Sequence[str]) -> list[Path]:
    """Write a plot of each metric that has values, as PDF and SVG."""
    import matplotlib as mpl

    from elephan.metrics import MetricError
    from elephan.writing import whole_file

    written = []
    for name in names:
        try:
            figure = done.plot(name)
        except (MetricError, ScenarioError):
            continue  # the report states the reason
        for kind in ("pdf", "svg"):
            path = folder / f"{name}.{kind}"
            with whole_file(path) as file, mpl.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
                figure.savefig(file, format=kind)
            written.append(path)
    return written


def document(done: Sweep[Any], names: Sequence[str], seeds: int | None) -> dict[str, Any]:
    """The document of ``--json``: each run with its point; means if seeds or metrics are requested."""
    rows = []
    for i, (point, (_, seed), run) in enumerate(zip(done.points, done.scenarios, done, strict=True)):
        told = {"seed": seed, "failed": done.whys[i]} if run is None else run.summary()
        rows.append({"grid": dict(point), **told})
    if not names and not seeds:
        return {"runs": rows}
    return {"runs": rows, "aggregate": done.aggregate(list(names) or None, per=_rows_of(names)).to_dicts()}


def print_runs(done: Sweep[Any], names: Sequence[str], seeds: int | None) -> None:
    """Print the axes and the metrics as a table: one row for each run, or means over several seeds."""
    if not names and (seeds or 1) == 1:
        made = [(point, run) for point, run in zip(done.points, done, strict=True) if run is not None]
        print_sweep(done.keys, [point for point, _ in made], [run for _, run in made])
        return
    print_metrics(done, names, means=(seeds or 1) > 1)
    print_ends(done.made)


def point_names(done: Sweep[Any]) -> dict[str, str]:
    """The point of the grid of each scenario that was run, by the scenario's hash."""
    return {
        run.scenario.hash: ", ".join(f"{key}={value}" for key, value in point.items() if key != "seed")
        for point, run in zip(done.points, done, strict=True)
        if run is not None
    }


def print_metrics(done: Sweep[Any], names: Sequence[str], *, means: bool) -> None:
    """Print the metrics of each run, or their means with intervals, and the reasons for missing values."""
    from elephan.report.sweeps import headings, wide

    per, keys = _rows_of(names), [key for key in done.keys if key != "seed"]
    flow = ["flow"] if per == "flow" else []
    if means:
        found = done.aggregate(list(names) or None, per=per).to_dicts()
        shown, rows = wide(found, [*keys, *flow], common.show_cell)
        header = [*keys, *flow, *shown]
        runs = _ids_without_seeds(done, keys)
        rows = [[*row, runs.get(tuple(map(_spelled, row[: len(keys)])))] for row in rows]
        whys = [f"{row['metric']}: {row['why']}" for row in found if row["why"] is not None]
    else:
        frame = done.frame(list(names), per=per)
        shown = list(dict.fromkeys(names))
        header = [*keys, "seed", *flow, *shown]
        rows, whys = [list(row) for row in frame.select(header).iter_rows()], frame["why"].drop_nulls().to_list()
    heads = [*header[: -len(shown) or None], *headings(shown), *(["runs"] if means else [])]
    common.print_table("means over the seeds, with 95 % intervals" if means else "", heads, rows)
    for why in dict.fromkeys(whys):
        common.say(why)


def _spelled(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _ids_without_seeds(done: Sweep[Any], keys: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Common prefix of the ids of a point's runs, by the point's values of the axes."""
    axes = [axis for axis in done.axes if axis.key in keys]
    return {
        tuple(
            axis.texts[i] if axis.base or not axis.numbers else f"{axis.numbers[i]:g}" for axis in axes
        ): run.id.removesuffix(f"-s{run.seed}")
        for i, run in enumerate(done)
        if run is not None
    }


def _goodputs(summary: Mapping[str, Any]) -> Iterator[str]:
    """The goodput of each flow, or the median of each group of many flows; with its name if there are several."""
    from elephan.runs.crowds import MEDIAN, QUANTILES
    from elephan.runs.result import flow_rows

    rows = [
        row
        for row in flow_rows(summary, {"flow": "name", "goodput": "goodput_mbps"})[1]
        if row.get("quantile") in (None, QUANTILES[MEDIAN])
    ]
    for row in rows:
        of_several = f" (median of {row['flows']:,})" if row.get("quantile") is not None else ""
        name = f"{row['name']} " if len(rows) > 1 else ""
        yield f"{name}{common.show_cell(row['goodput_mbps'])}{of_several}"


def print_sweep(keys: Sequence[str], points: Sequence[Mapping[str, Any]], done: Sequence[Run]) -> None:
    """Print one row for each run: its point of the grid, and the main results."""
    keys = [key for key in keys if key != "seed"]
    header = [*keys, "seed", "goodput Mbit/s", "utilization", "loss rate", "jain", "run"]
    rows = []
    for point, run in zip(points, done, strict=True):
        summary = run.summary()
        link: dict[str, Any] = max(summary["links"], key=lambda row: row["utilization"], default={})
        goodputs = ", ".join(_goodputs(summary))
        rows.append(
            [
                *(str(point[key]) for key in keys),
                run.scenario.seed,
                goodputs,
                link.get("utilization"),
                link.get("loss_rate"),
                common.metric_cell(summary, "jain"),
                run.id,
            ]
        )
    common.print_table("", header, rows, least=["loss rate", "run"])
    print_ends(done)


def print_ends(done: Sequence[Run]) -> None:
    """Print the warnings of the runs and their folder."""
    for warning in dict.fromkeys(warning for run in done for warning in run.summary()["warnings"]):
        common.warn(warning)
    cached = sum(bool(run.summary()["cached"]) for run in done)
    common.say(f"{number_of(len(done), 'run')} in {done[0].dir.parent}, {cached} of them saved before")
