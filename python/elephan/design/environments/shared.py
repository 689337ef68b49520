"""PettingZoo's parallel environment: several flows that share a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pettingzoo import ParallelEnv

from elephan.design.environments.choices import chosen_path
from elephan.design.environments.flows import Flows
from elephan.design.environments.one import action_space, information, observation_space
from elephan.design.environments.paths import shared_paths
from elephan.design.environments.rewards import Numbers, Reward
from elephan.scenario import Scenario


class SharedPathEnv(ParallelEnv):  # type: ignore[misc]
    """Several flows that share a path, each with an agent of its own.

    Observations, actions and ``info`` are those of :class:`~elephan.design.environments.CongestionEnv`. The agents
    act at the same times: a step lasts for the longest of their smoothed RTTs. The features of a flow that has received
    no ACK yet are 0, apart from that of its window, and its actions have no effect before it starts.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "name": "elephan_shared_path_v0"}
    render_mode = None

    def __init__(
        self,
        paths: Sequence[Scenario] | None = None,
        *,
        agents: Sequence[str] | None = None,
        step: str | None = None,
        pacing: bool = False,
        reward: str | Reward = "power",
    ) -> None:
        """Prepare the environment.

        Args:
            paths: scenarios, from which each episode draws one; by default
                :func:`~elephan.design.environments.shared_paths`.
            agents: names of the controlled flows, which all paths have; by default all flows of the first path.
            step: duration of a step, ``"10 ms"``; by default the longest of the flows' smoothed RTTs.
            pacing: true if an action sets the pace too.
            reward: name of a reward of :data:`~elephan.design.environments.REWARDS`, or a function.

        Raises:
            ScenarioError: a path cannot be simulated or has no such flow, or an argument is wrong.
        """
        scenarios = tuple(shared_paths() if paths is None else paths)
        if agents is None and scenarios:
            agents = [flow.name for flow in scenarios[0].form.flows]
        self.flows = Flows(scenarios, agents=agents, step=step, pacing=pacing, reward=reward)
        self.possible_agents = list(self.flows.agents)
        self.agents: list[str] = []
        self.observation_spaces = {name: observation_space() for name in self.possible_agents}
        self.action_spaces = {name: action_space(self.flows.controls) for name in self.possible_agents}
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Numbers], dict[str, dict[str, Any]]]:
        """Begin an episode.

        Args:
            seed: seed of the path and of the run; without it the environment goes on drawing.
            options: ``{"path": 3}`` chooses a path by its position.

        Raises:
            ScenarioError: there is no such path.
        """
        if seed is not None:
            self._random = np.random.default_rng(seed)
        path, run_seed = chosen_path(self._random, len(self.flows.paths), options)
        features, measures = self.flows.reset(0, path, run_seed)
        self.agents = list(self.possible_agents)
        infos = {name: information(measures[i]) | {"path": path} for i, name in enumerate(self.agents)}
        return {name: features[i] for i, name in enumerate(self.agents)}, infos

    def step(
        self, actions: Mapping[str, Numbers]
    ) -> tuple[dict[str, Numbers], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Apply the agents' actions, and take the run one step further.

        Raises:
            ScenarioError: an action is outside its space, or no episode has begun.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        step = self.flows.step(np.stack([actions[name] for name in self.agents]))
        agents, over = self.agents, bool(step.over[0])
        if over:
            self.agents = []
        return (
            {name: step.features[0, i] for i, name in enumerate(agents)},
            {name: float(step.rewards[0, i]) for i, name in enumerate(agents)},
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            {name: information(step.measures[0, i]) for i, name in enumerate(agents)},
        )
