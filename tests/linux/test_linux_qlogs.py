"""Logs of programs in qlog: the dialects of stacks, damage, and what becomes of their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.linux.test_linux_programs import guest, run, scenario

from elephan import Scenario
from elephan.backends.linux import qlogs
from elephan.backends.linux.qlogs import QlogError, at_times, mean_window, read


def seq(head: dict[str, Any], *events: dict[str, Any]) -> bytes:
    return b"".join(b"\x1e" + json.dumps(record).encode() + b"\n" for record in (head, *events))


def event(time: float, name: str, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


QUINN = seq(
    {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "client"}}},
    event(0.5, "transport:packet_sent", header={"packet_type": "1RTT", "packet_number": 7}) | {"group_id": "ABCD"},
    event(1.0, "recovery:metrics_updated", congestion_window=12000, bytes_in_flight=2400, smoothed_rtt=41.5,
          latest_rtt=42.0) | {"group_id": "ABCD"},
    event(2.0, "recovery:packet_lost", header={"packet_type": "1RTT", "packet_number": 7}) | {"group_id": "ABCD"},
    event(2.0, "recovery:metrics_updated", congestion_window=8400) | {"group_id": "ABCD"},
)  # fmt: skip
QUIC_GO = seq(
    {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"common_fields": {
        "group_id": "abcd", "reference_time": {"clock_type": "monotonic", "epoch": "unknown",
                                               "wall_clock_time": "2026-01-01T00:00:32Z"}}}},
    event(1.0, "recovery:metrics_updated", congestion_window=12000, bytes_in_flight=2400, smoothed_rtt=41.5,
          latest_rtt=42.0),
    event(2.0, "recovery:packet_lost", header={"packet_type": "1RTT", "packet_number": 7}, trigger="time_threshold"),
    event(2.0, "recovery:congestion_state_updated", new="recovery"),
    event(2.0, "recovery:metrics_updated", congestion_window=8400),
)  # fmt: skip
QUICHE = seq(
    {"qlog_version": "0.3", "trace": {"configuration": {"time_offset": 0.0}}},
    event(1.0, "quic:recovery_metrics_updated", congestion_window=12000, bytes_in_flight=2400, smoothed_rtt=41.5,
          latest_rtt=42.0),
    event(2.0, "quic:packet_lost", header={"packet_type": "1RTT", "packet_number": 7}),
    event(2.0, "quic:congestion_state_updated", new="recovery", trigger="ecn"),
    event(2.0, "quic:recovery_metrics_updated", congestion_window=8400),
)  # fmt: skip
AIOQUIC = json.dumps({
    "qlog_format": "JSON", "qlog_version": "0.3",
    "traces": [{"common_fields": {"ODCID": "abcd"}, "events": [
        event(1767225600000.5, "transport:packet_sent", header={"packet_type": "1RTT", "packet_number": 7}),
        event(1767225600001.0, "recovery:metrics_updated", cwnd=12000, bytes_in_flight=2400),
        event(1767225600001.0, "recovery:metrics_updated", smoothed_rtt=41.5, latest_rtt=42.0),
        event(1767225600002.0, "recovery:packet_lost", type="1RTT", packet_number=7),
        event(1767225600002.0, "recovery:metrics_updated", cwnd=8400),
    ]}],
}).encode()  # fmt: skip


@pytest.mark.parametrize(
    ("content", "group", "dated", "marks"),
    [
        (QUINN, "abcd", False, None),
        (QUIC_GO, "abcd", True, None),
        (QUICHE, "", False, [1]),
        (AIOQUIC, "abcd", True, None),
    ],
    ids=["quinn", "quic-go", "quiche", "aioquic"],
)
def test_each_dialect_says_the_same(
    tmp_path: Path, content: bytes, group: str, dated: bool, marks: list[int] | None
) -> None:
    (tmp_path / "log.sqlog").write_bytes(content)
    (log,) = read(tmp_path / "log.sqlog")
    assert (log.group, log.dated) == (group, dated)
    zero_ms = log.metrics[0][0] - 1.0
    seen = at_times(log, [zero_ms + time_ms for time_ms in (0.9, 1.0, 2.0)])
    assert seen.values[0] == (None,) * 5
    assert seen.values[1][:2] == (12000, 2400)
    assert seen.values[2] == (8400, 2400, None, 41.5, 42.0)
    assert seen.lost == [0, 0, 1]
    assert seen.events == ([0, 0, 0] if marks else [0, 0, 1])
    assert (None if seen.marks is None else seen.marks[-1:]) == marks
    for begun_ms, mean, most in ((1.0, 10200, 12000), (2.5, 8400, 8400)):
        assert mean_window(log, zero_ms + begun_ms, zero_ms + 3.0) == pytest.approx((mean, most))


def test_times_that_count_from_the_event_before_are_summed(tmp_path: Path) -> None:
    head = {"qlog_version": "0.3", "trace": {"common_fields": {"time_format": "delta"}}}
    events = [event(2.0, "recovery:metrics_updated", congestion_window=n) for n in (1, 2, 3)]
    (tmp_path / "log.qlog").write_bytes(seq(head, *events))
    (log,) = read(tmp_path / "log.qlog")
    assert [time_ms for time_ms, _ in log.metrics] == [2.0, 4.0, 6.0]


def test_a_log_of_a_program_that_was_ended_is_read_until_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "log.sqlog").write_bytes(QUINN[:-30])
    (log,) = read(tmp_path / "log.sqlog")
    assert log.metrics[-1][1][0] == 12000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no log",
        b"{}",
        b"\x1e{",
        b"\x1enot json\n",
        QUINN.replace(b'"congestion_window": 12000', b'"congestion_window": {}'),
        QUINN.replace(b"\x1e{", b"\x1e", 2).replace(b"\x1e", b"\x1e{", 1),
        AIOQUIC[:-20],
        b"\x1e" + b'{"trace": {}, "a": "' + b"x" * (2 << 20) + b'"}\n',
    ],
)
def test_a_damaged_log_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "0" / "server").mkdir(parents=True)
    file = tmp_path / "0" / "server" / "log.qlog"
    file.write_bytes(content)
    with pytest.raises(QlogError) as raised:
        read(file)
    assert "\n" not in str(raised.value)
    logs, complaints = qlogs.of_folder(tmp_path)
    assert logs == {}
    assert complaints[0].startswith("server/log.qlog is left out, since it is no qlog or a damaged one: ")


SERVER = """
import json, socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", int(sys.argv[1])))
data, peer = server.recvfrom(2000)
begun = time.monotonic()
log = open(sys.argv[2] + "/log.sqlog", "w")
def tell(record):
    log.write(chr(30) + json.dumps(record) + chr(10))
    log.flush()
tell({"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"common_fields": {"group_id": data[6:8].hex()}}})
for window in (12, 6):
    for _ in range(25):
        server.sendto(bytes(1000), peer)
    now = 1e3 * (time.monotonic() - begun)
    if window < 12:
        tell({"time": now, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 3}}})
    tell({"time": now, "name": "recovery:metrics_updated", "data": {"congestion_window": 1000 * window,
        "bytes_in_flight": 500 * window, "smoothed_rtt": 40.5, "latest_rtt": 41.0}})
    time.sleep(1)
"""
CLIENT = """
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(bytes.fromhex("c3000000010212ef00"), (sys.argv[1], int(sys.argv[2])))
print(sum(len(client.recv(2000)) for _ in range(50)))
"""


@guest
def test_a_log_gives_its_connection_a_window(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    tables = made.to_dict()
    tables["flow"][0]["program"]["server"].append("{dir}")
    tables["flow"][0]["program"]["environment"] = {"QLOGDIR": "{dir}"}
    found = run(Scenario.from_dict(tables | {"sample_period": "0.5 s"}), tmp_path / "store")
    assert found.warnings == []
    for row in found.flows.to_dicts():
        assert (row["retransmits"], row["loss_events"]) == (1, None)
        assert (row["cwnd_max"], row["rtt_p50_ms"]) == (12.0, 41.0)
    samples = found.samples.filter(pl.col("flow") == "mine/1")
    assert samples["cwnd"].to_list()[:4] == [None, 12.0, 12.0, None]
    assert samples["in_flight"].to_list()[1:3] == [6, 6]
    assert samples["srtt_s"].to_list()[1:3] == [0.0405, 0.0405]
    assert samples["retransmits"].to_list() == [0, 0, 0, 1, 1, 1, 1]
