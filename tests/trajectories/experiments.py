"""The beginning of one scenario of each experiment of the five papers, in a line each.

A scenario ends 10 s after its last flow starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.trajectories import grid

from elephan import papers
from elephan.scenario import Scenario

HEAD = "experiment seconds delivered retransmits loss_events timeouts cwnd_mean rtt_mean_ms dropped marked digest"
_S_PS = 10**12
_BEGINNING_S = 10


def beginnings(paper_id: str, step: int = 1) -> Iterator[tuple[str, Scenario]]:
    """The first scenario of each experiment of a paper, or of every ``step``-th, shortened, by its name."""
    for experiment in [*papers.get(paper_id).experiments.values()][::step]:
        yield experiment.id, _shortened(next(iter(experiment.scenarios.values())))


def _shortened(scenario: Scenario) -> Scenario:
    starts_ps = [flow.start for flow in scenario.flow]
    duration_ps = min(scenario.duration, max(starts_ps, default=0) + _BEGINNING_S * _S_PS)
    form = scenario.to_dict() | {"duration": f"{duration_ps} ps", "measure": {"from": "0 s"}}
    return Scenario.from_dict(form)


def lines(paper_id: str, step: int = 1) -> Iterator[str]:
    """A head, and a line for each experiment of a paper, or for every ``step``-th."""
    rows = [HEAD.split()]
    for name, scenario in beginnings(paper_id, step):
        rows.append([name, f"{scenario.duration / _S_PS:g}", *grid.trajectory(scenario)])
    return grid.aligned(rows)
