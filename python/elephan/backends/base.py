"""The interface of a backend, which runs a scenario and returns tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elephan.backends.memory import MemoryPool
from elephan.scenario import Scenario, ScenarioError, catalog, transports
from elephan.scenario.check import queues_of
from elephan.scenario.document import changed_fields
from elephan.scenario.form import FlowSpec, LinkSpec

if TYPE_CHECKING:
    import polars as pl

SURELY_DRAWN_PS = 10**6
"""Smallest start jitter, ps, with which two seeds are assumed to draw different starts: 1 µs has a million values."""

Progress = Callable[[float], bool]
"""A callback that is called repeatedly with the simulated fraction, 0 to 1; returning ``False`` cancels the run."""


class Cancelled(Exception):  # noqa: N818  (not an error: the caller cancelled the run)
    """The progress callback stopped the run; no result is saved."""


class ProgramError(Exception):
    """A program of the user failed, so that its run has no result; the message is one line."""


class EngineDefectError(Exception):
    """The engine failed an internal check.

    Attributes:
        failed: the failed check.
        place: the line of the engine's source.
    """

    def __init__(self, failed: str, place: str) -> None:
        self.failed, self.place = failed, place
        super().__init__(f"{failed} ({place})")


@dataclass(frozen=True)
class RawResult:
    """Tables and totals of a run from a backend, without metrics.

    Attributes:
        tables: ``flows``, ``samples`` and ``links``, and ``events`` if the scenario asks for it; each has Arrow's
            PyCapsule interface.
        summary: totals, conservation counts and versions, as the backend reports them.
    """

    tables: dict[str, Any]
    summary: dict[str, Any]


def unknown_fields(form: FlowSpec | LinkSpec, known: Set[str]) -> list[str]:
    """Fields of a flow or a link that are set and that a backend does not support, with their names in a scenario
    file."""
    other = changed_fields(form) - known
    if isinstance(form, LinkSpec) and form.impairments is not None:
        other = other - {"impairments"} | changed_fields(form.impairments)
    return sorted(name.removesuffix("_ps").removesuffix("_ms") for name in other)


def language(flow: FlowSpec) -> str:
    """Language of a user's own algorithm of a flow: Python, Rust or C."""
    if flow.algorithm.endswith(".c"):
        return "C for a Linux kernel"
    return "Rust" if flow.algorithm.endswith((".rs", ".so", ".dylib")) else "Python"


def runner(flow: FlowSpec) -> str:
    """Backend that runs a user's own algorithm of a flow."""
    return "linux" if flow.algorithm.endswith(".c") else "sim"


def refuse_other_backends(name: str, scenario: Scenario) -> None:
    """Reject flows that the scenario assigns to another backend, and queue disciplines that only another backend has.

    Raises:
        ScenarioError: a flow or a queue discipline needs another backend; the message names that backend.
    """
    simulates = name in (transports.SIMULATOR, *transports.TRANSPORTS)
    # A patched kernel, "linux+" and a digest, has all that the kernel has.
    names = (None, name, name.partition("+")[0])
    for i, flow in enumerate(scenario.flow):
        if flow.backend not in names and not (simulates and flow.backend == transports.SIMULATOR):
            raise ScenarioError(
                f"the backend '{name}' has no flows of '{flow.backend}'; write --on {flow.backend}",
                path=f"flow[{i}].backend",
            )
    for field, queue in queues_of(scenario):
        wanted = catalog.backend_of_queue(queue)
        if wanted not in names:
            own = queue.partition(":")[2]
            simulated = f", or '{own}' for the simulator's own" if own in catalog.queues() else ""
            raise ScenarioError(
                f"the backend '{name}' has no queue '{queue}'; write --on {wanted}{simulated}", path=field
            )


def refuse_other_transports(name: str, scenario: Scenario) -> None:
    """Reject flows whose endpoints only another backend has.

    Raises:
        ScenarioError: a flow or a queue discipline needs another backend; the message names that backend.
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
    """Base class of all backends.

    A package offers its own backend by an entry point of the group ``elephan.backends``. The name of the entry point is
    the backend's name, and its value is the class.

    Attributes:
        name: name in ``--on`` and in the ids of runs.
        title: description in one line.
        measures: true if runs are measurements, so that runs with the same seed differ, as on real hosts.
        perturbs: true if the scenario's jitter delays the starts.
        cost: processor time for a segment, divided by the simulator's processor time; used to estimate the duration of
            runs.
        memory: limit on the memory of all runs of this object together.
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
        """Class of a variant of this backend, named by ``--on NAME+WORD``.

        Raises:
            ScenarioError: the backend has no such variant.
        """
        raise ScenarioError(f"'{cls.name}+{word}' is not a backend; '{cls.name}' has no variants")

    @abstractmethod
    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario with the scenario's own seed or another seed.

        Raises:
            ScenarioError: this backend cannot run this scenario; the message has the reason.
            Cancelled: ``progress`` returned ``False``.
        """

    def observed(self, scenario: Scenario, seed: int | None, progress: Progress | None, folder: Path) -> RawResult:
        """Run a scenario as :meth:`run` does, and write captures of its packets into a folder if the backend has any.

        Raises:
            ScenarioError, Cancelled: the errors of :meth:`run`.
        """
        del folder
        return self.run(scenario, seed, progress)

    @abstractmethod
    def version(self) -> str:
        """Version of all code that results depend on; results of another version are not reused."""

    def check(self, scenario: Scenario) -> None:  # noqa: B027  (a backend that runs everything has no checks)
        """Reject a scenario that cannot be run, before the run.

        Raises:
            ScenarioError: this backend cannot run the scenario; the message has the reason.
        """

    def varies(self, scenario: Scenario) -> bool:
        """True if several seeds are replicates of this scenario: it has random events."""
        return scenario.is_random

    def must_differ(self, scenario: Scenario) -> bool:
        """True if equal results of two seeds are a defect, since each flow's ``start_s`` has a delay drawn from the
        seed.

        Other randomness is not considered, since two seeds may have equal results if the random events, such as losses,
        are rare.
        """
        return self.perturbs and bool(scenario.flow) and scenario.form.start_jitter_ps >= SURELY_DRAWN_PS


def only_with_parts(samples: pl.DataFrame, payloads: Mapping[str, int]) -> pl.DataFrame:
    """The table ``samples`` without the column ``delivered_bytes`` if the bytes follow from the segments.

    Args:
        samples: the table, with the column.
        payloads: payload of a whole segment of each flow, bytes.
    """
    return samples.drop("delivered_bytes") if samples["delivered_bytes"].equals(_whole(samples, payloads)) else samples


def with_whole_segments(
    one: pl.DataFrame, other: pl.DataFrame, payloads: Mapping[str, int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two tables ``samples`` of a run, both with ``delivered_bytes`` if one has this column."""
    if not any("delivered_bytes" in table.columns for table in (one, other)):
        return one, other
    first, second = (
        table if "delivered_bytes" in table.columns else table.with_columns(_whole(table, payloads))
        for table in (one, other)
    )
    return first, second


def _whole(samples: pl.DataFrame, payloads: Mapping[str, int]) -> pl.Series:
    """Payload of the delivered segments if all of them are whole."""
    import polars as pl

    sizes = samples["flow"].cast(pl.String).replace_strict(payloads, return_dtype=pl.UInt64)
    return (samples["delivered_segments"] * sizes).alias("delivered_bytes")


def no_links() -> pl.DataFrame:
    """The table ``links`` of a path without a recorded queue: no rows."""
    import polars as pl

    real, whole = pl.Float64(), pl.UInt64()
    queue = {"queue_packets": whole, "queue_mean": real, "queue_min": whole, "queue_max": whole}
    counts = ("arrived", "dropped", "marked", "reordered", "duplicated", "delivered")
    return pl.DataFrame(
        schema={
            "time_s": real,
            "link": pl.Categorical(),
            **queue,
            "queue_integral_packet_s": real,
            **{f"{count}_packets": whole for count in counts},
            "delivered_bytes": whole,
        }
    )
