"""The kernels in the user's cache: found, listed and removed."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elephan.scenario import ScenarioError

ENVIRONMENT = "ELEPHAN_LINUX"
"""Environment variable with the first digits of the digest of the kernel to use."""

DEBIAN_HZ = 250
"""Timer interrupts a second of Debian's kernels."""

BINARY = "linux"
SEEDED = "seeded.so"
CONFIG = "config"
RECORD = "kernel.json"
BUILDING = "building-"
TREE = "tree"
_BUILD = "elephan lab linux build"


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built.

    Attributes:
        digest: digest of its source, configuration, HZ and patches.
        version: version of its source, from its package or its Makefile.
        hz: timer interrupts a second.
        built: the time at which it was built, in seconds since 1970.
        seconds: duration of its build, s.
        sha256: digest of the binary.
        source: package or folder of its source.
        base: digest of the unchanged kernel; empty for an unchanged kernel itself.
        changes: its patch and C files in addition to the base.
    """

    digest: str
    version: str
    hz: int
    built: float
    seconds: float
    sha256: str
    source: str
    base: str = ""
    changes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the kernel's files."""
        return cache() / self.digest

    @property
    def tree(self) -> Path:
        """The compiled source tree, from which a changed kernel is built; a changed kernel has no tree of its own."""
        return self.folder / TREE

    @property
    def leads_outside(self) -> bool:
        """True if the kernel has the devices for a path outside the guest; kernels built by earlier versions of Elephan
        lack them."""
        try:
            lines = (self.folder / CONFIG).read_text(encoding="utf-8").splitlines()
        except OSError:
            return False
        return {"CONFIG_VIRTIO_UML=y", "CONFIG_VIRTIO_NET=y"} <= set(lines)

    @property
    def shortcoming(self) -> str:
        """The disadvantage of a kernel that an earlier version of Elephan built, as a clause; empty for other
        kernels."""
        if not self._has_line("arch/um/include/linux/time-internal.h", "#define TIMER_MULTIPLIER 1"):
            return "its clock has a resolution of 256 ns"
        if not self._has_line("arch/um/kernel/time.c", "elephan_is_stuck())"):
            return "its clock advances while a process works"
        if not self._has_line("net/ipv4/tcp_input.c", "sysctl_tcp_comp_sack_slack_ns)), 0,"):
            return "its hosts share their timers"
        if not self._has_line("include/linux/tcp.h", "#define TCP_ELEPHAN_SEED 10000"):
            return "its flows do not draw the simulator's random numbers"
        if not self._has_line("net/ipv4/tcp_input.c", "elephan_draw(tcp_sk(sk)) >> 32;"):
            return "the timestamps of its receivers do not begin at the simulator's random numbers"
        if not self._has_line("net/sched/sch_netem.c", "u64 elephan_early_ps;"):
            return "netem rounds its transmission times"
        if not self._has_line("net/sched/sch_netem.c", "return elephan_loses(q);"):
            return "netem does not lose the packets that the simulator loses"
        if not self._has_line("arch/x86/um/os-Linux/registers.c", "iov.iov_len = sizeof(elephan_state);"):
            return "it does not start on processors with AMX"
        return ""

    def has(self, path: str) -> bool:
        """True if the compiled tree has a file."""
        return (self.tree / path).is_file()

    def _has_line(self, path: str, text: str) -> bool:
        """True if a line of a file of the compiled tree ends with this text."""
        try:
            lines = (self.tree / path).read_text(encoding="utf-8").splitlines()
            return any(line.endswith(text) for line in lines)
        except OSError:
            return False

    def size_bytes(self) -> int:
        """Disk space of the kernel's files, bytes."""
        return folder_bytes(self.folder)

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the document of ``elephan lab linux list --json``."""
        return asdict(self) | {"folder": str(self.folder), "size_bytes": self.size_bytes()}


def cache() -> Path:
    """The folder of all kernels: ``elephan/linux`` in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "elephan" / "linux"


def folder_bytes(folder: Path) -> int:
    """Disk space of a folder's files, bytes."""
    return sum(entry.lstat().st_blocks * 512 for entry in folder.rglob("*") if entry.is_file())


def kernels() -> list[Kernel]:
    """All complete kernels, the newest last."""
    found = []
    for record in cache().glob(f"*/{RECORD}"):
        if record.parent.name.startswith(BUILDING):
            continue
        try:
            stated = json.loads(record.read_text(encoding="utf-8"))
            kernel = Kernel(**stated | {"changes": tuple(stated.get("changes", ()))})
        except (OSError, ValueError, TypeError):
            continue
        if kernel.folder == record.parent and (record.parent / BINARY).is_file():
            found.append(kernel)
    return sorted(found, key=lambda kernel: (kernel.built, kernel.digest))


def offered() -> list[Kernel]:
    """The kernels for runs: the newest kernel of each HZ, or the kernel that ``$ELEPHAN_LINUX`` names.

    Raises:
        ScenarioError: ``$ELEPHAN_LINUX`` does not name exactly one kernel.
    """
    found = [kernel for kernel in kernels() if not kernel.base]
    if wanted := os.environ.get(ENVIRONMENT):
        named = [kernel for kernel in found if kernel.digest.startswith(wanted)]
        if len(named) != 1:
            raise ScenarioError(
                f"{ENVIRONMENT} = {wanted} names {len(named)} of the {len(found)} kernels; see elephan lab linux list"
            )
        return named
    return sorted({kernel.hz: kernel for kernel in found}.values(), key=lambda kernel: kernel.hz)


def chosen(hz: int | None = None) -> Kernel:
    """The kernel of a run: the kernel with the scenario's HZ, or the kernel with Debian's HZ if the scenario states no
    HZ.

    Raises:
        ScenarioError: no kernel is built, or none with this HZ.
    """
    found = {kernel.hz: kernel for kernel in offered()}
    if not found:
        raise ScenarioError(f"the backend 'linux' needs a kernel, and none is built; type '{_BUILD}' (minutes, once)")
    if hz is None:
        return found.get(DEBIAN_HZ) or next(iter(found.values()))
    if hz not in found:
        built = " and ".join(map(str, found))
        raise ScenarioError(f"flows have hz = {hz}, and kernels are built for {built}; type '{_BUILD} --hz {hz}'")
    return found[hz]


def remove(kernel: Kernel) -> int:
    """Remove a kernel. Returns its disk space, bytes."""
    size = kernel.size_bytes()
    shutil.rmtree(kernel.folder)
    return size
