"""Trials and criteria of a stranger's class, in restricted processes of their own.

Each core has one process with its share of the trials. A process is ended at its limits and with this one, together
with whatever it may have started. The trials of an algorithm in Rust are in :mod:`elephan.design.remote`.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from elephan.design.trials import Measured, Parameters, Trial
from elephan.design.verdicts import Criterion
from elephan.scenario import rust_files

MEMORY_BYTES = 2 << 30
"""Memory that a process may take beyond what the interpreter and the engine have."""
OUTPUT_BYTES = 4000
ANSWER_BYTES = 1 << 24


class ContainedError(Exception):
    """A candidate that failed, exceeded a limit, or ended its process; the message says which."""


@dataclass
class Outcome:
    """Results of the processes of a candidate.

    Attributes:
        measured: numbers of the trials.
        criteria: verdicts of the criteria.
        limits: restrictions that held, by name.
        output: end of what the candidate printed.
    """

    measured: dict[Trial, Measured] = field(default_factory=dict)
    criteria: list[Criterion] = field(default_factory=list)
    limits: dict[str, str] = field(default_factory=dict)
    output: str = ""

    def take(self, trial: Trial, numbers: Measured) -> None:
        """Take the numbers of a trial.

        Raises:
            ContainedError: the trial had other numbers before.
        """
        # The text, since a number that is missing is not equal to itself.
        if repr(self.measured.setdefault(trial, numbers)) != repr(numbers):
            raise ContainedError(
                f"{trial.title}: two runs with the same seed differ; keep state in self, and draw random numbers "
                "from random.Random(start.seed)"
            )


@dataclass(frozen=True)
class _Share:
    """Work of one process: groups of trials, then criteria by their names."""

    groups: list[list[Trial]]
    criteria: list[str] = field(default_factory=list)

    @property
    def answers(self) -> int:
        """Number of its answers."""
        return len(self.groups) + bool(self.criteria)

    def to_json(self) -> dict[str, Any]:
        """The fields of the request."""
        return {"groups": [[asdict(trial) for trial in group] for group in self.groups], "criteria": self.criteria}


@dataclass
class _Process:
    """A process with its share, and the answers that are still incomplete."""

    child: subprocess.Popen[bytes]
    share: _Share
    errors: IO[bytes]
    text: bytes = b""
    loaded: bool = False
    done: int = 0


def run(
    spec: str, parameters: Parameters, groups: Sequence[Sequence[Trial]], *, jobs: int, wall_s: float,
    modules: Sequence[str] = (), memory_bytes: int = MEMORY_BYTES,
) -> Outcome:  # fmt: skip
    """Run groups of trials, one after the other, of a class in a file.

    A trial that comes twice has to give the same numbers twice.

    Args:
        spec: file and class.
        parameters: parameters of the class.
        groups: trials; a failure in a group ends the rest.
        jobs: number of simultaneous trials.
        wall_s: time for all of it.
        modules: modules that the candidate imports.
        memory_bytes: memory of each process.

    Raises:
        ContainedError: the candidate failed.
        OSError: the file cannot be read.
    """
    shares = [_Share([list(group[i::jobs]) for group in groups]) for i in range(jobs)]
    shares = [share for share in shares if any(share.groups)] or shares[:1]
    return _run(spec, parameters, shares, wall_s, modules, memory_bytes)


def judge(
    spec: str, parameters: Parameters, shares: Sequence[Sequence[str]], *, wall_s: float,
    modules: Sequence[str] = (), memory_bytes: int = MEMORY_BYTES,
) -> Outcome:  # fmt: skip
    """Judge criteria of an algorithm in a file or a library, each share in a process; the other arguments are those of
    :func:`run`.

    Raises:
        ContainedError: the candidate failed.
        OSError: the file cannot be read.
    """
    wanted = [_Share([], list(names)) for names in shares]
    return _run(spec, parameters, wanted, wall_s, modules, memory_bytes)


def _run(
    spec: str, parameters: Parameters, shares: Sequence[_Share], wall_s: float, modules: Sequence[str],
    memory_bytes: int,
) -> Outcome:  # fmt: skip
    outcome = Outcome()
    path, colon, name = (spec, "", "") if rust_files.names(spec) else spec.rpartition(":")
    with copied(Path(path)) as (folder, copies):
        request = {
            "spec": f"{copies[0]}{colon}{name}", "peer": f"{copies[1]}{colon}{name}", "folder": str(folder),
            "parameters": dict(parameters), "modules": list(modules), "memory_bytes": memory_bytes,
            "processor_s": int(wall_s) + 2,
        }  # fmt: skip
        try:
            with _processes(request, shares) as processes:
                try:
                    _collect(processes, outcome, time.monotonic() + wall_s, wall_s)
                finally:
                    outcome.output = max((tail(process.errors) for process in processes), key=len, default="")
        except ContainedError as error:
            raise ContainedError(as_named(str(error), copies, Path(path))) from None
    return outcome


@contextmanager
def copied(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A folder with two copies of a candidate's file; two modules, or libraries, so two flows share no state."""
    with tempfile.TemporaryDirectory(prefix="elephan-candidate-") as folder:
        copies = []
        for number in ("1", "2"):
            place = Path(folder) / number
            place.mkdir()
            copies.append(Path(shutil.copyfile(path, place / path.name)))
        yield Path(folder), copies


def as_named(message: str, copies: Sequence[Path], path: Path) -> str:
    """A message with the user's name of the file."""
    for copy in copies:
        message = message.replace(str(copy), path.name)
    return message


@contextmanager
def _processes(request: dict[str, Any], shares: Sequence[_Share]) -> Iterator[list[_Process]]:
    with ExitStack() as open_files:
        found: list[_Process] = []
        try:
            for share in shares:
                errors, stated = (open_files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
                stated.write(json.dumps(request | share.to_json()).encode())
                stated.seek(0)
                child = started("elephan.design.worker", stated, errors)
                found.append(_Process(child, share, errors))
            yield found
        finally:
            for process in found:
                end(process.child)
                assert process.child.stdout is not None
                process.child.stdout.close()


def started(module: str, requests: IO[bytes] | int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """A process of a module, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", module], stdin=requests, stdout=subprocess.PIPE, stderr=errors,
        start_new_session=True, env=_environment(), cwd="/",
    )  # fmt: skip


def _environment() -> dict[str, str]:
    """An environment without the user's secrets. The hash of texts is fixed, since the order of a set depends on it."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }


def _collect(processes: Sequence[_Process], outcome: Outcome, until: float, wall_s: float) -> None:
    with selectors.DefaultSelector() as watched:
        for process in processes:
            assert process.child.stdout is not None
            watched.register(process.child.stdout, selectors.EVENT_READ, process)
        while watched.get_map():
            left = until - time.monotonic()
            if left <= 0:
                raise took_too_long(wall_s, is_loaded=all(process.loaded for process in processes))
            for key, _ in watched.select(left):
                process = key.data
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    _read(process, chunk, outcome)
                else:
                    watched.unregister(key.fileobj)
                    _check_complete(process)


def _read(process: _Process, chunk: bytes, outcome: Outcome) -> None:
    process.text += chunk
    if len(process.text) > ANSWER_BYTES:
        raise other_answers()
    *lines, process.text = process.text.split(b"\n")
    for line in lines:
        try:
            answer = json.loads(line)
            _take(process, answer, outcome)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise other_answers() from None


def took_too_long(wall_s: float, *, is_loaded: bool) -> ContainedError:
    """The error of a candidate that exceeded its time."""
    where = "in its runs" if is_loaded else "while it was loaded"
    return ContainedError(f"it took more than {wall_s:g} s, {where}; each callback must end soon")


def other_answers() -> ContainedError:
    """The error of a candidate whose process has answers that are not those of the module."""
    return ContainedError("it wrote into the channel of the results")


def _take(process: _Process, answer: dict[str, Any], outcome: Outcome) -> None:
    if "failure" in answer:
        raise ContainedError(str(answer["failure"]))
    if "limits" in answer:
        outcome.limits = {str(name): str(limit) for name, limit in answer["limits"].items()}
    elif "loaded" in answer:
        process.loaded = True
    elif "criteria" in answer:
        found = [Criterion(**row) for row in answer["criteria"]]
        if [one.id for one in found] != process.share.criteria:
            raise ValueError("other criteria")
        outcome.criteria += found
        process.done += 1
    else:
        for trial, row in zip(process.share.groups[process.done], answer["measured"], strict=True):
            outcome.take(trial, Measured(*(float(row[name]) for name in ("own_mbps", "other_mbps", "queue_ms"))))
        process.done += 1


def _check_complete(process: _Process) -> None:
    """Say why a process ended before its trials did."""
    if process.done < process.share.answers:
        raise ended(process.child, process.errors, is_loaded=process.loaded)


def ended(child: subprocess.Popen[bytes], errors: IO[bytes], *, is_loaded: bool) -> ContainedError:
    """The error of a process that ended too early."""
    found = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert found is not None
    status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    # A note on backtraces follows the message of a program in Rust.
    last = next((line for line in reversed(tail(errors).splitlines()) if line and not line.startswith("note: ")), "")
    where = "in its runs" if is_loaded else "while it was loaded"
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and not last):
        return ContainedError(f"it was ended {where}: it took too much processor time or memory")
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
    return ContainedError(f"its process ended {where} {how}{': ' if last else ''}{last[:300]}")


def tail(errors: IO[bytes]) -> str:
    """The end of what a process printed."""
    size = os.fstat(errors.fileno()).st_size
    kept = os.pread(errors.fileno(), OUTPUT_BYTES, max(0, size - OUTPUT_BYTES))
    return kept.decode("utf-8", "replace")


def end(child: subprocess.Popen[bytes]) -> None:
    """End a process and its group. The process is not waited for before, so the group's number is still its own."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
