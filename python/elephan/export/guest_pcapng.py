"""The frames of real Linux flows as a packet capture: a run on ``--on linux`` whose path is the engine.

The frames are the guest's own, with Linux's headers and options. Each frame is cut after 192 bytes, since the payload
is zeros. Times count from 2000-01-01 00:00 UTC, the beginning of the run; handshakes are earlier.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from elephan import backends
from elephan.backends import Progress
from elephan.backends.linux.backend import LinuxBackend
from elephan.backends.linux.guest import DEVICES
from elephan.export.events import check_same
from elephan.export.pcapng import Side
from elephan.runs import Run, RunError, permission, tables


def write_guest_pcapng(
    run: Run,
    path: str | Path,
    at: Side = "sender",
    progress: Progress | None = None,
    *,
    allow_programs: bool = False,
) -> None:
    """Repeat a run of the linux backend, and write the frames that its senders or its receivers send and receive.

    Args:
        run: the run; the repeated run must be equal.
        path: the file, in pcapng.
        at: side of the flows at which frames are captured.
        progress: called with the simulated fraction.
        allow_programs: true to run the programs of the scenario again (``[[program]]``).

    Raises:
        ScenarioError: programs are not allowed, or netem in the guest is the path of the run.
        RunError: the run is of another backend, or this version gives another result than the saved result.
        OSError: the file cannot be written.
    """
    backend = backends.get(run.backend)
    if not isinstance(backend, LinuxBackend):
        raise RunError(f"the run {run.id} is of the backend '{run.backend}', and only 'linux' has frames")
    permission.require(run.scenario, allow_programs)
    device = DEVICES[0 if at == "sender" else 1]
    with tempfile.TemporaryDirectory() as folder:
        result = backend.run(run.scenario, run.seed, progress, captures=Path(folder))
        check_same(run, tables.checked(result.tables))
        shutil.move(Path(folder) / f"{device}.pcapng", path)
