"""Links with aggregation and with retransmission of their own: throughput, losses and delays in closed form."""

from __future__ import annotations

import math
from typing import Any

import pytest

from elephan import Run, run
from elephan.metrics.throughput import utilization
from elephan.scenario import Scenario, ScenarioError

MS = 10**9
RATE_BPS = 12_000_000
PACKET_BITS = 12_000
"""1 ms at 12 Mbit/s."""


def datagrams(rate: str, duration: str = "200 s", **path: Any) -> Run:
    """A constant rate of datagrams of 1500 B over 12 Mbit/s; the measured part is the second half."""
    dumbbell = {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "50 packets", "access_rate": "10 Gbit/s"} | path
    flow = {"name": "a", "datagrams": {"rate": rate, "size": "1500 B"}}
    return run(Scenario.from_dict({"duration": duration, "perturb": "none", "dumbbell": dumbbell, "flow": [flow]}))


def delivered_bps(found: Run) -> float:
    return float(utilization(found)) * RATE_BPS


@pytest.mark.parametrize("queue", ["droptail", "codel", "fq_codel"])
@pytest.mark.parametrize(("packets", "access_ms", "contention_ms"), [(1, 1, 0), (8, 2, 0), (32, 1, 3)])
def test_a_busy_radio_carries_a_burst_in_access_and_transmissions(
    queue: str, packets: int, access_ms: int, contention_ms: int
) -> None:
    bursts = {"packets": packets, "access": f"{access_ms} ms", "contention": f"{contention_ms} ms"}
    # CoDel drops until the load fits; a slower flood of datagrams than 24 Mbit/s would empty its queue between drops.
    found = datagrams("24 Mbit/s", queue=queue, aggregation=bursts, buffer="400 packets")
    bursts_seen = 100 / ((packets + access_ms + contention_ms) / 1000)
    expected = RATE_BPS * packets / (packets + access_ms + contention_ms)
    error = 4 * contention_ms / (packets + access_ms + contention_ms) / math.sqrt(bursts_seen)
    assert delivered_bps(found) == pytest.approx(expected, rel=0.002 + error)


def test_a_lone_packet_waits_for_the_access_and_its_own_transmission() -> None:
    found = datagrams("1 Mbit/s", aggregation={"packets": 32, "access": "2 ms"})
    # 20 ms of propagation, 2 ms of access, 1 ms at 12 Mbit/s, and twice 1.2 us at 10 Gbit/s.
    assert found.flows["owd_p95_ms"].item() == pytest.approx(23.0, abs=0.1)


def test_aggregation_makes_bursts_out_of_acks_that_were_spread() -> None:
    """A flow that paces its segments still sees its round trips spread by the time of a burst."""

    def spread(aggregation: dict[str, Any] | None) -> float:
        dumbbell = {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"}
        path = dumbbell | ({"aggregation": aggregation} if aggregation else {})
        flow = [{"algorithm": "fixed", "parameters": {"window": 30.0}}]
        found = run(Scenario.from_dict({"duration": "20 s", "perturb": "none", "dumbbell": path, "flow": flow}))
        row = found.summary()["flows"][0]
        return float(row["rtt_p99_ms"] - row["rtt_min_ms"])

    assert spread({"packets": 32, "access": "1 ms", "contention": "5 ms"}) > spread(None) + 10


@pytest.mark.parametrize("queue", ["droptail", "codel"])
@pytest.mark.parametrize(("loss", "tries"), [(0.1, 7), (0.3, 2), (0.5, 3)])
def test_retransmission_takes_airtime_and_leaves_a_residual_loss(queue: str, loss: float, tries: int) -> None:
    again = {"loss": loss, "tries": tries}
    # Light load: every packet is served, so the loss that is left is loss^tries.
    light = datagrams("2 Mbit/s", queue=queue, retransmission=again)
    packets = 2_000_000 / PACKET_BITS * 100
    residual = loss**tries
    lost = 1 - light.flows["throughput_mbps"].item() / 2
    assert lost == pytest.approx(residual, abs=4 * math.sqrt(residual * (1 - residual) / packets) + 2 / packets)
    # Overload: a fraction 1 - loss of all transmissions arrives, whatever the number of tries.
    busy = datagrams("30 Mbit/s", queue=queue, retransmission=again, buffer="400 packets")
    arrived = busy.flows["throughput_mbps"].item() * 1e6
    assert arrived == pytest.approx(RATE_BPS * (1 - loss), rel=4 * math.sqrt(loss / 1e5) + 0.002)


def test_retransmissions_that_keep_the_order_delay_and_others_reorder() -> None:
    def flow(in_order: bool) -> dict[str, Any]:
        again = {"loss": "2%", "tries": 7, "delay": "8 ms", "in_order": in_order}
        path = {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP", "retransmission": again}
        # The window leaves the link a third idle: what comes late does so for the link layer alone.
        parameters = {"window": 25.0}
        flows = [{"algorithm": "fixed", "parameters": parameters, "stack": {"detection": "dupack"}}]
        found = run(Scenario.from_dict({"duration": "60 s", "perturb": "none", "dumbbell": path, "flow": flows}))
        assert found.summary()["links"][0]["loss_rate"] == 0
        return dict(found.summary()["flows"][0])

    kept, overtaken = flow(True), flow(False)
    assert kept["loss_events"] == 0
    assert overtaken["loss_events"] > 50  # each segment overtaken by three and more looks lost
    assert kept["rtt_p99_ms"] > kept["rtt_min_ms"] + 8


def test_radio_links_are_random_where_they_draw() -> None:
    def is_random(**path: Any) -> bool:
        dumbbell = {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"} | path
        return Scenario.from_dict(
            {
                "duration": "5 s",
                "perturb": "none",
                "start_jitter": "0 s",
                "dumbbell": dumbbell,
                "flow": [{"algorithm": "reno"}],
            }
        ).is_random

    assert not is_random(aggregation={"packets": 4, "access": "1 ms"})
    assert is_random(aggregation={"packets": 4, "contention": "1 ms"})
    assert is_random(retransmission={"loss": "1%"})


def test_the_canonical_form_has_what_was_written_and_survives_toml() -> None:
    path = {
        "rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP", "channel": {"model": "wifi"},
        "aggregation": {"packets": 16, "access": "0.15 ms"}, "retransmission": {"loss": "10%", "delay": "2 ms"},
    }  # fmt: skip
    scenario = Scenario.from_dict({"duration": "5 s", "dumbbell": path, "flow": [{"algorithm": "reno"}]})
    (there,) = [row for row in scenario.canonical()["links"] if row["name"] == "bottleneck"]
    assert there["impairments"]["aggregation"] == {"packets": 16, "access_ps": 15 * MS // 100, "contention_ps": 0}
    assert there["impairments"]["retransmission"] == {"p": 0.1, "tries": 7, "delay_ps": 2 * MS, "in_order": True}
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ({"aggregation": {}}, "dumbbell.aggregation.packets: missing"),
        ({"aggregation": {"packets": 0}}, "dumbbell.aggregation.packets: 0 is not a number of packets"),
        ({"aggregation": {"packet": 4}}, "dumbbell.aggregation.packet"),
        ({"retransmission": {"loss": "100%"}}, "dumbbell.retransmission.loss: 1 lets no packet through"),
        ({"retransmission": {"loss": "1%", "tries": 0}}, "dumbbell.retransmission.tries: 0 is not a number of"),
        (
            {"aggregation": {"packets": 2}, "rate_trace": [1]},
            "dumbbell.aggregation: needs a rate; a trace itself determines",
        ),
        (
            {"retransmission": {"loss": "1%"}, "channel": {"model": "sprout"}},
            "dumbbell.retransmission: needs a rate; a trace itself determines",
        ),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(path: dict[str, Any], line: str) -> None:
    dumbbell = {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"} | path
    with pytest.raises(ScenarioError) as error:
        Scenario.from_dict({"duration": "5 s", "dumbbell": dumbbell, "flow": [{"algorithm": "reno"}]})
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("queue", ["droptail", "red", "codel"])
def test_what_a_link_has_delivered_never_falls(queue: str) -> None:
    """While a transmitter waits for its medium it is busy, and sends nothing."""
    path = {
        "rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", "queue": queue,
        "aggregation": {"packets": 3, "access": "5 ms", "contention": "5 ms"},
        "retransmission": {"loss": "40%", "tries": 2},
    }  # fmt: skip
    flow = {"name": "a", "datagrams": {"rate": "8 Mbit/s", "size": "1500 B", "arrivals": "poisson"}}
    tables = {"duration": "5 s", "sample_period": "1 ms"}
    links = run(Scenario.from_dict(tables | {"dumbbell": path, "flow": [flow]})).links
    rows = links.filter(links["link"].cast(str) == "bottleneck").sort("time_s")
    delivered = rows["delivered_packets"].cast(int).to_list()
    assert delivered[0] == 0
    assert delivered == sorted(delivered)
    assert delivered[-1] > 100
