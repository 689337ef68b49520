"""``elephan score``: one number for a candidate, for design loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from elephan.cli import common
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.design import Score

_OPTIONS = {"stage": "--stage", "prefer": "--prefer"}


@click.command("score")
@click.argument("candidate", metavar="CANDIDATE")
@click.option(
    "--stage", default="quick", show_default=True, metavar="STAGE",
    help="The last stage: loads, quick, full with held-out paths, or suite with the criteria of RFC 9743.",
)  # fmt: skip
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Change a parameter of the candidate.")
@click.option(
    "--prefer", metavar="WHAT", default="balanced", show_default=True,
    help="Objective: balanced, goodput, delay or fairness.",
)  # fmt: skip
@click.option(
    "--seeds", type=common.Count(1, 1000), metavar="N", default=4, show_default=True, help="Replicates on each path."
)
@click.option(
    "--held-out-seed", type=common.Count(1, 10**9), metavar="N", default=2, show_default=True,
    help="Seed of the held-out paths, which the author of a candidate need not know.",
)  # fmt: skip
@click.option(
    "--paths", type=common.Count(1, 24), metavar="N", help="Number of paths. [default: 24, and 6 of a candidate in C]"
)
@common.jobs_option
@common.json_option
def command(
    candidate: str,
    stage: str,
    assignments: Sequence[str],
    prefer: str,
    seeds: int,
    held_out_seed: int,
    paths: int | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Score a candidate against CUBIC on 24 paths: above 0 is better than CUBIC.

    A candidate is a built-in algorithm, a file with a class, mine.py:Mine, a file in Rust, mine.rs, or a crate's
    folder, or C for a Linux kernel, tcp_mine.c. Python and Rust run in processes of their own, without network and with
    limits, and C in a guest, which restricts nothing. A failure has the worst score, -40, its reason, and the exit
    status 1.
    """
    from elephan import design

    try:
        found = design.score(
            candidate, stage=stage, parameters=common.parameters_of(assignments), prefer=prefer, seeds=seeds,
            held_out_seed=held_out_seed, paths=paths, jobs=jobs,
        )  # fmt: skip
    except ScenarioError as error:
        raise ScenarioError(
            error.message, path=error.path, source=_OPTIONS.get(error.source or "", error.source or "score")
        ) from None
    if as_json:
        common.print_json(found.to_json())
    else:
        _print(found)
    return 1 if found.failures else 0


def _print(found: Score) -> None:
    for failure in found.failures:
        common.say(
            f"{found.candidate}: {found.combined_score:g}, failed at stage {failure['stage']}: {failure['reason']}"
        )
    if found.failures:
        return
    if found.stage == "loads":
        common.say(f"{found.candidate}: loads")
        return
    common.say(f"{found.candidate}: {found.combined_score:+.3f} (cubic is 0, and +0.1 is about 10 % in one term)")
    rows = [[name.replace("_", " "), f"{value:+.3f}"] for name, value in found.parts.items()]
    common.print_table("", ["component", "value"], rows)
    for row in found.artifacts["worst_paths"]:
        common.say(f"worst: {row['value']:+.3f} on {row['path']}")
    for row in found.artifacts.get("criteria", ()):
        common.say(f"{row['force']} {row['id']}, {row['verdict'].replace('_', ' ')}: {row['why']}")
    weak = [name for name, limit in found.artifacts["contained"].items() if limit == "not restricted"]
    if weak:
        where = "a guest" if found.candidate.endswith(".c") else "this host"
        common.warn(f"{where} does not restrict a candidate's {', '.join(weak)}")
