"""Lines about several seeds: the perturbation that makes them differ, and outcomes that are the same all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elephan.cli import common
from elephan.scenario.schema import HOSTS

if TYPE_CHECKING:
    from elephan.evaluation.replication import Outcomes
    from elephan.runs import Run
    from elephan.scenario import Scenario


def perturbation(replicates: Sequence[Scenario], on: str) -> str:
    """One line on what ``perturb`` moves in these seeds of one scenario, on a backend; empty where nothing is moved."""
    from elephan import backends

    first, last = replicates[0], replicates[-1]
    if len(replicates) < 2 or first.perturb != HOSTS:
        return ""
    backend = backends.get(on)
    alone = f"seed {last.seed} alone: --set perturb={HOSTS} --set seed={last.seed}"
    if not (backend.varies(first) or backend.measures):
        return f"the backend '{on}' draws nothing from the seed here: {len(replicates)} seeds give one result"
    return f"{first.perturbation}, as hosts do; {alone}" if first.perturbation else ""


def found(done: Sequence[Run]) -> Outcomes:
    """Distinct outcomes among the seeds of one scenario."""
    from elephan.evaluation.replication import outcomes

    return outcomes(done)


def tell(done: Sequence[Run], on: str) -> None:
    """Say what was moved and which outcomes are the same; ``done`` may have several scenarios of several seeds."""
    by_scenario: dict[str, list[Run]] = {}
    for run in done:
        by_scenario.setdefault(str(run.manifest["scenario_hash"]), []).append(run)
    several = [runs for runs in by_scenario.values() if len(runs) > 1]
    lines = [perturbation([run.scenario for run in runs], on) for runs in several]
    for line in dict.fromkeys(line for line in lines if line):
        common.say(line)
    for runs in several:
        if said := found(runs).sentence:
            named = f"{runs[0].scenario.title or runs[0].manifest['scenario_hash']}: " if len(by_scenario) > 1 else ""
            common.warn(f"{named}{said}")
