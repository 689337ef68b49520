"""``elephan demo``: a first figure and its explanation, without a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from elephan.cli import common, targets
from elephan.cli.progress import meter
from elephan.cli.tables import page, wrapped

if TYPE_CHECKING:
    from elephan.demo import Demo

_WIDTH = 100
"""Largest number of characters in a line of prose, also on a wide terminal and in a pipe."""


@click.command("demo")
@click.option(
    "--out", default=".", metavar="DIR", callback=targets.writable_folder,
    help="Folder of the scenario and the figure. [default: the working folder]",
)  # fmt: skip
@common.jobs_option
@common.store_option
@common.json_option
def command(out: str, jobs: int | None, store: str | None, as_json: bool) -> None:
    """A flow starts late on a path of 1 Gbit/s and 100 ms: a figure, and its explanation.

    Writes the scenario as demo.toml, runs it with three algorithms of the late flow, and draws demo.svg and demo.png.
    """
    from elephan import demo, runs

    with meter() as progress:
        found = demo.demo(out, jobs=jobs, store=runs.Store(store), progress=progress)
    if as_json:
        common.print_json(found.to_json())
        return
    width = min(page().width or _WIDTH, _WIDTH)
    common.say("\n".join(wrapped(found.question, width)))
    common.say("")
    for line in found.answer.splitlines():
        common.say("\n".join(wrapped(line, width, "  ")))
    common.say("")
    print_outcomes(found)
    common.say(f"scenario: {found.scenario}")
    common.say(f"figure: {', '.join(str(path) for path in found.figures)} (the measured part is shaded)")
    for line in found.warnings:
        common.warn(line)
    common.say("\nGo on with:")
    width = max(map(len, found.commands))
    for words, purpose in found.commands.items():
        common.say(f"  {words:<{width}}  # {purpose}")


def print_outcomes(found: Demo) -> None:
    """Print a row for each late-starting flow."""
    from elephan.demo import PERCENT
    from elephan.metrics.reading import measure_window

    from_s, to_s = measure_window(found.runs[0])
    header = ["late flow", "first Mbit/s", "late Mbit/s", "late share", f"{PERCENT} after s", "queue ms", "utilization"]
    rows = [
        [one.algorithm, one.first_mbps, one.late_mbps, one.late_share,
         math.inf if one.convergence_time_s is None else one.convergence_time_s, one.queueing_delay_ms, one.utilization]
        for one in found.outcomes
    ]  # fmt: skip
    common.print_table(f"means from {from_s:g} s to {to_s:g} s", header, rows)
