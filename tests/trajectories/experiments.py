"""The beginning of one scenario of each experiment of the five papers.

A scenario ends 10 s after its last flow starts.
"""

from __future__ import annotations

from tests.trajectories import grid

from elephan import papers
from elephan.scenario import Scenario

_S_PS = 10**12
_BEGINNING_S = 10


def rows(paper_id: str, *, a_third: bool = False) -> list[grid.Row]:
    """Experiment, seconds and the numbers of the first scenario of each experiment, or of every third."""
    made = []
    for experiment in [*papers.get(paper_id).experiments.values()][:: 3 if a_third else 1]:
        scenario = _shortened(next(iter(experiment.scenarios.values())))
        made.append([experiment.id, f"{scenario.duration / _S_PS:g}", *grid.numbers(scenario)])
    return made


def _shortened(scenario: Scenario) -> Scenario:
    starts_ps = [flow.start for flow in scenario.flow]
    duration_ps = min(scenario.duration, max(starts_ps, default=0) + _BEGINNING_S * _S_PS)
    form = scenario.to_dict() | {"duration": f"{duration_ps} ps", "measure": {"from": "0 s"}}
    return Scenario.from_dict(form)
