"""Gymnasium's environment: one flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from elephan.design.environments.choices import chosen_path
from elephan.design.environments.flows import FEATURES, HIGHEST, LOWEST, MEASURES, Flows
from elephan.design.environments.paths import train_paths
from elephan.design.environments.rewards import Numbers, Reward
from elephan.scenario import Scenario


class CongestionEnv(gymnasium.Env[Numbers, Numbers]):
    """One flow whose window, and pace if wanted, is set once a step.

    An observation has the features :data:`~elephan.design.environments.FEATURES` of the last step, each from 0 to 1 or
    from −1 to 1. An action has one number from −1 to 1, or two: the window is multiplied by 2 to the power of the
    first, and the pace is a window in an RTT, multiplied by 2 to the power of the second. ``info`` has the measurements
    of the step in their units. An episode is truncated at the end of the scenario.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (declared so by the base class)

    def __init__(
        self,
        paths: Sequence[Scenario] | None = None,
        *,
        agent: str | None = None,
        step: str | None = None,
        pacing: bool = False,
        reward: str | Reward = "power",
    ) -> None:
        """Prepare the environment.

        Args:
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
            agents=None if agent is None else (agent,),
            step=step,
            pacing=pacing,
            reward=reward,
        )
        self.observation_space = observation_space()
        self.action_space = action_space(self.flows.controls)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seed of the path and of the run; without it the environment goes on drawing.
            options: ``{"path": 3}`` chooses a path by its position.

        Raises:
            ScenarioError: there is no such path.
        """
        super().reset(seed=seed)
        path, run_seed = chosen_path(self.np_random, len(self.flows.paths), options)
        features, measures = self.flows.reset(0, path, run_seed)
        return features[0], information(measures[0]) | {"path": path}

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Apply an action, and take the run one step further.

        Raises:
            ScenarioError: the action is outside its space, or no episode has begun.
        """
        step = self.flows.step(action)
        return (
            step.features[0, 0],
            float(step.rewards[0, 0]),
            False,
            bool(step.over[0]),
            information(step.measures[0, 0]),
        )


def observation_space() -> Any:
    """The space of an agent's observations."""
    return gymnasium.spaces.Box(LOWEST, HIGHEST, (len(FEATURES),), np.float64)


def action_space(controls: int) -> Any:
    """The space of an agent's actions."""
    return gymnasium.spaces.Box(-1.0, 1.0, (controls,), np.float64)


def information(measures: Numbers) -> dict[str, Any]:
    """The measurements of a step by name."""
    return dict(zip(MEASURES, measures.tolist(), strict=True))
