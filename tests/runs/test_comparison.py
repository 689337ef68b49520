"""The operator's question, answered from runs whose rates are written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

import elephan
from elephan import backends, comparison
from elephan.backends import Progress, RawResult
from elephan.runs import Store
from elephan.scenario import Scenario, ScenarioError

PATH: dict[str, Any] = {"rate": "100 Mbit/s", "rtt": "100 ms", "buffer": "200 packets", "stack": synthetic.STACK}


class Pecking(synthetic.WrittenBackend):
    """BIC takes what it likes: three times as much as anyone else; what is alone gets 90 Mbit/s."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Tables of flows that share 90 Mbit/s by strength."""
        flows = scenario.canonical()["flows"]
        strength = {flow["name"]: 3.0 if flow["algorithm"] == "bic" else 1.0 for flow in flows}
        total = sum(strength.values())
        rates = {name: constant(90 * s / total) for name, s in strength.items()}
        return RawResult(dict(synthetic.tables(scenario, rates)), {})


def answer(monkeypatch: pytest.MonkeyPatch, store: Path, algorithms: Sequence[str], **more: Any) -> dict[Any, Any]:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: Pecking())
    table = elephan.compare(algorithms, **(PATH | more), store=Store(store))
    return {(row["algorithm"], row["against"]): row for row in table.to_dicts()}


def test_the_rows_are_each_algorithm_in_each_situation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answer(monkeypatch, tmp_path, ["bic", "htcp"])
    situations = ["alone", comparison.LATE, "cubic", "reno"]
    assert list(rows) == [(name, against) for name in ("bic", "htcp") for against in situations]


def test_harm_is_what_the_others_lose_and_is_held_against_what_they_do_to_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = answer(monkeypatch, tmp_path, ["bic", "htcp"])
    assert rows["bic", "cubic"]["share"] == pytest.approx(0.75, abs=1e-3)
    assert rows["bic", "cubic"]["harm_to_other"] == pytest.approx(0.75, abs=1e-3)
    assert rows["bic", "cubic"]["harm_among_others"] == pytest.approx(0.5, abs=1e-3)
    assert rows["htcp", "cubic"]["harm_to_other"] == pytest.approx(0.5, abs=1e-3)
    assert rows["bic", "alone"]["harm_to_other"] is None
    assert rows["bic", "alone"]["utilization"] == pytest.approx(0.9)


def test_several_flows_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answer(monkeypatch, tmp_path, ["bic"], flows=2)
    assert rows["bic", "alone"]["goodput_mbps"] == pytest.approx(90 * 1000 / 1040, rel=1e-3)
    assert rows["bic", "cubic"]["other_goodput_mbps"] == pytest.approx(90 * 1000 / 1040 / 4, rel=1e-3)
    assert rows["bic", "cubic"]["jain"] == pytest.approx(8**2 / (4 * (9 + 9 + 1 + 1)), rel=1e-3)
    assert rows["bic", comparison.LATE]["late_comer_converges_s"] == pytest.approx(10, abs=1.1)


def test_an_algorithm_that_is_a_rival_meets_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answer(monkeypatch, tmp_path, ["cubic"])
    assert rows["cubic", "cubic"]["harm_to_other"] == pytest.approx(0.5, abs=1e-3)
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"background": "much"}, "background: 'much'"),
        ({"background": "0%"}, "background: '0%' is not a load"),
        ({"algorithms": ["cubik"]}, "'cubik' is not an algorithm; did you mean 'cubic'"),
        ({"algorithms": []}, "no algorithm to compare"),
        ({"flows": 0}, "0 is not a number of flows"),
        ({"rate": "0 Mbit/s"}, "dumbbell.rate"),
        ({"duration": "soon"}, "'soon'"),
        ({"loss": "120%"}, "dumbbell.loss"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(change: dict[str, Any], line: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"algorithms": ["cubic"]} | PATH | {"store": Store(tmp_path)} | change
    with pytest.raises(ScenarioError) as caught:
        elephan.compare(**asked)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_background_traffic_is_in_every_run_and_has_columns_of_its_own(tmp_path: Path) -> None:
    path: dict[str, Any] = {
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "buffer": "1 BDP",
        "duration": "120 s",
        "store": Store(tmp_path),
        "jobs": 1,
    }
    rows = elephan.compare(["htcp"], **path, background="30%", rivals=["reno"]).to_dicts()
    assert len(rows) == 3
    for row in rows:
        # 6 Mbit/s are offered; what comes late out of a full queue belongs to another window.
        assert row["background_mbps"] == pytest.approx(6, rel=0.25)
        assert row["goodput_mbps"] + (row["other_goodput_mbps"] or 0) < 20 * 1448 / 1500 - 4
        assert 40 < row["background_p50_ms"] < row["background_p99_ms"]
    without = elephan.compare(["htcp"], **path, rivals=["reno"]).to_dicts()
    assert not any(name.startswith("background") for name in without[0])
    assert without[0]["goodput_mbps"] > rows[0]["goodput_mbps"] + 3


def test_background_traffic_is_the_same_for_all() -> None:
    rate = "20 Mbit/s"
    path: dict[str, Any] = {"rate": rate, "rtt": "40 ms", "buffer": "1 BDP", "stack": "linux", "seed": 1}
    path["traffic"] = comparison.background_traffic("4 Mbit/s", rate)
    forms = [meeting.scenario.canonical() for meeting in comparison.plan(["bic"], ["cubic"], 1, "20 s", path)]
    both = [[(s["flow"]["name"], s["flow"]["algorithm"], s["arrivals"]) for s in form["traffic"]] for form in forms]
    load = {"kind": "load", "bps": 4_000_000}
    assert both == [[("background", "cubic", load), ("background-back", "cubic", load)]] * len(forms)
    there, back = forms[0]["traffic"]
    names = [link["name"] for link in forms[0]["links"]]
    assert "bottleneck" in [names[i] for i in there["flow"]["path"]]
    assert "bottleneck/reverse" in [names[i] for i in back["flow"]["path"]]
