"""Trials and criteria of a stranger's algorithm, in restricted processes of their own.

Each core has one process with its share of the trials; an algorithm in Rust has one process, with a thread for each
core. A process is ended at its limits and with this one, together with whatever it may have started.
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

from elephan.design.criteria import Criterion
from elephan.design.trials import Measured, Parameters, Trial
from elephan.scenario import rust_files

MEMORY_BYTES = 2 << 30
"""Memory that a process may take beyond what the interpreter and the engine have."""
OUTPUT_BYTES = 4000
_ANSWER_BYTES = 1 << 24


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
    """Run groups of trials, one after the other, of an algorithm in a file.

    A trial that comes twice has to give the same numbers twice.

    Args:
        spec: file and class, or a library.
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
    threads, jobs = (jobs, 1) if rust_files.names(spec) else (1, jobs)
    shares = [_Share([list(group[i::jobs]) for group in groups]) for i in range(jobs)]
    shares = [share for share in shares if any(share.groups)] or shares[:1]
    return _run(spec, parameters, shares, threads, wall_s, modules, memory_bytes)


def judge(
    spec: str, parameters: Parameters, shares: Sequence[Sequence[str]], *, wall_s: float,
    modules: Sequence[str] = (), memory_bytes: int = MEMORY_BYTES,
) -> Outcome:  # fmt: skip
    """Judge criteria of an algorithm in a file, each share in a process; the other arguments are those of :func:`run`.

    Raises:
        ContainedError: the candidate failed.
        OSError: the file cannot be read.
    """
    wanted = [_Share([], list(names)) for names in shares]
    return _run(spec, parameters, wanted, 1, wall_s, modules, memory_bytes)


def _run(
    spec: str, parameters: Parameters, shares: Sequence[_Share], threads: int, wall_s: float, modules: Sequence[str],
    memory_bytes: int,
) -> Outcome:  # fmt: skip
    outcome = Outcome()
    path, colon, name = (spec, "", "") if rust_files.names(spec) else spec.rpartition(":")
    with tempfile.TemporaryDirectory(prefix="elephan-candidate-") as folder:
        # Two copies are two modules, so two flows of the candidate share no state.
        copies = [_copy(Path(path), Path(folder) / number) for number in ("1", "2")]
        request = {
            "spec": f"{copies[0]}{colon}{name}", "peer": f"{copies[1]}{colon}{name}", "folder": folder,
            "parameters": dict(parameters), "modules": list(modules), "memory_bytes": memory_bytes,
            "processor_s": threads * int(wall_s) + 2, "threads": threads,
        }  # fmt: skip
        try:
            with _processes(request, shares) as processes:
                try:
                    _collect(processes, outcome, time.monotonic() + wall_s, wall_s)
                finally:
                    outcome.output = max((_tail(process.errors) for process in processes), key=len, default="")
        except ContainedError as error:
            raise ContainedError(_as_named(str(error), copies, path)) from None
    return outcome


def _copy(path: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copyfile(path, folder / path.name))


def _as_named(message: str, copies: Sequence[Path], path: str) -> str:
    """A message with the user's name of the file."""
    for copy in copies:
        message = message.replace(str(copy), Path(path).name)
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
                child = subprocess.Popen(
                    [sys.executable, "-m", "elephan.design.worker"], stdin=stated, stdout=subprocess.PIPE,
                    stderr=errors, start_new_session=True, env=_environment(), cwd="/",
                )  # fmt: skip
                found.append(_Process(child, share, errors))
            yield found
        finally:
            for process in found:
                _end(process.child)
                assert process.child.stdout is not None
                process.child.stdout.close()


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
                where = "while it was loaded" if not all(p.loaded for p in processes) else "in its runs"
                raise ContainedError(f"it took more than {wall_s:g} s, {where}; each callback must end soon")
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
    if len(process.text) > _ANSWER_BYTES:
        raise ContainedError("it wrote into the channel of the results")
    *lines, process.text = process.text.split(b"\n")
    for line in lines:
        try:
            answer = json.loads(line)
            _take(process, answer, outcome)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise ContainedError("it wrote into the channel of the results") from None


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
            numbers = Measured(*(float(row[name]) for name in ("own_mbps", "other_mbps", "queue_ms")))
            # The text, since a number that is missing is not equal to itself.
            if repr(outcome.measured.setdefault(trial, numbers)) != repr(numbers):
                raise ContainedError(
                    f"{trial.title}: two runs with the same seed differ; keep state in self, and draw random numbers "
                    "from random.Random(start.seed)"
                )
        process.done += 1


def _check_complete(process: _Process) -> None:
    """Say why a process ended before its trials did."""
    if process.done == process.share.answers:
        return
    ended = os.waitid(os.P_PID, process.child.pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    tail = _tail(process.errors).strip().rpartition("\n")[2]
    where = "in its runs" if process.loaded else "while it was loaded"
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and not tail):
        raise ContainedError(f"it was ended {where}: it took too much processor time or memory")
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
    raise ContainedError(f"its process ended {where} {how}{': ' if tail else ''}{tail[:300]}")


def _tail(errors: IO[bytes]) -> str:
    size = os.fstat(errors.fileno()).st_size
    kept = os.pread(errors.fileno(), OUTPUT_BYTES, max(0, size - OUTPUT_BYTES))
    return kept.decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and its group. The process is not waited for before, so the group's number is still its own."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
