"""Trials of a stranger's algorithm in Rust: the engine's threads, in a restricted process of their own.

This process states the runs, and the other one, which has the candidate's library, makes them
(:mod:`elephan.design.engine_worker`). It is ended at its limits and with this one.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from elephan.backends.memory import HEADROOM
from elephan.design import contained, trials
from elephan.design.contained import MEMORY_BYTES, Outcome
from elephan.design.trials import Parameters, Trial, TrialError
from elephan.scenario import ScenarioError, own

_MODULE = "elephan.design.engine_worker"
_CHUNK_BYTES = 1 << 16


class _ParameterError(ScenarioError):
    """A wrong value of a parameter, which is not the candidate's fault."""


Finished = tuple[int, float, tuple[str, str] | None, list[tuple[int, str | None, float, str | None]]]


def run(
    library: str, parameters: Parameters, groups: Sequence[Sequence[Trial]], *, jobs: int, wall_s: float,
    memory_bytes: int = MEMORY_BYTES,
) -> Outcome:  # fmt: skip
    """Run groups of trials, one after the other, of the algorithm of a library.

    A trial that comes twice has to give the same numbers twice.

    Args:
        library: the library's file, which is loaded in the other process only.
        parameters: parameters of the algorithm.
        groups: trials; a failure in a group ends the rest.
        jobs: number of simultaneous runs.
        wall_s: time for all of it.
        memory_bytes: memory of the process.

    Raises:
        ContainedError: the candidate failed.
        ScenarioError: a parameter is wrong.
        OSError: the file cannot be read.
    """
    outcome = Outcome()
    with contained.copied(Path(library)) as (folder, copies):
        specs = [own.known_library(copy) for copy in copies]
        request = {
            "folder": str(folder), "libraries": [str(copy) for copy in copies], "values": dict(parameters),
            "memory_bytes": memory_bytes,
            "processor_s": jobs * int(wall_s) + 2, "metrics": trials.METRICS, "jobs": jobs, "headroom": HEADROOM,
        }  # fmt: skip
        try:
            with _process(request, wall_s) as process:
                try:
                    process.wait_until_loaded()
                    for group in groups:
                        found = trials.measure(
                            specs[0], parameters, group, peer=specs[1], jobs=jobs, memory=memory_bytes,
                            threads=lambda *_: process,
                        )  # fmt: skip
                        for trial, numbers in found.items():
                            outcome.take(trial, numbers)
                finally:
                    outcome.limits, outcome.output = process.limits, contained.tail(process.errors)
        except _ParameterError:
            raise
        except (contained.ContainedError, TrialError, ScenarioError) as error:
            raise contained.ContainedError(contained.as_named(str(error), copies, Path(library))) from None
    return outcome


@contextmanager
def _process(request: dict[str, Any], wall_s: float) -> Iterator[_Process]:
    with tempfile.TemporaryFile() as errors:
        child = contained.started(_MODULE, subprocess.PIPE, errors)
        try:
            yield _Process(child, errors, request, wall_s)
        finally:
            contained.end(child)
            for pipe in (child.stdin, child.stdout):
                assert pipe is not None
                pipe.close()


class _Process:
    """A process with the engine's threads, which are asked as if they were in this one.

    Attributes:
        errors: what the process prints.
        limits: restrictions that hold, by name.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], errors: IO[bytes], request: dict[str, Any], wall_s: float
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.errors, self.limits = errors, dict[str, str]()
        self._child, self._request, self._wall_s = child, request, wall_s
        self._until = time.monotonic() + wall_s
        self._input, self._output = child.stdin.fileno(), child.stdout.fileno()
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)
        self._unsent, self._unread = bytearray(json.dumps(request).encode() + b"\n"), bytearray()
        self._is_loaded = False
        self._has_values = bool(request["values"])
        self._metrics = len(request["metrics"])
        self._finished: list[Finished] = []

    def wait_until_loaded(self) -> None:
        """Wait until the candidate is loaded.

        Raises:
            ContainedError: it failed before.
        """
        while not self._is_loaded:
            self._exchange(self._wall_s)

    def submit(self, number: int, form: str, libraries: Mapping[int, str], /) -> None:
        """Hand over a run; it is sent as soon as the process reads it."""
        self._unsent += json.dumps([number, form, dict(libraries)]).encode() + b"\n"
        self._exchange(0.0)

    def collect(self, timeout_s: float, /) -> list[Finished]:
        """Finished runs; waits until there is one, for at most ``timeout_s``.

        Raises:
            ContainedError: the process ended, or exceeded its time.
        """
        until = time.monotonic() + timeout_s
        while not self._finished and (left_s := until - time.monotonic()) > 0:
            self._exchange(left_s)
        found, self._finished = self._finished, []
        return found

    def stop(self) -> None:
        """Nothing is left to stop: the process is ended after its last run."""

    def _exchange(self, wait_s: float) -> None:
        """Write and read what is possible, once.

        Raises:
            ContainedError: the process ended, or exceeded its time.
        """
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise contained.took_too_long(self._wall_s, is_loaded=self._is_loaded)
        wanted = [self._input] if self._unsent else []
        readable, writable, _ = select.select([self._output], wanted, [], min(wait_s, left_s))
        if writable:
            try:
                del self._unsent[: os.write(self._input, self._unsent[:_CHUNK_BYTES])]
            except BrokenPipeError:
                self._unsent.clear()  # it ended, which its output says next
        if readable:
            chunk = os.read(self._output, _CHUNK_BYTES)
            if not chunk:
                raise contained.ended(self._child, self.errors, is_loaded=self._is_loaded)
            self._read(chunk)

    def _read(self, chunk: bytes) -> None:
        self._unread += chunk
        *lines, rest = self._unread.split(b"\n")
        self._unread = rest
        if len(rest) > contained.ANSWER_BYTES:
            raise contained.other_answers()
        for line in lines:
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise contained.other_answers() from None

    def _take(self, answer: dict[str, Any]) -> None:
        if "parameter" in answer and self._has_values:
            raise _ParameterError(str(answer["failure"]), path=str(answer["parameter"]), source="score")
        if "failure" in answer:
            raise contained.ContainedError(str(answer["failure"]))
        if "limits" in answer:
            self.limits = {str(name): str(limit) for name, limit in answer["limits"].items()}
        elif "loaded" in answer:
            self._is_loaded = True
        else:
            number, seconds, failed, entries = answer["run"]
            if failed is not None:
                kind, text = failed
                failed = str(kind), str(text)
            self._finished.append((int(number), float(seconds), failed, [self._entry(*entry) for entry in entries]))

    def _entry(self, metric: Any, of: Any, value: Any, why: Any) -> tuple[int, str | None, float, str | None]:
        if not 0 <= int(metric) < self._metrics:
            raise ValueError("another metric")
        return int(metric), None if of is None else str(of), float(value), None if why is None else str(why)
