"""Frames of real Linux flows: the capture, and the simulator's packets beside it. Skipped where no kernel is built."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from tests import scripts

from elephan import Scenario, ScenarioError, export, runs
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import kernels, lab
from elephan.cli.main import run_command
from elephan.export.pcapng import Side

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
pytestmark = [
    pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: apt install tshark)"),
]
large = pytest.mark.large
FRAMES = scripts.load("benches/linux_frames.py")
ACCURATE = scripts.load("benches/linux_accurate.py")
PACKET_BLOCK = 6
PATH = "10 Mbit/s × 100 ms, 1 BDP"


def _counts_marks() -> bool:
    return any(kernel.has("include/net/tcp_ecn.h") for kernel in kernels.offered() if kernel.hz == kernels.DEBIAN_HZ)


@pytest.mark.parametrize(
    ("algorithm", "path", "traffic", "seconds"),
    [
        ("cubic", PATH, "alone", 5),
        ("vegas", PATH, "alone", 5),
        ("bic", "1 Mbit/s × 100 ms, 4 BDP", "two", 8),
        pytest.param("reno", PATH, "alone", 5, marks=large),
        pytest.param("westwood", PATH, "alone", 5, marks=large),
        pytest.param("hstcp", "100 Mbit/s × 40 ms, 333 packets", "alone", 1.5, marks=large),
        pytest.param("bic", "1 Mbit/s × 100 ms, 4 BDP", "two", 20, marks=large),
    ],
)
def test_each_packet_is_that_of_linux(algorithm: str, path: str, traffic: str, seconds: float) -> None:
    ours, theirs = FRAMES.streams(FRAMES.Cell(traffic, path, algorithm, 1), seconds)
    for stream in ours:
        mine, real = ours[stream], theirs[stream]
        # Packets after the last one in the simulator arrive at the end of the run.
        assert 0.98 * len(real) - 20 < len(mine) <= len(real), stream
        assert FRAMES.equal_pairs(mine, real) == len(mine), stream


@pytest.mark.skipif(not _counts_marks(), reason="no kernel with accurate ECN is built (Linux 6.18 or later)")
@pytest.mark.parametrize("algorithm", ["cubic", "dctcp"])
def test_accurate_ecn_is_that_of_linux(algorithm: str) -> None:
    for ours, theirs in ACCURATE.pairs(ACCURATE.Case(algorithm, "step"), 2.0, 1).values():
        assert ACCURATE.equal_pairs(ours, theirs) == len(ours) == len(theirs) > 1000
        assert ACCURATE.late_ms(ours, theirs) < 0.1


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def run(store: Path) -> runs.Run:
    scenario = Scenario.dumbbell(
        [{"algorithm": "reno:linux", "backend": "linux"}],
        rate="5 Mbit/s", rtt="20 ms", buffer="1 BDP", duration="2 s",
    )  # fmt: skip
    return runs.run(scenario, on="linux", store=runs.Store(store))


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_the_capture_has_each_frame_of_a_device(run: runs.Run, side: Side, tmp_path: Path) -> None:
    export.write_guest_pcapng(run, tmp_path / "frames.pcapng", side)
    data, at, frames = (tmp_path / "frames.pcapng").read_bytes(), 0, 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        frames += kind == PACKET_BLOCK
        at += size
    assert at == len(data)
    flow = run.flows.row(0, named=True)
    lines = [line.split("\t") for line in FRAMES.fields_of(tmp_path / "frames.pcapng")]
    assert frames == len(lines)
    segments = sum(int(fields[3]) > 0 for fields in lines)
    expected = flow["segments_sent"] if side == "sender" else flow["segments_delivered"]
    assert segments == pytest.approx(expected, abs=30)


def test_a_run_without_the_engine_as_its_path_has_no_capture(run: runs.Run, tmp_path: Path) -> None:
    scenario = run.scenario.replace(flow=[{"algorithm": "reno:linux"}])
    plain = runs.run(scenario, on="linux", store=runs.Store(tmp_path))
    with pytest.raises(ScenarioError, match="netem in the guest, which captures nothing"):
        export.write_guest_pcapng(plain, tmp_path / "frames.pcapng")
    assert not (tmp_path / "frames.pcapng").exists()


@pytest.mark.parametrize(
    ("more", "message"), [(["--flow", "x"], "is not a flow"), (["--qlog", "x.qlog"], "has no qlog")]
)
def test_other_files_of_a_linux_run_are_refused(
    run: runs.Run,
    store: Path,
    more: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ELEPHAN_STORE", str(store))
    words = ["show", run.id, "--pcapng", str(tmp_path / "a.pcapng"), *more]
    assert run_command(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("window", ["30 kB", "64 KiB", pytest.param("256 KiB", marks=large)])
def test_a_flow_that_the_receive_window_limits_is_that_of_linux(window: str, tmp_path: Path) -> None:
    form = {
        "duration": "0.25 s", "dumbbell": {"rate": "1 Gbit/s", "rtt": "8 ms", "buffer": "1 MB"},
        "stack": {"receive_window": window}, "flow": [{"algorithm": "cubic:linux"}],
    }  # fmt: skip
    real = Scenario.from_dict(form | {"flow": [{"algorithm": "cubic:linux", "backend": "linux"}]})
    ours, theirs = FRAMES.simulated(Scenario.from_dict(form | {"events": True})), FRAMES.captured(real)
    for stream in ours:
        assert FRAMES.equal_pairs(ours[stream], theirs[stream]) == len(ours[stream]) > 100, stream
    scenario = Scenario.from_dict(form)
    limited = [
        runs.run(scenario, on=on, store=runs.Store(tmp_path)).flows["receive_window_limited_fraction"][0]
        for on in ("sim", "linux")
    ]
    assert limited == pytest.approx([1, 1], abs=0.01)
