"""Restrictions of the own process, before it loads a stranger's code: limits, system calls, files.

The limits are those of ``setrlimit``. A filter of system calls (seccomp) leaves the process without network, without
new processes and without writing to files; it needs x86-64 or arm64. Landlock restricts which files can be read; it
needs a kernel that has it enabled. Neither needs privileges or a program. :func:`restrict` says which of them hold.

All of this protects the host. It does not protect the numbers: code in the same process as the simulator can change it,
so :mod:`elephan.design.reviewed` rejects what an algorithm has no use for.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_THREAD = 0x00010000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Architecture of the filter, and numbers of system calls there (asm/unistd_64.h, asm-generic/unistd.h).
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_CLONE = {"x86_64": 56, "aarch64": 220}
_OPENAT = {"x86_64": 257, "aarch64": 56}
_OPEN = {"x86_64": 2}
_CLONE3 = 435
_ALLOWED = {
    "x86_64": (
        0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 23, 24, 25, 28, 32, 33, 35, 39, 60, 63,
        72, 79, 89, 96, 97, 98, 99, 102, 104, 107, 108, 110, 115, 131, 137, 186, 201, 202, 203, 204, 217, 218, 228,
        229, 230, 231, 232, 233, 262, 267, 269, 270, 271, 273, 281, 291, 292, 293, 302, 309, 318, 324, 332, 334, 439,
        441, 449,
    ),
    "aarch64": (
        17, 20, 21, 22, 23, 24, 25, 29, 43, 44, 48, 57, 59, 61, 62, 63, 64, 65, 66, 67, 72, 73, 78, 79, 80, 93, 94, 96,
        98, 99, 101, 113, 114, 115, 122, 123, 124, 132, 134, 135, 139, 153, 160, 163, 165, 168, 172, 173, 174,
        175, 176, 177, 178, 179, 214, 215, 216, 222, 226, 233, 261, 278, 283, 291, 293, 439, 441, 449,
    ),
}  # fmt: skip
"""System calls of a program that computes: memory, threads, time, descriptors that are open, files by their status."""

_LANDLOCK = (444, 445, 446)
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Rights on files that each version of Landlock's interface handles."""

_PRINTED_BYTES = 1 << 20
"""Largest output of a candidate; there is no other file that it can write."""

_libc = ctypes.CDLL(None, use_errno=True)


def restrict(readable: Sequence[str | Path], memory_bytes: int, processor_s: int) -> dict[str, str]:
    """Restrict this process for good, and say which restrictions hold.

    Args:
        readable: files and folders that can still be read.
        memory_bytes: address space that the process may take beyond what it has.
        processor_s: processor time after which the process is ended.
    """
    _limit(memory_bytes, processor_s)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    files = _landlock([str(path) for path in readable])
    calls = _seccomp()
    return {
        "memory": f"{memory_bytes >> 20} MiB",
        "network": "none" if calls else "not restricted",
        "processes": "none" if calls else "not restricted",
        "files written": "none" if calls or files else "not restricted",
        "files read": "the interpreter, its packages and the candidate" if files else "not restricted",
    }


def installed() -> list[str]:
    """Folders of the interpreter, of installed packages and of this package, and what the engine reads of the host."""
    paths = sysconfig.get_paths()
    return [
        *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(__file__).parents[1]), sys.executable, str(Path(sys.executable).resolve().parent),
        "/usr/lib", "/lib", "/lib64", "/proc", "/sys/fs/cgroup", "/sys/devices/system", "/etc/ld.so.cache",
        "/etc/localtime", "/dev/null", "/dev/urandom",
    ]  # fmt: skip


def _limit(memory_bytes: int, processor_s: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    address_space = pages * resource.getpagesize() + memory_bytes
    for kind, wanted in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, processor_s),
        (resource.RLIMIT_FSIZE, _PRINTED_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        most = resource.getrlimit(kind)[1]
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (limit, limit))


def _seccomp() -> bool:
    """Install the filter; false if the host has none for this architecture."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    program = _filter(machine)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    return bool(_libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _ALL_THREADS, described) == 0)


def _filter(machine: str) -> bytes:
    """A program of classic BPF over ``struct seccomp_data``: number at 0, architecture at 4, arguments from 16 on."""

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    def load(offset: int) -> bytes:
        return step(0x20, 0, 0, offset)  # BPF_LD | BPF_W | BPF_ABS

    def give(value: int) -> bytes:
        return step(0x06, 0, 0, value)  # BPF_RET | BPF_K

    def equal(value: int, skipped: int) -> bytes:
        return step(0x15, 0, skipped, value)  # BPF_JMP | BPF_JEQ: skips the next steps if it is another number

    denied = _ERRNO | errno.EPERM
    found = [load(4), equal(_ARCHITECTURES[machine], 1), step(0x05, 0, 0, 1), give(_KILL), load(0)]
    for number in _ALLOWED[machine]:
        found += [equal(number, 1), give(_ALLOW)]
    # The C library then falls back to clone, whose flags a filter can see.
    found += [equal(_CLONE3, 1), give(_ERRNO | errno.ENOSYS)]
    found += [
        equal(_CLONE[machine], 4), load(16), step(0x45, 0, 1, _CLONE_THREAD), give(_ALLOW), give(denied),
        equal(_OPENAT[machine], 4), load(32), step(0x45, 0, 1, _WRITES), give(denied), give(_ALLOW),
    ]  # fmt: skip
    if machine in _OPEN:
        found += [equal(_OPEN[machine], 4), load(24), step(0x45, 0, 1, _WRITES), give(denied), give(_ALLOW)]
    return b"".join([*found, give(denied)])


def _landlock(readable: Sequence[str]) -> bool:
    """Leave only some files readable, and none writable; false if the kernel lacks Landlock."""
    create, add, enforce = _LANDLOCK
    version = _libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    handled = _HANDLED[max(known for known in _HANDLED if known <= version)]
    attribute = struct.pack("Q", handled)
    rules = _libc.syscall(create, attribute, ctypes.c_size_t(len(attribute)), 0)
    if rules < 0:
        return False
    try:
        for path in readable:
            _allow_reading(rules, add, path)
        return bool(_libc.syscall(enforce, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow_reading(rules: int, add: int, path: str) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # a folder of packages that this installation lacks
    try:
        rights = _READ_FILE | (_READ_DIR if Path(path).is_dir() else 0)
        rule = struct.pack("=Qi", rights, place)
        if _libc.syscall(add, rules, 1, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock", path)
    finally:
        os.close(place)
