"""Programs of the user's own in a Linux guest: what a scenario says of them, and what the path sees of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import elephan
from elephan import Scenario, ScenarioError, export, metrics
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import lab
from elephan.backends.linux.guest import GuestError
from elephan.metrics import MetricError
from elephan.runs import Store

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
guest = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}

SERVER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    wanted = int(connection.recv(100))
    connection.sendall(bytes(wanted))
    connection.close()
"""
CLIENT = """
import os, socket, sys
address, port, wanted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
got = 0
with socket.create_connection((address, port)) as connection:
    connection.sendall(str(wanted).encode())
    while data := connection.recv(65536):
        got += len(data)
open("got", "w").write(str(got))
print("got", got, os.urandom(8).hex(), sorted(os.listdir("/root")))
sys.exit(got != wanted)
"""


def scenario(folder: Path, program: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """A server and a client in Python on a path."""
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)
    python = "/usr/bin/python3"
    own = {
        "name": "mine",
        "server": [python, str(folder / "server.py"), "{port}"],
        "client": [python, str(folder / "client.py"), "{address}", "{port}", "{bytes}"],
        "bytes": "2 MB",
        "port": 7000,
    } | (program or {})
    own = {key: value for key, value in own.items() if value is not None}
    tables = {"duration": "3 s", "dumbbell": PATH, "measure": {"from": "0 s"}, "program": [own]} | more
    return Scenario.from_dict(tables)


def run(made: Scenario, store: Path, **more: Any) -> elephan.Run:
    return elephan.run(made, on="linux", store=Store(store), allow_programs=True, **more)


def test_a_file_says_the_same_after_it_was_written(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    again = Scenario.from_toml(made.to_toml())
    assert again.hash == made.hash
    assert made.form.flows[0].program is not None
    assert made.form.flows[0].program.server == ("python3", "server.py", "{port}")


def test_a_changed_program_is_another_scenario(tmp_path: Path) -> None:
    before = scenario(tmp_path).hash
    (tmp_path / "moved").mkdir()
    assert scenario(tmp_path / "moved").hash == before
    made = scenario(tmp_path)
    (tmp_path / "client.py").write_text(CLIENT + "\n# changed\n")
    assert Scenario.from_toml(made.to_toml()).hash != before


@guest
def test_a_file_that_is_changed_meanwhile_is_no_part_of_a_run(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    assert made.hash
    (tmp_path / "client.py").write_text(CLIENT + "\n# changed\n")
    with pytest.raises(ScenarioError, match=r"flow\[0\]\.program: a file was changed since the scenario was read"):
        run(made, tmp_path / "store")


def test_words_with_dots_are_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "serve").write_text("#!/bin/sh\n")
    (tmp_path / "serve").chmod(0o755)
    (tmp_path / "mine.toml").write_text(
        'duration = "3 s"\n[dumbbell]\nrate = "20 Mbit/s"\nrtt = "40 ms"\nbuffer = "1 BDP"\n'
        '[[program]]\nserver = "./serve --fast"\nclient = "true"\n'
    )
    program = Scenario.load(tmp_path / "mine.toml").flow[0].program
    assert program is not None
    assert program.server == (str(tmp_path / "serve"), "--fast")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ({"server": ["no-such-program"]}, "program[0].server: 'no-such-program' is in none of /usr/local/sbin"),
        ({"server": None}, "program[0].server: missing; write server, or server_of"),
        ({"server_of": "other"}, "program[0].server_of: is there too"),
        ({"server": None, "server_of": "other"}, "program[0].server_of: 'other' is no program with a server"),
        ({"client": []}, "program[0].client: [] is not a command"),
        ({"client": "sh -c 'a"}, "is not a command: no closing quotation"),
        ({"sender": "middle"}, "program[0].sender: "),
        ({"port": 70000}, "program[0].port: "),
        ({"environment": {"A=B": "c"}}, "program[0].environment: "),
        ({"files": ["/no/such/folder"]}, "program[0].files: '/no/such/folder': no such file or folder"),
        ({"size": "1 MB"}, "program[0].size: has no meaning for a program"),
        ({"count": 2}, "program[0].count: a program is no group"),
        ({"algorithm": "cubic"}, "program[0].algorithm: 'cubic' has no meaning for a program"),
        ({"clinet": ["true"]}, "program[0].clinet: not a field of program; did you mean 'client'?"),
        ({"name": "other", "flow": 1}, "program[0].flow: not a field of program; allowed: "),
    ],
)  # fmt: skip
def test_a_wrong_program_is_one_line(tmp_path: Path, program: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenario(tmp_path, program).canonical()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_other_backends_refuse_programs(tmp_path: Path) -> None:
    for on in ("sim", "quic", "model"):
        with pytest.raises(ScenarioError, match="linux"):
            elephan.backends.get(on).check(scenario(tmp_path))


def test_nothing_runs_without_permission(tmp_path: Path) -> None:
    said = r"program 'mine' would run '/usr/bin/python3 .*server.py \{port\}' and .* type --allow-programs"
    with pytest.raises(ScenarioError, match=said):
        elephan.run(scenario(tmp_path), on="linux", store=Store(tmp_path / "store"))
    with pytest.raises(ScenarioError, match=said):
        elephan.sweep([scenario(tmp_path)], on="linux", store=Store(tmp_path / "store"))


@guest
def test_a_capture_runs_programs_again_with_permission_only(tmp_path: Path) -> None:
    made = run(scenario(tmp_path), tmp_path / "store")
    with pytest.raises(ScenarioError, match=r"would run .* type --allow-programs"):
        export.write_guest_pcapng(made, tmp_path / "frames.pcapng")
    export.write_guest_pcapng(made, tmp_path / "frames.pcapng", "receiver", allow_programs=True)
    assert (tmp_path / "frames.pcapng").stat().st_size > 1400 * 60


@guest
def test_the_path_counts_what_a_program_sends(tmp_path: Path) -> None:
    made = run(scenario(tmp_path), tmp_path / "store")
    whole, connection = made.flows.to_dicts()
    assert (whole["name"], connection["name"], connection["algorithm"]) == ("mine", "mine/1", "tcp")
    # 2 MB in 3 s, each byte once.
    assert whole["goodput_mbps"] == pytest.approx(2e6 * 8 / 3 / 1e6, rel=1e-9)
    assert whole["throughput_mbps"] > whole["goodput_mbps"]
    # The handshake and slow start take less than ten round trips, the rest is the rate of the path.
    assert 2e6 * 8 / 20e6 < whole["completion_s"] < 2e6 * 8 / 20e6 + 0.4
    assert connection["rtt_min_ms"] == pytest.approx(40, abs=0.7)
    assert connection["owd_min_ms"] == pytest.approx(20, abs=0.7)
    outcome = made.manifest["engine_summary"]["programs"][0]
    assert outcome["client"] == "exit status 0"
    # Its home is empty.
    assert outcome["outputs"]["client.out"].startswith("got 2000000 ")
    assert outcome["outputs"]["client.out"].endswith("[]\n")


@guest
def test_what_only_the_program_knows_is_no_zero(tmp_path: Path) -> None:
    path = PATH | {"buffer": "0.3 BDP"}
    made = run(scenario(tmp_path, dumbbell=path), tmp_path / "store")
    whole, connection = made.flows.to_dicts()
    for row in (whole, connection):
        assert {row[name] for name in ("loss_events", "ecn_events", "timeouts", "spurious_retransmits")} == {None}
    shown = made.summary()
    drops = shown["links"][0]["drops"]
    assert connection["missing_packets"] == drops > 0
    assert shown["whole_run"]["retransmits"] == connection["retransmits"] == shown["flows"][1]["retransmits"] >= drops
    assert shown["whole_run"]["loss_events"] is None
    with pytest.raises(MetricError, match="the loss events of flow 'mine' are not counted"):
        metrics.loss_events(made)
    # One direction carries 50 kB, 30 kB more in the buffer, and a packet in transmission.
    carried = made.samples.filter(pl.col("flow") == "mine")["network_bytes"].to_numpy()
    assert 50e3 < carried.max() < 82e3
    assert carried[-1] == 0


@guest
def test_a_seed_is_a_run_and_another_seed_is_another(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    one, again, other = (run(made, tmp_path / str(n), seed=seed) for n, seed in enumerate((1, 1, 2)))
    told = [made.manifest["engine_summary"]["programs"][0]["outputs"]["client.out"] for made in (one, again, other)]
    assert told[0] == told[1] != told[2]
    assert {name: table.equals(again.tables()[name]) for name, table in one.tables().items()} == dict.fromkeys(
        one.tables(), True
    )


@guest
def test_a_program_that_fails_fails_the_run_with_its_last_line(tmp_path: Path) -> None:
    made = scenario(tmp_path, {"client": ["/bin/sh", "-c", "echo nothing here >&2; exit 3"]})
    with pytest.raises(GuestError, match="program 'mine': its client ended with exit status 3: nothing here"):
        run(made, tmp_path / "store")
    made = scenario(tmp_path, {"server": ["/bin/sh", "-c", "echo no port; exit 4"]})
    with pytest.raises(GuestError, match=r"its server ended before it was ready \(exit status 4\): no port"):
        run(made, tmp_path / "store")


@guest
def test_a_program_has_no_other_files_and_no_other_network(tmp_path: Path) -> None:
    looks = (
        "date +%Y; ls /root /home; cat /etc/shadow; touch /usr/x; head -c 200000000 /dev/zero > big; ls /sys; exit 0"
    )
    made = run(scenario(tmp_path, {"client": ["/bin/sh", "-c", looks]}), tmp_path / "store")
    outputs = made.manifest["engine_summary"]["programs"][0]["outputs"]
    assert outputs["client.out"].splitlines()[0] == "2026"
    errors = outputs["client.err"]
    for said in ("/etc/shadow: No such file", "touch: cannot touch '/usr/x': Read-only file system", "/sys"):
        assert said in errors


@guest
def test_a_program_that_ignores_its_end_is_ended(tmp_path: Path) -> None:
    made = run(
        scenario(tmp_path, {"client": ["/bin/sh", "-c", "trap '' TERM; while true; do sleep 1; done"], "stop": "1 s"}),
        tmp_path / "store",
    )
    whole = made.flows.to_dicts()[0]
    assert whole["completion_s"] is None
    assert made.manifest["engine_summary"]["programs"][0]["client"] == "signal 9"


@guest
def test_programs_share_a_server_and_a_queue_with_simulated_flows(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    tables = made.to_dict()
    second = {key: value for key, value in tables["flow"][0]["program"].items() if key != "server"}
    tables["flow"].append({"name": "second", "program": second | {"server_of": "mine"}, "start": "0.5 s"})
    tables["flow"].append({"name": "beside", "algorithm": "reno"})
    found = run(Scenario.from_dict(tables | {"duration": "5 s"}), tmp_path / "store")
    assert found.flows["name"].to_list() == ["mine", "mine/1", "second", "second/1", "beside"]
    goodput = dict(zip(found.flows["name"], found.flows["goodput_mbps"], strict=True))
    assert goodput["mine"] == goodput["second"] == pytest.approx(3.2, rel=1e-9)
    assert 5 < goodput["beside"] < 14


@guest
@needs_iperf3
def test_iperf3_gets_what_a_flow_of_linux_gets(tmp_path: Path) -> None:
    path = {"duration": "12 s", "dumbbell": PATH, "measure": {"from": "3 s", "to": "10 s"}, "start_jitter": "0 s"}
    client = ["iperf3", "-c", "{address}", "-p", "{port}", "-t", "11", "-C", "cubic"]
    program = {"server": ["iperf3", "-s", "-p", "{port}"], "client": client, "port": 5201, "sender": "client"}
    own = run(Scenario.from_dict(path | {"program": [{"name": "iperf3"} | program]}), tmp_path / "store")
    flow = Scenario.from_dict(
        path | {"flow": [{"algorithm": "cubic", "stack": {"base": "linux", "reads_at_once": True}}]}
    )
    beside = elephan.run(flow, on="linux", store=Store(tmp_path / "store"))
    assert own.flows["goodput_mbps"][0] == pytest.approx(beside.flows["goodput_mbps"][0], rel=0.01)


UDP_SERVER = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", int(sys.argv[1])))
while True:
    data, peer = server.recvfrom(2000)
    for _ in range(50):
        server.sendto(bytes(1000), peer)
"""
UDP_CLIENT = """
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(b"go", (sys.argv[1], int(sys.argv[2])))
print(sum(len(client.recv(2000)) for _ in range(50)))
"""


@guest
def test_datagrams_of_a_program_are_a_connection(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    (tmp_path / "server.py").write_text(UDP_SERVER)
    (tmp_path / "client.py").write_text(UDP_CLIENT)
    whole, connection = run(Scenario.from_toml(made.to_toml()), tmp_path / "store").flows.to_dicts()
    assert (connection["algorithm"], connection["segments_delivered"]) == ("udp", 50)
    assert whole["goodput_mbps"] == pytest.approx(50 * 1000 * 8 / 3 / 1e6, rel=1e-9)
    assert whole["throughput_mbps"] == pytest.approx(50 * 1028 * 8 / 3 / 1e6, rel=1e-9)
    assert (connection["retransmits"], connection["rtt_min_ms"]) == (None, None)
    # A round trip, and the time of 49 more datagrams at the rate of the path.
    assert whole["completion_s"] == pytest.approx(0.04 + 50 * 1028 * 8 / 20e6, abs=2e-3)


QUIC = Path(__file__).parents[2] / "target" / "release" / "quic-transfer"


@guest
@pytest.mark.skipif(not QUIC.is_file(), reason="quic-transfer is not built: cargo build --release -p quic-transfer")
def test_the_spin_bit_of_quinn_shows_the_rtt_of_the_path(tmp_path: Path) -> None:
    made = Scenario.load(Path(__file__).parents[2] / "examples" / "programs" / "quinn.toml")
    found = [run(made, tmp_path / "store", seed=seed).flows.to_dicts()[1] for seed in (1, 2)]
    # An end declines the bit in one connection of eight, and sets it at random.
    spins = [row for row in found if row["rtt_min_ms"] is not None]
    assert spins
    for row in spins:
        assert row["rtt_min_ms"] == pytest.approx(40, abs=0.5)
        # A full buffer of 1 BDP adds 40 ms, and ACKs may be late by 25 ms.
        assert 60 < row["rtt_p95_ms"] < 110


@guest
def test_a_run_that_repeats_is_kept(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    store = Store(tmp_path / "store")
    found = elephan.run(made, on="linux", store=store, allow_programs=True, check_repeat=True)
    assert store.find(found.id) is not None
    files = found.manifest["engine_summary"]["programs"][0]["files"]
    assert files["client/got"]["bytes"] == 7


READS = """
import ctypes, mmap
def instruction(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex(code) + bytes.fromhex("c3"))
    return ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page))), page
rdrand, kept = instruction("480fc7f0")
rdtsc, kept_too = instruction("0f3148c1e2204809d0")
"""
HAS_RDRAND = "rdrand" in Path("/proc/cpuinfo").read_text(encoding="ascii")
needs_rdrand = pytest.mark.skipif(not HAS_RDRAND, reason="the processor has no rdrand")


@guest
@needs_rdrand
@pytest.mark.parametrize(
    ("does", "first"),
    [
        ("print(rdrand())", r"mine: client\.out from line 1 \("),
        ("wanted = wanted // 2 + rdrand() % 1000 * 1000", r"packet \d+ at the \w+, [\d.]+ s after the start .*flows"),
    ],
)
def test_a_run_that_does_not_repeat_says_what_differs_first(tmp_path: Path, does: str, first: str) -> None:
    made = scenario(tmp_path)
    (tmp_path / "client.py").write_text(CLIENT.replace("got = 0", READS + does + "\ngot = 0"))
    store = Store(tmp_path / "store")
    with pytest.raises(elephan.NotRepeatableError, match=f"with seed 1 differs, so nothing is kept: first {first}"):
        elephan.run(Scenario.from_toml(made.to_toml()), on="linux", store=store, allow_programs=True, check_repeat=True)
    assert list(store) == []


@guest
def test_the_cycle_counter_is_the_time_of_the_guest(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    looks = """import time
times = [rdtsc() for _ in range(1000)]
print(times[0] - time.clock_gettime_ns(time.CLOCK_MONOTONIC), sum(a >= b for a, b in zip(times, times[1:])))
time.sleep(0.25)
print(rdtsc() - times[0])
"""
    (tmp_path / "client.py").write_text(READS + looks)
    found = elephan.run(
        Scenario.from_toml(made.to_toml()), on="linux", store=Store(tmp_path / "store"), allow_programs=True,
        check_repeat=True,
    )  # fmt: skip
    told = found.manifest["engine_summary"]["programs"][0]["outputs"]["client.out"].split()
    offset_ns, standing, later_ns = map(int, told)
    assert (abs(offset_ns) < 1e6, standing) == (True, 0)
    assert later_ns == pytest.approx(250e6, rel=1e-3)


@guest
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_does_not_draw_from_the_processor(tmp_path: Path) -> None:
    made = run(scenario(tmp_path, {"client": ["openssl", "version", "-c"]}), tmp_path / "store")
    told = made.manifest["engine_summary"]["programs"][0]["outputs"]["client.out"]
    rdrand, rdseed = (int(word, 16) for word in told.split("=")[1].split()[0].split(":")[:2])
    assert (rdrand >> 62 & 1, rdseed >> 18 & 1) == (0, 0)


def test_measurements_do_not_repeat(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="--check-repeat: runs on 'kernel' are measurements, so none repeats"):
        elephan.run(Scenario.dumbbell(["cubic"], **PATH), on="kernel", store=Store(tmp_path), check_repeat=True)


def test_the_simulator_repeats(tmp_path: Path) -> None:
    made = Scenario.dumbbell(["cubic"], **PATH, duration="2 s")
    assert elephan.run(made, store=Store(tmp_path), check_repeat=True).flows["goodput_mbps"][0] > 0
