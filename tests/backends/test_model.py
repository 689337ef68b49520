"""The model backend: the same tables, near what the simulator says, and a sentence where it can say nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from tests.report.browsing import read

from elephan import backends, metrics
from elephan.cli.main import run_command
from elephan.models import mean_window
from elephan.runs import Run, Store, sweep
from elephan.runs.execute import compute
from elephan.runs.tables import COLUMNS
from elephan.scenario import Scenario, ScenarioError

large = pytest.mark.large
STACK = {
    "base": "ns2-sack1", "payload": "1000 B", "header": "0 B", "receive_window": "100000 segments",
    "initial_ssthresh": "100000 segments",
}  # fmt: skip


def stated(flows: list[Any], buffer: int | str = 500, **more: Any) -> Scenario:
    """100 Mbit/s and 40 ms: a BDP of 500 segments, none of them headers."""
    fields: dict[str, Any] = {
        "rate": "100 Mbit/s", "rtt": "40 ms", "duration": "120 s",
        "buffer": buffer if isinstance(buffer, str) else f"{buffer} packets",
        "measure": {"from": "60 s"}, "stack": STACK,
    }  # fmt: skip
    return Scenario.dumbbell(flows, **(fields | more))


def in_both(scenario: Scenario) -> tuple[Run, Run]:
    return compute(backends.get("model"), scenario, 1), compute(backends.get("sim"), scenario, 1)


ALGORITHMS: list[Any] = ["reno", "cubic:rfc8312", "illinois", "vegas", "hcc"]
ALGORITHMS += [pytest.param(name, marks=large) for name in ("hstcp", "stcp", "htcp", "compound", "fast")]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_alone_a_flow_has_the_rate_the_window_and_the_queue_of_the_simulation(algorithm: str) -> None:
    """A BDP of buffer: goodput within 1 %, window within 3 %, queue within 5 %, loss events within a quarter."""
    model, sim = in_both(stated([algorithm]))
    (own,), (their,) = model.summary()["flows"], sim.summary()["flows"]
    assert own["goodput_mbps"] == pytest.approx(their["goodput_mbps"], rel=0.01)
    assert own["cwnd_mean"] == pytest.approx(their["cwnd_mean"], rel=0.03)
    assert own["rtt_mean_ms"] == pytest.approx(their["rtt_mean_ms"], rel=0.03)
    assert own["loss_events"] == pytest.approx(their["loss_events"], rel=0.25, abs=2)
    waiting = [run.summary()["links"][0]["queue_mean_packets"] for run in (model, sim)]
    assert waiting[0] == pytest.approx(waiting[1], rel=0.05, abs=2)


@pytest.mark.parametrize(
    "algorithm", ["reno", "htcp", *(pytest.param(name, marks=large) for name in ("hstcp", "compound"))]
)
def test_two_of_a_kind_share_as_in_the_simulation(algorithm: str) -> None:
    model, sim = in_both(stated([algorithm, {"algorithm": algorithm, "start": "20 s"}], buffer=250))
    for own, their in zip(model.summary()["flows"], sim.summary()["flows"], strict=True):
        assert own["goodput_mbps"] == pytest.approx(their["goodput_mbps"], rel=0.06)
        assert own["cwnd_mean"] == pytest.approx(their["cwnd_mean"], rel=0.06)


@pytest.mark.parametrize("buffer", [500, 1500, pytest.param(250, marks=large), pytest.param(4000, marks=large)])
def test_beside_cubic_bbr_has_the_larger_share_up_to_a_bdp_of_buffer(buffer: int) -> None:
    """Half a BDP to eight; BBR's share of the goodput is within 0.1 of the simulation's with RACK."""
    stack = STACK | {"base": "linux"}
    shares = []
    for run in in_both(stated(["bbr", "cubic:rfc8312"], buffer=buffer, stack=stack)):
        own, other = (flow["goodput_mbps"] for flow in run.summary()["flows"])
        shares.append(own / (own + other))
    assert shares[0] == pytest.approx(shares[1], abs=0.1)
    assert (shares[0] > 0.6) == (buffer <= 500)


def test_bbr_alone_keeps_the_queue_short() -> None:
    model, sim = in_both(stated(["bbr"], buffer=5000))
    assert model.summary()["flows"][0]["goodput_mbps"] == pytest.approx(
        sim.summary()["flows"][0]["goodput_mbps"], rel=0.03
    )
    for run in (model, sim):
        assert run.summary()["links"][0]["queue_mean_packets"] < 60


def test_hcc_swings_where_the_simulation_does() -> None:
    """BDP 500 segments: alpha 400 rests, alpha 100 swings."""
    for alpha, swinging in ((400, False), (100, True)):
        model, sim = in_both(stated([{"algorithm": "hcc", "parameters": {"alpha": alpha}}], buffer=2000))
        spreads = []
        for run in (model, sim):
            waiting = run.links.filter(run.links["time_s"] > 60)["queue_mean"].to_numpy()
            spreads.append(waiting.std() / alpha)
            assert waiting.mean() == pytest.approx(alpha, rel=0.03)
        assert [spread > 0.1 for spread in spreads] == [swinging, swinging]


@pytest.mark.parametrize("period_ms", [5, 7, 10])
def test_how_often_it_is_looked_at_does_not_change_what_happens(period_ms: int) -> None:
    """A step of the equations is 4.2 ms here, so that samples cut steps short; what is a round trip old stays so."""
    hcc = {"algorithm": "hcc", "parameters": {"alpha": 284.0}}
    more: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "100 ms", "duration": "40 s", "measure": {"from": "20 s"}}
    run = compute(backends.get("model"), stated([hcc], 100_000, sample_period=f"{period_ms} ms", **more), 1)
    waiting = run.links.filter(run.links["time_s"] > 20)["queue_packets"].to_numpy()
    assert waiting.std() / 284.0 == pytest.approx(0.143, abs=0.004)


def test_the_tables_are_those_of_every_run() -> None:
    run = compute(backends.get("model"), stated(["reno", {"algorithm": "cubic:rfc8312", "start": "20 s"}]), 1)
    for name, columns in COLUMNS.items():
        assert set(columns) <= set(run.tables()[name].columns)
    assert run.flows["retransmits"].null_count() == 2
    late = run.samples.filter((run.samples["flow"] == "cubic:rfc8312-2") & (run.samples["time_s"] < 20))
    assert late["cwnd"].null_count() == len(late)
    assert float(metrics.utilization(run)) == pytest.approx(1, abs=0.01)
    assert 0.5 <= float(metrics.jain_fi(run)) <= 1
    assert json.dumps(run.summary(), allow_nan=False)


def test_round_trips_are_those_of_packets_and_the_smoothed_one_is_over_time() -> None:
    """On a path that is slow for a third of the time, few packets see the long queue."""
    steps = {"rate_steps": [{"at": "20 s", "rate": "1 Mbit/s"}, {"at": "30 s", "rate": "10 Mbit/s"}]}
    path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 packets"}
    stated_path = {"duration": "40 s", "measure": {"from": "10 s"}, "flow": [{"algorithm": "reno"}]}
    for on, slow in (("sim", steps), ("model", {})):
        made = compute(backends.get(on), Scenario.from_dict(stated_path | {"dumbbell": path | slow}), 1)
        (row,) = made.summary()["flows"]
        rows = made.samples.filter(made.samples["time_s"] >= 10)
        srtt_ms = 1e3 * rows["srtt_s"].to_numpy()
        packets = rows["delivered_segments"].diff().fill_null(0).to_numpy()
        assert row["srtt_mean_ms"] == pytest.approx(srtt_ms.mean(), rel=0.02)
        assert row["rtt_mean_ms"] == pytest.approx((srtt_ms * packets).sum() / packets.sum(), rel=0.05)
    assert row["rtt_min_ms"] <= row["rtt_p50_ms"] <= row["rtt_p95_ms"] <= row["rtt_p99_ms"]


def test_conservation() -> None:
    """Fluid that left the bottleneck was delivered, and the wait is the integral of the queue."""
    run = compute(backends.get("model"), stated(["reno", "stcp"]), 1)
    links = run.links
    total = run.flows["segments_delivered"].sum()
    assert links["delivered_packets"][-1] == pytest.approx(total, abs=2)
    assert max(links["queue_max"].to_list()) <= 501
    assert links["queue_integral_packet_s"].is_sorted()


def test_a_sized_flow_ends() -> None:
    run = compute(backends.get("model"), stated([{"algorithm": "reno", "size": "5 MB"}, "reno"]), 1)
    sized, other = run.summary()["flows"]
    assert sized["completion_s"] is not None
    assert sized["segments_delivered"] == pytest.approx(5000, abs=40)
    assert other["completion_s"] is None


def test_every_seed_is_the_same_and_that_is_no_error(tmp_path: Path) -> None:
    scenario = stated(["reno"], start_jitter="100 ms", duration="20 s", measure={"from": "10 s"})
    one, two = sweep(scenario.replicates(2), on="model", store=Store(tmp_path))
    assert one.manifest["tables_sha256"] == two.manifest["tables_sha256"]


REFUSED: list[tuple[dict[str, Any], list[Any], str]] = [
    ({}, ["bbr3"], "flow[0].algorithm: the model has no law for 'bbr3'"),
    ({"loss": {"packets": [100]}}, ["reno"], "the model cannot say what losses of the kind 'list' do"),
    ({"queue": "codel"}, ["reno"], "the model cannot say what a queue 'codel' does"),
    ({"queue": "red", "stack": STACK | {"ecn": True}}, ["reno"], "the model cannot say what ECN marks do"),
    ({}, [{"algorithm": "cubic", "parameters": {"s_max": 160.0}}], "the model's law of cubic has no s_max"),
    ({}, [{"algorithm": "reno", "direction": "left"}, "reno"], "the model cannot say what several bottlenecks do"),
]


@pytest.mark.parametrize(("more", "flows", "sentence"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_the_model_cannot_say_is_refused_before_anything_is_run(
    more: dict[str, Any], flows: list[Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as refused:
        sweep([stated(flows, **more)], on="model", store=Store(tmp_path))
    assert sentence in str(refused.value)
    assert not list(tmp_path.iterdir())


# ---- losses before the queue is full ----

UNDER_LOSSES = ["reno", "cubic", *(pytest.param(name, marks=large) for name in ("stcp", "htcp", "compound"))]
UNDER_LOSSES += [pytest.param("cubic:rfc8312", marks=large)]


def mean_over(name: str, scenario: Scenario, seeds: int, value: Callable[[dict[str, Any]], float]) -> float:
    return fmean(value(compute(backends.get(name), scenario, seed).summary()) for seed in range(1, seeds + 1))


@pytest.mark.parametrize("algorithm", UNDER_LOSSES)
def test_under_random_losses_it_has_the_rate_of_the_simulation(algorithm: str) -> None:
    """Three segments in a thousand: within 10 %, of which three seeds of 180 s leave 5 % to chance."""
    stack = STACK | {"base": "linux", "ack_every": 1}
    more: dict[str, Any] = {"rtt": "100 ms", "loss": 3e-3, "duration": "200 s", "measure": {"from": "20 s"}}
    scenario = stated([algorithm], stack=stack, **more)
    both = [mean_over(name, scenario, 3, lambda s: s["flows"][0]["goodput_mbps"]) for name in ("model", "sim")]
    assert both[0] == pytest.approx(both[1], rel=0.10)


def test_reno_under_random_losses_has_its_own_mean_window() -> None:
    """The one that follows from its rules (elephan.models.cycles), and of its segments the part asked for is lost."""
    more: dict[str, Any] = {
        "rate": "1 Gbit/s",
        "rtt": "100 ms",
        "loss": 1e-3,
        "duration": "600 s",
        "measure": {"from": "20 s"},
    }
    summary = compute(backends.get("model"), stated(["reno", "reno"], **more), 1).summary()
    window = fmean(flow["goodput_mbps"] for flow in summary["flows"]) * 1e6 / 8000 * 0.1
    lost = summary["links"][0]["loss_rate"]
    assert lost == pytest.approx(1e-3, rel=0.1)
    assert window == pytest.approx(float(mean_window("reno", lost, losses="random")), rel=0.05)


@pytest.mark.large
def test_early_drops_keep_the_queue_of_the_simulation() -> None:
    """Eight flows and RED, so that mostly something waits. Means of 24 seeds: goodput within 3 %, queue and losses
    within 8 %; the losses of one seed differ by 5 % from those of the next.
    """
    stack = STACK | {"base": "linux", "ack_every": 1}
    more: dict[str, Any] = {"duration": "80 s", "measure": {"from": "10 s"}}
    scenario = stated(["reno"] * 8, queue="red", stack=stack, **more)
    goodputs, ratios = [], []
    for seed in range(1, 25):
        own, their = (compute(backends.get(name), scenario, seed).summary() for name in ("model", "sim"))
        both = [sum(flow["goodput_mbps"] for flow in s["flows"]) for s in (own, their)]
        goodputs.append(both[0] / both[1])
        ratios.append([own["links"][0][key] / their["links"][0][key] for key in ("queue_mean_packets", "loss_rate")])
    assert fmean(goodputs) == pytest.approx(1, rel=0.03)
    assert [fmean(column) for column in zip(*ratios, strict=True)] == pytest.approx([1, 1], rel=0.08)


def test_seeds_differ_where_something_is_drawn(tmp_path: Path) -> None:
    more: dict[str, Any] = {"duration": "20 s", "measure": {"from": "10 s"}}
    for scenario in (stated(["reno"], loss=1e-3, **more), stated(["reno"], queue="red", **more)):
        one, two = sweep(scenario.replicates(2), on="model", store=Store(tmp_path))
        assert one.manifest["tables_sha256"] != two.manifest["tables_sha256"]
        again = compute(backends.get("model"), scenario, 2)
        assert again.manifest["tables_sha256"] == two.manifest["tables_sha256"]


def test_another_flow_does_not_change_a_flows_losses() -> None:
    """Each has a stream of its own: on a path that both leave empty the first goes on as if alone."""
    more: dict[str, Any] = {"rate": "10 Gbit/s", "loss": 1e-3, "duration": "20 s", "measure": {"from": "10 s"}}
    flow = {"algorithm": "reno", "name": "first"}
    alone, beside = (compute(backends.get("model"), stated(f, **more), 1) for f in ([flow], [flow, "reno"]))
    rows = [run.samples.filter(run.samples["flow"] == "first")["cwnd"].to_list() for run in (alone, beside)]
    assert rows[0] == rows[1]


def test_what_makes_no_difference_is_said() -> None:
    run = compute(backends.get("model"), stated(["reno:linux"]), 1)
    assert any("arithmetic" in line for line in run.warnings)
    assert any("no packets" in line for line in run.warnings)


def test_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(stated(["reno"], duration="40 s", measure={"from": "20 s"}).to_toml())
    assert run_command(["compare-backends", "s.toml", "--json", "--seeds", "2", "--in", "sim,model"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["backends"]) == {"sim", "model"}
    assert len(document["backends"]["sim"]) == 2
    (goodput,) = [line for line in document["lines"] if line["quantity"].startswith("goodput")]
    assert goodput["low"] <= goodput["sim"] <= goodput["high"]
    assert abs(goodput["differences"]["model"]) < 0.05
    assert "Congestion window of reno-1" in read(Path(document["report"]))
    assert run_command(["compare-backends", "s.toml", "--in", "model", "--set", "flow[0].algorithm=bbr3"]) == 0
    assert "model: flow[0].algorithm: the model has no law for 'bbr3'" in capsys.readouterr().out


@pytest.mark.parametrize("algorithms", [["cubic"], ["bbr"], ["cubic", "bbr"]], ids="+".join)
def test_counts_never_fall_and_nothing_is_lost_negatively(algorithms: list[str]) -> None:
    path = {
        "rate": "50 Mbit/s",
        "rtt": "40 ms",
        "buffer": "1 BDP",
        "duration": "30 s",
        "start_jitter": "0 s",
        "sample_period": "2 ms",
    }
    run = compute(backends.get("model"), Scenario.dumbbell(algorithms, **path), 1)
    for column in ("arrived_packets", "dropped_packets", "delivered_packets", "delivered_bytes"):
        counts = run.links[column].to_list()
        assert counts == sorted(counts), column
    assert metrics.drops(run) >= 0
    assert 0 <= metrics.loss_rate(run) < 0.01


def test_a_group_has_the_rates_of_its_flows() -> None:
    flows = [{"algorithm": "cubic", "count": 2}, {"algorithm": "reno"}]
    found = compute(backends.get("model"), stated(flows), 1).flows
    assert found["name"].to_list() == ["cubic-1-1", "cubic-1-2", "reno-2"]
    assert found["goodput_mbps"].to_numpy().min() > 1


@pytest.mark.parametrize(("buffer", "most"), [("61 packets", 61), ("91500 B", 61), ("92999 B", 61)])
def test_a_full_queue_is_the_buffer_in_whole_packets(buffer: str, most: int) -> None:
    """At 5 Mbit/s the time that 61 packets of 1,500 bytes take, times the rate, rounds to more than 61 packets."""
    scenario = stated(
        ["reno"], rate="5 Mbit/s", buffer=buffer, duration="20 s", measure={}, stack=STACK | {"payload": "1500 B"}
    )
    run = compute(backends.get("model"), scenario, 1)
    assert run.links["queue_max"].max() == most
    inside = pl.col("queue_mean").is_between(pl.col("queue_min"), pl.col("queue_max"))
    assert run.links.select(inside.all()).item()


def test_a_queue_that_rises_and_falls_between_samples_is_seen() -> None:
    runs = [
        compute(
            backends.get("model"),
            stated(["reno"], rate="5 Mbit/s", duration="60 s", measure={}, sample_period=period),
            1,
        )
        for period in ("10 ms", "15 s")
    ]
    fine, coarse = (run.links["queue_max"].max() for run in runs)
    assert coarse >= fine - 1  # type: ignore[operator]
