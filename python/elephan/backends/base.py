"""The interface of a backend, which turns a scenario into tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, ClassVar

from elephan.backends.memory import MemoryPool
from elephan.scenario import Scenario, ScenarioError, catalog, transports
from elephan.scenario.check import queues_of
from elephan.scenario.document import changed_fields
from elephan.scenario.form import FlowSpec, LinkSpec

SURELY_DRAWN_PS = 10**6
"""Start jitter from which on two seeds never draw the same start: 1 µs, a million values."""

Progress = Callable[[float], bool]
"""A callback, called now and then with the simulated fraction, 0 to 1; returning ``False`` cancels the run."""


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
    """The tables and totals of a run as a backend gives them, before metrics.

    Attributes:
        tables: ``flows``, ``samples`` and ``links``, and ``events`` where the scenario asks for it; each anything that
            Arrow's PyCapsule interface can read.
        summary: totals, conservation counts and versions, as the backend reports them.
    """

    tables: dict[str, Any]
    summary: dict[str, Any]


def unknown_fields(form: FlowSpec | LinkSpec, known: Set[str]) -> list[str]:
    """The fields in use of a flow or a link that a backend does not know, as a scenario file names them."""
    other = changed_fields(form) - known
    if isinstance(form, LinkSpec) and form.impairments is not None:
        other = other - {"impairments"} | changed_fields(form.impairments)
    return sorted(name.removesuffix("_ps").removesuffix("_ms") for name in other)


def language(flow: FlowSpec) -> str:
    """The language of a flow's algorithm that is the user's own: Python, or C."""
    return "C for a Linux kernel" if flow.algorithm.endswith(".c") else "Python"


def runner(flow: FlowSpec) -> str:
    """The backend that runs a flow's algorithm that is the user's own."""
    return "linux" if flow.algorithm.endswith(".c") else "sim"


def refuse_other_backends(name: str, scenario: Scenario) -> None:
    """Refuse flows that say that another backend has them, and queue disciplines that only another one has.

    Raises:
        ScenarioError: there is one; the sentence names the backend that runs it.
    """
    for i, flow in enumerate(scenario.flow):
        if flow.backend not in (None, name):
            raise ScenarioError(
                f"the backend '{name}' has no flows of '{flow.backend}'; write --on {flow.backend}",
                path=f"flow[{i}].backend",
            )
    for field, queue in queues_of(scenario):
        wanted = catalog.backend_of_queue(queue)
        if wanted not in (None, name):
            own = queue.partition(":")[2]
            simulated = f", or '{own}' for the simulator's own" if own in catalog.queues() else ""
            raise ScenarioError(
                f"the backend '{name}' has no queue '{queue}'; write --on {wanted}{simulated}", path=field
            )


def refuse_other_transports(name: str, scenario: Scenario) -> None:
    """Refuse flows whose endpoints another backend has.

    Raises:
        ScenarioError: there is one; the sentence names the backend that runs it.
    """
    refuse_other_backends(name, scenario)
    for i, flow in enumerate(scenario.flow):
        wanted = transports.backend_of(flow.algorithm)
        if wanted not in (None, name):
            raise ScenarioError(
                f"the backend '{name}' has no endpoints of {flow.algorithm.partition(':')[0]}; write --on {wanted}",
                path=f"flow[{i}].algorithm",
            )


class Backend(ABC):
    """A place where scenarios are run: the base class of all backends.

    A package offers a backend of its own by an entry point of the group ``elephan.backends``, whose name is the
    backend's and whose value is the class.

    Attributes:
        name: as in ``--on`` and in the ids of runs.
        title: one line.
        measures: the same seed gives something else each time, as real hosts do.
        perturbs: starts are moved by the scenario's jitter.
        cost: processor time of a segment, in that of the simulator: only for estimates of how long runs take.
        memory: the memory that the runs of this object may take together.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    measures: ClassVar[bool] = False
    perturbs: ClassVar[bool] = True
    cost: ClassVar[float] = 1.0

    def __init__(self, memory: MemoryPool | None = None) -> None:
        self.memory = memory or MemoryPool()

    @classmethod
    def variant(cls, word: str) -> type[Backend]:
        """The class of a variant of this backend, which ``--on NAME+WORD`` names.

        Raises:
            ScenarioError: there is none.
        """
        raise ScenarioError(f"'{cls.name}+{word}' is not a backend; '{cls.name}' has no variants")

    @abstractmethod
    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario with its own or another seed.

        Raises:
            ScenarioError: this backend cannot run this scenario; the sentence says why.
            Cancelled: ``progress`` returned ``False``.
        """

    @abstractmethod
    def version(self) -> str:
        """The version of everything that decides results; a result of another version is not used again."""

    def check(self, scenario: Scenario) -> None:  # noqa: B027  (a backend that runs everything refuses nothing)
        """Refuse a scenario before anything is run.

        Raises:
            ScenarioError: this backend cannot run it; the sentence says why.
        """

    def varies(self, scenario: Scenario) -> bool:
        """True if another seed gives another result of this scenario."""
        return scenario.is_random

    def must_differ(self, scenario: Scenario) -> bool:
        """True if equal results of two seeds are a defect: each flow's ``start_s`` has a delay drawn from the seed.

        Losses that may not come, and packets that may all be on time, can leave two seeds equal.
        """
        return self.perturbs and bool(scenario.flow) and scenario.form.start_jitter_ps >= SURELY_DRAWN_PS
