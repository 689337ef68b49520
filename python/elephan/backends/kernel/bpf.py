"""Algorithms that the kernel lacks: compiled, registered for a run, and unregistered.

Each algorithm is a C file in ``bpf/``, which this module compiles and loads into the running kernel as a
``tcp_congestion_ops`` of BPF. The Rust implementation of the same algorithm in ``crates/cc`` declares the parameters.
Parameters that the object has are set when the object is loaded; all other parameters must have their default values.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.backends.kernel import libbpf
from elephan.backends.kernel.libbpf import BpfError, CongestionControl
from elephan.backends.kernel.object_file import ObjectFile
from elephan.backends.kernel.traces import runtime_dir, started_of
from elephan.scenario.catalog import Parameter, algorithms, check_name, check_parameters
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    import polars as pl

BTF = Path("/sys/kernel/btf/vmlinux")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PREFIX = "el_"
_NAME_MAX = 15
_POLL_S = 0.02
_DIGEST_DIGITS = 12
_TRACE = {"none": 0, "round": 1, "ack": 2}
_US_PER_S = 1_000_000
_NO_SSTHRESH = 0x7FFFFFFF
# One record of the ring of events (bpf/elephan.h, struct record).
_RECORD = struct.Struct("<QQHHIII4s4x8q")
_FIRST_OWN = 8


def sources() -> Path:
    """The folder with the C files: beside the Python sources in a checkout, inside the package of a wheel."""
    here = Path(__file__).resolve()
    checkout = here.parents[4] / "bpf"
    return checkout if checkout.is_dir() else here.parents[2] / "bpf"


def names() -> list[str]:
    """Names of the algorithms with an object."""
    return sorted(path.name.removesuffix(".bpf.c") for path in sources().glob("*.bpf.c"))


def available() -> Mapping[str, str]:
    """The algorithms with an object, each with a list of the requirements that this host lacks."""
    reason = missing()
    return dict.fromkeys(names(), reason)


@lru_cache(maxsize=1)
def digest() -> str:
    """Digest of the objects' sources; the digest differs between versions."""
    total = hashlib.sha256()
    for path in sorted((*sources().glob("*.h"), *sources().glob("*.bpf.c"))):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:_DIGEST_DIGITS]


def missing() -> str:
    """Requirements of algorithms in BPF that this host lacks, with a remedy; empty if none."""
    if sys.platform != "linux":
        return "needs Linux"
    if not BTF.exists():
        return f"the kernel does not describe its types ({BTF}); it must be built with CONFIG_DEBUG_INFO_BTF"
    if not _takes_congestion_control(BTF):
        return "the kernel takes no congestion control from BPF (Linux 5.6 or later, CONFIG_BPF_JIT)"
    if shutil.which("clang") is None:
        return "clang is not installed: apt-get install clang"
    if libbpf.find() is None or not _has_headers():
        return "libbpf is not installed: apt-get install libbpf-dev"
    if os.geteuid() != 0:
        return "needs root"
    return ""


@lru_cache(maxsize=4)
def _takes_congestion_control(btf: Path) -> bool:
    """True if the kernel's type information, a file of some megabytes, includes tcp_congestion_ops."""
    return b"bpf_struct_ops_tcp_congestion_ops" in btf.read_bytes()


def _has_headers() -> bool:
    return any((Path(prefix) / "include/bpf/bpf_core_read.h").exists() for prefix in ("/usr", "/usr/local"))


def resolve(algorithm: str, parameters: Mapping[str, Parameter]) -> tuple[str, dict[str, Parameter]]:
    """The algorithm's own name, and every parameter that the preset or the caller sets.

    Raises:
        ScenarioError: the algorithm does not exist, has no object, or lacks a parameter.
    """
    entry = check_name(algorithm, algorithms(), "an algorithm")
    name, _, preset = algorithm.partition(":")
    if name not in names():
        raise ScenarioError(f"there is no kernel object for '{name}'; there is one for {', '.join(names())}")
    check_parameters(algorithm, parameters)
    overrides: Mapping[str, Parameter] = next((p["overrides"] for p in entry["presets"] if p["name"] == preset), {})
    return name, {**overrides, **parameters}


def compile_object(algorithm: str, name: str, target: Path) -> None:
    """Compile the object of an algorithm, which sockets will select by ``name``.

    Raises:
        BpfError: clang rejects the object's source.
    """
    source = sources()
    command = ["clang", "-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-fno-crash-diagnostics", f"-I{source}"]
    command += [f'-DEL_NAME="{name}"', "-c", str(source / f"{algorithm}.bpf.c"), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BpfError(f"clang does not compile bpf/{algorithm}.bpf.c:\n{done.stderr[-4000:]}")


def read_only_data(algorithm: str, parameters: Mapping[str, Parameter], compiled: ObjectFile, trace: str) -> bytes:
    """The object's constants, with the parameters filled in.

    Raises:
        ScenarioError: the object lacks a parameter or a choice, or a value is outside the range of fixed-point numbers.
    """
    data = bytearray(compiled.section(".rodata"))
    declared = {p["name"]: p for p in algorithms()[algorithm]["parameters"]}
    for name, value in parameters.items():
        found = next((s for s in (f"p_{name}", f"p_log2_{name}") if s in compiled.symbols), None)
        if found is None:
            if value != declared[name]["default"]:
                raise ScenarioError(f"in the kernel '{name}' of {algorithm} is {declared[name]['default']!r} always")
            continue
        number = as_number(declared[name], value, found.startswith("p_log2_"))
        _check_choice(algorithm, declared[name], number, compiled)
        _write(data, compiled, found, number, name)
    _write(data, compiled, "p_trace", _TRACE[trace], "trace")
    return bytes(data)


def _check_choice(algorithm: str, declared: Mapping[str, Any], number: float, compiled: ObjectFile) -> None:
    last = f"last_{declared['name']}"
    if last in compiled.symbols and number > (known := int.from_bytes(compiled.content(last), "little") >> 32):
        words = " or ".join(repr(word) for word in declared["choices"][: known + 1])
        raise ScenarioError(f"in the kernel '{declared['name']}' of {algorithm} is {words}")


def as_number(declared: Mapping[str, object], value: Parameter, logarithm: bool) -> float:
    """A parameter's value as a number in the objects' units: times in microseconds, a choice by its index among the
    choices."""
    choices = declared["choices"]
    if isinstance(choices, list) and choices:
        return float(choices.index(value))
    number = float(value)
    if logarithm:
        return math.log2(number)
    return number * _US_PER_S if declared["unit"] == "s" else number


def _write(data: bytearray, compiled: ObjectFile, symbol: str, number: float, name: str) -> None:
    fixed = round(number * 2**32)
    if not -(2**63) <= fixed < 2**63:
        raise ScenarioError(f"'{name}' is too large for the kernel's fixed-point numbers")
    struct.pack_into("<q", data, compiled.symbols[symbol].offset, fixed)


def check(algorithm: str, parameters: Mapping[str, Parameter]) -> None:
    """Check that the object supports the parameters. The object is compiled, but not loaded.

    Raises:
        ScenarioError: the algorithm has no object, or the object does not support these parameters.
        BpfError: clang rejects the object's source.
    """
    own_name, values = resolve(algorithm, parameters)
    read_only_data(own_name, values, _unnamed(own_name), "none")


def unsettable(algorithm: str, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """The parameters that the object of an algorithm does not accept, each with its fixed value.

    Raises:
        BpfError: clang rejects the object.
    """
    found = {}
    for name, value in parameters.items():
        try:
            read_only_data(algorithm, {name: value}, _unnamed(algorithm), "none")
        except ScenarioError as error:
            found[name] = str(error)
    return found


@lru_cache(maxsize=64)
def _unnamed(algorithm: str) -> ObjectFile:
    """Compile an algorithm's object for inspection; the object's file is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "object.o"
        compile_object(algorithm, f"{PREFIX}unnamed", target)
        return ObjectFile(target)


@contextmanager
def registered(
    algorithm: str,
    parameters: Mapping[str, Parameter],
    workdir: Path,
    trace: str = "round",
    into: list[pl.DataFrame] | None = None,
) -> Iterator[str]:
    """Register an algorithm for this host's sockets within this context, and return the algorithm's name for
    ``TCP_CONGESTION``.

    At the end, the algorithm's reports (:func:`internals_table`) are in the file :func:`internals_path` of ``workdir``,
    or in the list ``into`` if it is given.

    Args:
        algorithm: name of the algorithm, with or without a preset.
        parameters: parameters of the algorithm, in the form of a scenario.
        workdir: folder for files.
        trace: frequency of each connection's reports of its internals: ``none``, ``round`` or ``ack``.
        into: list that gets the table of internals in place of the file.

    Raises:
        ScenarioError: the object does not support the parameters.
        BpfError: this host cannot register the algorithm.
    """
    own_name, values = resolve(algorithm, parameters)
    reason = missing()
    if reason:
        raise BpfError(f"'{algorithm}' cannot be used in this kernel: {reason}")
    name = _free_name(own_name)
    workdir.mkdir(parents=True, exist_ok=True)
    target = workdir / f"{name}.bpf.o"
    compile_object(own_name, name, target)
    compiled = ObjectFile(target)
    gathered: list[pl.DataFrame] = [] if into is None else into
    control = CongestionControl(target, read_only_data(own_name, values, compiled, trace))
    record: Path | None = None
    try:
        record = _write_record(name, control.map_id)
        with _listening(control, compiled, gathered, trace):
            yield name
    finally:
        control.close()
        if record is not None:
            record.unlink(missing_ok=True)
    if into is None and gathered:
        gathered[0].write_parquet(internals_path(workdir, name))


def internals_path(workdir: Path, name: str) -> Path:
    """File for the internals of the algorithm registered as ``name``; the file is written when the registration
    ends."""
    return workdir / f"{name}.internals.parquet"


def _free_name(algorithm: str) -> str:
    taken = AVAILABLE.read_text().split()
    while True:
        suffix = secrets.token_hex(2)
        name = f"{PREFIX}{algorithm[: _NAME_MAX - len(PREFIX) - len(suffix)]}{suffix}"
        if name not in taken:
            return name


@contextmanager
def _listening(
    control: CongestionControl, compiled: ObjectFile, into: list[pl.DataFrame], trace: str
) -> Iterator[None]:
    """Collect the events in a thread, and convert them to a table at the end."""
    if trace == "none":
        yield
        return
    records: list[bytes] = []
    consume = control.listen(records.append)
    over = threading.Event()

    def gather() -> None:
        while not over.wait(_POLL_S):
            consume()

    thread = threading.Thread(target=gather, name="events", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        consume()
        if lost := control.counter():
            warnings.warn(f"{lost} events found the ring full and are missing", RuntimeWarning, stacklevel=2)
        into.append(internals_table(records, compiled.content("columns").rstrip(b"\0").decode().split(",")))


def internals_table(records: list[bytes], columns: list[str]) -> pl.DataFrame:
    """Records as a table: one row for each round trip (or each ACK) of a connection.

    ``time_s`` and ``started_s`` are times of CLOCK_MONOTONIC. The algorithm's own columns have the same names as in its
    Rust implementation; names of times end in ``_us``. An infinite number is null.
    """
    import polars as pl

    rows = [_RECORD.unpack(record) for record in records]
    given: dict[str, tuple[pl.DataType, list[float | None] | list[str]]] = {
        "time_s": (pl.Float64(), [row[0] * 1e-9 for row in rows]),
        "started_s": (pl.Float64(), [row[1] * 1e-9 for row in rows]),
        "local_port": (pl.UInt16(), [row[2] for row in rows]),
        "remote_port": (pl.UInt16(), [row[3] for row in rows]),
        "remote_address": (pl.String(), [str(IPv4Address(row[7])) for row in rows]),
        "cwnd": (pl.UInt32(), [row[4] for row in rows]),
        "snd_ssthresh": (pl.UInt32(), [None if row[5] >= _NO_SSTHRESH else row[5] for row in rows]),
        "rtt_us": (pl.UInt32(), [row[6] or None for row in rows]),
    }
    for i, column in enumerate(columns):
        given[column] = (pl.Float64(), [_from_fixed(row[_FIRST_OWN + i]) for row in rows])
    return pl.DataFrame([pl.Series(name, values, kind) for name, (kind, values) in given.items()])


def _from_fixed(number: int) -> float | None:
    return None if number >= 2**63 - 1 else number / 2**32


def _write_record(name: str, map_id: int | None) -> Path:
    folder = runtime_dir() / "registered"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(
        json.dumps({"name": name, "pid": os.getpid(), "started": started_of(os.getpid()), "map_id": map_id})
    )
    return path


def unregister_recorded() -> list[str]:
    """Unregister the algorithms of processes that have ended, and return the algorithms' names."""
    removed = []
    for path in sorted((runtime_dir() / "registered").glob("*.json")):
        record = json.loads(path.read_text())
        if started_of(record["pid"]) == record["started"]:
            continue
        if record["map_id"] is not None:
            libbpf.unregister(record["map_id"])
        path.unlink(missing_ok=True)
        removed.append(record["name"])
    return removed
