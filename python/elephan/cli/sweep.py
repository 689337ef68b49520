"""``elephan sweep``: a scenario over a grid of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common
from elephan.cli.memory import memory_option
from elephan.cli.progress import meter
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.overrides import covers, parse_value

if TYPE_CHECKING:
    from elephan.runs import Run

Grid = dict[str, list[Any]]


@click.command("sweep")
@click.argument("scenario", metavar="SCENARIO.toml")
@click.option(
    "--grid", "axes", multiple=True, metavar="KEY=V1,V2,…", help="Values of a field; several axes are crossed."
)
@common.set_option
@common.seeds_option
@common.backend_option
@common.jobs_option
@memory_option
@click.option("--cluster", metavar="ADDRESS", help="Hand the runs to a Dask cluster, tcp://host:port.")
@common.store_option
@common.json_option
def command(
    scenario: str,
    axes: Sequence[str],
    assignments: Sequence[str],
    seeds: int | None,
    backend: str,
    jobs: int | None,
    memory: int | None,
    cluster: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Run a scenario over a grid of values.

    What is saved is not run again: the same command after an interruption goes on from there.
    """
    from elephan import backends, runs

    backends.get(backend)
    grid = parse_grid(axes)
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    fixed = common.overrides_of(assignments)
    check_overlap(fixed, grid)
    wanted: list[tuple[dict[str, Any], Scenario]] = []
    for point in points:
        stated = common.load_scenario(scenario, fixed, point)
        wanted += [(point, replicate) for replicate in (stated.replicates(seeds) if seeds else [stated])]
    with meter() as progress:
        done = runs.sweep(
            [stated for _, stated in wanted],
            on=backend,
            jobs=jobs,
            store=runs.Store(store),
            cluster=cluster,
            progress=progress,
            memory=memory,
        )
    if as_json:
        rows = [{"grid": point, **run.summary()} for (point, _), run in zip(wanted, done, strict=True)]
        common.print_json({"runs": rows})
        return
    print_sweep(list(grid), [point for point, _ in wanted], done)


def parse_grid(axes: Sequence[str]) -> Grid:
    """``--grid`` options as the values of each field, in the order in which they were given.

    Raises:
        ScenarioError: an axis without a key or a value, or the same key twice.
    """
    grid: Grid = {}
    for text in axes:
        key, equals, values = text.partition("=")
        chosen = [parse_value(value) for value in split_values(values)]
        if not equals or not key.strip() or not chosen:
            raise ScenarioError(
                f"'{text}' is not an axis; write KEY=V1,V2,… for example flow[0].algorithm=cubic,bic", source="--grid"
            )
        if key.strip() in grid:
            raise ScenarioError(f"'{key.strip()}' is there twice; write its values in one axis", source="--grid")
        for i, value in enumerate(chosen):
            if any(_same(value, earlier) for earlier in chosen[:i]):
                raise ScenarioError(f"{value!r} is there twice; write each value once", source=f"--grid {key.strip()}")
        grid[key.strip()] = chosen
    return grid


def _same(left: Any, right: Any) -> bool:
    """Equal as values of a scenario: 1 and 1.0 are, 1 and true are not."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def check_overlap(fixed: Mapping[str, Any], grid: Grid) -> None:
    """Refuse fields that are set twice, where the later value would silently replace the earlier.

    ``--set 'flow[*].algorithm=bic' --grid 'flow[0].algorithm=cubic,reno'`` is all right: the grid changes a part.

    Raises:
        ScenarioError: with both.
    """
    for axis in grid:
        for key in fixed:
            if covers(axis, key):
                raise ScenarioError(
                    f"'{key}' is set by --set {key}={fixed[key]} too; write it in one of the two",
                    source=f"--grid {axis}",
                )
        for other in grid:
            if other != axis and covers(axis, other):
                raise ScenarioError(
                    f"'{other}' is an axis too, and both set it; write one of the two", source=f"--grid {axis}"
                )


def split_values(text: str) -> list[str]:
    """Values between commas; commas inside quotes, brackets and braces do not separate."""
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


def _goodputs(summary: Mapping[str, Any]) -> Iterator[str]:
    """The goodput of each flow, or the medians of a crowd's groups."""
    from elephan.runs.crowds import MEDIAN, QUANTILES
    from elephan.runs.result import flow_rows

    for row in flow_rows(summary, {"goodput": "goodput_mbps"})[1]:
        if row.get("quantile") in (None, QUANTILES[MEDIAN]):
            of_several = f" (median of {row['flows']:,})" if row.get("quantile") is not None else ""
            yield common.show_cell(row["goodput_mbps"]) + of_several


def print_sweep(keys: Sequence[str], points: Sequence[dict[str, Any]], done: Sequence[Run]) -> None:
    """One row a run: its point of the grid, and what most people look at first."""
    header = [*keys, "seed", "goodput Mbit/s", "utilization", "loss rate", "jain", "run"]
    rows = []
    for point, run in zip(points, done, strict=True):
        summary = run.summary()
        link: dict[str, Any] = max(summary["links"], key=lambda row: row["utilization"], default={})
        goodputs = " ".join(_goodputs(summary))
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
    for warning in dict.fromkeys(warning for run in done for warning in run.summary()["warnings"]):
        common.warn(warning)
    cached = sum(bool(run.summary()["cached"]) for run in done)
    common.say(f"{len(done)} runs in {done[0].dir.parent}, {cached} of them saved before")
