"""leith2008: its claims and setup, the measurements on runs whose rates are given, and a part of it end to end."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import papers
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.relations import RELATIONS
from elephan.papers.claims import Claim
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.leith2008 import rules
from elephan.papers.leith2008 import setup as paths
from elephan.papers.leith2008.measure import measurer
from elephan.papers.leith2008.setup import Setup, lone
from elephan.papers.paper import Paper
from elephan.runs import Run, Store
from elephan.scenario import Scenario

HOSTS = {
    "leith2008.F1.ctcp_vista.udp_s", "leith2008.F1.ctcp_vista.recovery_start_s", "leith2008.F1.ctcp_vista.slope",
    "leith2008.F13.vista_slope", "leith2008.S8B.vista_400",
}  # fmt: skip


@cache
def whole() -> Paper:
    return papers.get("leith2008")


@cache
def small() -> Paper:
    return papers.get("leith2008", quick=True)


def verdicts(*runs: Run, about: str = "") -> dict[str, Judgment]:
    """By the claims' ids; of those that begin so."""
    chosen = tuple(claim for claim in whole().claims.claims if claim.id.startswith(f"leith2008.{about}"))
    claims = replace(whole().claims, claims=chosen)
    return {j.claim.id.partition(".")[2]: j for j in judge_all(claims, whole().measurer(Evidence(runs)))}


def made(scenario: Scenario, mbps: dict[str, float], seed: int = 1) -> Run:
    return synthetic.run(scenario.with_seed(seed), {name: constant(rate) for name, rate in mbps.items()})


def test_the_paper_has_its_claims_and_its_runs() -> None:
    claims = whole().claims.claims
    assert len(claims) == 138
    assert {claim.relation for claim in claims} <= set(RELATIONS)
    assert {claim.experiment for claim in claims} - set(whole().experiments) == {"leith2008.S8B"}
    assert {claim.id for claim in claims if claim.check == "not_simulable"} == HOSTS


def test_every_claim_is_measured_or_says_why_not() -> None:
    """Without any run each claim says that its run is missing; none is unknown to the measurer."""
    found = verdicts()
    assert {name for name, judgment in found.items() if judgment.verdict != "not_judged"} == {
        "F2.reverse_cap_mbps", "F3b.reno.growth_time_s", "F6.pipe_pkts", "F7.buf_bdp", "F10.ack_rate_mbps",
        "F10.ack_bytes", "F10.buffer", "F10.buffer_bdp", "F11.error_ms", "reno.long_epochs",
    }  # fmt: skip
    for name, judgment in found.items():
        if judgment.verdict == "not_judged":
            missing = "is not part of this selection" in judgment.why
            assert missing or f"leith2008.{name}" in HOSTS or name == "reno.low_utilisation", judgment.why


def test_each_scenario_of_an_experiment_has_a_name_of_its_own() -> None:
    for quick in (False, True):
        shown = [len(experiment.scenarios) for experiment in papers.get("leith2008", quick).experiments.values()]
        assert shown == [12, 4, 19, 18, 3, 3, 4, 3, 1, 3, 1, 4, 1, 30, 3, 1, 1, 1, 2, 4, 1, 2]


def test_the_setup_is_the_paper_s() -> None:
    setup = Setup()
    form = paths.crossed(setup, "cubic", 2).canonical()
    bottleneck = next(link for link in form["links"] if link["name"] == "bottleneck")
    assert bottleneck["rate_bps"] == 400_000_000
    assert bottleneck["queue"]["limit_packets"] == 4096
    assert [source["arrivals"] for source in form["traffic"]] == [{"kind": "load", "bps": 10_000_000}] * 4
    assert {source["rtts"]["rtts_ps"][0] for source in form["traffic"]} == {ms * 10**9 for ms in (30, 60, 90, 120)}
    assert form["traffic"][0]["sizes"] == {"kind": "pareto", "mean_bytes": 25_000.0, "shape": 1.2}
    scenario = paths.crossed(setup, "cubic", 2)
    assert scenario.graph.rtt_ps(0) == 120 * 10**9
    misled = paths.misled(setup, "ctcp").canonical()["flows"]
    assert misled[1]["base_rtt_error_ps"] == 20 * 10**9
    on_times = paths.reverse_traffic(setup, "ctcp").canonical()["flows"][2:]
    assert all(flow["stop_ps"] - flow["start_ps"] == 5 * 10**12 for flow in on_times)
    assert on_times[1]["start_ps"] - on_times[0]["start_ps"] == 6 * 10**12
    assert on_times[0]["stack"]["receive_window"] == 345


def test_readings_change_what_they_are_about_and_nothing_else() -> None:
    own = {s.hash for e in whole().experiments.values() for s in e.scenarios.values()}
    changed = {variant.id: len({s.hash for s in variant.scenarios} - own) for variant in whole().variants}
    assert min(changed.values()) > 0
    assert changed["no-framing"] == 5
    assert changed["outlier-half"] == changed["outlier-twice"] == 2


def test_rates_of_figures_8_and_9_are_payload() -> None:
    scenario = paths.against_reno(Setup(), "ctcp", "F9b")
    payload = 1448 / 1538
    found = verdicts(made(scenario, {"ctcp": 48 / payload, "reno": 41 / payload}))
    assert found["F9b.ctcp.mbps"].measured == pytest.approx(48, abs=0.01)
    assert found["F9b.sum"].measured == pytest.approx(89, abs=0.01)
    assert found["F9b.ratio"].measured == pytest.approx(48 / 41)
    assert {found[f"F9b.{name}"].verdict for name in ("ctcp.mbps", "reno.mbps", "sum", "ratio", "winner")} == {
        "reproduced"
    }
    swapped = verdicts(made(scenario, {"ctcp": 20.0, "reno": 75.0}))
    assert {swapped[f"F9b.{name}"].verdict for name in ("ctcp.mbps", "reno.mbps", "ratio", "winner", "jain")} == {
        "differs"
    }


def test_figure_8a_is_the_run_with_the_over_estimate() -> None:
    wrong, right = (paths.against_reno(Setup(), "illinois", "F8a", overestimate=over) for over in (True, False))
    found = verdicts(made(wrong, {"illinois": 70.0, "reno": 25.0}), made(right, {"illinois": 55.0, "reno": 40.0}))
    assert found["F8a.ratio"].measured == pytest.approx(2.8)
    assert found["F8a.max_rtt_effect"].measured == pytest.approx(2.8 - 1.375)


def test_losses_against_cases_are_differences_of_the_long_flow() -> None:
    runs = [
        made(paths.crossed(Setup(), name, case), {name: rate} | ({"reverse": 1.0} if case == 3 else {}))
        for name, rates in {"ctcp": (398, 350, 200), "cubic": (398, 356, 330)}.items()
        for case, rate in zip((1, 2, 3), map(float, rates), strict=True)
    ]
    found = verdicts(*runs, about="F10.case")
    assert found["F10.case2.ctcp.drop_ge"].measured == pytest.approx(48)
    assert found["F10.case2.ctcp_vs_cubic"].measured == pytest.approx(6)
    assert found["F10.case3.ctcp_vs_cubic"].measured == pytest.approx(150 - 26)
    assert found["F10.case3.ctcp_vs_cubic"].verdict == "reproduced"


def test_figure_7_takes_the_geometric_mean_over_the_shorter_paths() -> None:
    shares = {16: 0.25, 30: 0.5, 60: 1.0, 90: 2.0, 120: 9.0}
    runs = [
        made(paths.rtt_pair(Setup(), name, rtt, 120), {f"{name}-1": 10.0, f"{name}-2": 10 * ratio * factor})
        for name, factor in (("reno", 1.0), ("ctcp", 1.2))
        for rtt, ratio in shares.items()
    ]
    found = verdicts(*runs)["F7.buf120.ctcp_like_reno"]
    assert found.verdict == "reproduced"
    assert found.measured == pytest.approx(0.2 * math.sqrt(0.5))


def test_the_response_function_is_judged_where_a_claim_holds_least() -> None:
    rates = {"illinois": (390, 390, 380, 60, 20, 4), "aimd_a0.3": (390, 380, 100, 30, 15, 5)}
    runs = [
        made(paths.response(Setup(), name, loss), {name: float(rate)})
        for name, row in rates.items()
        for loss, rate in zip(paths.LOSS_RATES, row, strict=True)
    ]
    found = verdicts(*runs)["resp.illinois.above_reno03"]
    assert found.verdict == "differs"
    assert "loss rate of 0.01" in found.why


def test_the_best_case_of_figure_4_is_the_shortest_time() -> None:
    scenario = paths.newcomer(Setup(), "illinois", paths.F3B, *paths.late(Setup()))

    def windows(meet_s: float) -> dict[str, synthetic.Curve]:
        return {"illinois-1": constant(1000.0), "illinois-2": lambda t: np.where(t < 700 + meet_s, 100.0, 1000.0)}

    rates = {name: constant(100.0) for name in scenario.flow_names}
    runs = [
        synthetic.run(scenario.with_seed(seed), rates, cwnd=windows(meet_s)) for seed, meet_s in ((1, 600), (2, 310))
    ]
    found = verdicts(*runs)["F4.illinois.convergence_s"]
    # The mean over 10 s is at 80 % when 7.8 s of it are at 1000.
    assert found.measured == pytest.approx(318, abs=1)
    assert found.verdict == "reproduced"


def test_epochs_of_a_quick_run_count_tenfold() -> None:
    scenario = lone(Setup(scale=10), "illinois", paths.F3B)
    losses = {"illinois": [20.05 + 60.1 * i for i in range(5)]}
    run = synthetic.run(scenario, {"illinois": constant(20.0)}, loss_times=losses)
    suite = measurer(Evidence([run]), Setup(scale=10))
    claim = next(claim for claim in whole().claims.claims if claim.id == "leith2008.F3b.illinois.epoch_s")
    assert suite.measure("epoch_duration_s", "illinois", {}, claim).value() == pytest.approx(601)


def test_points_along_a_parameter_are_the_experiments() -> None:
    suite = measurer(Evidence(), Setup())

    def claim(name: str) -> Claim:
        return next(claim for claim in whole().claims.claims if claim.id == f"leith2008.{name}")

    assert suite.points("bdp_pkts", claim("reno.epoch_linear_bdp")) == pytest.approx([208.33, 416.67, 833.33], abs=0.01)
    assert list(suite.points("queue_delay_fraction", claim("alg.illinois.alpha_monotone"))) == list(rules.FRACTIONS)


@pytest.mark.large
def test_the_rules_of_section_ii_are_reproduced(tmp_path: Path) -> None:
    result = papers.reproduce(small(), "ALG", jobs=1, store=Store(tmp_path / "store"), out=tmp_path / "report")
    assert result.totals == {"reproduced": 10, "weak": 0, "differs": 0, "not_judged": 0}
    assert result.report_path is not None
    assert result.report_path.exists()


def test_an_epoch_of_illinois_is_the_integral_of_its_rule(tmp_path: Path) -> None:
    result = papers.reproduce(small(), "F3a", jobs=1, store=Store(tmp_path / "store"), out=tmp_path / "report")
    (judgment,) = result.claims
    assert judgment.claim.id == "leith2008.F3a.illinois.epoch_fluid_s"
    assert judgment.measured is not None
    # The integral at a tenth of the rate is the same number of round trips for a tenth of the packets, times ten.
    assert judgment.measured == pytest.approx(23.5, rel=0.25)


def test_the_question_beyond_is_answered_from_runs_alone() -> None:
    question = small().beyond
    assert question is not None
    assert [len(experiment.scenarios) for experiment in question.experiments.values()] == [15, 15, 15]
    pairs = question.experiments["leith2008.fast.pair"].scenarios.values()
    runs = [
        made(scenario, dict(zip(scenario.flow_names, rates, strict=True)))
        for scenario, rates in zip(
            pairs, [(5.0, 5.0), (7.5, 2.5), (9.0, 1.0), (10.0, 0.0), (6.0, 4.0)] * 3, strict=True
        )
    ]
    answer = question.answer(Evidence(runs))
    assert len(answer) == 7
    assert all(sentence.endswith(".") for sentence in answer)
    assert answer[0].startswith("Recovery from an interruption at 1 Gbit/s takes: Reno longer than can be seen")
    assert "Reno 1, CUBIC 0.96" in answer[-1]
    assert question.figures(Evidence()) == []
