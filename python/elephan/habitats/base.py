"""What every habitat is: it turns a scenario into the same tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Protocol

from elephan.scenario import Scenario

Progress = Callable[[float], bool]
"""Called now and then with the simulated fraction, 0 to 1; returning ``False`` cancels the run."""


class Cancelled(Exception):  # noqa: N818  (it is not an error: someone asked for it)
    """The progress callback asked for the run to end; nothing of it is kept."""


class RunMemoryError(Exception):
    """A run took more memory than it may; nothing of it is kept."""


class EngineDefectError(Exception):
    """The engine failed at a check of its own.

    Attributes:
        failed: what failed.
        place: the line of the engine's source.
    """

    def __init__(self, failed: str, place: str) -> None:
        self.failed, self.place = failed, place
        super().__init__(f"{failed} ({place})")


@dataclass(frozen=True)
class RawResult:
    """What came out of a habitat, before metrics.

    Attributes:
        tables: ``flows``, ``samples`` and ``links``, and ``events`` where the scenario asks for it; each anything that
            Arrow's PyCapsule interface can read.
        summary: totals, conservation counts and versions, as the habitat reports them.
    """

    tables: dict[str, Any]
    summary: dict[str, Any]


def unknown_fields(form: Mapping[str, Any], known: Set[str]) -> list[str]:
    """The fields of a canonical flow or link that a habitat does not know, as a scenario file names them."""
    other = set(form) - known
    if "impairments" in other:
        other = other - {"impairments"} | set(form["impairments"])
    return sorted(name.removesuffix("_ps").removesuffix("_ms") for name in other)


class Habitat(Protocol):
    """A place where a scenario can be run.

    It may also have ``version()`` (results of another one are not used again), ``check(scenario)`` (raises before
    anything is run), ``varies(scenario)`` (whether another seed gives another result; see :func:`varies`) and
    ``measures = True`` (the same seed gives something else each time).
    """

    name: str

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario with its own or another seed.

        Raises:
            ScenarioError: this habitat cannot run this scenario; the sentence says why.
            Cancelled: ``progress`` returned ``False``.
        """
        ...


def varies(habitat: Habitat, scenario: Scenario) -> bool:
    """Whether another seed gives another result of a scenario in a habitat; it does where the habitat does not say."""
    own = getattr(habitat, "varies", None)
    return scenario.is_random and (own is None or bool(own(scenario)))
