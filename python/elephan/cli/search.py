"""``elephan search``: a path on which an algorithm fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from elephan.cli import common, loops, targets
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import PS_PER_S, parse_positive_time

if TYPE_CHECKING:
    from elephan.design.searching import Search

_OPTIONS = {name: f"--{name}" for name in ("for", "over", "against", "limit", "by")}


@click.command("search")
@click.argument("algorithm", metavar="ALG")
@click.option(
    "--for",
    "purpose",
    required=True,
    metavar="WHAT",
    help="harm, starvation, late-start, underuse, stall, delay or collapse.",
)
@click.option(
    "--over", multiple=True, metavar="NAME=LOW..HIGH",
    help="Range of a dimension (rate=10..50), one value (rtt=40), or FACTOR=none. [default: see docs/design.md]",
)  # fmt: skip
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Change a parameter of the algorithm.")
@click.option("--against", metavar="ALG", help="Only where this algorithm does not fail in the same way.")
@click.option("--limit", type=float, metavar="X", help="Number from which a run is a failure. [default: the goal's]")
@click.option("--budget", metavar="TIME", default="600s", show_default=True, help="Maximum wall time of the search.")
@click.option("--runs", type=common.Count(1, 10**7), metavar="N", help="Maximum number of runs. [default: no limit]")
@click.option(
    "--duration", metavar="TIME", default="30s", show_default=True,
    help="Simulated time of each run, measured in its second half.",
)  # fmt: skip
@click.option("--by", metavar="OPTIMIZER", default="cma", show_default=True, help="cma, tpe or random.")
@click.option(
    "--seed", type=common.Count(1, 10**9), metavar="N", default=1, show_default=True, help="Seed of the optimizer."
)
@click.option("--no-linux", is_flag=True, help="Do not confirm it on a Linux kernel in virtual time.")
@click.option(
    "--out", metavar="DIR", default="found", show_default=True, callback=targets.writable_folder,
    help="Save the scenario there.",
)  # fmt: skip
@click.option(
    "--suite", metavar="DIR", callback=targets.writable_folder,
    help="Also add it as a criterion to the suite in DIR, which is made if there is none.",
)  # fmt: skip
@common.jobs_option
@common.json_option
def command(
    algorithm: str,
    purpose: str,
    over: Sequence[str],
    assignments: Sequence[str],
    against: str | None,
    limit: float | None,
    budget: str,
    runs: int | None,
    duration: str,
    by: str,
    seed: int,
    no_linux: bool,
    out: str,
    suite: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Search a path on which an algorithm fails, and reduce it to its simplest form.

    The path is confirmed with other seeds and, where Linux has the algorithm, on a real kernel. A search that finds
    nothing says how many runs covered which space; it does not say that the algorithm is safe.
    """
    from elephan.design import confirming, keeping, searching

    parameters = common.parameters_of(assignments)
    with _named(), loops.shown(quiet=as_json) as say:
        result = searching.search(
            algorithm, purpose, over=over, parameters=parameters, against=against, limit=limit,
            budget_s=_seconds(budget, "--budget"), most_runs=runs, duration_s=_seconds(duration, "--duration"), by=by,
            seed=seed, jobs=jobs,
            watch=lambda runs, wall_s, worst: say(f"{runs} runs in {wall_s:.0f} s, worst {worst:.3g}"),
        )  # fmt: skip
    files = {}
    if result.found is not None:
        if not no_linux:
            result.on_linux = confirming.on_linux(searching.Judge.of(result, algorithm, parameters, jobs), result.found)
        files["scenario"] = str(keeping.save(result, out))
        if suite is not None:
            files["suite"] = str(keeping.add_to_suite(result, suite))
    if as_json:
        common.print_json(result.to_json() | {"files": files})
        return
    _print(result, files)


def _seconds(text: str, option: str) -> float:
    try:
        return parse_positive_time(text) / PS_PER_S
    except ScenarioError as error:
        raise error.located(source=option) from None


@contextmanager
def _named() -> Iterator[None]:
    """Name options in errors of the function's arguments."""
    try:
        yield
    except ScenarioError as error:
        source = _OPTIONS.get(error.source or "", error.source or "search")
        raise ScenarioError(error.message, path=error.path, source=source) from None


def _print(result: Search, files: dict[str, str]) -> None:
    from elephan.design import space

    goal, found = result.goal, result.found
    common.say(f"{result.runs} runs in {result.wall_seconds:.0f} s ({result.by}, seed {result.seed}) over:")
    common.say(f"  {result.space.words()}")
    if found is None:
        worst = (
            ""
            if result.worst is None
            else f"; the worst number is {result.worst[1]:.3g} with {space.words(result.worst[0])}"
        )
        common.say(f"found no run of {result.algorithm} with {goal.text} of {goal.limit:g} or more{worst}")
        common.say("this says nothing about other paths")
        return
    common.say(
        f"{result.algorithm} fails after {found.runs} runs and {found.after_s:.0f} s: {goal.text} {found.value:.3g},"
    )
    common.say(f"and a failure begins at {goal.limit:g} ({goal.reason})")
    common.say(f"  {space.words(found.point)}")
    low, high = min(found.seeds), max(found.seeds)
    fails = sum(goal.severity(value) >= 0 for value in found.seeds)
    common.say(f"other seeds: {fails} of {len(found.seeds)} fail, {low:.3g} to {high:.3g}")
    if found.baseline is not None:
        common.say(f"cubic there: {found.baseline:.3g}")
    if "values" in result.on_linux:
        values = result.on_linux["values"]
        fails = sum(result.on_linux["fails"])
        common.say(f"on Linux: {fails} of {len(values)} seeds fail, {min(values):.3g} to {max(values):.3g}")
    elif result.on_linux:
        common.say(f"on Linux: not confirmed ({result.on_linux['why']})")
    for path in files.values():
        common.say(path)
