"""The algorithms in BPF: accepted by this kernel, used by a socket, and gone afterwards."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from elephan.backends.kernel import bpf, libbpf
from elephan.backends.kernel.object_file import ObjectFile
from elephan.backends.kernel.traces import runtime_dir
from elephan.scenario.catalog import algorithms
from elephan.scenario.errors import ScenarioError

TCP_CONGESTION = 13
BYTES = 30_000_000
# Symbols of the plumbing that all objects include.
SHARED = {"p_trace", "p_slow_start", "p_limited_max_ssthresh"}

needs_kernel = pytest.mark.skipif(bool(bpf.missing()), reason=bpf.missing() or "this host can")


def listed() -> set[str]:
    return set(bpf.AVAILABLE.read_text().split())


def transfer(name: str) -> int:
    """Sends over the loopback device with a congestion control; gives the number of bytes that arrived."""
    received = 0
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def receive() -> None:
            nonlocal received
            connection, _ = listener.accept()
            with connection:
                while chunk := connection.recv(1 << 20):
                    received += len(chunk)

        thread = threading.Thread(target=receive)
        thread.start()
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
            sender.connect(listener.getsockname())
            sender.sendall(bytes(BYTES))
        thread.join()
    return received


@pytest.fixture(autouse=True)
def own_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ELEPHAN_RUNTIME_DIR", str(tmp_path / "runtime"))
    before = listed() if bpf.AVAILABLE.exists() else set()
    yield
    if bpf.AVAILABLE.exists():
        # Other tests may register others of these at the same time; nothing else may have changed.
        assert {name for name in listed() ^ before if not name.startswith(bpf.PREFIX)} == set()


@needs_kernel
@pytest.mark.parametrize("algorithm", bpf.names())
def test_an_algorithm_is_accepted_carries_a_transfer_and_is_gone(algorithm: str, tmp_path: Path) -> None:
    with bpf.registered(algorithm, {}, tmp_path) as name:
        assert len(name) <= 15
        assert name in listed()
        assert transfer(name) == BYTES
    assert name not in listed()
    table = pl.read_parquet(bpf.internals_path(tmp_path, name))
    assert table.height > 0
    assert min(table["cwnd"]) >= 1
    assert not list(runtime_dir().glob("registered/*"))


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
@pytest.mark.parametrize("algorithm", bpf.names())
def test_an_object_has_its_twins_parameters_and_defaults(algorithm: str, tmp_path: Path) -> None:
    target = tmp_path / "object.o"
    bpf.compile_object(algorithm, "el_test", target)
    compiled = ObjectFile(target)
    declared = {parameter["name"]: parameter for parameter in algorithms()[algorithm]["parameters"]}
    own = [name for name in compiled.symbols if name.startswith("p_") and name not in SHARED]
    assert own
    for symbol in own:
        logarithm = symbol.startswith("p_log2_")
        parameter = declared[symbol.removeprefix("p_").removeprefix("log2_")]
        expected = bpf.as_number(parameter, parameter["default"], logarithm)
        value = int.from_bytes(compiled.content(symbol), "little", signed=True) / 2**32
        assert value == pytest.approx(expected, abs=2**-31), symbol
    assert len(compiled.content("columns").split(b",")) <= 8


@needs_kernel
def test_a_parameter_reaches_the_object(tmp_path: Path) -> None:
    with bpf.registered("stcp", {"increase": 0.5, "legacy_window": 4.0}, tmp_path, trace="none"):
        (path,) = tmp_path.glob("*.bpf.o")
        compiled = ObjectFile(path)
        data = bpf.read_only_data("stcp", {"increase": 0.5}, compiled, "none")
        offset = compiled.symbols["p_increase"].offset
        assert int.from_bytes(data[offset : offset + 8], "little") == 2**31


@needs_kernel
@pytest.mark.parametrize("links", [True, False], ids=["with links", "before Linux 6.4"])
def test_what_a_killed_process_registered_is_gone_after_cleaning(links: bool, tmp_path: Path) -> None:
    # A kernel without links refuses the flag that asks for one.
    older = "libbpf._BPF_F_LINK = 1 << 30\n"
    program = (
        "import sys, time, pathlib\n"
        "from elephan.backends.kernel import bpf, libbpf\n"
        f"{'' if links else older}"
        "with bpf.registered('stcp', {}, pathlib.Path(sys.argv[1])) as name:\n"
        "    print(name, flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    assert name in listed()
    assert bpf.unregister_recorded() == []
    assert name in listed()
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The kernel takes its time to let go of what a process had.
    deadline = time.monotonic() + 5
    while links and name in listed() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (name in listed()) != links
    assert bpf.unregister_recorded() == [name]
    while name in listed() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert name not in listed()


@needs_kernel
def test_an_older_kernel_registers_and_takes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libbpf, "_BPF_F_LINK", 1 << 30)
    with bpf.registered("hstcp", {}, tmp_path) as name:
        assert name in listed()
        assert transfer(name) == BYTES
    assert name not in listed()


@needs_kernel
def test_the_documentations_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[2] / "docs" / "bpf.md"
    (text,) = re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(text, page.name, "exec"), {"__name__": "page"})
    assert [path.name for path in (tmp_path / "lab").glob("*.internals.parquet")]


def test_what_an_object_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there is no kernel object for 'xcp'"):
        bpf.resolve("xcp", {})
    with pytest.raises(ScenarioError, match="did you mean 'increase'"):
        bpf.resolve("stcp", {"increas": 0.1})


@needs_kernel
@pytest.mark.parametrize(
    ("algorithm", "parameters", "sentence"),
    [
        ("stcp:linux", {}, "in the kernel 'arithmetic' of stcp is 'fluid' always"),
        ("vegas:ns3", {}, "in the kernel 'diff' of vegas is 'paper' or 'ns2' or 'linux'"),
        ("fast:ns2", {}, "in the kernel 'timing' of fast is 'paper' always"),
        ("hstcp", {"slow_start": "hystart"}, "in the kernel 'slow_start' of hstcp is 'standard' or 'limited'"),
        ("areno", {"bandwidth_unit": 1e11}, "'bandwidth_unit' is too large for the kernel's fixed-point numbers"),
    ],
)
def test_what_an_object_does_not_have_is_refused(
    algorithm: str, parameters: dict[str, float | str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=sentence), bpf.registered(algorithm, parameters, tmp_path):
        pass
    assert not list(runtime_dir().glob("registered/*"))
