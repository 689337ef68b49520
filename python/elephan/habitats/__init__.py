"""The habitats: where a scenario is run. Each gives the same tables for the same scenario."""

from __future__ import annotations

from elephan.habitats.base import Cancelled, EngineDefectError, Habitat, Progress, RawResult, RunMemoryError, varies
from elephan.habitats.memory import MemoryPool
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

TITLES = {
    "sim": "the packet-level engine, in virtual time",
    "model": "fluid equations over one bottleneck",
    "kernel": "real Linux TCP over an emulated bottleneck",
}
NAMES = tuple(TITLES)


def get(name: str, memory: MemoryPool | None = None) -> Habitat:
    """The habitat of a name.

    Args:
        name: one of :data:`NAMES`.
        memory: what its runs may take together; only the simulator's take much.

    Raises:
        ScenarioError: no such habitat, or one that this version does not have.
    """
    if name == "sim":
        from elephan.habitats.sim import SimHabitat

        return SimHabitat(memory)
    if name == "model":
        from elephan.habitats.model import ModelHabitat

        return ModelHabitat()
    if name == "kernel":
        from elephan.habitats.kernel.habitat import KernelHabitat

        return KernelHabitat()
    raise ScenarioError(f"'{name}' is not a habitat; {hint(name, NAMES)}")


__all__ = [
    "NAMES",
    "TITLES",
    "Cancelled",
    "EngineDefectError",
    "Habitat",
    "MemoryPool",
    "Progress",
    "RawResult",
    "RunMemoryError",
    "get",
    "varies",
]
