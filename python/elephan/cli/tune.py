"""``elephan tune``: parameters of an algorithm for a set of paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from elephan.cli import common, loops, targets
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import PS_PER_S, parse_positive_time

if TYPE_CHECKING:
    from elephan.design.tuning import Tuning

_OPTIONS = {name: f"--{name}" for name in ("parameter", "on-paths", "prefer", "front", "seeds")}


@click.command("tune")
@click.argument("algorithm", metavar="ALG")
@click.option(
    "--parameter", "parameters", multiple=True, required=True, metavar="NAME=LOW..HIGH",
    help="Range of a parameter: beta=0.5..0.9; ends without a point are for whole numbers.",
)  # fmt: skip
@click.option(
    "--on-paths", metavar="PATHS", default="training", show_default=True,
    help="The training paths of a score, or a TOML file with [[path]] tables, of which every third is held out.",
)  # fmt: skip
@click.option(
    "--prefer", metavar="WHAT", default="balanced", show_default=True,
    help="Objective: balanced, goodput, delay or fairness.",
)  # fmt: skip
@click.option(
    "--front", metavar="TERM,TERM", help="A front of these terms: goodput, delay, harm, start. [default: one objective]"
)
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter that is not tuned.")
@click.option(
    "--settings", type=common.Count(2, 100_000), metavar="N", default=64, show_default=True,
    help="Largest number of settings, the algorithm's own values among them.",
)  # fmt: skip
@click.option(
    "--seeds", type=common.Count(1, 1000), metavar="N", default=32, show_default=True,
    help="Seeds of a setting that is not given up: 8, 16 or 32.",
)  # fmt: skip
@click.option("--budget", metavar="TIME", default="600s", show_default=True, help="Wall time for new settings.")
@click.option(
    "--seed", type=common.Count(1, 10**9), metavar="N", default=1, show_default=True, help="Seed of the optimizer."
)
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Write a report there.")
@common.jobs_option
@common.json_option
def command(
    algorithm: str,
    parameters: Sequence[str],
    on_paths: str,
    prefer: str,
    front: str | None,
    assignments: Sequence[str],
    settings: int,
    seeds: int,
    budget: str,
    seed: int,
    out: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Tune parameters of an algorithm on a set of paths, and run the best on paths that took no part.

    A setting is given up as soon as its seeds show that it is worse than the best one. Needs the optional extra design.
    """
    from elephan.design import reporting, tuning

    try:
        budget_s = parse_positive_time(budget) / PS_PER_S
    except ScenarioError as error:
        raise error.located(source="--budget") from None
    fixed = common.parameters_of(assignments)
    with _named(), loops.shown(quiet=as_json) as say:
        result = tuning.tune(
            algorithm, parameters, on_paths=on_paths, prefer=prefer,
            front=[term.strip() for term in front.split(",")] if front else [], fixed=fixed, settings=settings,
            seeds=seeds, budget_s=budget_s, seed=seed, jobs=jobs,
            watch=lambda done, most, wall_s, best: say(
                f"{done} of {most} settings in {wall_s:.0f} s, best {best:+.3f}"
            ),
        )  # fmt: skip
    report = reporting.report(result, out) if out is not None else None
    if as_json:
        common.print_json(result.to_json() | {"report": None if report is None else str(report)})
        return
    _print(result)
    if report is not None:
        common.say(str(report))


@contextmanager
def _named() -> Iterator[None]:
    """Name options in errors of the function's arguments."""
    try:
        yield
    except ScenarioError as error:
        source = _OPTIONS.get(error.source or "", error.source or "tune")
        raise ScenarioError(error.message, path=error.path, source=source) from None


def _print(result: Tuning) -> None:
    from elephan.design import reporting

    common.say(reporting.answer(result))
    names = [r.name for r in result.ranges]
    terms = list(result.settings[0].terms[0])
    rows = [
        [*(f"{setting.parameters[name]:.4g}" if name in setting.parameters else "own" for name in names),
         f"{setting.score:+.3f}", str(len(setting.scores)), *(f"{setting.term(term):+.3f}" for term in terms)]
        for setting in result.front
    ]  # fmt: skip
    common.print_table("front" if result.goals else "best setting", [*names, "score", "seeds", *terms], rows)
    for name, share in result.importance.items():
        common.say(f"{name} explains {100 * share:.0f} % of the differences")
    given_up = sum(setting.given_up for setting in result.settings)
    common.say(
        f"{len(result.settings)} settings, {given_up} given up early, {result.runs} runs in "
        f"{result.wall_seconds:.0f} s on {result.paths[0]} paths, and {result.paths[1]} held out"
    )
