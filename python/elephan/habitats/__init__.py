"""The habitats: where a scenario is run. Each gives the same tables for the same scenario."""

from __future__ import annotations

from elephan.habitats.base import Cancelled, Habitat, Progress, RawResult, varies
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

TITLES = {
    "sim": "the packet-level engine, in virtual time",
    "model": "fluid equations over one bottleneck",
    "kernel": "real Linux TCP over an emulated bottleneck",
}
NAMES = tuple(TITLES)


def get(name: str) -> Habitat:
    """The habitat of a name.

    Raises:
        ScenarioError: no such habitat, or one that this version does not have.
    """
    if name == "sim":
        from elephan.habitats.sim import SimHabitat

        return SimHabitat()
    if name == "model":
        from elephan.habitats.model import ModelHabitat

        return ModelHabitat()
    if name == "kernel":
        from elephan.habitats.kernel.habitat import KernelHabitat

        return KernelHabitat()
    raise ScenarioError(f"'{name}' is not a habitat; {hint(name, NAMES)}")


__all__ = ["NAMES", "TITLES", "Cancelled", "Habitat", "Progress", "RawResult", "get", "varies"]
