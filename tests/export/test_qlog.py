"""qlog: the shape that its schema gives, and a story that agrees with the run's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elephan import Run, export
from elephan.cli.packets import Packets
from elephan.export.qlog import ranges

MS = 1e-3
PAYLOAD = 1448

# draft-ietf-quic-qlog-quic-events: the fields of each event that is written, with their types; ! is for what must be.
NUMBER = (int, float)
HEADER: dict[str, Any] = {"packet_type!": str, "packet_number": int}
RAW: dict[str, Any] = {"length": int, "payload_length": int}
SHAPES: dict[str, dict[str, Any]] = {
    "transport:packet_sent": {"header!": HEADER, "frames": list, "raw": RAW},
    "transport:packet_received": {"header!": HEADER, "frames": list, "raw": RAW},
    "recovery:packet_lost": {"header": HEADER, "frames": list},
    "recovery:parameters_set": {
        "max_datagram_size": int, "initial_congestion_window": int, "reordering_threshold": int,
    },
    "recovery:metrics_updated": {
        "min_rtt": NUMBER, "smoothed_rtt": NUMBER, "latest_rtt": NUMBER, "congestion_window": int,
        "bytes_in_flight": int, "packets_in_flight": int,
    },
}  # fmt: skip
FRAMES: dict[str, dict[str, Any]] = {
    "stream": {"frame_type!": str, "stream_id!": int, "offset!": int, "length!": int},
    "ack": {"frame_type!": str, "acked_ranges": list},
    "datagram": {"frame_type!": str, "length": int},
}


def check(value: Any, shape: Any) -> None:
    """That a value has a shape, and nothing else."""
    if not isinstance(shape, dict):
        assert isinstance(value, shape)
        assert not isinstance(value, bool)
        return
    assert {name[:-1] for name in shape if name.endswith("!")} <= set(value) <= {name.rstrip("!") for name in shape}
    for name, inner in shape.items():
        if name.rstrip("!") in value:
            check(value[name.rstrip("!")], inner)


@pytest.fixture(scope="module")
def document(lossy: Run, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("qlog") / "lossy.qlog"
    count = export.write_qlog(lossy, export.events_of(lossy), path)
    document = json.loads(path.read_text())
    assert sum(len(trace["events"]) for trace in document["traces"]) == count
    return document


def test_a_log_reports_its_progress_and_knows_its_size_beforehand(lossy: Run, tmp_path: Path) -> None:
    events, told = export.events_of(lossy), list[tuple[int, int]]()
    export.write_qlog(lossy, events, tmp_path / "a.qlog", lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] == events["kind"].cast(str).is_in(["sent", "acked"]).sum()
    size = (tmp_path / "a.qlog").stat().st_size
    assert 0.7 < export.qlog_bytes(events) / size < 1.4


def test_a_large_log_is_announced(lossy: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Packets(pcapng=None, qlog="a.qlog")._announce(443_000_000)
    assert capsys.readouterr().err == (
        "warning: a.qlog: about 443 MB; --window FROM TO and --flow NAME make it smaller\n"
    )
    Packets(pcapng=None, qlog="a.qlog")._announce(1_000_000)
    assert capsys.readouterr().err == ""


def named(trace: Any, name: str) -> list[Any]:
    return [event for event in trace["events"] if event["name"] == name]


def test_the_file_has_the_schema_s_shape(document: Any) -> None:
    assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
    assert [trace["title"] for trace in document["traces"]] == ["plain", "capable", "chatter"]
    for trace in document["traces"]:
        assert set(trace) <= {"title", "description", "configuration", "common_fields", "vantage_point", "events"}
        assert trace["vantage_point"]["type"] == "client"
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        for event in trace["events"]:
            assert set(event) == {"time", "name", "data"}
            check(event["data"], SHAPES[event["name"]])
            for frame in event["data"].get("frames", []):
                check(frame, FRAMES[frame["frame_type"]])


def test_each_transmission_is_sent_once_acknowledged_at_most_once_and_lost_where_it_was_repeated(
    document: Any, lossy: Run
) -> None:
    for trace, flow in zip(document["traces"][:2], lossy.flows.iter_rows(named=True), strict=False):
        sent = {event["data"]["header"]["packet_number"]: event for event in named(trace, "transport:packet_sent")}
        assert list(sent) == list(range(flow["segments_sent"]))
        lost = {event["data"]["header"]["packet_number"] for event in named(trace, "recovery:packet_lost")}
        assert len(lost) == flow["retransmits"] > 5
        acked: set[int] = set()
        for event in named(trace, "transport:packet_received"):
            for first, last in event["data"]["frames"][0]["acked_ranges"]:
                fresh = set(range(first, last + 1))
                assert fresh
                assert not fresh & acked
                assert all(sent[number]["time"] < event["time"] for number in fresh)
                acked |= fresh
        assert not acked & lost
        offsets = [sent[number]["data"]["frames"][0]["offset"] for number in acked]
        assert len(set(offsets)) == len(offsets)
        # A packet that is neither is still on its way.
        assert len(acked) + len(lost) <= len(sent) <= len(acked) + len(lost) + 200


def test_metrics_are_the_sender_s(document: Any, lossy: Run) -> None:
    trace = document["traces"][0]
    metrics = [event["data"] for event in named(trace, "recovery:metrics_updated")]
    rtt_min_ms = min(event["min_rtt"] for event in metrics)
    assert metrics[-1]["min_rtt"] == rtt_min_ms
    assert 40 < rtt_min_ms < 45
    last = lossy.samples.filter(lossy.samples["flow"].cast(str) == "plain").tail(1)
    assert metrics[-1]["congestion_window"] == pytest.approx(last["cwnd"][0] * PAYLOAD, abs=1)
    assert metrics[-1]["packets_in_flight"] == last["in_flight"][0]


def test_datagrams_are_never_acknowledged(document: Any, lossy: Run) -> None:
    trace = document["traces"][2]
    assert {event["name"] for event in trace["events"]} == {"recovery:parameters_set", "transport:packet_sent"}
    assert len(trace["events"]) == lossy.flows["segments_sent"][2] + 1


def test_ranges_hold_neighbors_together() -> None:
    assert ranges([]) == []
    assert ranges([4]) == [[4, 4]]
    assert ranges([1, 2, 3, 7, 9, 10]) == [[1, 3], [7, 7], [9, 10]]
