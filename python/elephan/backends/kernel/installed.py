"""Algorithms in BPF for the whole host: each is registered by a pinned link, until the algorithm is uninstalled or the
host restarts.

A record beside the pinned link has the algorithm's name and parameters. Both disappear at a restart.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elephan.backends.kernel import bpf
from elephan.backends.kernel.libbpf import BpfError, CongestionControl
from elephan.backends.kernel.object_file import ObjectFile
from elephan.backends.kernel.traces import runtime_dir
from elephan.scenario.catalog import Parameter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

BPFFS = Path("/sys/fs/bpf")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_POLL_S, _LONGEST_S = 0.01, 10.0
_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")  # the kernel's names have 15 characters


@dataclass(frozen=True)
class Installed:
    """An algorithm that this host's sockets may select.

    Attributes:
        name: name of the algorithm for ``TCP_CONGESTION`` and the sysctl.
        algorithm: name in Elephan, with or without a preset.
        parameters: the parameters that were set.
        allowed: true if processes without privileges may use the algorithm.
        previous_default: the host's earlier default; empty if the algorithm was not made the default.
    """

    name: str
    algorithm: str
    parameters: dict[str, Parameter]
    allowed: bool = False
    previous_default: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON form of the installed algorithm, with its current state."""
        return asdict(self) | {"default": default() == self.name, "connections": len(_users(self.name))}


def default() -> str:
    """The host's default algorithm."""
    return DEFAULT.read_text().strip()


def _pins() -> Path:
    return BPFFS / "elephan"


def _records() -> Path:
    return runtime_dir() / "installed"


def everything() -> list[Installed]:
    """Installed algorithms; a record without its pinned link is ignored."""
    found = []
    for path in sorted(_records().glob("*.json")):
        record = Installed(**json.loads(path.read_text()))
        if record.name in bpf.AVAILABLE.read_text().split():
            found.append(record)
    return found


def install(
    algorithm: str,
    parameters: Mapping[str, Parameter],
    name: str | None = None,
    *,
    allow: bool = False,
    as_default: bool = False,
) -> Installed:
    """Register an algorithm for the whole host, until :func:`uninstall` or a restart.

    Args:
        algorithm: name of the algorithm, with or without a preset.
        parameters: parameters of the algorithm.
        name: name for sockets; the algorithm's own name by default.
        allow: true to let processes without privileges use the algorithm.
        as_default: true to make the algorithm the default of every new socket; then all processes may use it.

    Raises:
        ScenarioError: the algorithm does not exist, or the name for sockets is wrong or taken.
        BpfError: this host cannot register the algorithm.
    """
    own_name, values = bpf.resolve(algorithm, parameters)
    name = own_name if name is None else name
    if _NAME.fullmatch(name) is None:
        raise ScenarioError(f"'{name}' is no name for the kernel: up to 15 of a-z, 0-9 and _, a letter first")
    if reason := bpf.missing():
        raise BpfError(f"'{algorithm}' cannot be installed in this kernel: {reason}")
    if name in bpf.AVAILABLE.read_text().split():
        raise ScenarioError(
            f"'{name}' is taken: this kernel has a congestion control of that name; choose another with --as"
        )
    done = Installed(name, algorithm, dict(parameters), allow, default() if as_default else "")
    _register(own_name, values, name)
    try:
        _records().mkdir(parents=True, exist_ok=True)
        (_records() / f"{name}.json").write_text(json.dumps(asdict(done)))
        if allow:
            ALLOWED.write_text(" ".join([*ALLOWED.read_text().split(), name]))
        if as_default:
            DEFAULT.write_text(name)
    except BaseException:
        _remove(name)
        raise
    return done


def _register(algorithm: str, values: Mapping[str, Parameter], name: str) -> None:
    _mount()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"{name}.bpf.o"
        bpf.compile_object(algorithm, name, target)
        constants = bpf.read_only_data(algorithm, values, ObjectFile(target), "none")
        control = CongestionControl(target, constants)
        try:
            _pins().mkdir(mode=0o700, exist_ok=True)
            control.pin(_pins() / name)
        finally:
            control.close()


def _mount() -> None:
    """Mount bpffs at its usual path, if the host's init system has not done so."""
    kinds = {line.split()[1]: line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    if kinds.get(str(BPFFS)) == "bpf":
        return
    done = subprocess.run(["mount", "-t", "bpf", "bpf", str(BPFFS)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BpfError(f"the BPF file system cannot be mounted at {BPFFS}: {' '.join(done.stderr.split())}")


def uninstall(name: str) -> None:
    """Uninstall an algorithm; the kernel has removed it when this function returns.

    Raises:
        ScenarioError: no algorithm of this name was installed, or the algorithm is the host's default or in use.
        BpfError: the caller is not root.
    """
    known = {record.name: record for record in everything()}
    if name not in known:
        raise ScenarioError(f"'{name}' is not installed; {hint(name, known) if known else 'nothing is'}")
    if default() == name:
        other = known[name].previous_default or "cubic"
        raise ScenarioError(
            f"'{name}' is this host's default; choose another first: sysctl net.ipv4.tcp_congestion_control={other}"
        )
    if users := _users(name):
        more = f" and {len(users) - 1} more" if len(users) > 1 else ""
        raise ScenarioError(f"'{name}' is in use by the connection {users[0]}{more}; close it first")
    if os.geteuid() != 0:
        raise BpfError(f"'{name}' cannot be uninstalled: needs root")
    _remove(name)


def _remove(name: str) -> None:
    allowed = ALLOWED.read_text().split()
    if name in allowed and len(allowed) > 1:
        ALLOWED.write_text(" ".join(word for word in allowed if word != name))
    (_pins() / name).unlink(missing_ok=True)
    (_records() / f"{name}.json").unlink(missing_ok=True)
    with suppress(OSError):
        _pins().rmdir()
    # The kernel removes the algorithm from its list shortly after the last file of the link is removed.
    deadline = time.monotonic() + _LONGEST_S
    while name in bpf.AVAILABLE.read_text().split():
        if time.monotonic() > deadline:
            raise BpfError(f"'{name}' is still registered: a program other than Elephan uses it")
        time.sleep(_POLL_S)


def _users(name: str) -> list[str]:
    """Both addresses of each TCP socket of this network namespace that uses an algorithm."""
    if shutil.which("ss") is None:
        return []
    shown = subprocess.run(["ss", "-HtaniO"], capture_output=True, text=True, check=False).stdout
    rows = [line.split() for line in shown.splitlines()]
    return [f"{row[3]}-{row[4]}" for row in rows if name in row[5:] and row[0] != "LISTEN"]


_UNIT_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"})
"""Characters that systemd interprets within a quoted word of a command line."""


def unit(program: list[str], name: str) -> str:
    """Text of a systemd unit that runs a command line at each start of the host."""
    command = " ".join(f'"{word.translate(_UNIT_ESCAPES)}"' for word in program)
    return (
        f"[Unit]\nDescription=Congestion control {name} of Elephan\n"
        "Before=network-pre.target\nWants=network-pre.target\n\n"
        f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={command}\n\n[Install]\nWantedBy=multi-user.target\n"
    )
