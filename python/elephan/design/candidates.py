"""Candidates: what a design loop judges, and how its runs are made."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elephan.design import contained, remote, reviewed, reviewed_rust, trials
from elephan.design.trials import Measured, Parameters, Trial, TrialError
from elephan.design.verdicts import Criterion
from elephan.runs import SweepError
from elephan.runs.provenance import cores
from elephan.scenario import ScenarioError, c_files, own, reading, rust_files
from elephan.scenario.catalog import algorithms
from elephan.scenario.words import hint

_MOST_BYTES = 1_000_000
_C = ".c"
_IN_A_GUEST = "not restricted"


class CandidateError(Exception):
    """A candidate that cannot be judged, or that failed in a run; the message says what its author can change."""


@dataclass
class Candidate:
    """An algorithm with its parameters.

    Attributes:
        name: what the user wrote.
        spec: name in a scenario; of a file its path and its class, of Rust the compiled library.
        parameters: parameters of the algorithm.
        digest: SHA-256 of the text, or of the library; of a built-in algorithm, none.
        modules: modules that a file imports.
        limits: restrictions that held in its runs, by name.
        output: end of what it printed.
    """

    name: str
    spec: str
    parameters: Parameters
    digest: str = ""
    modules: tuple[str, ...] = ()
    limits: dict[str, str] | None = None
    output: str = ""

    @property
    def in_file(self) -> bool:
        """True if the candidate is code from a file."""
        return own.names_file(self.spec)

    @property
    def in_c(self) -> bool:
        """True if the candidate is C for a Linux kernel, on which it then runs, and its baseline too."""
        return self.spec.endswith(_C)

    def measure(self, groups: Sequence[Sequence[Trial]], *, jobs: int | None, wall_s: float) -> dict[Trial, Measured]:
        """Run groups of trials, one after the other.

        Raises:
            CandidateError: the candidate failed.
            ScenarioError: a parameter of a built-in algorithm, or of one in Rust, is wrong.
        """
        if self.in_c or not self.in_file:
            run = trials.measure_on_linux if self.in_c else trials.measure
            try:
                every = [trial for group in groups for trial in group]
                return run(self.spec, self.parameters, every, jobs=jobs)
            except TrialError as error:
                raise CandidateError(str(error)) from None
        jobs = jobs or cores()
        try:
            if rust_files.names(self.spec):
                found = remote.run(self.spec, self.parameters, groups, jobs=jobs, wall_s=wall_s)
            else:
                found = contained.run(
                    self.spec, self.parameters, groups, jobs=jobs, wall_s=wall_s, modules=self.modules
                )
        except contained.ContainedError as error:
            raise CandidateError(str(error)) from None
        self.limits, self.output = found.limits, found.output
        return found.measured

    def judge(self, *, jobs: int | None, wall_s: float) -> list[Criterion]:
        """Judge the criteria of the suite.

        Raises:
            CandidateError: the candidate failed.
        """
        from elephan.design import criteria  # slow to import

        if self.in_c or not self.in_file:
            try:
                return criteria.judge(self.spec, self.parameters, on="linux" if self.in_c else "sim", jobs=jobs)
            except SweepError as error:
                raise CandidateError(str(error.failures[0].error)) from None
        shares = criteria.shares(jobs or cores())
        try:
            found = contained.judge(self.spec, self.parameters, shares, wall_s=wall_s, modules=self.modules)
        except contained.ContainedError as error:
            raise CandidateError(str(error)) from None
        return found.criteria


def candidate(name: str, parameters: Parameters | None = None) -> Candidate:
    """The candidate of a name: a built-in algorithm, ``mine.py:Mine``, ``mine.rs``, a crate, or ``tcp_mine.c``.

    Raises:
        ScenarioError: there is no such algorithm or file.
        CandidateError: the file is no candidate.
    """
    given = dict(parameters or {})
    if not own.names_file(name):
        if name.partition(":")[0] not in algorithms():
            message = f"'{name}' is neither an algorithm nor a file; {hint(name, algorithms())}"
            raise ScenarioError(message, source="score")
        return Candidate(name, name, given)
    if name.endswith(_C):
        return _in_c(name, given)
    if rust_files.names(name):
        return _in_rust(name, given)
    file, _, cls = name.partition(".py:")
    path = Path(f"{file}.py" if cls else name)
    if path.suffix != ".py" and not path.exists():
        raise ScenarioError(reading.missing(path), source="score")
    if path.suffix != ".py":
        raise ScenarioError(
            f"'{name}' is neither Python nor Rust nor C; write for example ./mine.py:Mine", source="score"
        )
    try:
        text = reading.read_bytes(path, _MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        raise ScenarioError(reading.missing(path, "*.py"), source="score") from None
    except ScenarioError as error:
        raise CandidateError(error.message) from None
    try:
        cls = cls or reviewed.class_of(text)
        modules = reviewed.review(text)
    except reviewed.ReviewError as error:
        raise CandidateError(str(error)) from None
    return Candidate(name, f"{path.absolute()}:{cls}", given, hashlib.sha256(text.encode()).hexdigest(), modules)


def _in_rust(name: str, parameters: Parameters) -> Candidate:
    """A candidate in Rust, reviewed before it is compiled, since a compiler reads files; a library has no text."""
    try:
        file = rust_files.read(Path(name))
    except ScenarioError as error:
        if not Path(name).exists():
            raise ScenarioError(error.message, source="score") from None
        raise CandidateError(error.message) from None
    try:
        reviewed_rust.review(file)
        library = rust_files.library(file)
    except reviewed.ReviewError as error:
        raise CandidateError(str(error)) from None
    except ScenarioError as error:
        raise CandidateError(error.message) from None
    return Candidate(name, str(library), parameters, file.digest)


def _in_c(name: str, parameters: Parameters) -> Candidate:
    """A candidate in C. A guest's kernel is a process of the user, so nothing restricts what is compiled into it."""
    try:
        file = c_files.read(Path(name))
    except ScenarioError as error:
        if not Path(name).is_file():
            raise
        raise CandidateError(error.message) from None
    limits = dict.fromkeys(("network", "processes", "files written", "files read", "memory"), _IN_A_GUEST)
    return Candidate(name, str(file.path), parameters, file.digest, limits=limits)
