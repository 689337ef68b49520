"""The path and the seed of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elephan.scenario.errors import ScenarioError

_SEEDS = 2**31


def chosen_path(random: np.random.Generator, paths: int, options: Mapping[str, Any] | None) -> tuple[int, int]:
    """The position of an episode's path and the seed of its run, both drawn, unless the options state the path.

    Options with other names are those of wrappers.

    Raises:
        ScenarioError: there is no such path.
    """
    drawn, seed = int(random.integers(paths)), int(random.integers(1, _SEEDS))
    stated = (options or {}).get("path", drawn)
    if isinstance(stated, bool) or not isinstance(stated, int | np.integer) or not 0 <= stated < paths:
        raise ScenarioError(f"{stated!r} is not allowed; it must be from 0 to {paths - 1}", path="options.path")
    return int(stated), seed
