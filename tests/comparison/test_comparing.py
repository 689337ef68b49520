"""The operator's question, answered from runs whose rates are written down, and on real paths."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

import elephan
from elephan import backends, metrics
from elephan.backends import Progress, RawResult
from elephan.comparison import METRICS, Comparison, NothingObservedError, schedule
from elephan.comparison.situations import LATE
from elephan.runs import Store, work
from elephan.scenario import Scenario, ScenarioError

PATH: dict[str, Any] = {"rate": "100 Mbit/s", "rtt": "100 ms", "buffer": "200 packets", "stack": synthetic.STACK}
SMALL: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "duration": "20 s", "jobs": 1}


class Pecking(synthetic.WrittenBackend):
    """BIC takes three times as much as anyone else; a flow alone gets 90 Mbit/s, and a little less with each seed."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Tables of flows that share 90 Mbit/s by strength."""
        seed = scenario.seed if seed is None else seed
        self.computed.append((scenario.hash, seed))
        scenario = scenario.without_groups()
        flows = scenario.canonical()["flows"]
        strength = {flow["name"]: 3.0 if flow["algorithm"] == "bic" else 1.0 for flow in flows}
        total = sum(strength.values()) * (1 + self.noise(scenario.hash, seed))
        rates = {name: constant(90 * s / total) for name, s in strength.items()}
        return RawResult(dict(synthetic.tables(scenario, rates)), {})

    def noise(self, name: str, seed: int) -> float:
        """At most a thousandth, by the seed and the scenario."""
        return 1e-3 * float(np.random.default_rng([seed, int(name[:8], 16)]).random())


def answer(
    monkeypatch: pytest.MonkeyPatch, store: Path, algorithms: Sequence[str], **more: Any
) -> tuple[Comparison, dict[Any, Any]]:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: Pecking())
    found = elephan.compare(algorithms, **(PATH | more), store=Store(store))
    return found, {(row["algorithm"], row["against"], row["metric"]): row for row in found.rows}


def test_each_algorithm_is_in_each_situation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = answer(monkeypatch, tmp_path, ["bic", "htcp"], rivals=["cubic", "reno"])
    pairs = {(algorithm, against) for algorithm, against, _ in rows}
    assert pairs >= {(name, against) for name in ("bic", "htcp") for against in ("alone", LATE, "cubic", "reno")}
    assert pairs >= {("cubic", "cubic"), ("reno", "alone")}
    assert {row["metric"] for row in found.rows} <= set(METRICS)
    assert found.table().shape[0] == len(pairs)


def test_harm_is_judged_against_that_of_the_rivals_own_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = answer(monkeypatch, tmp_path, ["bic", "htcp"])
    assert rows["bic", "cubic", "share"]["mean"] == pytest.approx(0.75, abs=1e-2)
    assert rows["bic", "cubic", "harm"]["mean"] == pytest.approx(0.75, abs=1e-2)
    assert rows["bic", "cubic", "excess_harm"]["mean"] == pytest.approx(0.5, abs=1e-2)
    assert rows["htcp", "cubic", "excess_harm"]["mean"] == pytest.approx(0, abs=1e-2)
    assert rows["bic", "alone", "utilization"]["mean"] == pytest.approx(0.9, abs=1e-2)
    assert ("bic", "alone", "harm") not in rows
    harm = {entry.algorithm: entry for entry in found.answer.harm}
    assert harm["bic"].excess == rows["bic", "cubic", "excess_harm"]["mean"]
    assert harm["bic"].seeds == 8


def test_the_gentler_of_two_equal_rates_is_recommended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = answer(monkeypatch, tmp_path, ["bic", "htcp"])
    assert found.answer.algorithm == "htcp"
    assert found.answer.settled
    assert found.answer.confidence == "high"
    assert "8 seeds" in found.answer.text
    assert found.decision.versus[0].distinct


def test_goodput_alone_does_not_tell_them_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = answer(monkeypatch, tmp_path, ["bic", "htcp"], prefer="goodput")
    assert found.decision.equals
    assert "equal within 5 %" in found.answer.text
    assert found.answer.settled


def test_several_flows_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, rows = answer(monkeypatch, tmp_path, ["bic"], flows=2)
    assert rows["bic", "alone", "goodput_mbps"]["mean"] == pytest.approx(90 * 1000 / 1040, rel=1e-2)
    assert rows["bic", "cubic", "other_goodput_mbps"]["mean"] == pytest.approx(90 * 1000 / 1040 / 4, rel=1e-2)
    assert rows["bic", "cubic", "jain"]["mean"] == pytest.approx(8**2 / (4 * (9 + 9 + 1 + 1)), rel=1e-2)
    assert rows["bic", LATE, "convergence_s"]["mean"] == pytest.approx(10, abs=1.1)
    assert rows["bic", LATE, "late_share"]["mean"] == pytest.approx(0.5, abs=1e-2)


def test_seeds_that_are_asked_for_are_those_that_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = answer(monkeypatch, tmp_path, ["bic", "htcp"], seeds=3)
    assert found.answer.seeds == 3
    assert {row["seeds"] for row in rows.values()} == {3}
    one, rows = answer(monkeypatch, tmp_path, ["bic", "htcp"], seeds=1)
    assert not one.answer.settled
    assert "one seed has no interval" in one.answer.text.lower()
    assert one.answer.algorithm is None, "one seed cannot show that a number has stopped changing"
    assert all(row["low"] is None for row in rows.values())


def test_an_answer_comes_early_and_is_refined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    answer(monkeypatch, tmp_path, ["bic", "htcp"], watch=said.append)
    assert said[0].seeds == 1
    assert not said[0].settled
    assert said[-1].settled
    assert [words.seeds for words in said] == sorted(words.seeds for words in said)


def test_what_is_saved_is_not_run_again(tmp_path: Path) -> None:
    first = elephan.compare(["cubic", "htcp"], **SMALL, seeds=2, store=Store(tmp_path))
    again = elephan.compare(["cubic", "htcp"], **SMALL, seeds=2, store=Store(tmp_path))
    assert all(run.cached for run in again.runs)
    assert not any(run.cached for run in first.runs)
    assert first.rows == again.rows


def test_harm_is_that_of_the_metrics(tmp_path: Path) -> None:
    found = elephan.compare(["htcp"], **SMALL, seeds=2, store=Store(tmp_path))
    solo, beside = (found.evidence.of(*key)[1].run for key in (("cubic", "alone"), ("htcp", "cubic")))
    harm = metrics.harm(beside, flows=["other-1"], reference=solo, reference_flows=["subject-1"], of="goodput")
    assert found.evidence.harm("htcp", "cubic")[0] == pytest.approx(harm, rel=1e-12)


def test_a_lossy_path_wants_an_algorithm_that_tolerates_loss(tmp_path: Path) -> None:
    path: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP", "loss": "1%", "duration": "20 s"}
    found = elephan.compare(["cubic", "bbr"], **path, store=Store(tmp_path))
    rows = {(row["algorithm"], row["against"], row["metric"]): row for row in found.rows}
    assert found.answer.algorithm == "bbr"
    assert rows["bbr", "alone", "goodput_mbps"]["low"] > 40
    assert rows["cubic", "alone", "goodput_mbps"]["high"] < 10
    assert "cubic flows beside it" in found.answer.text


def test_a_budget_is_kept_and_an_unfinished_answer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[str] = []

    class Slow(Pecking):
        def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
            for _ in range(10):
                time.sleep(0.02)
                if progress is not None and not progress(0.1):
                    raise backends.Cancelled
            finished.append(scenario.hash)
            return super().run(scenario, seed, progress)

    monkeypatch.setattr(backends, "get", lambda name, memory=None: Slow())
    found = elephan.compare(["bic", "htcp"], **PATH, budget="6 s", jobs=1, store=Store(tmp_path))
    assert 0 < len(finished) <= 6 / 0.2  # a run takes 0.2 s at least, so that a busy host finishes fewer
    assert not found.answer.settled
    assert found.answer.text.startswith("No recommendation") == (found.answer.algorithm is None)
    assert found.answer.algorithm is None or "Not settled" in found.answer.text


def test_a_budget_without_room_for_one_run_each_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(Pecking):
        def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
            while progress is None or progress(0.0):
                time.sleep(0.02)
            raise backends.Cancelled

    monkeypatch.setattr(backends, "get", lambda name, memory=None: Stuck())
    with pytest.raises(NothingObservedError, match="larger budget"):
        elephan.compare(["bic"], **PATH, budget="5 s", jobs=1, store=Store(tmp_path))


def test_a_path_whose_long_run_does_not_fit_gets_no_recommendation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule.Search, "_cost", lambda self, duration_s, among=None: 1.0 * duration_s)
    found, _ = answer(monkeypatch, tmp_path, ["bic", "htcp"], budget="30 s", jobs=1)
    words = found.answer
    assert words.algorithm is None
    assert not words.settled
    assert words.text.startswith("No recommendation. From ")
    assert words.horizon.needed_s is not None
    assert words.horizon.next_s is not None
    assert words.horizon.needed_s == pytest.approx(8 * words.horizon.next_s)
    assert f"runs of {words.horizon.next_s:g} s take about" in words.text.lower()
    assert "--budget" in words.text


class Growing(Pecking):
    """BIC takes more from others the longer a run lasts, until 100 s; a flow alone gets 90 Mbit/s."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Tables of two flows whose shares move."""
        seed = scenario.seed if seed is None else seed
        scenario = scenario.without_groups()
        flows = scenario.canonical()["flows"]
        small = 90 * (1 - self.noise(scenario.hash, seed))
        kinds = [flow["algorithm"] for flow in flows]

        def share(mine: str, t: Any) -> Any:
            if len(flows) == 1:
                return np.full_like(t, small)
            if set(kinds) != {"bic", "cubic"}:
                return np.full_like(t, small / 2)
            taken = 0.5 + 0.4 * np.minimum(t, 100) / 100
            return small * (taken if mine == "bic" else 1 - taken)

        rates = {flow["name"]: (lambda t, kind=flow["algorithm"]: share(kind, t)) for flow in flows}
        return RawResult(dict(synthetic.tables(scenario, rates)), {})


def test_durations_are_doubled_until_numbers_no_longer_depend_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: Growing())
    found = elephan.compare(["bic"], **PATH, store=Store(tmp_path), jobs=1)
    row = next(row for row in found.rows if (row["against"], row["metric"]) == ("cubic", "share"))
    assert found.evidence.duration_s >= 400, "a quarter of the run is past 100 s"
    assert row["mean"] == pytest.approx(0.9, abs=1e-3)
    assert (row["from_s"], row["to_s"]) == (found.evidence.duration_s / 2, found.evidence.duration_s)
    assert found.answer.horizon.reached
    short = elephan.compare(["bic"], **PATH, store=Store(tmp_path), jobs=1, duration="60 s")
    assert not short.answer.settled
    assert "still changing with the duration: the goodput of flows beside bic" in short.answer.text
    life = elephan.compare(["bic"], **PATH, store=Store(tmp_path), jobs=1, horizon="60 s")
    row = next(row for row in life.rows if (row["against"], row["metric"]) == ("cubic", "share"))
    assert row["mean"] == pytest.approx(0.5 + 0.4 * 0.3, abs=1e-2)
    assert (row["from_s"], row["to_s"]) == (0, 60)
    assert life.answer.settled
    assert "of a flow's life" in life.answer.text


def test_a_stated_duration_has_a_first_look_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_SEGMENT_S", 1e-4)
    said: list[Any] = []
    found, _ = answer(monkeypatch, tmp_path, ["bic", "htcp"], watch=said.append, duration="600 s", seeds=2)
    assert said[0].horizon.to_s < 600
    assert said[0].algorithm is None
    assert (found.answer.horizon.from_s, found.answer.horizon.to_s) == (300, 600)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"background": "much"}, "background: 'much'"),
        ({"background": "0%"}, "background: '0%' is not a load"),
        ({"algorithms": ["cubik"]}, "'cubik' is not an algorithm; did you mean 'cubic'"),
        ({"algorithms": []}, "no algorithm to compare"),
        ({"algorithms": "cubic"}, "write a list"),
        ({"rivals": ["renno"]}, "'renno' is not an algorithm; did you mean 'reno'"),
        ({"flows": 0}, "0 is not a number of flows"),
        ({"rate": "0 Mbit/s"}, "rate: '0 Mbit/s'"),
        ({"rate": None}, "rate: missing"),
        ({"rtt": None}, "rtt: missing"),
        ({"duration": "soon"}, "'soon'"),
        ({"duration": "13 s"}, "'13 s' is too short"),
        ({"horizon": "1 s"}, "horizon: '1 s' is too short"),
        ({"horizon": "20 s", "duration": "20 s"}, "leave one of the two out"),
        ({"loss": "120%"}, "dumbbell.loss"),
        ({"prefer": "fairnes"}, "did you mean 'fairness'"),
        ({"budget": "1 s"}, "budget: '1 s' is too short"),
        ({"budget": "long"}, "budget: 'long'"),
        ({"queue": "coddel"}, "did you mean 'codel'"),
        ({"trace": "no.trace"}, "trace: 'no.trace': no such file"),
        ({"on": "simm"}, "'simm' is not a backend"),
        ({"scenario": "none.toml"}, "rate: the scenario has the path"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(change: dict[str, Any], line: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"algorithms": ["cubic"]} | PATH | {"store": Store(tmp_path)} | change
    with pytest.raises(ScenarioError) as caught:
        elephan.compare(**asked)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_background_traffic_is_in_every_run_and_has_metrics_of_its_own(tmp_path: Path) -> None:
    path: dict[str, Any] = SMALL | {"rate": "20 Mbit/s", "rtt": "40 ms", "duration": "120 s", "store": Store(tmp_path)}
    with_load = elephan.compare(["htcp"], **path, background="30%", rivals=["reno"], seeds=1)
    rows = {(row["algorithm"], row["against"], row["metric"]): row["mean"] for row in with_load.rows}
    for algorithm, against in {(a, b) for a, b, _ in rows}:
        # 6 Mbit/s are offered; what comes late out of a full queue belongs to another window.
        assert rows[algorithm, against, "background_mbps"] == pytest.approx(6, rel=0.25)
        p50, p99 = (rows[algorithm, against, f"background_flow_duration_{q}_ms"] for q in ("p50", "p99"))
        assert 40 < p50 < p99
    without = elephan.compare(["htcp"], **path, rivals=["reno"], seeds=1)
    assert not any(row["metric"].startswith("background") for row in without.rows)


def test_short_flows_are_preferred_by_their_slowdown(tmp_path: Path) -> None:
    found = elephan.compare(["cubic", "bbr"], **SMALL, prefer="short-flows", seeds=2, store=Store(tmp_path))
    slowdown = {
        row["algorithm"]: row["mean"]
        for row in found.rows
        if row["metric"] == "background_mean_slowdown" and row["against"] == "alone"
    }
    assert set(slowdown) == {"cubic", "bbr"}
    assert any("short flows" in note for note in found.answer.notes)


def test_a_report_has_the_answer_figures_and_assumptions(tmp_path: Path) -> None:
    found = elephan.compare(["cubic", "htcp"], **SMALL, seeds=2, store=Store(tmp_path))
    path = found.report(tmp_path / "out")
    text = path.read_text()
    for expected in ("htcp", "Assumptions", "trade-off", "harm", "Content-Security-Policy", "means over 10 s to 20 s"):
        assert expected in text
    assert {file.name for file in path.parent.iterdir()} >= {
        "trade-off.svg",
        "trade-off.pdf",
        "harm.svg",
        "time-cubic.svg",
    }
    assert "<script" not in found._repr_html_()
    assert found.answer.text[:10] in found._repr_html_()
