"""Many runs in the engine whose flows are controlled in steps, as NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from elephan.backends import get as get_backend
from elephan.backends.memory import MemoryPool
from elephan.design.environments.rewards import Numbers, Outcomes, Reward, find
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import engine
from elephan.scenario.form import Spec
from elephan.scenario.lookups import base_rtt_ps, slowest_bps, wire_bytes
from elephan.scenario.units import PS_PER_S, parse_positive_time
from elephan.scenario.words import hint

FEATURES: tuple[str, ...] = tuple(engine().step_names()[0])
"""Names of the features of an observation, in their order; ``Step::features`` of the engine defines them."""

MEASURES: tuple[str, ...] = tuple(engine().step_names()[1])
"""Names of the measurements of a step with their units, in their order."""

LOWEST = np.array([-1.0 if name in ("gradient", "action") else 0.0 for name in FEATURES])
HIGHEST = np.ones(len(FEATURES))
"""Bounds of the features."""

_AT = {name: place for place, name in enumerate(MEASURES)}
_GRADIENT = FEATURES.index("gradient")
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Step:
    """Numbers of a step of all runs.

    Attributes:
        features: observations, runs × agents × :data:`FEATURES`.
        measures: measurements, runs × agents × :data:`MEASURES`.
        rewards: rewards, runs × agents.
        over: which runs have ended.
    """

    features: Numbers
    measures: Numbers
    rewards: Numbers
    over: np.ndarray[tuple[int], np.dtype[np.bool_]]


class Flows:
    """Runs in which some flows are controlled from outside, all taken a step further by one call.

    Attributes:
        paths: the scenarios.
        agents: names of the controlled flows.
        count: number of runs.
        controls: numbers in an action: the window alone, or the window and the pace.
    """

    def __init__(
        self,
        paths: Sequence[Scenario],
        *,
        count: int = 1,
        agents: Sequence[str] | None = None,
        step: str | None = None,
        pacing: bool = False,
        reward: str | Reward = "power",
    ) -> None:
        """Prepare the runs; each begins with :meth:`reset`.

        Args:
            paths: scenarios that differ in the path; the algorithms of their controlled flows are not used.
            count: number of runs.
            agents: names of the controlled flows; by default the first flow.
            step: duration of a step, ``"10 ms"``; by default the flow's smoothed RTT.
            pacing: true if an action sets the pace too.
            reward: name of a reward of :data:`~elephan.design.environments.REWARDS`, or a function.

        Raises:
            ScenarioError: a path cannot be simulated or has no such flow, or an argument is wrong.
        """
        if isinstance(paths, Scenario | str) or not all(isinstance(one, Scenario) for one in paths):
            raise ScenarioError("takes a list of scenarios; write [Scenario.load('path.toml')]", path="paths")
        if not paths:
            raise ScenarioError("has no scenario; write for example train_paths()", path="paths")
        if count < 1:
            raise ScenarioError(f"{count} is not allowed; at least one run is needed", path="count")
        self.paths = tuple(paths)
        self.count = count
        self.controls = 2 if pacing else 1
        self._reward = find(reward)
        memory = MemoryPool(None, count)
        backend = get_backend("sim", memory)
        forms = []
        for path in self.paths:
            backend.check(path)
            forms.append(path.form)
        self.agents = tuple(agents) if agents is not None else (forms[0].flows[0].name,)
        for form in forms:
            _check_agents(form, self.agents)
        self._constants = np.array([[_constants(form, name) for name in self.agents] for form in forms])
        self._on = np.zeros(count, dtype=np.intp)
        stated = [(_encode(path.canonical()).decode(), list(self.agents)) for path in self.paths]
        seconds = None if step is None else parse_positive_time(step) / PS_PER_S
        self._engine = engine().Environments(stated, count, seconds, pacing, memory.all_bytes() // count)

    def reset(self, run: int, path: int, seed: int) -> tuple[Numbers, Numbers]:
        """Begin a run on a path, and take it to its first decision: an RTT after its first ACK.

        Returns:
            The features and the measurements of its agents.

        Raises:
            ScenarioError: there is no such path, or the run ends before an agent has received an ACK.
        """
        features, measures = (np.empty((len(self.agents), len(names))) for names in (FEATURES, MEASURES))
        try:
            self._engine.reset(run, path, seed, features, measures)
        except ValueError as error:
            raise ScenarioError(str(error), source="environment") from None
        self._on[run] = path
        return features, measures

    def step(self, actions: ArrayLike) -> Step:
        """Take all runs one step further.

        Args:
            actions: an action for each agent, runs × agents × :attr:`controls`, each number from −1 to 1. The window
                is multiplied by 2 to the power of the first, and the pace is a window in an RTT, multiplied by 2 to the
                power of the second.

        Raises:
            ScenarioError: the actions are wrong, or a run has not begun.
        """
        shape = (self.count, len(self.agents))
        given = np.ascontiguousarray(actions, dtype=np.float64)
        features, measures = np.empty((*shape, len(FEATURES))), np.empty((*shape, len(MEASURES)))
        over = np.empty(self.count, dtype=np.uint8)
        try:
            self._engine.step(given, features, measures, over)
        except ValueError as error:
            raise ScenarioError(str(error), source="environment") from None
        rewards = self._reward(self._outcomes(features, measures))
        return Step(features, measures, rewards, over.astype(bool))

    def _outcomes(self, features: Numbers, measures: Numbers) -> Outcomes:
        base, fair, bits = (self._constants[self._on, :, i] for i in range(3))
        acked, lost = measures[..., _AT["acked_segments"]], measures[..., _AT["lost_segments"]]
        duration, rtt = measures[..., _AT["duration_s"]], measures[..., _AT["rtt_s"]]
        known = np.where(np.isnan(rtt), base, rtt)
        change = 2 * known * features[..., _GRADIENT] / (1 + features[..., _GRADIENT])
        took = np.where(duration > 0, duration, math.inf)
        return Outcomes(
            throughput=acked / took,
            loss=lost / np.maximum(lost + acked, 1),
            rtt_s=known,
            gradient=change / took,
            base_rtt_s=base,
            fair=fair,
            segment_bits=bits,
        )


def _check_agents(form: Spec, agents: Sequence[str]) -> None:
    names = [flow.name for flow in form.flows]
    if not agents:
        raise ScenarioError("names no flow", path="agents")
    for name in agents:
        if name not in names:
            raise ScenarioError(f"'{name}' is not a flow of '{form.title}'; {hint(name, names)}", path="agents")


def _constants(form: Spec, agent: str) -> tuple[float, float, float]:
    """Base RTT in s, fair share in segments/s, and bits of a segment, of an agent's flow."""
    flow = next(flow for flow in form.flows if flow.name == agent)
    bits = wire_bytes(flow.stack) * 8
    sharing = sum(other.count for other in form.flows if other.datagrams is False)
    return base_rtt_ps(form, flow) / PS_PER_S, slowest_bps(form, flow) / bits / sharing, bits
