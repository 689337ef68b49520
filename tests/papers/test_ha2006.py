"""ha2006 on runs whose rates are given, so that verdicts are known beforehand; and a few that are simulated small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan import papers
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.relations import RELATIONS
from elephan.papers.claims import ClaimSet
from elephan.papers.ha2006.beyond import QUEUES, Answers, tau
from elephan.papers.ha2006.measure import UNREACHED_S, measurer, value
from elephan.papers.ha2006.setup import (
    ALGORITHMS,
    FAR_MS,
    OTHER_RTTS_MS,
    RTTS_MS,
    VARIANTS,
    Case,
    Setup,
    ceiling_mbps,
    long_lived_rtts_ms,
    quantile_ms,
    rtt_quantiles_ms,
)
from elephan.papers.judging import judge_all
from elephan.papers.loading import about
from elephan.papers.paper import Paper
from elephan.papers.reproduction import select
from elephan.runs import Run, Store, sweep

SMALL = Setup(**about("ha2006").quick.set)


@cache
def paper(quick: bool = False) -> Paper:
    return papers.get("ha2006", quick=quick)


class Kind(NamedTuple):
    """The runs of an experiment; they differ in the algorithm and the round-trip time.

    Attributes:
        experiment: ``X1`` (a variant and TCP-SACK), ``X2`` (two of a variant) or ``X3`` (two of a variant with
            different RTTs).
        background: true if there is background traffic.
        rate_mbps: rate of the bottleneck.
    """

    experiment: str
    background: bool
    rate_mbps: int = 400

    def case(self, algorithm: str, rtt_ms: int) -> Case:
        """The run of an algorithm at a round-trip time; in ``X3`` this is the round-trip time of the second flow."""
        second = "sack" if self.experiment == "X1" else algorithm
        rtts = (FAR_MS, rtt_ms) if self.experiment == "X3" else (rtt_ms, rtt_ms)
        return Case(algorithm, second, rtts, self.background, self.rate_mbps)


def cases(at: Kind, algorithms: Sequence[str] = ALGORITHMS) -> list[Case]:
    """The runs of an experiment."""
    rtts = OTHER_RTTS_MS if at.experiment == "X3" else RTTS_MS
    return [at.case(name, rtt) for name in algorithms for rtt in rtts]


def made(case: Case, first: synthetic.Curve, second: synthetic.Curve, drops: float = 0.0, seed: int = 1) -> Run:
    scenario = Setup().scenario(case).with_seed(seed)
    one, other = scenario.flow_names
    windows = {one: constant(12_000.0), other: constant(100.0)}
    return synthetic.run(scenario, {one: first, other: second}, cwnd=windows, drop_rate=drops)


def measured(metric: str, subject: str, runs: list[Run], **where: object) -> float:
    """The measurement that the first claim of that metric makes."""
    claim = next(claim for claim in paper().claims.claims if claim.metric == metric)
    asked = {"bg": False, **where}
    experiment = str(asked.pop("experiment", claim.experiment))
    claims = [c for c in paper().claims.claims if c.metric == metric and c.experiment == experiment]
    return measurer(Evidence(runs), Setup()).measure(metric, subject, asked, claims[0]).value()  # type: ignore[arg-type]


def test_the_paper_has_its_claims_and_its_runs() -> None:
    assert len(paper().claims.claims) == 155
    assert {claim.relation for claim in paper().claims.claims} <= set(RELATIONS)
    counts = {name.partition(".")[2]: len(e.scenarios) for name, e in paper().experiments.items()}
    assert counts == {
        "X0.bgonly": 2, "X1.nobg": 35, "X2.nobg": 35, "X3.nobg": 28, "X1.bg": 35, "X2.bg": 35, "X3.bg": 28,
        "X1.100M": 30,
    }  # fmt: skip
    hashes = {s.hash for e in paper().experiments.values() for s in e.scenarios.values()}
    seeds = {name.partition(".")[2]: e.seeds for name, e in paper().experiments.items() if e.seeds > 1}
    assert seeds == {"X2.nobg": 3, "X3.nobg": 3}
    assert len(hashes) == 2 + 2 * (30 + 35 + 21) + 30


def test_every_experiment_of_the_claims_is_there() -> None:
    assert {claim.experiment for claim in paper().claims.claims} <= set(paper().experiments)


def test_the_small_paper_is_the_same_shape() -> None:
    small = paper(quick=True)
    assert small.quick_note
    for name, experiment in paper().experiments.items():
        assert list(small.experiments[name].scenarios) == list(experiment.scenarios)


@pytest.mark.parametrize(
    ("figure", "experiments"),
    [
        ("2", ["X1.nobg", "X1.bg"]),
        ("Fig 7b", ["X1.bg"]),
        ("f9", ["X2.nobg", "X2.bg"]),
        ("3", ["X2.bg", "X3.bg"]),
        ("X3.nobg", ["X3.nobg"]),
    ],
)
def test_a_figure_names_its_experiments(figure: str, experiments: list[str]) -> None:
    chosen, _ = select(paper(quick=True), figure)
    assert list(chosen) == [f"ha2006.{name}" for name in experiments]


def test_every_reading_runs_something_else() -> None:
    own = {s.hash for e in paper().experiments.values() for s in e.scenarios.values()}
    for variant in paper().variants:
        if variant.id == "convergence-accumulated":  # another measure of the same runs
            assert {scenario.hash for scenario in variant.scenarios} <= own
            continue
        assert {scenario.hash for scenario in variant.scenarios} - own, variant.id


def test_the_setup_is_the_papers() -> None:
    form = Setup().scenario(Case("bic", "sack", (324, 324), background=True)).canonical()
    (link,) = [link for link in form["links"] if link["name"] == "bottleneck"]
    assert link["rate_bps"] == 400_000_000
    assert link["queue"]["limit_bytes"] == 2_000_000
    assert [flow["start_ps"] for flow in form["flows"]] == [30 * 10**12, 130 * 10**12]
    assert form["measure"] == {"from_ps": 135 * 10**12, "to_ps": 1200 * 10**12}
    assert Setup().scenario(Case("bic", "sack", (324, 324), background=True)).graph.rtt_ps(0) == 324 * 10**9
    stacks = [f["stack"] for f in (*form["flows"], *(source["flow"] for source in form["traffic"]))]
    assert {stack["rto_granularity_ps"] for stack in stacks} == {200 * 10**9}
    sources = {source["flow"]["name"]: source for source in form["traffic"]}
    assert set(sources) == {"long", "short", "long-back", "short-back"}
    assert sources["short"]["arrivals"]["bps"] == 240_000_000
    assert sources["short-back"]["arrivals"]["bps"] == 120_000_000
    assert all(s["flow"]["stack"]["receive_window"] * 1448 <= 65_535 for s in sources.values())


def test_long_lived_background_takes_its_part_of_the_capacity() -> None:
    for rate_mbps in (200.0, 50.0):
        rtts = long_lived_rtts_ms(rtt_quantiles_ms("aikat"), rate_mbps)
        assert math.fsum(map(ceiling_mbps, rtts)) == pytest.approx(rate_mbps, rel=0.05)
        assert rtts == sorted(rtts)


def test_quantiles_of_round_trip_times() -> None:
    aikat = rtt_quantiles_ms("aikat")
    assert quantile_ms(aikat, 0.6) == pytest.approx(100)
    assert quantile_ms(aikat, 0.55) == pytest.approx(math.sqrt(72 * 100))
    assert quantile_ms(rtt_quantiles_ms("suite"), 0.5) == 98
    assert ceiling_mbps(16) == pytest.approx(32.77, abs=0.01)


def test_throughputs_count_from_135_s_and_losses_too() -> None:
    case = Case("bic", "bic", (82, 82), background=False)
    run = made(case, step(135, 390, 100), step(135, 0, 50), drops=0.02)
    assert measured("jain_fi", "bic", [run], experiment="ha2006.X2.nobg", rtt_ms=82) == pytest.approx(0.9)
    assert measured("throughput_ratio", "bic", [run], experiment="ha2006.X2.bg", rtt_ms=82) == pytest.approx(2)
    assert measured("utilization", "bic", [run], experiment="ha2006.X2.bg", rtt_ms=82) == pytest.approx(0.375)


def test_stability_counts_from_200_s() -> None:
    case = Case("stcp", "stcp", (42, 42), background=False)
    run = made(case, step(195, 390, 100), constant(10))
    assert measured("cov_total_throughput", "stcp", [run], rtt_ms=42) == pytest.approx(0, abs=1e-9)


def test_a_convergence_time_that_is_never_reached_is_the_rest_of_the_run() -> None:
    case = Case("hstcp", "hstcp", (16, 16), background=False)
    never = made(case, constant(300), constant(100))
    soon = made(case, step(180, 390, 195), step(180, 0, 195))
    assert UNREACHED_S == 1070
    assert measured("convergence_time_s", "hstcp", [never], rtt_ms=16) == 1070
    assert 50 < measured("convergence_time_s", "hstcp", [soon], rtt_ms=16) <= 61
    # Nothing for 50 s, then as much as the first: 195 (t - 50) is 80 % of 390 * 50 + 195 (t - 50) at 450 s.
    later = measurer(Evidence([soon]), Setup(convergence="accumulated"))
    assert 449 <= value(later, "convergence_time_s", Setup().scenario(case)).value() <= 451
    claim = next(c for c in paper().claims.claims if c.metric == "converged")
    of = measurer(Evidence([never]), Setup()).measure
    assert of("converged", "hstcp", {"bg": False, "rtt_ms": 16}, claim).value() == 0


def test_background_is_compared_at_each_round_trip_time() -> None:
    runs = []
    for index, rtt in enumerate(RTTS_MS):
        runs.append(made(Case("fast", "sack", (rtt, rtt), background=False), constant(100), constant(100)))
        other = 100 if index else 300
        runs.append(made(Case("fast", "sack", (rtt, rtt), background=True), constant(other), constant(100)))
    # Jain's index of 300 and 100 is 0.8; at one of five it falls by 0.2.
    assert measured("abs_change_jain_vs_nobg", "fast", runs, experiment="ha2006.X1.bg") == pytest.approx(0.04)
    gain = measured("jain_gain_vs_nobg", "fast", runs, experiment="ha2006.X1.bg")
    assert gain == pytest.approx(-0.04)


def test_counts_name_whom_they_count() -> None:
    runs = [
        made(Case("hstcp", "hstcp", (rtt, rtt), background=False), constant(300 if rtt < 100 else 200), constant(190))
        for rtt in RTTS_MS
    ]
    claim = next(c for c in paper().claims.claims if c.metric == "n_rtts_not_converged")
    found = measurer(Evidence(runs), Setup()).measure("n_rtts_not_converged", "hstcp", {"bg": False}, claim)
    assert found.value() == 3
    assert found.detail == "16 ms, 42 ms, 82 ms"


def test_a_count_over_round_trip_times_is_one_count() -> None:
    runs = []
    for rtt in (16, 42, 82):
        for name in VARIANTS:
            at = Kind("X3", background=False)
            runs.append(made(at.case(name, rtt), constant(100), constant(100)))
            other = {16: 200.0, 42: 100.0, 82: 100.0}[rtt]
            runs.append(
                made(Kind("X3", True).case(name, rtt), constant(other if name == "bic" else 100), constant(100))
            )
    claim = next(c for c in paper().claims.claims if c.id == "ha2006.F6b.most_improve")
    (judged,) = judge_all(ClaimSet((claim,), paper().claims.experiments), measurer(Evidence(runs), Setup()))
    assert (judged.measured, judged.verdict) == (0, "differs")
    runs = [
        made(Kind("X3", bg).case(n, rtt), constant(100 if bg else 150), constant(100))
        for bg in (False, True)
        for n in VARIANTS
        for rtt in (16, 42, 82)
    ]
    (judged,) = judge_all(ClaimSet((claim,), paper().claims.experiments), measurer(Evidence(runs), Setup()))
    assert (judged.measured, judged.verdict) == (6, "reproduced")


def test_the_largest_window_is_that_of_the_variant_which_has_the_least() -> None:
    runs = [made(Case(name, "sack", (324, 324), background=False), constant(200), constant(20)) for name in VARIANTS]
    assert measured("max_cwnd_pkts", "high_speed_flow", runs, rtt_ms=324) == 12_000


def test_what_is_computed_needs_no_runs() -> None:
    judged = {j.claim.id: j for j in papers.evaluate("ha2006", [])}
    assert judged["ha2006.setup.buffer_bdp_324"].verdict == "reproduced"
    assert judged["ha2006.bg.rwnd_bytes"].verdict == "reproduced"
    others = {
        j.verdict for name, j in judged.items() if name not in ("ha2006.setup.buffer_bdp_324", "ha2006.bg.rwnd_bytes")
    }
    assert others == {"not_judged"}


def test_every_claim_is_judged_where_all_runs_are_there() -> None:
    listed = [
        case
        for experiment in ("X1", "X2", "X3")
        for background in (False, True)
        for case in cases(Kind(experiment, background))
    ]
    listed += [c for bg in (False, True) for c in cases(Kind("X1", bg, 100), VARIANTS)]
    runs = [made(case, constant(60), constant(40)) for case in dict.fromkeys(listed)]
    verdicts = {j.claim.id: j for j in papers.evaluate("ha2006", runs)}
    missing = {name: j.why for name, j in verdicts.items() if j.verdict == "not_judged"}
    assert set(missing) == {"ha2006.F2b.bg_only"}  # a run without flows; it is simulated below
    assert verdicts["ha2006.F2a.bic.util324"].verdict == "reproduced"
    assert verdicts["ha2006.F9.htcp.short_bg"].verdict == "differs"


def test_a_finding_is_about_a_claim() -> None:
    assert set(paper().explanations) <= {claim.id for claim in paper().claims.claims}


def test_a_loss_on_a_long_path_is_repaired_without_a_timeout(tmp_path: object) -> None:
    """Without Linux's floor of 200 ms over the smoothed RTT, a timeout of an RTT of 324 ms comes before the repair."""
    scenario = SMALL.scenario(Case("stcp", "stcp", (324, 324), background=False))
    (run,) = sweep([(scenario, 1)], jobs=1, store=Store(str(tmp_path)))
    flows = run.flows.to_dicts()
    assert all(flow["loss_events"] > 0 for flow in flows)
    assert [flow["timeouts"] for flow in flows] == [0, 0]


def test_a_small_part_runs_from_end_to_end(tmp_path: object) -> None:
    small = paper(quick=True)
    chosen = [
        SMALL.scenario(Case(name, name, (16, 16), background))
        for name in ("fast", "htcp")
        for background in (False, True)
    ]
    chosen.append(SMALL.scenario(Case("", "", (0, 0), background=True)))
    runs = sweep([(scenario, 1) for scenario in chosen], jobs=1, store=Store(str(tmp_path)))
    kept = tuple(c for c in small.claims.claims if c.id in ("ha2006.F3a.htcp.lowest_16", "ha2006.F2b.bg_only"))
    alone, unjudged = judge_all(ClaimSet(kept, small.claims.experiments), small.measurer(Evidence(runs)))
    assert unjudged.verdict == "not_judged"
    assert alone.measured is not None
    assert alone.measured > 0.8
    suite, kind = measurer(Evidence(runs), SMALL), Kind("X2", background=True)
    busy = [SMALL.scenario(kind.case(name, 16)) for name in ("fast", "htcp")]
    lost = value(suite, "loss_rate", SMALL.scenario(Kind("X2", background=False).case("fast", 16)))
    assert all(0.9 < value(suite, "utilization", scenario).value() <= 1.0 for scenario in busy)
    assert value(suite, "cov_total_throughput", busy[1]).value() > 0
    # FAST alone keeps its two alphas of 20 in a buffer of 133 segments.
    assert lost.value() == 0
    assert len(small.figures(Evidence(runs))) > 0


# ---- beyond the paper ----


def test_the_question_has_every_queue_and_algorithm() -> None:
    asked = paper().beyond
    assert asked is not None
    counts = {name: len(e.scenarios) for name, e in asked.experiments.items()}
    assert counts == {"ha2006.aqm.alone": 28, "ha2006.aqm.bg": 28, "ha2006.aqm.sack": 24}
    assert list(asked.answer(Evidence())) == []


def test_the_answer_is_made_of_measured_values() -> None:
    asked = paper().beyond
    assert asked is not None
    runs = []
    for experiment in asked.experiments.values():
        for scenario in experiment.scenarios.values():
            one, other = scenario.flow_names
            managed = scenario.canonical()["links"][0]["queue"]["kind"] != "droptail"
            runs.append(synthetic.run(scenario, {one: constant(30), other: constant(30 if managed else 10)}))
    sentences = list(asked.answer(Evidence(runs)))
    assert "Mean Jain's index of two flows of a kind alone: drop-tail 0.8, RED 1, PIE 1, CoDel 1." in sentences
    assert len(asked.figures(Evidence(runs))) == 2


def test_agreement_of_orders() -> None:
    order = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert tau(order, {"a": 5, "b": 6, "c": 7}) == 1
    assert tau(order, {"a": 7, "b": 6, "c": 5}) == -1
    assert tau(order, {"a": 1, "b": 1, "c": 2}) == pytest.approx(2 / 3)


def test_missing_runs_are_left_out_of_the_answer() -> None:
    asked = Answers(Evidence(), {name: Setup() for name in QUEUES})
    assert asked.values("jain_fi", background=False) == {}
    with pytest.raises(NotJudgedError):
        value(measurer(Evidence(), Setup()), "jain_fi", Setup().scenario(Kind("X2", False).case(ALGORITHMS[0], 16)))


def test_a_reading_of_one_algorithm_leaves_the_others_runs_as_they_are() -> None:
    readings = {
        "fast": ({"fast_doubling": False}, {"fast_knows_rtt": True}, {"fast_alpha": 100}),
        "htcp": ({"htcp_adapts": False},),
        "cubic": ({"first_threshold": 0},),
    }
    for name in VARIANTS:
        case = Case(name, name, (42, 42), background=False)
        for whose, changes in readings.items():
            for change in changes:
                same = Setup(**change).scenario(case).hash == Setup().scenario(case).hash
                touched = (name, whose) == ("bic", "cubic") or name == whose
                assert same == (not touched), (name, change)
    told = Setup(fast_knows_rtt=True).scenario(Case("fast", "fast", (162, 42), background=False))
    assert [flow["parameters"]["known_rtt"] for flow in told.canonical()["flows"]] == [0.162, 0.042]
