"""A guest: a process of User Mode Linux that boots, runs a plan in virtual time, and ends."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from elephan import parts
from elephan.backends.base import Cancelled, ProgramError, Progress
from elephan.backends.linux import qlogs
from elephan.backends.linux.kernels import BINARY, SEEDED, Kernel, cache
from elephan.backends.linux.plan import Plan
from elephan.backends.linux.programs import OUTPUT_BYTES
from elephan.scenario import ScenarioError
from elephan.scenario.catalog import engine
from elephan.scenario.errors import one_line

if TYPE_CHECKING:
    import polars as pl

PROGRAM = "elephan-guest"
ENVIRONMENT = "ELEPHAN_GUEST"
"""Environment variable with the path of the guest's program, if it is not the package's."""
PATH_PROGRAM = "elephan-linux"
DEVICES = ("senders", "receivers")
"""The guest's network devices."""
PATH_ENVIRONMENT = "ELEPHAN_LINUX_PATH"
"""Environment variable with the path of the program that simulates the path outside a guest, if it is not the
package's."""

COUNTER = "elephan-counter.so"
"""Library that gives programs the processor's cycle counter in virtual time."""
COUNTER_ENVIRONMENT = "ELEPHAN_COUNTER"
"""Environment variable with the path of this library, if it is not the package's."""

HUNG_S = 30.0
"""Processor time without progress after which a guest counts as hung, s."""

_SLOW_S = 1800.0
_PIECE_BYTES = 1 << 16
_LOOK_S = 0.05
_START_NS = 1_000_000_000
# Exit status of the path's program for a scenario that the engine rejects.
_REFUSED = 2
_PLACE = re.compile(r"flows\[(?P<position>\d+)\]\.(?P<field>\S+): (?P<message>.*)")


class GuestError(Exception):
    """A guest failed; the message is one line."""


class ProgramGuestError(GuestError, ProgramError):
    """A guest ended because a program of the user failed."""


def _failed(said: str) -> GuestError:
    kind = ProgramGuestError if said.startswith("program '") else GuestError
    return kind(f"the guest failed: {said}")


@dataclass(frozen=True)
class Log:
    """The files that a guest wrote.

    Attributes:
        words: records, as numbers of eight bytes.
        result: sizes of records, starts and completions.
        processor_s: processor time of the guest on the host, s.
        wall_s: wall time of the guest, s.
        tables: the engine's tables of links and of simulated flows, if the engine simulates the path.
        totals: the engine's summary, if the engine simulates the path.
        connections: the connections of programs that the path has seen.
        outputs: outputs of programs, by ``number/role.stream``.
        files: files that programs left in their folders: for each program's number, size and SHA-256 by
            ``role/name``.
        qlogs: logs that programs wrote.
        complaints: sentences on logs that cannot be read.
    """

    words: bytes
    result: dict[str, Any]
    processor_s: float
    wall_s: float
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    totals: dict[str, Any] = field(default_factory=dict)
    connections: list[dict[str, Any]] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    files: dict[int, dict[str, dict[str, Any]]] = field(default_factory=dict)
    qlogs: qlogs.Logs = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def program() -> Path | None:
    """The program that the guest starts first: ``$ELEPHAN_GUEST``, or the package's."""
    return parts.program(PROGRAM, ENVIRONMENT)


def path_program() -> Path | None:
    """The program that simulates the path outside a guest: ``$ELEPHAN_LINUX_PATH``, or the package's."""
    return parts.program(PATH_PROGRAM, PATH_ENVIRONMENT)


def counter() -> Path | None:
    """The library of the programs' cycle counter: ``$ELEPHAN_COUNTER``, or the package's."""
    return parts.program(COUNTER, COUNTER_ENVIRONMENT)


def run(plan: Plan, kernel: Kernel, progress: Progress | None, captures: Path | None = None) -> Log:
    """Run a plan. The captures of both devices, if the engine is the path, go to the folder ``captures``.

    Raises:
        ScenarioError: a program is missing, or the engine rejects the scenario.
        GuestError: the guest failed, or hung.
        Cancelled: ``progress`` returned ``False``.
    """
    first = required(program(), PROGRAM)
    with _root(plan, first) as folder:
        began = time.monotonic()
        with _started(plan, kernel, first, folder, capture=captures is not None) as process:
            processor_s = _follow(process, folder, progress, kernel.changes)
        root = folder / "root"
        if plan.outside and process.returncode == _REFUSED:
            raise _told(_console(folder))
        if (root / "error").exists():
            raise _failed(one_line((root / "error").read_text(encoding="utf-8")))
        if not (root / "result.json").exists():
            raise GuestError(f"the guest ended without a result: {_console(folder)}")
        if plan.outside and process.returncode != 0:
            raise GuestError(f"the path of the guest failed: {_console(folder)}")
        if captures is not None:
            for device in DEVICES:
                shutil.move(folder / f"{device}.pcapng", captures)
        result = json.loads((root / "result.json").read_text(encoding="utf-8"))
        tables, totals = _of_engine(folder) if plan.outside else ({}, {})
        log = Log((root / "log").read_bytes(), result, processor_s, time.monotonic() - began, tables, totals)
        if not plan.programs:
            return log
        connections = json.loads((folder / "connections.json").read_text(encoding="utf-8"))
        kept = root / "programs"
        logs, complaints = qlogs.of_folder(kept)
        return dataclasses.replace(
            log, connections=connections, outputs=_outputs(kept), files=_files(kept), qlogs=logs, complaints=complaints
        )


class End(NamedTuple):
    """The end of a command."""

    status: int
    """Exit status; 128 and the signal, if a signal ended it."""
    time_s: float
    """Time within the run, s."""


def execute(plan: Plan, kernel: Kernel, text: bytes, tell: Callable[[bytes, bool], None]) -> End | None:
    """Run a plan with a command until the command ends.

    Args:
        plan: the plan, whose last program is the command.
        kernel: the kernel.
        text: input of the command.
        tell: called with each piece of output, and true if it is an error message.

    Returns:
        Its end; ``None`` if the scenario ended before the command.

    Raises:
        ScenarioError, GuestError: the errors of :func:`run`.
    """
    first = required(program(), PROGRAM)
    with _root(plan, first) as folder, contextlib.ExitStack() as stack:
        root = folder / "root"
        (root / "input").write_bytes(text)
        outputs = []
        for name in ("output", "errors"):
            (root / name).touch()
            outputs.append(stack.enter_context((root / name).open("rb")))

        def pass_on(_: float) -> bool:
            for file, is_error in zip(outputs, (False, True), strict=True):
                while piece := file.read(_PIECE_BYTES):
                    tell(piece, is_error)
            return True

        process = stack.enter_context(_started(plan, kernel, first, folder, capture=False))
        _follow(process, folder, pass_on, kernel.changes)
        pass_on(1)
        if (root / "status").exists():
            status, time_ns = (root / "status").read_text(encoding="ascii").split()
            return End(int(status), int(time_ns) / 1e9)
        if process.returncode == _REFUSED:
            raise _told(_console(folder))
        if (root / "error").exists():
            raise _failed(one_line((root / "error").read_text(encoding="utf-8")))
        if process.returncode != 0:
            raise GuestError(f"the path of the guest failed: {_console(folder)}")
        return None


def required(found: Path | None, name: str) -> Path:
    """Check that a program for a run exists.

    Raises:
        ScenarioError: the program does not exist.
    """
    if found is None:
        raise ScenarioError(
            f"the backend 'linux' needs {name}, which is not built; run 'make programs' in the source tree"
        )
    return found


def _outputs(folder: Path) -> dict[str, str]:
    """The outputs of programs: the whole of a short one, the beginning and the end of a long one."""
    found = {}
    for file in sorted(folder.glob("*/*")):
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if len(text) > OUTPUT_BYTES:
            left_out = len(text) - OUTPUT_BYTES
            half = OUTPUT_BYTES // 2
            text = f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"
        found[str(file.relative_to(folder))] = text
    return found


def _files(folder: Path) -> dict[int, dict[str, dict[str, Any]]]:
    """Size and SHA-256 of the files that programs left."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for file in sorted(folder.glob("*/*/**/*")):
        if file.is_file():
            number, *place = file.relative_to(folder).parts
            name = "/".join(place).encode(errors="backslashreplace").decode()
            with file.open("rb") as content:
                sha = hashlib.file_digest(content, "sha256").hexdigest()
            found.setdefault(int(number), {})[name] = {"bytes": file.stat().st_size, "sha256": sha}
    return found


def _of_engine(folder: Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """The engine's tables and its summary."""
    import polars as pl

    read = engine().read_tables((folder / "tables").read_bytes())
    tables = {name: pl.DataFrame(table) for name, table in read.items()}
    totals: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return tables, totals


def _told(text: str) -> ScenarioError:
    """The engine's error message, converted to an error that names the field of the scenario."""
    match = _PLACE.fullmatch(text)
    if match is None:
        return ScenarioError(f"the engine cannot be the path: {text}")
    return ScenarioError(match["message"], path=f"flow[{match['position']}].{match['field']}")


@contextlib.contextmanager
def _root(plan: Plan, first: Path) -> Iterator[Path]:
    """A temporary folder with the guest's root file system. Folders that killed processes left behind are removed
    too."""
    above = cache() / "guests"
    above.mkdir(parents=True, exist_ok=True)
    with (above / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_abandoned(above)
        folder = Path(tempfile.mkdtemp(dir=above))
        mine = (folder / "lock").open("w")
        fcntl.flock(mine, fcntl.LOCK_EX)
    try:
        (folder / "root" / "proc").mkdir(parents=True)
        (folder / "uml").mkdir()
        shutil.copy(first, folder / "root" / "init")
        (folder / "root" / "plan.json").write_text(json.dumps(plan.document), encoding="utf-8")
        if plan.outside:
            (folder / "spec.json").write_text(json.dumps(plan.engine_form), encoding="utf-8")
        if plan.programs:
            shutil.copy(required(counter(), COUNTER), folder / COUNTER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        mine.close()


def _remove_abandoned(above: Path) -> None:
    """Remove the folders whose lock no process holds, since their process has ended."""
    for path in above.glob("*/lock"):
        with contextlib.suppress(OSError), path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)


def arguments(plan: Plan) -> list[str]:
    """The kernel's command line. The kernel uses the command line as entropy, so the line must not differ between
    runs."""
    clock = "ext:clock" if plan.outside else "inf-cpu"
    devices = [f"virtio_uml.device={name}:1" for name in DEVICES]
    zero_ns = plan.document["zero_ns"]
    path = [*devices, "virtio_net.napi_tx=0"] if plan.outside else [f"sch_netem.elephan_from_ns={zero_ns}"]
    return [
        f"mem={plan.memory_bytes >> 20}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root", "rw",
        "init=/init", f"time-travel={clock}", f"time-travel-start={_START_NS}", "uml_dir=/proc/self/cwd/uml/",
        "umid=guest", "con=null", "con0=null,fd:1", "quiet", "panic=-1", *plan.clock, *path, *plan.arguments,
    ]  # fmt: skip


@contextlib.contextmanager
def _started(
    plan: Plan, kernel: Kernel, first: Path, folder: Path, *, capture: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the guest's process; at the end of the context this process and all its children are ended."""
    # In the guest's folder, since the loader divides the list at spaces and colons of a path.
    preloaded = [str(kernel.folder / SEEDED), *([f"./{COUNTER}"] if plan.programs else [])]
    environment = {
        "LD_PRELOAD": ":".join(preloaded), "ELEPHAN_GUEST_SEED": str(plan.form.seed), "HOME": "/", "PATH": "/",
    }  # fmt: skip
    words = [str(kernel.folder / BINARY), *arguments(plan)]
    with contextlib.ExitStack() as stack:
        if plan.outside:
            processor = stack.enter_context(_processor(folder.parent))
            words = _behind_path(plan, words, environment, first, folder, processor, capture=capture)
            environment = {"PATH": "/"} | ({"LD_PRELOAD": f"./{COUNTER}"} if plan.programs else {})
        words = [str(first), "launch", str(os.getpid()), *words]
        with (folder / "console").open("wb") as console:
            process = subprocess.Popen(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield process
        finally:
            _end(process)


@contextlib.contextmanager
def _processor(above: Path) -> Iterator[int | None]:
    """A processor on which no other guest runs; ``None`` if there is none."""
    for number in sorted(os.sched_getaffinity(0), reverse=True):
        with (above / f"processor-{number}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    yield None


def _behind_path(
    plan: Plan,
    words: list[str],
    environment: dict[str, str],
    first: Path,
    folder: Path,
    processor: int | None,
    *,
    capture: bool,
) -> list[str]:
    """The command of the path's program, which starts the guest and ends it when the program itself ends."""
    hosted = [
        {"position": i, "sender": flow["sender"], "receiver": flow["receiver"]}
        for i, flow in zip(plan.real, plan.document["flows"], strict=True)
    ]
    hosted += [
        {"position": i, "sender": sender, "receiver": receiver, "program": True}
        for i, (sender, receiver) in plan.ends.items()
    ]
    measure = plan.form.measure
    path = {
        "zero_ns": plan.document["zero_ns"],
        "processor": processor,
        "capture": capture,
        "command": [str(first), "launch", "PARENT", *words],
        "environment": environment,
        "flows": hosted,
        "sample_times_ns": plan.sample_times_ns if plan.programs else [],
        "measured_ns": (measure.from_ps // 1000, measure.to_ps // 1000),
    }
    (folder / "path.json").write_text(json.dumps(path), encoding="utf-8")
    return [str(required(path_program(), PATH_PROGRAM)), "run"]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    # The guest's processes are processes of the host in the same session.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _follow(process: subprocess.Popen[bytes], folder: Path, progress: Progress | None, changes: Sequence[str]) -> float:
    """Wait for the end. Returns the processor time of the guest, s; ``changes`` are those of the kernel by the user."""
    seen, spent_s, spent_then, seen_at = 0.0, 0.0, 0.0, time.monotonic()
    wait_s = _LOOK_S / 10
    while process.poll() is None:
        time.sleep(wait_s)
        wait_s = min(_LOOK_S, 1.5 * wait_s)
        spent_s = max(spent_s, _processor_s(process.pid))
        done = _progress(folder, seen)
        if done < seen:
            raise GuestError(f"the guest restarted at {seen:g} % of the run" + _by(changes))
        if done > seen:
            seen, spent_then, seen_at = done, spent_s, time.monotonic()
        if progress is not None and not progress(done / 100):
            raise Cancelled
        if spent_s - spent_then > HUNG_S or time.monotonic() - seen_at > _SLOW_S:
            raise GuestError(
                f"the guest hung at {done:g} % of the run: no progress in {HUNG_S:g} s of processor time"
                + _by(changes, "an endless loop")
            )
    return spent_s


def _by(changes: Sequence[str], what: str = "the reason") -> str:
    """The part of a message that names the user's changes of the kernel; nothing without changes."""
    return f"; {', '.join(changes)} may contain {what}" if changes else ""


def _progress(folder: Path, before: float) -> float:
    """Progress of the run, percent in tenths; as before while the guest writes it."""
    try:
        return float((folder / "root" / "progress").read_text(encoding="ascii") or before)
    except (OSError, ValueError):
        return before


def _processor_s(pid: int) -> float:
    """Processor time of a guest and of the processes in it, s."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        guest = psutil.Process(pid)
        for one in (guest, *guest.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = one.cpu_times()
                total += times.user + times.system
    return total


def _console(folder: Path) -> str:
    """The last line of the console; after a panic, the line of the panic and the line before."""
    lines = (folder / "console").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    panic = next((at for at, line in enumerate(lines) if "Kernel panic" in line), None)
    told = lines[-1:] if panic is None else lines[max(panic - 1, 0) : panic + 1]
    return one_line("; ".join(told)) if told else "nothing on its console"
