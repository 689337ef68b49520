"""This host's check list for the Linux backend."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
import tempfile
from pathlib import Path

from elephan.backends.kernel.lab import Item
from elephan.backends.linux import build, guest, kernels
from elephan.scenario import ScenarioError

_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_NO_PTRACE = 3


def check() -> list[Item]:
    """All requirements of a guest."""
    return [_architecture(), _program(), _path(), _ptrace(), _memory(), _packages(), _kernel()]


def _architecture() -> Item:
    ok = sys.platform == "linux" and platform.machine() == "x86_64"
    found = f"{platform.system()} on {platform.machine()}"
    return Item("guest: architecture", True, ok, found, "" if ok else "Linux on x86-64; no other is supported")


def _program() -> Item:
    path = guest.program()
    help_ = "" if path else "run 'make programs' in the source tree; it needs libc6-dev"
    return Item(f"guest: {guest.PROGRAM}", True, path is not None, "there" if path else "missing", help_)


def _path() -> Item:
    """Item of the check list for a path that the engine simulates: the program, and the kernel's devices."""
    if guest.path_program() is None:
        return Item(f"guest: {guest.PATH_PROGRAM}", False, False, "missing", "run 'make programs' in the source tree")
    try:
        kernel = kernels.chosen()
    except ScenarioError:
        return Item(f"guest: {guest.PATH_PROGRAM}", False, True, "there")
    if not kernel.leads_outside:
        help_ = "elephan lab linux build"
        return Item(f"guest: {guest.PATH_PROGRAM}", False, False, f"kernel {kernel.digest} lacks its devices", help_)
    return Item(f"guest: {guest.PATH_PROGRAM}", False, True, "there, and the kernel has its devices")


def _ptrace() -> Item:
    """Item of the check list for ptrace: a guest traces its processes, and some containers and hosts forbid tracing."""
    try:
        scope = int(_PTRACE_SCOPE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        scope = 0
    if scope >= _NO_PTRACE:
        return Item("guest: ptrace", True, False, f"ptrace_scope = {scope}", "sysctl kernel.yama.ptrace_scope=1")
    ok = _can_trace()
    return Item("guest: ptrace", True, ok, "allowed" if ok else "refused", "" if ok else "a container with SYS_PTRACE")


def _can_trace() -> bool:
    """True if the host allows a child of this process to be traced."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    child = os.fork()
    if child == 0:
        os._exit(0 if ptrace(0, 0, None, None) == 0 else 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def memory_folder() -> Path:
    """The folder of the file that backs a guest's memory, chosen by the rules of User Mode Linux. The file occupies no
    disk blocks until it is written."""
    return Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())


def _memory() -> Item:
    folder = memory_folder()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    except OSError as error:
        help_ = "a temporary folder without noexec: mount -o remount,exec /dev/shm"
        return Item("guest: executable memory", True, False, f"{folder}: {error.strerror}", help_)
    space = os.statvfs(folder)
    free = space.f_bavail * space.f_frsize
    ok = free >= 256 << 20
    help_ = "" if ok else "256 MB or more; docker run --shm-size=1g"
    return Item("guest: executable memory", True, ok, f"{free >> 20} MB in {folder}", help_)


def _packages() -> Item:
    lacking = build.missing(debian=True)
    help_ = f"apt-get install {' '.join(lacking)}" if lacking else ""
    found = f"missing {', '.join(lacking)}" if lacking else "there"
    return Item("guest: packages to build a kernel", False, not lacking, found, help_)


def _kernel() -> Item:
    try:
        kernel = kernels.chosen()
    except ScenarioError as error:
        return Item(
            "guest: kernel", True, False, "none", "elephan lab linux build" if not kernels.kernels() else str(error)
        )
    found = f"Linux {kernel.version}, HZ={kernel.hz}, {kernel.digest}"
    if shortcoming := kernel.shortcoming:
        found = f"{found}, built by an earlier version; {shortcoming}"
        return Item("guest: kernel", False, False, found, "elephan lab linux build")
    return Item("guest: kernel", True, True, found)
