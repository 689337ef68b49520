"""Gymnasium's vector environment: many runs of one flow each, which the engine takes a step further in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from elephan.design.environments.choices import chosen_path
from elephan.design.environments.flows import MEASURES, Flows
from elephan.design.environments.one import action_space, observation_space
from elephan.design.environments.paths import train_paths
from elephan.design.environments.rewards import Numbers, Reward
from elephan.scenario import Scenario, ScenarioError

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


class CongestionVectorEnv(gymnasium.vector.VectorEnv[Numbers, Numbers, Any]):
    """Many runs of :class:`~elephan.design.environments.CongestionEnv`, without a process for each.

    A run that ends begins anew in the same step (``AutoresetMode.SAME_STEP``): the observation is the first of the new
    episode, and ``info["final_obs"]`` has the last of the old one.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (declared so by the base class)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        paths: Sequence[Scenario] | None = None,
        *,
        agent: str | None = None,
        step: str | None = None,
        pacing: bool = False,
        reward: str | Reward = "power",
    ) -> None:
        """Prepare the runs.

        Args:
            num_envs: number of runs.
            paths: scenarios, from which each episode draws one; by default
                :func:`~elephan.design.environments.train_paths`.
            agent: name of the controlled flow; by default the first flow.
            step: duration of a step, ``"10 ms"``; by default the flow's smoothed RTT.
            pacing: true if an action sets the pace too.
            reward: name of a reward of :data:`~elephan.design.environments.REWARDS`, or a function.

        Raises:
            ScenarioError: a path cannot be simulated or has no such flow, or an argument is wrong.
        """
        self.flows = Flows(
            train_paths() if paths is None else paths,
            count=num_envs,
            agents=None if agent is None else (agent,),
            step=step,
            pacing=pacing,
            reward=reward,
        )
        self.num_envs = num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = action_space(self.flows.controls)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin an episode in each run.

        Args:
            seed: seed of all paths and runs; without it the environment goes on drawing.
            options: ``{"path": 3}`` chooses a path by its position.

        Raises:
            ScenarioError: there is no such path, or a list of seeds is given.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            raise ScenarioError("is a list; write one seed, from which all runs draw theirs", path="seed")
        super().reset(seed=seed)
        observations, paths, measures = zip(*(self._begin(run, options) for run in range(self.num_envs)), strict=True)
        return np.stack(observations), _information(np.stack(measures)) | {"path": np.array(paths)}

    def step(self, actions: Numbers) -> tuple[Numbers, Numbers, Flags, Flags, dict[str, Any]]:
        """Apply an action in each run, and take all runs one step further.

        Raises:
            ScenarioError: an action is outside its space, or no episode has begun.
        """
        step = self.flows.step(actions)
        observations, measures = step.features[:, 0], step.measures[:, 0]
        info = _information(measures)
        if step.over.any():
            info["final_obs"], info["_final_obs"] = observations.copy(), step.over
            for run in np.flatnonzero(step.over):
                observations[run] = self._begin(int(run), None)[0]
        return observations, step.rewards[:, 0], np.zeros(self.num_envs, dtype=np.bool_), step.over, info

    def _begin(self, run: int, options: Mapping[str, Any] | None) -> tuple[Numbers, int, Numbers]:
        path, seed = chosen_path(self.np_random, len(self.flows.paths), options)
        features, measures = self.flows.reset(run, path, seed)
        return features[0], path, measures[0]


def _information(measures: Numbers) -> dict[str, Any]:
    return dict(zip(MEASURES, measures.T, strict=True))
