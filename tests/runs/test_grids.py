"""Grids and sweeps as data: the points of a grid, one row a run, means with intervals, and what failed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs import synthetic

import elephan
from elephan import backends, metrics
from elephan.metrics import MetricError
from elephan.runs import Grid, Run, Store, Sweep, SweepError
from elephan.runs.axes import axes_of
from elephan.scenario import Scenario, ScenarioError

RTTS = ["10 ms", "0.04 s"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    backend = synthetic.WrittenBackend(broken=["broken"])
    monkeypatch.setattr(backends, "get", lambda name, memory=None: backend)
    return Store(tmp_path)


def base(**more: Any) -> Scenario:
    return synthetic.scenario(duration="20 s", **more)


def test_axes_are_crossed_and_the_seeds_of_a_point_follow_one_another() -> None:
    made = elephan.grid(
        base(start_jitter="10 ms"), {"dumbbell.rtt": RTTS, "flow[0].algorithm": ["cubic", "reno"]}, seeds=2
    )
    found = [(s.to_dict()["dumbbell"]["rtt"], s.flow[0].algorithm, s.seed) for s in made]
    assert found == [(rtt, name, seed) for rtt in ("10 ms", "40 ms") for name in ("cubic", "reno") for seed in (1, 2)]
    assert made.points[2] == {"dumbbell.rtt": "10 ms", "flow[0].algorithm": "reno"}
    assert made.keys == ("dumbbell.rtt", "flow[0].algorithm")


def test_fields_that_change_together_are_one_axis() -> None:
    pairs = [("10 Mbit/s", "10 packets"), ("20 Mbit/s", "20 packets")]
    moving = elephan.grid(base(), {("dumbbell.rate", "dumbbell.buffer"): pairs, "flow[0].algorithm": ["cubic", "bic"]})
    assert [tuple(point.values()) for point in moving.points] == [
        (*pair, algorithm) for pair in pairs for algorithm in ("cubic", "bic")
    ]
    tables = [dict(zip(("dumbbell.rate", "dumbbell.buffer"), pair, strict=True)) for pair in pairs]
    assert [s.hash for s in elephan.grid(base(), tables)] == [s.hash for s in moving][::2]


def test_seeds_may_be_listed() -> None:
    made = elephan.grid(base(start_jitter="10 ms"), {"dumbbell.rtt": ["10 ms"]}, seeds=[3, 7])
    assert [scenario.seed for scenario in made] == [3, 7]


WRONG: list[tuple[Any, Any, str]] = [
    ({"dumbbell.rtt": "10 ms"}, None, "grid: dumbbell.rtt: '10 ms' is not a list of values; write ['10 ms']"),
    ({"dumbbell.rtt": []}, None, "grid: dumbbell.rtt: no values; write at least one"),
    ({"dumbbell.rtt": ["10 ms", "10 ms"]}, None, "grid: dumbbell.rtt: '10 ms' is there twice; write each value once"),
    ({"dumbbell.rt": ["10 ms"]}, None, "grid dumbbell.rt=10 ms: not a field of dumbbell; did you mean 'rtt'?"),
    ({"flow[0].algorithm": ["cubik"]}, None,
     "grid flow[0].algorithm=cubik: 'cubik' is not an algorithm; did you mean 'cubic'?"),
    ({"flow[*].start": ["0 s"], "flow[0].start": ["1 s"]}, None,
     "grid flow[*].start: 'flow[0].start' is an axis too, and both set it; write one of the two"),
    ({("dumbbell.rtt", "dumbbell.rate"): [("10 ms",)]}, None,
     "grid: dumbbell.rtt, dumbbell.rate: ('10 ms',) does not have 2 values, one for each of the fields"),
    ({3: ["10 ms"]}, None, "grid: 3 is not a field; write for example 'dumbbell.rtt'"),
    ([], None, "grid: no points; write at least one table of fields and values"),
    ([{"dumbbell.rtt": "10 ms"}, {"dumbbell.rate": "1 Mbit/s"}], None,
     "grid: a point has the fields dumbbell.rate, and the first has dumbbell.rtt; give all the same"),
    (["10 ms"], None, "grid: '10 ms' is not a point; write a table such as {'dumbbell.rtt': '10 ms'}"),
    ({"seed": [1, 2]}, 2, "grid: seed: is an axis; leave the number of seeds out"),
    ({"dumbbell.rtt": ["10 ms"]}, "2", "grid: seeds: '2' is neither a number of seeds nor a list of them"),
    ({"dumbbell.rtt": ["10 ms"]}, [1, 1], "grid: seeds: 1 is there twice; write each value once"),
]  # fmt: skip


@pytest.mark.parametrize(("axes", "seeds", "said"), WRONG)
def test_a_wrong_grid_is_one_line(axes: Any, seeds: Any, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        elephan.grid(base(start_jitter="10 ms"), axes, seeds=seeds)
    assert str(caught.value) == said


QUANTITIES = [
    (["10 ms", "1 s"], "x_s", (0.01, 1.0), "x (s)"),
    (["10 ms", "20 ms"], "x_s", (0.01, 0.02), "x (ms)"),
    (["1 Gbit/s", "10 Mbps"], "x_bps", (1e9, 1e7), "x (bit/s)"),
    (["20% BDP", "1 BDP"], "x_bdp", (0.2, 1.0), "x (BDP)"),
    (["10 packets", "20 packets"], "x_packets", (10.0, 20.0), "x (packets)"),
    (["1 MB", "1 MiB"], "x_bytes", (1e6, 2.0**20), "x (bytes)"),
    ([0, "0.1%"], "x_fraction", (0.0, 0.001), "x"),
    ([1, 2.5], "x", (1.0, 2.5), "x"),
    (["10 packets", "1 BDP"], "x", None, "x"),
    (["unlimited", "1 BDP"], "x", None, "x"),
    (["cubic:2005", "reno"], "x", None, "x"),
    ([True, False], "x", None, "x"),
    ([{"base": "ns2"}], "x", None, "x"),
]


@pytest.mark.parametrize(("values", "column", "numbers", "label"), QUANTITIES)
def test_quantities_are_numbers_in_base_units(
    values: Sequence[Any], column: str, numbers: tuple[float, ...] | None, label: str
) -> None:
    (axis,) = axes_of(["x"], [{"x": value} for value in values])
    assert (axis.column, axis.label) == (column, label)
    assert axis.numbers == (None if numbers is None else pytest.approx(numbers))


def test_a_frame_has_a_row_a_run_with_its_axes_as_text_and_as_numbers(store: Store) -> None:
    stated = base(start_jitter="10 ms")
    done = elephan.sweep(elephan.grid(stated, {"dumbbell.rtt": RTTS, "stack.ack_every": [1, 2]}, seeds=2), store=store)
    frame = done.frame(["jain", "sum_goodput_mbps"])
    assert frame.columns == [
        "dumbbell.rtt", "dumbbell.rtt_s", "stack.ack_every", "seed", "jain", "sum_goodput_mbps", "run", "why",
    ]  # fmt: skip
    assert frame["dumbbell.rtt"].to_list() == [rtt for rtt in RTTS for _ in range(4)]
    assert frame["dumbbell.rtt_s"].to_list() == [rtt for rtt in (0.01, 0.04) for _ in range(4)]
    assert frame.schema["stack.ack_every"] == pl.Int64
    assert frame["seed"].to_list() == [1, 2] * 4
    assert frame["run"].to_list() == [run.id for run in done]
    assert frame["jain"].to_list() == [metrics.jain_fi(run) for run in done]
    assert frame["why"].null_count() == len(frame)


def test_a_metric_that_is_not_defined_is_null_with_its_reason(store: Store) -> None:
    done = elephan.sweep(elephan.grid(base(), {"dumbbell.rtt": RTTS}), store=store)
    frame = done.frame(["jain", "mean_slowdown"])
    assert frame["mean_slowdown"].null_count() == 2
    assert all(why.startswith("mean_slowdown: ") for why in frame["why"])
    assert done.aggregate("mean_slowdown")["why"].null_count() == 0


def test_rows_of_flows_have_metrics_of_flows(store: Store) -> None:
    done = elephan.sweep(elephan.grid(base(), {"dumbbell.rtt": RTTS}), store=store)
    with pytest.raises(MetricError, match="'throughput_share' is a metric of each flow; write per='flow'"):
        done.frame(["throughput_share"])
    with pytest.raises(MetricError, match="'jian' is not a metric; did you mean 'jain'"):
        done.frame(["jian"])
    frame = done.frame(["throughput_share", "jain"], per="flow")
    assert frame["flow"].to_list() == ["cubic-1", "bic-2"] * 2
    assert frame["algorithm"].to_list() == ["cubic", "bic"] * 2
    assert frame["throughput_share"].to_list() == pytest.approx([0.5] * 4)
    assert frame["jain"].to_list() == pytest.approx([1.0] * 4)
    means = done.aggregate("throughput_share", per="flow")
    assert means.select("dumbbell.rtt", "flow").rows() == [(rtt, flow) for rtt in RTTS for flow in ("cubic-1", "bic-2")]


def test_a_window_is_passed_to_the_metrics(store: Store) -> None:
    done = elephan.sweep(elephan.grid(base(), {"dumbbell.rtt": RTTS}), store=store)
    whole, part = (done.frame("loss_rate", window=window)["loss_rate"] for window in ((0, 20), (0, 10)))
    assert whole.to_list() == [metrics.loss_rate(run, (0, 20)) for run in done]
    assert part.to_list() == [metrics.loss_rate(run, (0, 10)) for run in done]


def test_means_have_the_interval_of_the_statistics(store: Store) -> None:
    done = elephan.sweep(elephan.grid(base(start_jitter="10 ms"), {"dumbbell.rtt": RTTS}, seeds=3), store=store)
    means = done.aggregate(["sum_throughput_mbps", "jain"])
    assert means["seeds"].to_list() == [3] * 4
    assert means["unit"].to_list() == ["Mbit/s", "1"] * 2
    found = metrics.interval([metrics.sum_throughput_mbps(run) for run in done[:3]])
    assert means.row(0, named=True) == {
        "dumbbell.rtt": "10 ms", "dumbbell.rtt_s": 0.01, "metric": "sum_throughput_mbps", "unit": "Mbit/s",
        "mean": found.value, "low": found.low, "high": found.high, "seeds": 3, "why": None,
    }  # fmt: skip


def test_one_seed_has_no_interval_and_says_so(store: Store) -> None:
    means = elephan.sweep([base()], store=store).aggregate("sum_throughput_mbps")
    assert means.select("low", "high").row(0) == (None, None)
    assert means["why"].to_list() == ["one replicate"]


def test_a_time_that_never_came_is_infinite_and_not_null(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from elephan.metrics import sweeps

    odd = metrics.Metric(
        "throughput_cov", "s", "", "run", lambda run, window=None: math.inf if run.seed == 1 else math.nan
    )
    monkeypatch.setattr(sweeps, "get", lambda name: odd)
    done = elephan.sweep([(base(start_jitter="10 ms"), seed) for seed in (1, 2)], store=store)
    frame = done.frame("throughput_cov")
    assert frame["throughput_cov"].to_list() == [math.inf, None]
    assert frame["why"].to_list() == [None, "throughput_cov: it has no sample"]


def test_scenarios_without_a_grid_are_told_apart_by_title_or_hash(store: Store) -> None:
    titled = [base(title="short"), base(title="long").with_overrides({"duration": "30 s"})]
    assert elephan.sweep(titled, store=store).frame([])["scenario"].to_list() == ["short", "long"]
    plain = [base(), base().with_overrides({"duration": "30 s"})]
    assert elephan.sweep(plain, store=store).frame([])["scenario"].to_list() == [s.hash for s in plain]


def test_what_is_left_of_a_sweep_has_nulls_and_a_reason(store: Store) -> None:
    made = elephan.grid(
        base(), [{"title": title, "duration": d} for title, d in (("broken", "20 s"), ("fine", "21 s"))]
    )
    with pytest.raises(SweepError) as caught:
        elephan.sweep(made, store=store)
    frame = caught.value.runs.frame(["utilization"])
    assert frame["utilization"].null_count() == 1
    assert frame["run"].to_list()[0] is None
    why = frame["why"].to_list()
    assert "the run failed: " in why[0]
    assert "broken cannot be run" in why[0]
    assert why[1] is None
    assert caught.value.runs.aggregate("utilization")["seeds"].to_list() == [0, 1]
    assert [run.scenario.title for run in caught.value.runs.made] == ["fine"]


def test_a_sweep_is_a_sequence_of_its_runs(store: Store) -> None:
    made = elephan.grid(base(), {"dumbbell.rtt": RTTS})
    done: Sweep[Run] = elephan.sweep(made, store=store)
    assert isinstance(made, Grid)
    assert [run.scenario for run in done] == list(made)
    assert done[-1] is list(done)[1]
    assert done[:1] == [done[0]]
    assert len(done) == 2
    assert done[0] in done
    assert repr(done) == "<Sweep of 2 runs over dumbbell.rtt>"


def test_tables_that_metrics_read_are_not_kept(store: Store) -> None:
    done = elephan.sweep(elephan.grid(base(), {"dumbbell.rtt": RTTS}), store=store)
    done.frame(["throughput_share", "throughput_cov"], per="flow")
    assert [run._tables for run in done] == [{}, {}]


class Mine(elephan.Algorithm):
    """An algorithm of the user's own."""

    def on_ack(self, ack: elephan.Ack) -> None:
        """Never grows."""

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Never shrinks."""


class Unfinished(elephan.Algorithm):
    """One that cannot be run."""


def test_algorithms_of_the_users_own_are_named_by_their_class() -> None:
    made = elephan.grid(base(), {"flow[0].algorithm": [Mine, "cubic"]})
    assert axes_of(made.keys, made.points)[0].texts == ("Mine", "cubic")
    with pytest.raises(ScenarioError, match=r"^grid flow\[0\].algorithm=Unfinished: Unfinished is not finished"):
        elephan.grid(base(), {"flow[0].algorithm": [Unfinished]})


def test_sources_of_transfers_alone_have_no_flows(tmp_path: Path) -> None:
    web = {"name": "web", "algorithm": "cubic", "load": "60%"}
    scenario = Scenario.dumbbell([], rate="10 Mbit/s", rtt="20 ms", buffer="1 BDP", duration="4 s", traffic=[web])
    done = elephan.sweep([scenario], store=Store(tmp_path))
    assert done.frame(["mean_flow_rate_mbps"])["mean_flow_rate_mbps"].to_list() == [
        metrics.mean_flow_rate_mbps(done[0])
    ]
    (row,) = done.frame(per="flow").to_dicts()
    assert row["flow"] is None
    assert row["why"] == "no flow to measure"
