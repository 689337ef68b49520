"""The claims about HCC's rules and parameters: formulas, the scenarios' own parameters, and a run with two losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError
from elephan.evaluation.measuring import At, Rule, Suite, of, stated
from elephan.metrics.reading import base_rtt_s, duration_s, flow_series
from elephan.models import hcc
from elephan.papers.hcc2011.setup import Setup
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run

FLOW = "hcc-1"
DOUBLING_S = (0.18, 0.30)
"""Time window of one round trip of 120 ms in slow start, from the middle of one round to the middle of the next, s."""
SECOND_LOSS_S = (10.0, 30.0)
SLOW, QUICK = 0.5, 0.9
"""Limits of the growth per round trip, as fractions of I_max/2: the largest growth of the search just below the loss
reference, and the smallest growth under control by the delay."""


def measurer(runs: Evidence, setup: Setup) -> Suite:
    """The measurements of claims about a rule or a parameter."""
    return Suite(runs, setup, TABLE, lambda setup, subject, at: setup.two_losses())


def _largest(setup: Setup) -> float:
    """I_max of HCC with the setup's parameters at the paper's scale, segments."""
    scenario = setup.lone("hcc", 600)
    return hcc.step_max(setup.scale * _parameter(scenario, "alpha"), _parameter(scenario, "gamma"))


def _parameter(scenario: Scenario, name: str) -> float:
    return float(scenario.form.flows[0].parameters[name])


def _of_scenario(name: str) -> Rule:
    """A rule for a parameter of the scenario."""

    def number(suite: Suite, subject: str, at: At) -> float:
        setup = suite.setup
        scenario = setup.three(gigabit=True) if at.experiment == "F13" else setup.lone(subject, 600)
        return _parameter(scenario, name) * (setup.scale if name == "alpha" else 1)

    return stated(number, "as the scenario has it")


def _delta(suite: Suite, subject: str, at: At) -> float:
    step_max, w = _largest(suite.setup), {key: float(value) for key, value in at.where.items()}
    if "wa" in w:
        return hcc.delay_step(w["wa"], w["w"], step_max)
    return hcc.search_step(w["wmax"], w["wmin"], step_max, 1.0)


def _formula(function: Callable[..., float], *names: str) -> Rule:
    """A rule for a formula, evaluated at the conditions."""
    return stated(lambda suite, subject, at: function(*(float(at.where[name]) for name in names)))


@dataclass(frozen=True)
class Climb:
    """The window of a lone flow around its first loss.

    Attributes:
        window: window at each sample, segments.
        reference: window at the loss, segments.
        lost: position of the first sample after the backoff.
        round_samples: samples in a propagation RTT.
    """

    window: Any
    reference: float
    lost: int
    round_samples: int

    @classmethod
    def of(cls, run: Run) -> Climb:
        """Read the window around the first loss from a run's samples.

        Raises:
            NotJudgedError: there was no loss.
        """
        whole = (0.0, duration_s(run))
        times, window = flow_series(run, FLOW, "cwnd", whole)
        _, losses = flow_series(run, FLOW, "loss_events", whole)
        steps = np.flatnonzero(np.diff(np.nan_to_num(losses)) > 0)
        if not len(steps):
            raise NotJudgedError("nothing was lost in the run that is meant to lose two packets")
        lost = int(steps[0]) + 1
        # The sample before the loss is a few milliseconds too early. The window after the backoff is exactly half of
        # the reference, so compute the reference from that window.
        _, ssthresh = flow_series(run, FLOW, "ssthresh", whole)
        return cls(window, 2 * float(ssthresh[lost]), lost, round(base_rtt_s(run, FLOW) / float(times[1] - times[0])))

    def leads(self, step_max: float) -> tuple[bool, bool]:
        """True if the window is controlled by the search just below the window at the loss, and by the delay just above
        that window.

        Below the reference the search makes small steps. Control by the delay would make its largest step there, half
        of ``step_max``, since the window is far from its equilibrium. This largest step appears again in the round
        trips after the window exceeds the reference.
        """
        passed = self.lost + int(np.argmax(self.window[self.lost :] > self.reference))
        if passed == self.lost:
            return False, False
        rounds = self.window[passed - self.round_samples : passed + 4 * self.round_samples + 1 : self.round_samples]
        grown = np.diff(rounds)
        largest = hcc.PART * step_max
        return bool(grown[0] <= SLOW * largest), bool(grown[1:].max() >= QUICK * largest)


def _mode(suite: Suite, subject: str, at: At) -> Measurement:
    run = suite.runs.first(suite.setup.two_losses())
    if run is None:
        raise NotJudgedError("the run with two losses is not part of this selection")
    leads = Climb.of(run).leads(_largest(suite.setup) / suite.setup.scale)
    return Measurement(sample=(float(leads["ref" in at.criterion.id]),), runs=(run.id,))


def _kept(suite: Suite, subject: str, at: At) -> Measurement:
    return suite.values(suite.setup.two_losses(), "backoff_delta", FLOW, SECOND_LOSS_S, then=lambda lost: 1 - lost)


TABLE: dict[str, Rule] = {
    "anticipated_window_pkts": _formula(hcc.anticipated_window, "alpha", "D", "Qf"),
    "target_increment_pkts": _formula(hcc.search_target, "wmax", "wmin"),
    "delta_w_pkts": stated(_delta),
    "alpha_pkts": _of_scenario("alpha"),
    "gamma": _of_scenario("gamma"),
    "imax_pkts": _formula(hcc.step_max, "alpha", "gamma"),
    "growth_factor_per_rtt": of("growth_factor_per_rtt", FLOW, DOUBLING_S),
    "backoff_keep": _kept,
    "mode_after_event": _mode,
}
