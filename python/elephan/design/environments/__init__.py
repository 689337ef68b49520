"""Environments in which a controller learns: Gymnasium's interface for one flow, and PettingZoo's for several.

:class:`Flows` is what both are made of, and needs neither of them: many runs in the engine, which one call takes a
step further. The observation, the action and the step are those of ``crates/cc/src/steering.rs``, so what is learned
here can be run in the simulator without Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elephan.design.environments.flows import FEATURES, MEASURES, Flows
from elephan.design.environments.paths import shared_paths, train_paths, unseen_paths
from elephan.design.environments.rewards import REWARDS, Outcomes, Reward

if TYPE_CHECKING:
    from elephan.design.environments.many import CongestionVectorEnv as CongestionVectorEnv
    from elephan.design.environments.one import CongestionEnv as CongestionEnv
    from elephan.design.environments.shared import SharedPathEnv as SharedPathEnv

__all__ = [
    "FEATURES",
    "MEASURES",
    "REWARDS",
    "CongestionEnv",
    "CongestionVectorEnv",
    "Flows",
    "Outcomes",
    "Reward",
    "SharedPathEnv",
    "shared_paths",
    "train_paths",
    "unseen_paths",
]

_HOMES = {
    "CongestionEnv": ("one", "gymnasium"),
    "CongestionVectorEnv": ("many", "gymnasium"),
    "SharedPathEnv": ("shared", "pettingzoo"),
}


def __getattr__(name: str) -> Any:
    """The classes that need Gymnasium or PettingZoo, which are imported when they are first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, library = _HOMES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name not in ("gymnasium", "pettingzoo"):
            raise
        raise ImportError(f"{name} needs {library}: pip install 'elephan[learning]'") from None
