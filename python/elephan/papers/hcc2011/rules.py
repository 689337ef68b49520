"""The claims about HCC's rules and parameters: formulas, the scenarios' own parameters, and a run with two losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.evaluation.conditions import Where
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, constant
from elephan.metrics.reading import base_rtt_s, duration_s, flow_series
from elephan.models import hcc
from elephan.papers.claims import Claim, ClaimError
from elephan.papers.hcc2011.setup import Setup
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run

FLOW = "hcc-1"
DOUBLING_S = (0.18, 0.30)
"""A round trip of 120 ms in the start, from the middle of one to the middle of the next."""
SECOND_LOSS_S = (10.0, 30.0)
SLOW, QUICK = 0.5, 0.9
"""Growth of the search just below the loss reference, at most, and of the delay's climb, at least: parts of I_max/2."""


def measure(runs: RunSet, setup: Setup, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
    """A claim about a rule or a parameter.

    Raises:
        NotJudgedError: its run is not there.
        ClaimError: nothing here knows how it is measured.
    """
    stated = {key: float(value) for key, value in where.items()}
    if metric in _FORMULAS:
        return constant(_FORMULAS[metric](_largest(setup), stated))
    if metric in ("alpha_pkts", "gamma"):
        scenario = setup.three(gigabit=True) if claim.experiment.endswith("F13") else setup.lone(subject, 600)
        value = _parameter(scenario, metric.removesuffix("_pkts"))
        return constant(value * (setup.scale if metric == "alpha_pkts" else 1), "as the scenario has it")
    if metric == "imax_pkts":
        return constant(hcc.step_max(stated["alpha"], stated["gamma"]))
    if metric == "growth_factor_per_rtt":
        found = runs.of(setup.two_losses())
        values = tuple(float(runs.metric(run, metric, DOUBLING_S)[FLOW]) for run in found)
        return Measurement(sample=values, runs=tuple(run.id for run in found))
    if metric == "backoff_keep":
        found = runs.of(setup.two_losses())
        kept = tuple(1 - float(runs.metric(run, "backoff_delta", SECOND_LOSS_S)[FLOW]) for run in found)
        return Measurement(sample=kept, runs=tuple(run.id for run in found))
    if metric == "mode_after_event":
        run = runs.first(setup.two_losses())
        if run is None:
            raise NotJudgedError("the run with two losses is not part of this selection")
        leads = Climb.of(run).leads(_largest(setup) / setup.scale)
        by_delay = "ref" in claim.id
        return Measurement(sample=(float(leads[1 if by_delay else 0]),), runs=(run.id,))
    raise ClaimError(f"{claim.id}: metric: '{metric}' is not measured here")


def _largest(setup: Setup) -> float:
    """I_max of the setup's HCC at the paper's scale."""
    scenario = setup.lone("hcc", 600)
    return hcc.step_max(setup.scale * _parameter(scenario, "alpha"), _parameter(scenario, "gamma"))


def _parameter(scenario: Scenario, name: str) -> float:
    return float(scenario.form.flows[0].parameters[name])


def _delta(step_max: float, stated: dict[str, float]) -> float:
    if "wa" in stated:
        return hcc.delay_step(stated["wa"], stated["w"], step_max)
    return hcc.search_step(stated["wmax"], stated["wmin"], step_max, 1.0)


_FORMULAS: dict[str, Callable[[float, dict[str, float]], float]] = {
    "anticipated_window_pkts": lambda step_max, at: hcc.anticipated_window(at["alpha"], at["D"], at["Qf"]),
    "target_increment_pkts": lambda step_max, at: hcc.search_target(at["wmax"], at["wmin"]),
    "delta_w_pkts": _delta,
}


@dataclass(frozen=True)
class Climb:
    """The window of a lone flow around its first loss.

    Attributes:
        window: at each sample, segments.
        reference: window of the loss, segments.
        lost: position of the first sample after the backoff.
        round_samples: samples in a propagation RTT.
    """

    window: Any
    reference: float
    lost: int
    round_samples: int

    @classmethod
    def of(cls, run: Run) -> Climb:
        """Read from a run's samples.

        Raises:
            NotJudgedError: nothing was lost.
        """
        whole = (0.0, duration_s(run))
        times, window = flow_series(run, FLOW, "cwnd", whole)
        _, losses = flow_series(run, FLOW, "loss_events", whole)
        steps = np.flatnonzero(np.diff(np.nan_to_num(losses)) > 0)
        if not len(steps):
            raise NotJudgedError("nothing was lost in the run that is meant to lose two packets")
        lost = int(steps[0]) + 1
        # The sample before the loss is some milliseconds too early; the backoff's target is exactly half.
        _, ssthresh = flow_series(run, FLOW, "ssthresh", whole)
        return cls(window, 2 * float(ssthresh[lost]), lost, round(base_rtt_s(run, FLOW) / float(times[1] - times[0])))

    def leads(self, step_max: float) -> tuple[bool, bool]:
        """Whether the search leads just below the window of the loss, and the delay again just above it.

        Below the reference the search takes small steps, where the delay, still far from its window, would take its
        largest, half of ``step_max``; in the round trips after the reference is passed that largest step is seen again.
        """
        passed = self.lost + int(np.argmax(self.window[self.lost :] > self.reference))
        if passed == self.lost:
            return False, False
        rounds = self.window[passed - self.round_samples : passed + 4 * self.round_samples + 1 : self.round_samples]
        grown = np.diff(rounds)
        largest = hcc.PART * step_max
        return bool(grown[0] <= SLOW * largest), bool(grown[1:].max() >= QUICK * largest)
