"""Functions of libbpf that load a congestion control into the kernel and read its events."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import platform
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

_BPF_F_LINK = 1 << 13
_BPF_LINK_CREATE = 28
_BPF_STRUCT_OPS = 44
_SYSCALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "ppc64le": 361, "s390x": 351}

_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)

_messages: deque[str] = deque(maxlen=400)
_libc = ctypes.CDLL(None, use_errno=True)
_library: ctypes.CDLL | None = None


class BpfError(RuntimeError):
    """The kernel or libbpf rejected a request; the message has the request and libbpf's reason."""


@lru_cache(maxsize=1)
def find() -> str | None:
    """The name of the shared library; ``None`` if it is not installed."""
    return ctypes.util.find_library("bpf")


def _collect(level: int, pattern: bytes, arguments: int) -> int:
    if level <= 1:
        buffer = ctypes.create_string_buffer(65536)
        _libc.vsnprintf(buffer, ctypes.c_size_t(len(buffer)), pattern, ctypes.c_void_p(arguments))
        _messages.extend(buffer.value.decode(errors="replace").rstrip().splitlines())
    return 0


_print = _PRINT(_collect)


def _load_library() -> ctypes.CDLL:
    global _library
    if _library is not None:
        return _library
    name = find()
    if name is None:
        raise BpfError("libbpf is not installed")
    library = ctypes.CDLL(name, use_errno=True)
    pointer, text, number, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
    for function, result, arguments in (
        ("libbpf_set_print", pointer, [_PRINT]),
        ("libbpf_minor_version", ctypes.c_uint32, []),
        ("bpf_object__open_file", pointer, [text, pointer]),
        ("bpf_object__load", number, [pointer]),
        ("bpf_object__close", None, [pointer]),
        ("bpf_object__find_map_by_name", pointer, [pointer, text]),
        ("bpf_map__set_map_flags", number, [pointer, ctypes.c_uint32]),
        ("bpf_map__set_initial_value", number, [pointer, text, size]),
        ("bpf_map__attach_struct_ops", pointer, [pointer]),
        ("bpf_map__fd", number, [pointer]),
        ("bpf_link__destroy", number, [pointer]),
        ("bpf_link__fd", number, [pointer]),
        ("bpf_obj_pin", number, [number, text]),
        ("bpf_map_lookup_elem", number, [number, pointer, pointer]),
        ("bpf_map_delete_elem", number, [number, pointer]),
        ("bpf_map_get_fd_by_id", number, [ctypes.c_uint32]),
        ("bpf_obj_get_info_by_fd", number, [number, pointer, ctypes.POINTER(ctypes.c_uint32)]),
        ("ring_buffer__new", pointer, [number, _SAMPLE, pointer, pointer]),
        ("ring_buffer__consume", number, [pointer]),
        ("ring_buffer__free", None, [pointer]),
    ):
        found = getattr(library, function)
        found.restype, found.argtypes = result, arguments
    library.libbpf_set_print(_print)
    _library = library
    return library


def _error(what: str, code: int) -> BpfError:
    lines = [line for line in _messages if not line.startswith(("processed ", "-- "))]
    said = "\n".join(lines[-25:])
    return BpfError(f"{what}: {os.strerror(abs(code))}" + (f"\n{said}" if said else ""))


class CongestionControl:
    """A compiled object in the kernel, registered for sockets while this object is open and the process runs.

    With links for struct_ops (Linux 6.4), the kernel unregisters the algorithm by itself when the process ends;
    ``map_id`` is ``None`` then. Without links for struct_ops, the algorithm stays registered until :func:`unregister`
    is called with ``map_id``.
    """

    def __init__(self, path: Path, read_only: bytes) -> None:
        self._library = _load_library()
        self._object: int | None = None
        self._link: int | None = None
        self._link_fd: int | None = None
        self._ring: int | None = None
        self.map_id: int | None = None
        try:
            self._load(path, read_only, _BPF_F_LINK)
            linked = True
        except BpfError:
            # Before Linux 6.4 the flag is not known. The second attempt reports other errors.
            self._load(path, read_only, 0)
            linked = False
        try:
            self._attach(linked)
        except BpfError:
            self.close()
            raise

    def _load(self, path: Path, read_only: bytes, flags: int) -> None:
        _messages.clear()
        ctypes.set_errno(0)
        bpf = self._library.bpf_object__open_file(os.fsencode(path), None)
        if not bpf:
            raise _error(f"{path.name} cannot be read", ctypes.get_errno())
        find_map = self._library.bpf_object__find_map_by_name
        code = self._library.bpf_map__set_initial_value(find_map(bpf, b".rodata"), read_only, len(read_only))
        code = code or self._library.bpf_map__set_map_flags(find_map(bpf, b"algorithm"), flags)
        code = code or self._library.bpf_object__load(bpf)
        if code:
            self._library.bpf_object__close(bpf)
            raise _error(f"the kernel does not take {path.name}", code)
        self._object = bpf

    def _attach(self, linked: bool) -> None:
        library, struct_ops = self._library, self._map(b"algorithm")
        self._link = library.bpf_map__attach_struct_ops(struct_ops)
        if not self._link:
            raise _error("the kernel does not register the algorithm", ctypes.get_errno())
        fd = library.bpf_map__fd(struct_ops)
        if not linked:
            self.map_id = _map_id(library, fd)
        elif library.libbpf_minor_version() < 2:
            # This version of libbpf fills in the map, but does not support links for it.
            self._link_fd = _create_link(fd)

    def _map(self, name: bytes) -> int:
        found = self._library.bpf_object__find_map_by_name(self._object, name)
        if not found:
            raise BpfError(f"the object has no map '{name.decode()}'")
        return int(found)

    def listen(self, on_record: Callable[[bytes], None]) -> Callable[[], None]:
        """Opens the ring of events. The returned function passes the records since its last call to ``on_record``."""

        def sample(_context: int, data: ctypes.Array[ctypes.c_char], size: int) -> int:
            on_record(ctypes.string_at(data, size))
            return 0

        fd = self._library.bpf_map__fd(self._map(b"events"))
        callback = _SAMPLE(sample)
        ring = self._library.ring_buffer__new(fd, callback, None, None)
        if not ring:
            raise _error("the ring of events cannot be opened", ctypes.get_errno())
        # Keep a reference to the callback as long as the ring exists.
        self._ring, self._callback = ring, callback
        return lambda: self._library.ring_buffer__consume(ring)

    def counter(self) -> int:
        """Number of events that were lost because the ring was full."""
        key, value = ctypes.c_uint32(0), ctypes.c_uint64(0)
        fd = self._library.bpf_map__fd(self._map(b".bss"))
        code = self._library.bpf_map_lookup_elem(fd, ctypes.byref(key), ctypes.byref(value))
        if code:
            raise _error("the count of lost events cannot be read", code)
        return value.value

    def pin(self, path: Path) -> None:
        """Keep the algorithm registered after this object is closed, as long as the file ``path`` of a bpffs exists.

        Raises:
            BpfError: the kernel has no links for struct_ops, or rejects the request.
        """
        if self.map_id is not None:
            raise BpfError("an installed algorithm needs Linux 6.4 or later, whose registrations can be kept in a file")
        fd = self._link_fd if self._link_fd is not None else self._library.bpf_link__fd(self._link)
        _messages.clear()
        if code := self._library.bpf_obj_pin(fd, os.fsencode(path)):
            raise _error(f"{path} cannot be made", code)

    def close(self) -> None:
        """Unregister the algorithm; sockets that use it keep it until they are closed."""
        if self._ring is not None:
            self._library.ring_buffer__free(self._ring)
            self._ring = None
        if self._link_fd is not None:
            os.close(self._link_fd)
            self._link_fd = None
        if self._link is not None:
            self._library.bpf_link__destroy(self._link)
            self._link = None
        if self._object is not None:
            self._library.bpf_object__close(self._object)
            self._object = None


def _create_link(map_fd: int) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise BpfError(f"the bpf system call of {platform.machine()} is not known; install libbpf 1.2 or later")
    attributes = (ctypes.c_uint32 * 16)(map_fd, 0, _BPF_STRUCT_OPS, 0)
    fd = _libc.syscall(number, _BPF_LINK_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if fd < 0:
        raise _error("the kernel does not register the algorithm", ctypes.get_errno())
    return int(fd)


def _map_info(library: ctypes.CDLL, fd: int) -> tuple[int, str]:
    """Id and name of a map: the second and the seventh field of the kernel's bpf_map_info."""
    info = ctypes.create_string_buffer(128)
    size = ctypes.c_uint32(len(info))
    code = library.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size))
    if code:
        raise _error("a map of the kernel cannot be asked", code)
    return int.from_bytes(info.raw[4:8], "little"), info.raw[24:40].split(b"\0")[0].decode()


def _map_id(library: ctypes.CDLL, fd: int) -> int:
    return _map_info(library, fd)[0]


def unregister(map_id: int) -> bool:
    """Unregister an algorithm of a process that has ended. Returns ``False`` if the algorithm was already
    unregistered."""
    library = _load_library()
    fd = library.bpf_map_get_fd_by_id(map_id)
    if fd < 0:
        return False
    try:
        if _map_info(library, fd)[1] != "algorithm":
            # The id now belongs to another object.
            return False
        key = ctypes.c_uint32(0)
        return bool(library.bpf_map_delete_elem(fd, ctypes.byref(key)) == 0)
    finally:
        os.close(fd)
