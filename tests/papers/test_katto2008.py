"""katto2008: its claims, its measuring, and a small part of it from end to end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from elephan import papers
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.models import hybrid
from elephan.papers.claims import Claim
from elephan.papers.judging import judge_all
from elephan.papers.katto2008 import beyond, windows
from elephan.papers.katto2008.measure import measurer
from elephan.papers.katto2008.setup import (
    CANDIDATES,
    GRID,
    HYBRIDS,
    PIPE,
    PROTOCOLS,
    SHORT_FLOWS,
    Setup,
    points,
    run_s,
    short_sizes,
)
from elephan.runs import Store
from elephan.runs.execute import run

PAPER = papers.get("katto2008", True)


def claim(**fields: Any) -> Claim:
    known: dict[str, Any] = {
        "id": "katto2008.x",
        "paper": "katto2008",
        "figure": "1",
        "experiment": "katto2008.M1",
        "metric": "m",
    }
    rest = {"subject": "hybrid", "relation": "approx", "expected": 0.0, "certainty": "certain", "robustness": "high"}
    more = {"check": "analytic", "tolerance_kind": "bound", "basis": "text", "quote": "t"}
    return Claim(**(known | rest | more | fields))


class Fake(Evidence):
    """Runs that are not there, with given metrics: (flow protocol's scenario title, metric) to a value."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self._given = values

    def of(self, scenario: Any) -> list[Any]:
        return [type("R", (), {"id": scenario.title, "title": scenario.title})()]

    def metric(self, run: Any, name: str, window: Any = None, **options: Any) -> Any:
        return self._given[name](run.title)


def test_the_claims_are_107_and_without_runs_the_simulated_ones_are_not_judged() -> None:
    assert len(PAPER.claims.claims) == 107
    judged = papers.evaluate(PAPER, [])
    for judgment in judged:
        simulated = judgment.claim.check == "simulation"
        assert (judgment.verdict == "not_judged") == simulated, judgment.claim.id
    assert all("not part of this selection" in j.why for j in judged if j.verdict == "not_judged")


def test_every_formula_gives_the_published_number() -> None:
    differing = {j.claim.id: j.why for j in papers.evaluate(PAPER, []) if j.verdict == "differs"}
    assert differing == {}


def test_a_wrong_formula_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = hybrid.single_flow

    def wrong(*arguments: Any) -> hybrid.Round:
        found = right(*arguments)
        return hybrid.Round(found.packets * 1.001, found.seconds)

    monkeypatch.setattr(hybrid, "single_flow", wrong)
    verdicts = [j.verdict for j in papers.evaluate(PAPER, []) if j.claim.id.startswith("katto2008.T1.")]
    assert verdicts.count("differs") == 9


def test_cases_divide_the_grid() -> None:
    for flows, sizes in ((1, (2, 1, 8)), (2, (3, 1, 7))):
        assert tuple(len(points(flows, case)) for case in (1, 2, 3)) == sizes
        assert [p for case in (1, 2, 3) for p in points(flows, case)] == list(GRID)
    assert points(1) == list(GRID)


def test_runs_last_for_two_hundred_losses_within_limits() -> None:
    assert run_s(1e-6) == 1000
    assert run_s(1e-4) == 300
    assert run_s(3.16e-5) == pytest.approx(200 / 3.16e-5 * 12_000 / 1e8)
    assert run_s(1e-6, 10) == 100


def test_the_path_is_the_papers() -> None:
    for protocol in PROTOCOLS:
        form = Setup().sweep(protocol, 1e-3, 2).canonical()
        link = next(link for link in form["links"] if link["name"] == "bottleneck")
        assert link["rate_bps"] == PIPE.rate_bps
        # ns-2 drops at its limit, so that the limit is one more than what may wait.
        assert link["queue"]["limit_packets"] == 332
        stacks = {flow["stack"]["payload_bytes"] + flow["stack"]["header_bytes"] for flow in form["flows"]}
        assert stacks == {1500}


def test_tuning_changes_one_constant() -> None:
    assert Setup().flow("ctcp_7/8")["parameters"] == {"beta": 0.125}
    assert Setup().flow("yeah_1.03")["parameters"]["stcp_count"] == pytest.approx(100 / 3)
    assert Setup().sweep("yeah_1.01", 1e-3).hash == Setup().sweep("yeah", 1e-3).hash
    assert Setup().sweep("yeah_1.1", 1e-3).hash != Setup().sweep("yeah", 1e-3).hash


def test_short_flows_are_a_hundred_of_the_stated_distribution() -> None:
    sizes = short_sizes()
    assert len(sizes) == SHORT_FLOWS
    assert sizes == sorted(sizes)
    # The median of a Pareto distribution of mean 25 kB and shape 1.2 is 7424 bytes.
    assert (sizes[49] + sizes[50]) / 2 == pytest.approx(7424, rel=2e-3)
    for name in CANDIDATES:
        form = Setup().short(name).canonical()
        assert len(form["flows"]) == SHORT_FLOWS + 1


def test_a_claim_about_a_case_is_the_mean_over_its_loss_rates() -> None:
    rates = {f"p = {p:.3g}": 10.0 * position for position, p in enumerate(GRID)}
    fake = Fake(
        {
            "throughput_mbps": lambda title: dict.fromkeys(("yeah", "rival"), rates[title.rpartition(", ")[2]]),
            "throughput_ratio": lambda title: rates[title.rpartition(", ")[2]],
        }
    )
    suite = measurer(fake, Setup())
    about = claim(experiment="katto2008.F7a", check="simulation")
    assert suite.measure("throughput_mbps", "yeah", {"case": 1}, about).value() == pytest.approx(5.0)
    assert suite.measure("throughput_mbps", "yeah", {"case": 2}, about).value() == pytest.approx(20.0)
    assert suite.measure("competitor_throughput_mbps", "yeah_1.01", {}, about).value() == pytest.approx(50.0)
    two = claim(experiment="katto2008.F7b", check="simulation")
    assert suite.measure("throughput_ratio", "yeah_over_reno", {"case": 1}, two).value() == pytest.approx(10.0)


def test_the_error_is_relative_to_the_model() -> None:
    setup = Setup()
    model = setup.model("areno")
    from elephan.models.abstracted import hybrid_mbps

    values = {f"p = {p:.3g}": 0.8 * float(hybrid_mbps(model, p, PIPE)) for p in GRID}
    fake = Fake({"throughput_mbps": lambda title: {"areno": values[title.rpartition(", ")[2]]}})
    about = claim(experiment="katto2008.F7a", check="simulation")
    found = measurer(fake, setup).measure("relative_error_vs_model", "areno", {}, about)
    assert found.value() == pytest.approx(0.2)


def test_unknown_conditions_and_metrics_are_refused() -> None:
    suite = measurer(Evidence(), Setup())
    with pytest.raises(CriterionError, match="bufer is not understood"):
        suite.measure("loss_rate_model", "reno", {"bufer": 1}, claim())
    with pytest.raises(CriterionError, match="'speed' is not measured"):
        suite.measure("speed", "reno", {}, claim())


def test_assumptions_have_reasons_and_readings_have_runs() -> None:
    assert len({row.name for row in PAPER.assumptions}) == len(PAPER.assumptions)
    text = " ".join(row.reason + row.value for row in PAPER.assumptions)
    for variant in PAPER.variants:
        assert variant.id in text, variant.id


def test_some_of_it_from_end_to_end(tmp_path: Path) -> None:
    setup = Setup(time=10)
    store = Store(tmp_path)
    runs = [run(setup.sweep(name, p), store=store) for name in ("reno", "ctcp", "fusion") for p in points(1, 3)]
    chosen = [
        c for c in PAPER.claims.claims if c.id in ("katto2008.F7a.ctcp.degrades", "katto2008.F7a.ctcp.above_reno")
    ]
    from dataclasses import replace

    judged = judge_all(replace(PAPER.claims, claims=tuple(chosen)), measurer(Evidence(runs), setup))
    assert [j.verdict for j in judged] == ["reproduced", "reproduced"]
    assert all(len(j.runs) == 16 for j in judged)
    (figure,) = [figure for figure in PAPER.figures(Evidence(runs)) if figure.id == "figure7"]
    markers = [trace for trace in figure.spec()["data"] if trace["mode"] == "markers"]
    assert [trace["name"] for trace in markers] == ["TCP-Reno (SACK) (run)", "CTCP (run)", "TCP-Fusion (run)"]
    assert list(markers[0]["x"]) == points(1, 3)


def test_a_run_of_a_window_figure_loses_one_packet_in_each_round_of_its_model() -> None:
    setup = Setup()
    assert windows.packets_between(setup, "reno", 200.0, 1) == 15_000
    assert windows.packets_between(setup, "fast", 200.0, 1) == 33_333
    assert windows.packets_between(setup, "ctcp", 500.0, 1) == 96_813
    assert windows.packets_between(setup, "yeah", 250.0, 2) == 24_857
    links = windows.trace(setup, "ctcp", 500.0, 2).canonical()["links"]
    lost = {link["name"]: link["loss"]["packets"] for link in links if "packets" in link.get("loss", {})}
    between = {name: {b - a for a, b in pairwise(packets)} for name, packets in lost.items()}
    assert between == {"access-1": {windows.packets_between(setup, "ctcp", 500.0, 2)}, "access-2": {93_750}}


def test_the_last_round_is_from_one_loss_to_the_next() -> None:
    rows = {
        "flow": ["a"] * 8,
        "time_s": [0.1 * i for i in range(8)],
        "cwnd": [float(i) for i in range(8)],
        "rtt_s": [0.1] * 4 + [0.2] * 4,
        "loss_events": [0, 1, 1, 1, 1, 1, 2, 2],
    }
    rounds, cwnd, rtts = windows.last_round(SimpleNamespace(samples=pl.DataFrame(rows)), "a")  # type: ignore[arg-type]
    assert cwnd == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert rounds == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.5])
    assert rtts[-1] == 0.2
    rows["loss_events"] = [0] * 7 + [1]
    empty = SimpleNamespace(samples=pl.DataFrame(rows))
    assert windows.last_round(empty, "a") == ([], [], [])  # type: ignore[arg-type]


def test_errors_of_models_are_over_the_loss_rates_of_a_case() -> None:
    p = np.array([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
    found = beyond.Measured("ctcp", p, 2.0 * beyond.printed(Setup(), "ctcp", p), np.zeros(6))
    assert beyond.error(found, partial(beyond.printed, Setup(), "ctcp")) == pytest.approx(1.0)
    assert found.chosen(beyond.in_case(3)).p.tolist() == [1e-4, 1e-3, 1e-2, 1e-1]
    assert found.chosen(beyond.in_case(3, most=1e-2)).p.tolist() == [1e-4, 1e-3, 1e-2]
    assert found.chosen(beyond.in_case(1, 2)).p.tolist() == [1e-6, 1e-5]
    assert found.chosen(beyond.in_case(1, flows=2)).p.tolist() == [1e-6, 1e-5]


def test_the_open_question_has_no_answer_without_runs() -> None:
    assert PAPER.beyond is not None
    assert list(PAPER.beyond.answer(Evidence())) == []
    assert list(PAPER.beyond.figures(Evidence())) == []


def test_the_open_question_is_answered_from_runs(tmp_path: Path) -> None:
    setup, store = Setup(time=200), Store(tmp_path)
    scenarios = [setup.sweep(name, p) for name in HYBRIDS for p in (1e-6, 1e-5, 3.16e-5, 1e-3)]
    runs = Evidence([run(scenario, store=store) for scenario in scenarios])
    lines = beyond.answer(runs, setup)
    assert len(lines) == 5
    assert lines[0].startswith("One flow, cases 1 and 2")
    chart, table = beyond.figures(runs, setup)
    assert [len(trace["x"]) for trace in chart.spec()["data"]][:4] == [4, 4, 4, 4]
    assert table.id == "models-error"
