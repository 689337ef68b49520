"""Runs of experiments on a real Linux kernel, as data: the supported runs, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import NotJudgedError
from elephan.scenario import Scenario
from elephan.scenario.words import number_of

if TYPE_CHECKING:
    from elephan.backends.kernel.twin import Twin
    from elephan.runs import Run


@dataclass(frozen=True)
class Carrier:
    """A backend with real Linux endpoints, and the conversion of an experiment's scenarios to scenarios that it can
    run.

    Attributes:
        backend: name of the backend.
        words: name of the backend in a sentence.
        require: raises an error if this host cannot run the backend.
        twin: converts a scenario to its twin; raises an error for an unsupported scenario.
        failed_checks: checks of the backend that a run failed, one sentence each.
        alone: true if runs are in real time, one at a time.
    """

    backend: str
    words: str
    require: Callable[[], None]
    twin: Callable[[Scenario], Twin]
    failed_checks: Callable[[Run], list[str]]
    alone: bool


@dataclass(frozen=True)
class Piece:
    """A run that the kernel supports.

    Attributes:
        experiments: ids of the experiments that contain the run.
        label: label of the run in that experiment.
        scenario: the experiment's scenario.
        twin: the scenario that is run.
        chosen: true if the run is to be made; otherwise only a saved run counts.
        saved: true if there is a saved result.
        again: true if the saved result is not valid and the run is to be repeated.
        takes_s: estimated processing time of the run on the host, s.
    """

    experiments: tuple[str, ...]
    label: str
    scenario: Scenario
    twin: Twin
    chosen: bool
    saved: bool
    again: bool = False
    takes_s: float = 0.0

    @property
    def to_run(self) -> bool:
        """True if the planned run must be made."""
        return self.chosen and (self.again or not self.saved)


@dataclass(frozen=True)
class LeftOut:
    """Runs of an experiment that the kernel does not support, all for the same reason."""

    experiment: str
    labels: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        """The form that ``--json`` prints."""
        return {"experiment": self.experiment, "runs": list(self.labels), "why": self.why}


@dataclass(frozen=True)
class KernelRuns:
    """The plan of some experiments' runs in the kernel.

    Attributes:
        pieces: the supported runs.
        left_out: the unsupported runs.
        refused: the reason why a scenario is not supported, by its hash.
        carrier: the backend of the runs.
    """

    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]
    refused: Mapping[str, str]
    carrier: Carrier

    @property
    def to_run(self) -> list[Piece]:
        """The runs that must be run, in the order of the experiments."""
        return [piece for piece in self.pieces if piece.to_run]

    @property
    def takes_s(self) -> float:
        """Estimated processing time of all runs on the host, one after the other, s."""
        return sum(piece.takes_s for piece in self.to_run)

    def lines(self) -> Iterator[str]:
        """Notes to print before the runs."""
        runs = self.to_run
        there = sum(piece.saved and not piece.again for piece in self.pieces)
        other = sum(not piece.chosen and not piece.saved for piece in self.pieces)
        asked = f", {other} not asked for" if other else ""
        takes = duration(self.takes_s)
        how = f" one after the other, {takes} of real time" if self.carrier.alone else f", {takes} of processor time"
        yield f"in {self.carrier.words}: {number_of(len(runs), 'run')}{how}; {there} are saved{asked}"
        for row in self.left_out:
            yield f"left out: {row.experiment}, {number_of(len(row.labels), 'run')}: {row.why}"


def duration(seconds: float) -> str:
    """A duration as text: hours and minutes, or minutes, or seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


class StandIns(Evidence):
    """Kernel runs by the hash of the experiment's scenario, and the reason for each missing run."""

    def __init__(self, runs: Mapping[str, Run], absent: Mapping[str, str], words: str = "the kernel") -> None:
        super().__init__()
        self._words = words
        self._absent = absent
        for name, run in runs.items():
            self.add(run, name)

    def of(self, scenario: Scenario) -> list[Run]:
        """The kernel run that replaces the run of a scenario.

        Raises:
            NotJudgedError: the scenario has no kernel run; the message has the reason.
        """
        if scenario.hash not in self._by_hash:
            why = self._absent.get(scenario.hash, "it is not part of this selection")
            raise NotJudgedError(f"'{scenario.title or scenario.hash}' has no run in {self._words}: {why}")
        return super().of(scenario)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a planned run.

    Attributes:
        piece: the planned run.
        run: the result; ``None`` if the run was not made or has failed.
        why: reason for a missing or invalid result; empty for a valid result.
    """

    piece: Piece
    run: Run | None
    why: str = ""

    @property
    def valid(self) -> bool:
        """True if claims are judged by the kernel run."""
        return self.run is not None and not self.why

    def to_json(self) -> dict[str, Any]:
        """The form that ``--json`` prints."""
        return {
            "experiments": list(self.piece.experiments),
            "label": self.piece.label,
            "title": self.piece.scenario.title,
            "run": self.run.id if self.run else None,
            "valid": None if self.run is None else self.valid,
            "why": self.why,
            "warnings": list(self.run.warnings) if self.run else [],
            "differences": list(self.piece.twin.differences),
            "duration_s": self.piece.twin.duration_s,
        }
