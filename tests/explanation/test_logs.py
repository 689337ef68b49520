"""Limits from the logs of ss, iperf3 and qlog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import elephan
from elephan.cli.main import run_command
from elephan.explanation import Limit
from elephan.explanation.explaining import explain_file
from elephan.explanation.log_limits import LogExplanation

SS = """{time}.5
State Recv-Q Send-Q Local Address:Port Peer Address:Port
ESTAB 0      {queue} 192.0.2.1:5201 198.51.100.2:40000
\t ts sack cubic wscale:7,7 rto:244 rtt:{rtt}/0.5 ato:40 mss:1448 pmtu:1500 cwnd:{cwnd} ssthresh:50 bytes_sent:{sent} \
bytes_retrans:1448 bytes_acked:{acked} segs_out:10 send 50Mbps lastsnd:4 pacing_rate 60Mbps delivery_rate 19.2Mbps \
delivered:5 busy:{busy}ms rwnd_limited:{receive}ms(3.1%) sndbuf_limited:{send}ms unacked:{unacked} retrans:0/{lost} \
minrtt:40.1
ESTAB 0      0      192.0.2.1:22 198.51.100.9:50000
\t ts sack cubic wscale:7,7 rtt:10/1 mss:1448 cwnd:10 bytes_acked:1000 minrtt:9
"""


def ss(path: Path, *, busy: int = 1000, receive: int = 0, send: int = 0, rtt: float = 60.0, lost: int = 1) -> Path:
    """Outputs of ten seconds; the counters are those of a second, ms."""
    rows = [
        SS.format(
            time=1000 + i, queue=i, rtt=rtt, cwnd=80 + i, sent=i * 2_400_000, acked=i * 2_400_000, busy=i * busy,
            receive=i * receive, send=i * send, unacked=80 + i, lost=lost,
        )
        for i in range(10)
    ]  # fmt: skip
    path.write_text("".join(rows))
    return path


def explained(path: Path) -> LogExplanation:
    found = explain_file(path)
    assert isinstance(found, LogExplanation)
    return found


def shares(path: Path) -> dict[Limit, float]:
    return {share.limit: share.fraction for share in explained(path).shares}


def test_counters_of_linux_are_the_shares(tmp_path: Path) -> None:
    found = shares(ss(tmp_path / "ss.txt", busy=900, receive=500, send=100))
    assert found == pytest.approx(
        {Limit.APPLICATION: 0.1, Limit.RECEIVE_WINDOW: 0.5, Limit.SEND_BUFFER: 0.1, Limit.CONGESTION: 0.3}
    )


def test_the_largest_connection_is_taken_with_its_algorithm(tmp_path: Path) -> None:
    found = explained(ss(tmp_path / "ss.txt"))
    assert (found.log.algorithm, found.log.connections) == ("cubic", 2)
    assert found.goodput_bps == pytest.approx(19.2e6)
    assert found.text.startswith(
        "A sent at 19.2 Mbit/s for 9 s by cubic over a path with a round trip of at least 40.1 ms"
    )


def test_losses_without_a_queue_are_random(tmp_path: Path) -> None:
    assert shares(ss(tmp_path / "ss.txt", rtt=40.3, lost=9)) == {Limit.RANDOM_LOSS: 1.0}


def test_outputs_of_ss_without_times_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    text = ss(path).read_text()
    path.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("10")))
    with pytest.raises(elephan.ScenarioError, match="while sleep"):
        explain_file(path)


def iperf3(path: Path, *, rate_bps: float, window: int, rtt_us: int = 60_000, target: float = 0.0) -> Path:
    intervals = [
        {
            "streams": [{
                "socket": 5, "start": i, "end": i + 1, "bytes": rate_bps / 8, "bits_per_second": rate_bps,
                "retransmits": int(i == 3), "snd_cwnd": window, "rtt": 40_000 if i == 0 else rtt_us, "sender": True,
            }]
        }
        for i in range(10)
    ]  # fmt: skip
    document = {
        "start": {"test_start": {"target_bitrate": target}}, "intervals": intervals,
        "end": {"sender_tcp_congestion": "bbr"},
    }  # fmt: skip
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("window", "target", "limit"),
    [(150_000, 0.0, Limit.CONGESTION), (900_000, 0.0, Limit.SEND_BUFFER), (900_000, 20e6, Limit.APPLICATION)],
)
def test_iperf3_shows_if_the_window_is_filled(window: int, target: float, limit: Limit, tmp_path: Path) -> None:
    found = explained(iperf3(tmp_path / "one.json", rate_bps=19e6, window=window, target=target))
    assert found.shares[0].limit is limit
    assert found.log.algorithm == "bbr"


@pytest.mark.parametrize("sequence", [False, True])
def test_a_qlog_in_json_and_json_seq(sequence: bool, tmp_path: Path) -> None:
    events = [
        {"time": 10.0 * i, "name": "recovery:metrics_updated", "data": {
            "congestion_window": 30_000, "bytes_in_flight": 29_000 if i < 50 else 2_000, "ssthresh": 20_000,
            "smoothed_rtt": 50 if i else 40, "latest_rtt": 50 if i else 40,
        }}
        for i in range(100)
    ]  # fmt: skip
    path = tmp_path / "one.qlog"
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ" if sequence else "JSON"}
    if sequence:
        lines = [head | {"trace": {}}, *events]
        path.write_text("".join(f"\x1e{json.dumps(line)}\n" for line in lines))
    else:
        path.write_text(json.dumps(head | {"traces": [{"events": events}]}))
    found = shares(path)
    assert found[Limit.CONGESTION] == pytest.approx(0.5, abs=0.02)
    assert found[Limit.APPLICATION] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "content", [b"{", b'{"intervals": 3}', b'{"qlog_version": "0.3"', b"1.0\n cwnd:x\n", b"\x1e{}"]
)
def test_damaged_logs_are_one_line(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.log"
    path.write_bytes(content)
    assert run_command(["explain", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["explain", str(ss(tmp_path / "ss.txt")), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["log"] == "ss"
    assert "192.0.2.1" not in json.dumps(document)
