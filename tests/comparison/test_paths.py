"""Paths of a comparison: what the options say is what the scenario has."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.comparison import paths
from elephan.comparison.situations import ALONE, LATE, Cast
from elephan.scenario import Scenario, ScenarioError

TWO = [("subject", "bic", 0.0), ("other", "cubic", 5.0)]


def test_background_traffic_is_the_same_for_all() -> None:
    rate = "20 Mbit/s"
    path = paths.from_options(paths.Options(rate, "40 ms", "1 BDP", background="4 Mbit/s"))
    cast = Cast({"bic": "bic", "cubic": "cubic"}, ("bic",), ("cubic",))
    forms = [situation.scenario.canonical() for situation in cast.situations(path, 20)]
    both = [[(s["flow"]["name"], s["flow"]["algorithm"], s["arrivals"]) for s in form["traffic"]] for form in forms]
    load = {"kind": "load", "bps": 4_000_000}
    assert both == [[("background", "cubic", load), ("background-back", "cubic", load)]] * len(forms)
    assert {situation.against for situation in cast.situations(path, 20)} == {ALONE, LATE, "cubic"}


def test_a_trace_is_the_rate_of_both_directions(tmp_path: Path) -> None:
    trace = tmp_path / "down.trace"
    trace.write_text("1\n2\n2\n4\n")
    path = paths.from_options(paths.Options(None, "40 ms", "100 packets", trace=str(trace), loss="0.1%"))
    links = {link.name: link for link in path.scenario(TWO, 20, "title").form.links}
    for name in ("forward", "reverse"):
        changes = links[name].impairments
        assert changes is not None
        assert list(changes.rate_trace_ms) == [1, 2, 2, 4]
        assert links[name].rate_bps == 12_000_000
        assert links[name].delay_ps == 20 * 10**9
    assert path.rate_bps == 12_000_000
    other = tmp_path / "up.trace"
    other.write_text("8\n")
    path = paths.from_options(paths.Options(None, "40 ms", "100 packets", trace=[str(trace), str(other)]))
    links = {link.name: link for link in path.scenario(TWO, 20, "title").form.links}
    assert links["reverse"].rate_bps == 1_500_000
    with pytest.raises(ScenarioError, match="the trace has the rate"):
        paths.from_options(paths.Options("1 Mbit/s", "40 ms", "100 packets", trace=str(trace)))
    with pytest.raises(ScenarioError, match="3 traces"):
        paths.from_options(paths.Options(None, "40 ms", "100 packets", trace=[str(trace)] * 3))


def test_background_crosses_a_trace_both_ways(tmp_path: Path) -> None:
    trace = tmp_path / "down.trace"
    trace.write_text("1\n2\n2\n4\n")
    form = paths.from_options(paths.Options(None, "40 ms", "100 packets", trace=str(trace), background="10%")).form
    names = [[form.links[i].name for i in source.flow.path] for source in form.traffic]
    assert names == [["forward"], ["reverse"]]


def test_queue_and_ecn_reach_the_scenario() -> None:
    path = paths.from_options(paths.Options("50 Mbit/s", "20 ms", "1 BDP", queue="codel", ecn=True))
    assert path.form.flows[0].stack.ecn
    assert any(link.queue.kind == "codel" for link in path.form.links)


def test_a_scenario_keeps_its_path_and_the_places_of_its_flows(tmp_path: Path) -> None:
    tables = {
        "duration": "40 s", "seed": 7,
        "parking_lot": {"rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP", "hops": 2},
        "flow": [
            {"algorithm": "cubic", "parameters": {"beta": 0.8}, "name": "long"},
            {"algorithm": "reno", "hops": 1, "start": "2 s"},
        ],
    }  # fmt: skip
    path = paths.from_scenario(Scenario.from_dict(tables))
    stated = path.scenario(TWO, 40, "title")
    assert path.seed == 7
    assert path.duration_s == 40
    assert stated.flow_names == ["subject-1", "subject-2", "other-1", "other-2"]
    assert [flow.algorithm for flow in stated.form.flows] == ["bic", "bic", "cubic", "cubic"]
    assert [flow.start_ps for flow in stated.form.flows] == [0, 2 * 10**12, 5 * 10**12, 7 * 10**12]
    assert len(stated.form.flows[1].path) < len(stated.form.flows[0].path)


def test_a_scenario_without_tcp_flows_has_no_places() -> None:
    tables = {
        "duration": "40 s",
        "dumbbell": {"rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP"},
        "traffic": [{"algorithm": "cubic", "load": "20%"}],
    }
    with pytest.raises(ScenarioError, match="no TCP flow"):
        paths.from_scenario(Scenario.from_dict(tables))


def test_the_longest_run_is_one_that_the_engine_has_numbers_for() -> None:
    path = paths.from_options(paths.Options("100 Gbit/s", "300 ms", "1 BDP"))
    assert 450 < path.longest_s < 452
    path.scenario([("flow", "cubic", 0.0)], path.longest_s * 0.999, "fits", 1.0)
    with pytest.raises(ScenarioError, match="billion segments"):
        path.scenario([("flow", "cubic", 0.0)], path.longest_s * 1.001, "does not", 1.0)
