"""The algorithm and the path of captures whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from elephan.explanation import open_capture, read_connection
from elephan.explanation.algorithm import Replays, candidates, fit_algorithm, judged, tolerances_of
from elephan.explanation.as_sent import places_of
from elephan.explanation.disciplines import codel_excess, pie_ratio, virtual_queue
from elephan.explanation.events import Events, events_of
from elephan.explanation.path import fit_path
from elephan.explanation.replaying import replay
from elephan.explanation.results import PathFit
from elephan.export import events_of as log_of
from elephan.export import write_pcapng
from elephan.runs.execute import run
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

RATE_BPS = 10e6
RTT_S = 0.040


def captured(folder: Path, algorithm: str, at: Any = "sender", **path: Any) -> Events:
    options = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "30 packets", "duration": "15 s"}
    scenario = Scenario.dumbbell([algorithm], **{**options, **path}, events=True)
    result = run(scenario, store=Store(folder / "store"))
    write_pcapng(result, log_of(result), folder / "capture.pcapng", at)
    return events_of(read_connection(open_capture(folder / "capture.pcapng")))


@pytest.mark.parametrize(
    ("algorithm", "at"),
    [
        ("cubic:linux", "sender"),
        ("htcp:linux", "sender"),
        ("bbr:linux", "sender"),
        ("htcp:linux", "receiver"),
        ("cubic:linux", "receiver"),
    ],
)
def test_a_simulated_sender_is_recognized(tmp_path: Path, algorithm: str, at: str) -> None:
    fit = fit_algorithm(captured(tmp_path, algorithm, at))
    assert algorithm.split(":")[0] in [name.split(":")[0] for name in fit.names], fit


def test_an_algorithm_that_is_no_candidate_is_not_named(tmp_path: Path) -> None:
    fit = fit_algorithm(captured(tmp_path, "cubic:linux"), leave_out=["cubic"])
    assert fit.names == ()
    assert fit.reason.startswith("none of ")


def test_the_path_of_a_simulated_capture_is_found(tmp_path: Path) -> None:
    fit = fit_path(captured(tmp_path, "cubic:linux"))
    found = fit.by_name
    assert fit.queue == "droptail"
    assert found["rate"].value == pytest.approx(RATE_BPS, rel=0.01)
    assert found["rtt"].value == pytest.approx(RTT_S, rel=0.01)
    assert found["buffer"].value == pytest.approx(30 * 1500, rel=0.1)
    assert fit.scenario("reno", duration_s=5).form.links[0].rate_bps == pytest.approx(RATE_BPS, rel=0.01)
    assert len(fit.draws) > 10


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_the_limit_of_a_queue_is_that_of_its_drops(tmp_path: Path, at: str) -> None:
    fit = fit_path(captured(tmp_path, "reno:linux", at, buffer="17 packets"))
    buffer, base = fit.by_name["buffer"], fit.by_name["rtt"]
    assert buffer.value == pytest.approx(17 * 1500, rel=0.1)
    assert buffer.low is not None
    assert buffer.high is not None
    assert buffer.low < 17 * 1500 < buffer.high
    assert base.value == pytest.approx(RTT_S, rel=0.006)
    assert fit.by_name["loss"].value == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("queue", ["codel", "pie"])
def test_active_queues_are_told_apart_and_hide_their_limit(tmp_path: Path, queue: str) -> None:
    fit = fit_path(captured(tmp_path, "cubic:linux", queue=queue, buffer="1000 packets", duration="30 s"))
    assert fit.queue == queue
    assert not fit.by_name["buffer"].identifiable
    assert not fit.by_name["loss"].identifiable


def test_random_losses_are_no_queue(tmp_path: Path) -> None:
    fit = fit_path(captured(tmp_path, "reno:linux", buffer="400 packets", loss=0.004))
    loss = fit.by_name["loss"]
    assert fit.queue is None
    assert fit.queue_reason == "no drop is that of a queue"
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 0.004 < loss.high
    assert not fit.by_name["buffer"].identifiable
    # Those of a full queue are told apart from random ones.
    rare = fit_path(captured(tmp_path, "reno:linux", buffer="400 packets", loss=0.0003))
    loss = rare.by_name["loss"]
    assert rare.queue == "droptail"
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 0.0003 < loss.high
    few = fit_path(captured(tmp_path, "reno:linux", buffer="400 packets", loss=0.0005, duration="2 s"))
    assert few.by_name["loss"].low == 0


DATAGRAMS = {"rate": "3 Mbit/s", "size": "750 B", "arrivals": "poisson"}


def shared(folder: Path, other: dict[str, Any]) -> PathFit:
    scenario = Scenario.dumbbell(
        ["cubic:linux", other], rate="10 Mbit/s", rtt="40 ms", buffer="40 packets", duration="15 s", events=True
    )
    result = run(scenario, store=Store(folder / "store"))
    write_pcapng(result, log_of(result), folder / "capture.pcapng", "sender")
    return fit_path(events_of(read_connection(open_capture(folder / "capture.pcapng"), 1)))


def test_traffic_that_takes_what_is_left_yields(tmp_path: Path) -> None:
    fit = shared(tmp_path, {"algorithm": "cubic", "start": "3 s"})
    assert fit.others is not None
    assert fit.others.kind == "bulk"
    assert fit.others.yields
    assert fit.others.start_s == pytest.approx(3, abs=1)
    assert [flow.algorithm for flow in fit.scenario("bbr", duration_s=5).form.flows] == ["bbr", "cubic"]


def test_a_path_of_its_own_has_no_other_traffic(tmp_path: Path) -> None:
    fit = fit_path(captured(tmp_path, "cubic:linux"))
    assert fit.others is None
    assert fit.by_name["cross"].high is not None
    assert fit.by_name["cross"].high < 0.03
    assert len({draw.rtt_s for draw in fit.draws}) == len({draw.buffer_bytes for draw in fit.draws}) == len(fit.draws)


def test_smaller_packets_of_others_make_the_limit_larger(tmp_path: Path) -> None:
    fit = shared(tmp_path, {"algorithm": "datagrams", "datagrams": DATAGRAMS})
    assert fit.others is not None
    assert fit.others.yields is False
    assert fit.others.packet_bytes == pytest.approx(750, rel=0.02)
    assert fit.by_name["cross"].value == pytest.approx(0.3, abs=0.03)
    assert fit.scenario("bbr", duration_s=5).form.flows[1].name == "other"
    assert fit.by_name["buffer"].value == pytest.approx(40 * 1500, rel=0.12)
    assert "smaller packets" in fit.by_name["buffer"].reason


def test_a_policer_is_found_by_its_tokens(tmp_path: Path) -> None:
    policer = {"rate": "5 Mbit/s", "burst": "60 kB"}
    fit = fit_path(captured(tmp_path, "cubic:linux", rate="100 Mbit/s", queue="policer", queue_parameters=policer))
    assert fit.queue == "policer"
    assert fit.by_name["rate"].value == pytest.approx(5e6, rel=0.02)
    assert fit.scenario("reno", duration_s=5).form.links[0].queue.kind == "policer"


def test_a_replay_can_be_drawn(tmp_path: Path) -> None:
    replays = Replays(captured(tmp_path, "cubic:linux", duration="3 s"))
    own, other = replays.follow("cubic:linux"), replays.follow("reno:linux")
    assert own.segments.columns == ["sent_s", "allowed_s"]
    late = np.abs(own.segments["allowed_s"].to_numpy() - own.segments["sent_s"].to_numpy())
    assert np.mean(late <= 1e-3) > 0.98
    assert own.windows.height == other.windows.height > 100
    with pytest.raises(ScenarioError, match="'xcp' is no algorithm of a TCP sender alone"):
        replays.follow("xcp")
    with pytest.raises(ScenarioError, match="'wrong' is not a preset of cubic"):
        replays.follow("cubic:wrong")


def test_numbered_packets_show_what_is_missing() -> None:
    rows = {
        "bytes": [1000, 1000, 2000, 1000, 1000], "ident": [65534, 65535, 0, 5, 3], "bare": [0, 0, 0, 1, 0],
        "time_ns": [0, 1, 2, 3, 4],
    }  # fmt: skip
    data = pl.DataFrame(rows).cast({"ident": pl.UInt16, "bare": pl.UInt32})
    acked_ns = np.array([10])
    # The last packet was overtaken, and one is missing before the one that overtook it.
    assert places_of(data, acked_ns, 1000).tolist() == [0, 1, 2, 6, 4]
    for ident in ([0] * 5, [9, 30000, 12, 44000, 7], [1, 2, 3, 4, None]):
        unnumbered = data.with_columns(ident=pl.Series(ident, dtype=pl.UInt16))
        assert places_of(unnumbered, acked_ns, 1000).tolist() == [-1] * 5
    # Packets of both directions have common numbers.
    both = data.with_columns(ident=pl.Series([1, 2, 4, 8, 10], dtype=pl.UInt16), bare=pl.lit(0), bytes=pl.lit(1000))
    assert places_of(both, np.array([1, 2, 2, 2, 3]), 1000).tolist() == [-1] * 5


def test_candidates_need_no_routers_and_no_marks_that_are_not_there() -> None:
    assert {"cubic:linux", "bbr", "reno"} <= set(candidates(ecn=False))
    assert not {"xcp", "udt", "dctcp:linux"} & set(candidates(ecn=False))
    assert "dctcp:linux" in candidates(ecn=True)
    # No host has these: a transport of its own, and experiments.
    assert not {"c4", "fixed", "expression", "policy"} & {name.split(":")[0] for name in candidates(ecn=True)}


def test_algorithms_that_cannot_be_told_apart_are_named_together() -> None:
    scores = {"yeah:linux": 0.999, "cubic:linux": 0.998, "stcp": 0.998, "stcp:linux": 0.999, "nv": 0.997, "hcc": 0.4}
    fit = judged(scores, 1000, 1e-3)
    assert fit.names == ("cubic:linux", "yeah:linux", "nv")
    assert fit.reason.endswith("cannot tell these algorithms apart, nor from 1 others")
    assert judged({"cubic": 0.7, "reno": 0.5}, 1000, 1e-3).names == ()
    # Guessed random numbers make some difference, and a large lead shows them.
    assert judged({"cdg:linux": 0.995, "reno:linux": 0.985}, 1000, 1e-3).names == ("reno:linux",)
    assert judged({"bbr:linux": 0.8, "reno:linux": 0.3}, 1000, 1e-3).names == ("bbr:linux",)


def test_signs_of_disciplines() -> None:
    # A bucket of 10 packets that fills with 500 packets a second, and bursts of 25 packets at most.
    stream = np.random.default_rng(1)
    starts = np.cumsum(stream.uniform(0.02, 0.06, 200))
    times = np.concatenate([start + 0.0002 * np.arange(stream.integers(5, 25)) for start in starts])
    tokens, lost = 10.0, np.zeros(len(times), dtype=bool)
    for place, gap in enumerate(np.diff(times, prepend=0.0)):
        tokens = min(10.0, tokens + 500 * gap)
        lost[place] = tokens < 1
        tokens -= not lost[place]
    bucket = virtual_queue(times, lost, 12_000.0)
    assert bucket.rate_bps == pytest.approx(6e6, rel=0.02)
    assert bucket.cost < 0.2
    times = np.arange(2000, dtype=np.float64) * 0.001
    # CoDel drops 100 ms after the wait has risen above 5 ms, and again after 100, 100/sqrt(2) and 100/sqrt(3) ms.
    waits = np.full(400, 0.020)
    drops = np.zeros(400, dtype=bool)
    drops[[100, 200, 271, 329]] = True
    assert codel_excess(times[:400], waits, drops, 0.001, 1e-4) == pytest.approx(1.0)
    assert codel_excess(times[:400], waits, drops[::-1].copy(), 0.001, 1e-4) < 0.3
    assert pie_ratio(times, np.full(2000, 0.001), 5) == np.inf


def test_a_window_that_grows_with_jiffies_is_followed_in_their_phase(tmp_path: Path) -> None:
    path = {"rate": "20 Mbit/s", "rtt": "100 ms", "buffer": "1 BDP", "duration": "20 s"}
    events = captured(tmp_path, "cubic:linux", **path)
    assert Replays(events).score("cubic:linux", tolerances_of(events)) < 0.9
    found = fit_algorithm(events)
    assert found.names == ("cubic:linux",)
    assert found.ranking[0].score > 0.995
    assert replay(events, "cubic:linux").share > 0.995
