"""``elephan.batch``: the same numbers as those of single runs, one row for each run whatever happens to the others."""

from __future__ import annotations

import inspect
import json
import math
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elephan
from elephan import MetricError, Scenario, ScenarioError, Store, metrics
from elephan.metrics.summary import RUN_METRICS
from elephan.scenario.catalog import engine
from elephan.scenario.template import Template

PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "duration": "4 s"}
PAIR = Scenario.dumbbell(["cubic", "reno"], starts=["0 s", "500 ms"], **PATH)
OF_ENGINE = {name: scope for name, scope, _ in engine().metrics()}
OWN = Path(__file__).parents[2] / "examples" / "my_reno.py"


def drawn() -> Iterator[Scenario]:
    """Scenarios of every kind."""
    draws = random.Random(1)
    for seed in range(6):
        algorithms = draws.choices(["cubic", "reno", "bbr", "vegas", "dctcp", "copa", "udt"], k=draws.randint(1, 3))
        flows: list[dict[str, Any]] = [{"algorithm": name} for name in algorithms]
        flows[-1] |= draws.choice([{}, {"size": "200 kB"}, {"start": "1 s"}])
        more = {"loss": "0.1%"} if draws.random() < 0.5 else {"perturb": "hosts"}
        queue = draws.choice(["droptail", "red", "codel", "fq_codel", "pie"])
        yield Scenario.dumbbell(flows, **(PATH | {"queue": queue, "duration": "24 s", "seed": seed} | more))
    group = {"algorithm": "cubic", "count": 4, "start_spread": "1 s"}
    for record in ("all", 2, "quantiles"):
        yield Scenario.dumbbell([group, "reno"], **PATH, record=record)
    sizes = {"distribution": "pareto", "mean": "30 kB"}
    for kept in ("all", "summary"):
        source = {"algorithm": "reno", "load": "3 Mbit/s", "sizes": sizes, "record": kept, "name": "web"}
        yield Scenario.dumbbell(["cubic"], **PATH, traffic=[source])
    yield Scenario.dumbbell([{"datagrams": {"rate": "1 Mbit/s"}}, "cubic"], **PATH)
    yield Scenario.load(OWN.with_name("two_bottlenecks.toml"), {"duration": "6 s", "measure.from": "2 s"})


def value_of(run: elephan.Run, name: str, of: str | None) -> float | None:
    """A metric of a run, of one of its flows or of one of its links; ``None`` if it is not defined."""
    metric = metrics.get(name)
    try:
        found = metric(run, link=of) if metric.scope == "link" and of else metric(run)
    except MetricError:
        return None
    value = float(found[of] if isinstance(found, dict) else found)
    return None if math.isnan(value) else value


def assert_equal(row: dict[str, Any], run: elephan.Run, names: list[str]) -> int:
    """Check that the numbers of a row are those of a run; returns their number."""
    count = 0
    for column, value in row.items():
        name, _, of = column.removesuffix("]").partition("[")
        if name in names:
            assert value == value_of(run, name, of or None), column
            count += value is not None
    for flow in run.scenario.flow_names:
        assert row.get(f"goodput_mbps[{flow}]") == value_of(run, "goodput_mbps", flow)
    return count


@pytest.mark.parametrize("scenario", tuple(drawn()), ids=lambda scenario: ", ".join(scenario.flow_names)[:40])
def test_each_number_is_that_of_a_run(scenario: Scenario, tmp_path: Path) -> None:
    names = list(OF_ENGINE)
    (row,) = elephan.batch(scenario, [{}], names).to_dicts()
    run = elephan.run(scenario, store=Store(tmp_path))
    assert assert_equal(row, run, names) > 20
    told = run.summary()["metrics"]
    (row,) = elephan.batch(scenario, [{}], RUN_METRICS).to_dicts()
    assert {name: None if row[name] == math.inf else row[name] for name in RUN_METRICS} == told


def test_rows_have_their_values_and_seeds(tmp_path: Path) -> None:
    table: dict[str, list[Any]] = {"flow[0].parameters.beta": [0.5, 0.8], "dumbbell.rate": ["5 Mbit/s", "10 Mbit/s"]}
    found = elephan.batch(PAIR, table, ["jain", "rtt_mean_ms"], seeds=3, jobs=2)
    assert found.columns == [*table, "seed", "jain", "rtt_mean_ms[cubic-1]", "rtt_mean_ms[reno-2]", "why"]
    assert found["seed"].to_list() == [1, 2, 3, 1, 2, 3]
    assert found["jain"].n_unique() == 6
    for row in found.to_dicts():
        stated = PAIR.perturbed().with_overrides({key: row[key] for key in table})
        run = elephan.run(stated, seed=row["seed"], store=Store(tmp_path))
        assert (row["jain"], row["why"]) == (run.summary()["metrics"]["jain"], None)


def test_a_table_may_be_rows_or_a_data_frame() -> None:
    rows = [{"flow[1].parameters.beta": 0.5, "seed": 7}, {"flow[1].parameters.beta": 0.6, "seed": 8}]
    base = PAIR.perturbed()
    found = elephan.batch(base, rows, "sum_goodput_mbps", progress=False)
    assert found.equals(elephan.batch(base, pl.DataFrame(rows), "sum_goodput_mbps"))
    assert found["seed"].to_list() == [7, 8]
    assert elephan.batch(base, [], "sum_goodput_mbps").is_empty()


def test_tables_over_time_are_kept_or_changed_within() -> None:
    course = {"rows": [["0 s", "10 Mbit/s"], ["2 s", "5 Mbit/s"]]}
    scenario = Scenario.dumbbell(["reno"], **PATH, rate_table=course)
    found = elephan.batch(
        scenario, {"dumbbell.rate_table.rows[1][1]": ["5 Mbit/s", "2 Mbit/s"]}, metrics=["goodput_mbps"]
    )
    kept = elephan.batch(scenario.with_seed(2), {"dumbbell.rtt": ["20 ms", "30 ms"]}, metrics=["goodput_mbps"])
    first, second = found["goodput_mbps[reno-1]"]
    assert first > second
    assert kept["seed"].to_list() == [2, 2]
    assert kept["goodput_mbps[reno-1]"][0] == pytest.approx(first, rel=0.1)
    assert Template(scenario.with_seed(2)).for_engine({"dumbbell.rtt": "30 ms"}).form.seed == 2


def test_a_failed_run_has_its_reason_and_takes_no_other_along() -> None:
    wrong = {"flow[0].algorithm": ["cubic", "cubik", "cubic:2005", "quinn:cubic"]}
    found = elephan.batch(PAIR, wrong, "jain")
    assert found["jain"].is_null().to_list() == [False, True, False, True]
    assert found["why"][1].startswith("the run failed: flow[0].algorithm: 'cubik' is not an algorithm")
    assert "--on quic" in found["why"][3]
    found = elephan.batch(PAIR, {"flow[0].parameters.beta": [0.5, 7, float("nan"), "x"]}, "jain")
    assert found["jain"].is_null().to_list() == [False, True, True, True]
    assert "must be from 0.1 to 0.999" in found["why"][1]


def test_a_number_that_is_not_defined_has_its_reason() -> None:
    (row,) = elephan.batch(PAIR, [{}], ["convergence_time_s", "stability", "utilization"]).to_dicts()
    assert row["convergence_time_s"] is None
    assert row["utilization"] > 0.5
    assert row["why"] == (
        "convergence_time_s: the two flows are active together for 3 s; a running mean takes 10; "
        "stability: the window contains fewer than two bins of 10 s"
    )


def test_an_algorithm_in_python_gives_the_same_numbers(tmp_path: Path) -> None:
    base = Scenario.dumbbell([f"{OWN}:MyReno", "cubic"], **PATH)
    names = ["jain", "goodput_mbps", "utilization"]
    found = elephan.batch(base, {"dumbbell.rtt": ["10 ms", "20 ms"]}, names, jobs=2)
    for row in found.to_dicts():
        run = elephan.run(base.replace({"dumbbell.rtt": row["dumbbell.rtt"]}), store=Store(tmp_path))
        assert assert_equal(row, run, names) == 4
    mixed = elephan.batch(PAIR, {"flow[0].algorithm": ["cubic", f"{OWN}:MyReno"]}, names)
    assert mixed["jain"].null_count() == 0


def test_a_run_that_needs_more_than_its_memory_is_not_begun() -> None:
    found = elephan.batch(PAIR, [{}, {"duration": "5 s"}], "jain", memory=2**20)
    for why in found["why"]:
        assert "the run failed: memory: the run needs at least" in why
        assert why.endswith("the limit is 1 MiB (--memory)")


def test_a_run_that_outgrows_its_share_runs_alone_and_then_fails() -> None:
    """A window of 20,000 packets over a long path, which no estimate knows of."""
    path = {"rate": "10 Gbit/s", "rtt": "2 s", "buffer": "unlimited", "duration": "34 s"}
    large = Scenario.dumbbell(["reno"], **path)
    certain = engine().memory(large.canonical_json())
    (why,) = elephan.batch(large, [{}], "jain", memory=certain + 2**18)["why"]
    assert why.startswith("the run failed: memory:")
    assert why.endswith("(--memory)")


def test_an_interrupt_ends_the_runs() -> None:
    long = PAIR.replace({"dumbbell.rate": "1 Gbit/s", "duration": "2000 s"})
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        elephan.batch(long, [{}] * 8, "jain", jobs=2)
    assert time.monotonic() - sent[0] < 10  # the runs themselves take minutes


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"dumbbell.rtt": "10 ms"}, "dumbbell.rtt: '10 ms' is not a list of values; write ['10 ms']"),
        ({"seed": [1, 2], "duration": ["4 s"]}, "the columns differ in length: seed has 2, duration has 1"),
        ([3], "3 is not a row"),
        ([{3: 4}], "3 is not a field"),
    ],
)
def test_a_wrong_table_is_refused(table: Any, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        elephan.batch(PAIR, table)
    assert message in str(raised.value)


def test_metrics_that_need_tables_are_refused() -> None:
    with pytest.raises(MetricError, match="'epoch_duration_s' needs the tables of a run; a batch has abs_asymmetry, "):
        elephan.batch(PAIR, [{}], "epoch_duration_s")
    with pytest.raises(MetricError, match="'jian' is not a metric; did you mean 'jain'"):
        elephan.batch(PAIR, [{}], ["jian"])
    with pytest.raises(ScenarioError, match="seed: is a column; leave the number of seeds out"):
        elephan.batch(PAIR, {"seed": [1]}, seeds=2)


def test_python_and_the_engine_describe_the_same_metrics() -> None:
    """Names, scopes, and the defaults of the settings."""
    for name, scope, settings in engine().metrics():
        metric = metrics.registry()[name]
        assert metric.scope == scope
        parameters = inspect.signature(metric.function).parameters.values()
        stated = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "size_bytes"}
        assert stated == dict(settings), name
    assert {metrics.get(name).name for name in RUN_METRICS} <= set(OF_ENGINE)


CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "flow[0].parameters.beta": st.floats(0.2, 0.9) | st.integers(0, 2) | st.just("0.7"),
    "flow[0].parameters.c": st.floats(0.1, 2.0),
    "flow[1].parameters.beta": st.floats(0.2, 0.9) | st.just(float("inf")),
    "flow[*].parameters.beta": st.floats(0.2, 0.9),
    "flow[0].parameters.hystart": st.booleans() | st.just("no"),
    "flow[0].parameters.bet": st.just(0.5),
    "flow[7].parameters.beta": st.just(0.5),
    "flow[0].algorithm": st.sampled_from(["cubic:2005", "reno", "bic", "cubik"]),
    "flow[1].start": st.sampled_from(["0 s", "1 s", "9 s", "1"]),
    "flow[2].start": st.just("1 s"),
    "duration": st.sampled_from(["3 s", "9.5 s", "50 ms", "0 s", "long"]),
    "measure.from": st.sampled_from(["0 s", "2.5 s", "6 s"]),
    "measure.to": st.just("3 s"),
    "dumbbell.rate": st.sampled_from(["5 Mbit/s", "1 Gbit/s", "0 bit/s"]),
    "dumbbell.buffer": st.sampled_from(["20 packets", "50% BDP", "1 B"]),
    "seed": st.integers(-1, 5),
    "perturb": st.just("hosts"),
    "stack": st.sampled_from(["ns2", "linux-2.6"]),
}
BASES = (
    PAIR,
    PAIR.perturbed(),
    Scenario.dumbbell([{"algorithm": "cubic", "count": 3, "parameters": {"beta": 0.6}}, "htcp"], **PATH),
    Scenario.dumbbell(["cdg", "ledbat"], **PATH, stack="ns2"),
    Scenario.dumbbell(["reno"], **PATH, rate_table={"rows": [["0 s", "10 Mbit/s"], ["2 s", "5 Mbit/s"]]}),
    Scenario.dumbbell([{"algorithm": "reno", "stop": "2 s"}, "cubic"], **PATH, events=True),
    Scenario.dumbbell([f"{OWN}:MyReno", {"datagrams": {"rate": "1 Mbit/s"}}], **PATH),
)


@given(st.sampled_from(BASES), st.fixed_dictionaries({}, optional=CHANGES))
def test_a_form_is_the_ordinary_form(base: Scenario, changes: dict[str, Any]) -> None:
    """A scenario that the ordinary way refuses is refused too, at the latest by the engine."""
    template = Template(base)
    try:
        expected = base.with_overrides(changes).canonical()
    except ScenarioError:
        for form in filter(None, [template.filled(changes) for _ in range(3)]):
            with pytest.raises(ValueError, match=":"):
                engine().check(json.dumps(form))
        with pytest.raises((ScenarioError, ValueError)):
            engine().check(template.for_engine(changes).canonical_json())
        return
    assert [template.filled(changes) in (None, expected) for _ in range(3)] == [True] * 3
    assert template.for_engine(changes).canonical() == expected


def test_parameters_are_filled_in_and_other_fields_when_they_come_again() -> None:
    template = Template(PAIR)
    assert template.filled({"flow[0].parameters.beta": 0.5}) is not None
    assert template.filled({"dumbbell.rate": "5 Mbit/s"}) is None
    again = template.filled({"flow[0].parameters.beta": 0.5, "dumbbell.rate": "5 Mbit/s"})
    assert again == PAIR.with_overrides({"flow[0].parameters.beta": 0.5, "dumbbell.rate": "5 Mbit/s"}).canonical()
    assert template.filled({"flow[0].parameters": {}, "flow[0].parameters.beta": 0.5}) is None


def test_times_are_filled_in() -> None:
    template = Template(PAIR)
    changes = {"duration": "9 s", "flow[1].start": "2 s", "measure.from": "2 s", "dumbbell.rate": "5 Mbit/s"}
    assert template.filled(changes) == PAIR.with_overrides(changes).canonical()
    assert template.filled(changes | {"duration": "2 s"}) is None
