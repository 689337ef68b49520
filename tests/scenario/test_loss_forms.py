"""Losses in intervals, in time and after the transmitter: their forms, their files, and their closed forms in runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan import Run, run
from elephan.metrics.throughput import throughput_mbps
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

S = 10**12
MS = 10**9
PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 packets"}
CBR = {"name": "cbr", "datagrams": {"rate": "20 Mbit/s", "size": "1500 B"}}


def scenario(loss: Any, flow: dict[str, Any] | None = None, duration: str = "20 s", **fields: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "duration": duration,
            "start_jitter": "0 s",
            "dumbbell": PATH | {"loss": loss} | fields,
            "flow": [flow or {"algorithm": "cubic"}],
        }
    )


def link(given: Scenario) -> dict[str, Any]:
    (found,) = (row for row in given.canonical()["links"] if row["name"] == "bottleneck")
    return dict(found)


def made(given: Scenario, folder: Path) -> Run:
    return run(given, store=Store(folder))


INTERVALS = [
    {"probability": "100%", "from": "1 s", "to": "1.5 s"},
    {"probability": "20%", "from": "2 s", "to": "3 s"},
]


@pytest.mark.parametrize(
    ("loss", "form"),
    [
        (
            INTERVALS,
            {
                "kind": "intervals",
                "intervals": [
                    {"p": 1.0, "from_ps": S, "to_ps": 3 * S // 2},
                    {"p": 0.2, "from_ps": 2 * S, "to_ps": 3 * S},
                ],
            },
        ),
        (INTERVALS[1:], {"kind": "interval", "p": 0.2, "from_ps": 2 * S, "to_ps": 3 * S}),
        (
            {"good": "2 s", "bad": "16.7 ms", "in_bad": "50%"},
            {"kind": "timed_states", "good_ps": 2 * S, "bad_ps": 16_700_000_000, "in_good": 0.0, "in_bad": 0.5},
        ),
        ({"probability": "1%"}, {"kind": "bernoulli", "p": 0.01}),
    ],
)
@pytest.mark.parametrize("wire", [False, True])
def test_what_is_written_is_what_the_engine_gets(loss: Any, form: dict[str, Any], wire: bool) -> None:
    if wire:
        loss = {"intervals": loss, "at": "wire"} if isinstance(loss, list) else loss | {"at": "wire"}
    given = scenario(loss)
    assert link(given)["loss"] == form
    assert link(given).get("loss_on_wire", False) == wire
    assert Scenario.from_toml(given.to_toml()).hash == given.hash
    assert given.is_random


def test_a_file_of_outages_is_read_with_its_units(tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text("from_s,to (ms)\n1,1500\n2,3000\n")
    whole = scenario({"intervals": str(tmp_path / "outages.csv")})
    assert [row["p"] for row in link(whole)["loss"]["intervals"]] == [1.0, 1.0]
    assert not whole.is_random
    part = scenario({"intervals": str(tmp_path / "outages.csv"), "probability": "30%"})
    assert [row["p"] for row in link(part)["loss"]["intervals"]] == [0.3, 0.3]
    pl.DataFrame({"from_s": [1.0, 2.0], "to_s": [1.5, 3.0], "probability": [1.0, 0.2]}).write_parquet(
        tmp_path / "o.parquet"
    )
    assert scenario({"intervals": str(tmp_path / "o.parquet")}).hash == scenario(INTERVALS).hash
    (tmp_path / "s.toml").write_text(
        'duration = "5 s"\n[dumbbell]\nrate = "10 Mbit/s"\nrtt = "40 ms"\nbuffer = "1 BDP"\n'
        'loss = { intervals = "outages.csv" }\n[[flow]]\nalgorithm = "reno"\n'
    )
    loaded = Scenario.load(tmp_path / "s.toml")
    (tmp_path / "outages.csv").unlink()
    assert Scenario.from_toml(loaded.to_toml()).hash == loaded.hash


@pytest.mark.parametrize(
    ("loss", "line"),
    [
        ([], "dumbbell.loss: there are no intervals"),
        (["1%"], "dumbbell.loss: '1%' is not an interval"),
        ([INTERVALS[1], INTERVALS[0]], "interval 2: from: '1 s' is before the end of the interval before, 3 s"),
        ([{"probability": "1%", "from": "2 s"}], "dumbbell.loss: to: missing"),
        ([{"probability": "0%", "from": "2 s", "to": "3 s"}], "probability: '0%' is not above 0 and at most 1"),
        ({"intervals": "none.csv"}, "dumbbell.loss: 'none.csv': no such file"),
        ({"intervals": 5}, "dumbbell.loss: intervals: 5 is neither a list nor a file's name"),
        ({"good": "1 s"}, "dumbbell.loss: bad: missing"),
        ({"good": "1 s", "bad": "0 s"}, "dumbbell.loss: bad: '0 s' is too small"),
        ({"good": "1 s", "bad": "1 s", "to_bad": "1%"}, "to_bad: not a part of bursts in time"),
        ({"probability": "1%", "at": "air"}, "dumbbell.loss: at: 'air' is not where packets are lost"),
        ({"probability": "100%", "at": "wire"}, "dumbbell.loss: '100%' is not a probability of loss"),
        ({"probability": 0, "at": "wire"}, "dumbbell.loss: at: nothing is lost"),
        ({"good": "1 us", "bad": "1 us"}, "dumbbell.loss: must change its state at most 10 million times"),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(loss: Any, line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(loss)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_row_of_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "outages.csv"
    file.write_text("from_s,to_s\n1,2\n1.5,3\n")
    with pytest.raises(ScenarioError, match=r"interval 2: from: '1.5 s' is before the end of the interval before, 2 s"):
        scenario({"intervals": str(file)})
    file.write_text("from,to\n1 s,2\n")
    with pytest.raises(ScenarioError, match="row 1: 2 has no unit"):
        scenario({"intervals": str(file)})
    file.write_text("begin_s,to_s\n1,2\n")
    with pytest.raises(ScenarioError, match="has no column from; its columns are begin_s, to_s"):
        scenario({"intervals": str(file)})


@pytest.mark.parametrize("queue", ["droptail", "codel", "pie"])
def test_a_loss_after_the_transmitter_takes_its_time(tmp_path: Path, queue: str) -> None:
    """20 Mbit/s into a busy link of 10 Mbit/s: a loss of 10 % before the queue leaves the whole rate, and one after the
    transmitter leaves 9 Mbit/s."""
    fields: dict[str, Any] = {"queue": queue} if queue == "droptail" else {"queue": queue, "queue_parameters": {}}
    before = made(scenario("10%", CBR, **fields), tmp_path)
    after = made(scenario({"probability": "10%", "at": "wire"}, CBR, **fields), tmp_path)
    window = (10.0, 20.0)
    assert throughput_mbps(before, window)["cbr"] == pytest.approx(10, rel=1e-3)
    # 8,333 packets leave in 10 s: the standard error of the lost fraction is 0.0033.
    assert throughput_mbps(after, window)["cbr"] == pytest.approx(9, abs=5 * 0.033)


@pytest.mark.parametrize("queue", ["droptail", "codel"])
def test_lost_packets_are_counted_when_they_have_left(tmp_path: Path, queue: str) -> None:
    given = scenario({"packets": [3, 50, 51, 4000], "at": "wire"}, CBR, queue=queue, queue_parameters={})
    found = made(given.with_overrides({"sample_period": "1 ms", "events": True, "duration": "4 s"}), tmp_path)
    rows = found.links.filter(pl.col("link").cast(str) == "bottleneck")
    lost = found.events.filter(pl.col("kind").cast(str) == "lost")
    received = found.events.filter(pl.col("kind").cast(str) == "received")
    assert lost.height == 3  # 3,333 packets leave in 4 s
    for column in ("arrived_packets", "dropped_packets", "delivered_packets", "delivered_bytes"):
        counts = rows[column].to_list()
        assert counts == sorted(counts), column
    last = rows.tail(1)
    # The last packets are on the links behind the bottleneck: 20 ms of them.
    assert last["delivered_packets"][0] - received.height == pytest.approx(20e-3 / 1.2e-3, abs=2)
    gone = found.events.filter(pl.col("kind").cast(str).is_in(["lost", "dropped"])).height
    assert last["dropped_packets"][0] == gone
    waiting = last["queue_packets"][0]
    assert last["arrived_packets"][0] - gone - last["delivered_packets"][0] - waiting in (0, 1)
    books = found.manifest["conservation"]
    assert books["sent"] == books["received"] + books["dropped"] + books["under_way"]


def test_bursts_in_time_lose_their_fraction_of_a_constant_stream(tmp_path: Path) -> None:
    """One packet each 1.2 ms for 400 s, and states of 180 and 20 ms: a tenth of the time, and of the packets."""
    flow = {"name": "cbr", "datagrams": {"rate": "10 Mbit/s", "size": "1500 B"}}
    found = made(scenario({"good": "180 ms", "bad": "20 ms"}, flow, "400 s", rate="20 Mbit/s"), tmp_path)
    # Over n = 2,000 periods the standard error of the fraction is √2 × 0.1 × 0.9 / √n.
    error = 2**0.5 * 0.1 * 0.9 / 2000**0.5
    (totals,) = (row for row in found.manifest["engine_summary"]["links"] if row["name"] == "bottleneck")
    fraction = totals["lost"] / (totals["lost"] + totals["accepted"])
    assert fraction == pytest.approx(0.1, abs=5 * error)


@pytest.mark.parametrize("at", ["queue", "wire"])
def test_a_queue_bridges_bursts_before_it_and_not_behind_it(at: str, tmp_path: Path) -> None:
    """A link of 5 Mbit/s that never lacks packets, and states of 940 and 60 ms for 2,000 s.

    Behind the transmitter, the fraction of the bad time is lost. Before the queue, the link has its queue to send in a
    bad state: it stops for what an exponential time with mean b exceeds the q of the full queue: b exp(-q / b).
    """
    periods, period_s, bad_s, packet_s = 2000, 1.0, 0.06, 2.4e-3
    flow = {"name": "cbr", "datagrams": {"rate": "20 Mbit/s", "size": "1500 B"}}
    loss = {"good": "940 ms", "bad": "60 ms"} | ({"at": "wire"} if at == "wire" else {})
    given = scenario(loss, flow, "2000 s", rate="5 Mbit/s", buffer="25 packets")
    found = made(given.with_overrides({"sample_period": "10 s"}), tmp_path)
    rate_mbps = throughput_mbps(found)["cbr"]
    bridged_s = 25.5 * packet_s if at == "queue" else 0.0
    stopped_s = bad_s * math.exp(-bridged_s / bad_s)
    # The second moment of what exceeds q is 2 b² exp(-q / b). Behind the transmitter, the good time varies too.
    error_s = math.sqrt((2 * bad_s * stopped_s - (stopped_s**2 if at == "queue" else 0)) / periods)
    expected = 5 * (1 - stopped_s / period_s)
    assert rate_mbps == pytest.approx(expected, abs=5 * 5 * error_s / period_s)


def test_every_algorithm_meets_the_bad_states_at_the_same_times(tmp_path: Path) -> None:
    def outages(rate: str) -> list[tuple[float, float]]:
        flow = {"name": "cbr", "datagrams": {"rate": rate, "size": "150 B"}}
        found = made(
            scenario({"good": "500 ms", "bad": "100 ms"}, flow, "5 s").with_overrides({"events": True}), tmp_path
        )
        times = found.events.filter(pl.col("kind").cast(str) == "lost")["time_s"].to_list()
        ends = [i for i in range(1, len(times)) if times[i] - times[i - 1] > 0.02]
        return [(times[a], times[b - 1]) for a, b in zip([0, *ends], [*ends, len(times)], strict=True)]

    slow, fast = outages("1 Mbit/s"), outages("5 Mbit/s")
    assert len(slow) > 3
    # The packets of 150 B at 1 Mbit/s are 1.2 ms apart.
    for (begin, end), (first, last) in zip(slow, fast, strict=True):
        assert begin == pytest.approx(first, abs=1.3e-3)
        assert end == pytest.approx(last, abs=1.3e-3)


def test_a_link_that_hides_its_losses_is_named(tmp_path: Path) -> None:
    """ACKs at 100 kbit/s on a link that is not recorded: the run says that they are lost."""
    form: dict[str, Any] = {
        "duration": "20 s",
        "flow": [{"algorithm": "cubic", "path": ["down"], "reverse_path": ["up"]}],
    }
    down = {"name": "down", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "1 ms", "buffer": "100 packets"}
    up = {"name": "up", "from": "b", "to": "a", "rate": "100 kbit/s", "delay": "1 ms", "buffer": "100 packets"}
    form["link"] = [down | {"duplex": False}, up | {"duplex": False}]
    hidden = made(Scenario.from_dict(form), tmp_path)
    (line,) = [line for line in hidden.warnings if line.startswith("up: ")]
    form["link"][1]["record"] = True
    recorded = made(Scenario.from_dict(form), tmp_path)
    last = recorded.links.filter(pl.col("link").cast(str) == "up").tail(1)
    share = last["dropped_packets"][0] / last["arrived_packets"][0]
    assert share > 0.3
    assert line == (
        f"up: {share:.2%} of its packets were lost or dropped, and the table 'links' has no row for it; "
        "write record = true into its [[link]]"
    )
    assert not [line for line in recorded.warnings if line.startswith("up: ")]
    assert recorded.flows["goodput_mbps"].to_list() == hidden.flows["goodput_mbps"].to_list()
