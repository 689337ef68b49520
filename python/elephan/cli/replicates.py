"""Output lines about runs with several seeds: the perturbation that makes them differ, and runs with equal results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from elephan.cli import common

if TYPE_CHECKING:
    from elephan.metrics.replication import Outcomes
    from elephan.runs import Run
    from elephan.scenario import Scenario

_MOST_LINES = 5


def perturbation(several: Sequence[Sequence[Run]], on: str) -> str:
    """One line about the perturbations of some scenarios on a backend; empty if there are no perturbations."""
    from elephan import backends
    from elephan.scenario.perturbation import RULE
    from elephan.scenario.schema import HOSTS

    moved = [runs for runs in several if _moved(runs[0].scenario)]
    if not moved:
        return ""
    backend, first = backends.get(on), moved[0]
    if not backend.perturbs:
        varies = any(backend.varies(runs[0].scenario) for runs in moved)
        differ = "differ by other random draws alone" if varies else "give one result"
        return f"the backend '{on}' moves no starts and no packets: {len(first)} seeds {differ}"
    alone = f"seed {first[-1].seed} alone: --set perturb={HOSTS} --set seed={first[-1].seed}"
    if backend.measures:
        return f"starts are moved, and packets are as late as the hosts send them; {alone}"
    said = dict.fromkeys(runs[0].scenario.perturbation for runs in moved)
    return f"{next(iter(said)) if len(said) == 1 else RULE}, as hosts do; {alone}"


def alone(run: Run) -> str:
    """One line for a single run that is not among the runs of ``--seeds N``; empty if it is among them."""
    from elephan import backends

    scenario = run.scenario
    if scenario.perturb is not None or run.backend.partition("+")[0] not in backends.names():
        return ""
    backend = backends.kind(run.backend)
    if not backend.perturbs or backend.measures:
        return ""
    moved = scenario.perturbation_of_hosts
    stated = {"start_jitter", "send_jitter"} <= scenario.model_fields_set
    if stated or not moved or moved == scenario.perturbation:
        return ""
    return f"with --seeds N the runs differ as on real hosts ({moved}), so this one is not among them"


def _moved(scenario: Scenario) -> bool:
    """True if ``perturb`` sets a jitter that the scenario file does not state."""
    from elephan.scenario.schema import HOSTS

    stated = {"start_jitter", "send_jitter"} <= scenario.model_fields_set
    return scenario.perturb == HOSTS and not stated and bool(scenario.perturbation)


def found(done: Sequence[Run]) -> Outcomes:
    """Distinct results among the seeds of one scenario."""
    from elephan.metrics.replication import outcomes

    return outcomes(done)


def tell(done: Sequence[Run], on: str, names: Mapping[str, str] | None = None) -> None:
    """Print the perturbations and the equal results; ``done`` may contain several scenarios, each with several seeds.

    ``names`` maps the hash of each scenario to its name in the output. Without ``names``, the output has the beginning
    of the ids of the scenario's runs.
    """
    by_scenario: dict[str, list[Run]] = {}
    for run in done:
        by_scenario.setdefault(str(run.manifest["scenario_hash"]), []).append(run)
    several = [runs for runs in by_scenario.values() if len(runs) > 1]
    if line := perturbation(several, on):
        common.say(line)
    few = [(runs, said) for runs in several if (said := found(runs).sentence)]
    for runs, said in few[:_MOST_LINES]:
        known = (names or {}).get(runs[0].scenario.hash, runs[0].id.rpartition("-s")[0])
        named = f"{known}: " if len(by_scenario) > 1 else ""
        common.warn(f"{named}{said}")
    if len(few) > _MOST_LINES:
        common.warn(f"{len(few) - _MOST_LINES} more points of the grid have few distinct outcomes")
