"""weigle2006 on runs whose rates are given, so that every verdict is known beforehand."""

from __future__ import annotations

import math
from bisect import bisect
from functools import cache

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import papers
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.relations import RELATIONS
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.paper import Paper
from elephan.papers.weigle2006.measure import REGION_COUNTS, boundaries, certain_regions, region_of, regions_by_rank
from elephan.papers.weigle2006.setup import PAIRS, Pair, Setup, label
from elephan.runs import Run

# |A| in the middle of each region when the regions are fifths.
MIDDLE = {1: 0.1, 2: 0.3, 3: 0.5, 4: 0.7, 5: 0.97}
# Signs that the paper states or implies, in its own order of pairs; the FAST pair has the value of its closed form.
FLOW2_WINS = {
    ("hstcp", "stcp"), ("fast", "hstcp"), ("fast", "stcp"), ("fast", "htcp"), ("fast", "bic"), ("fast", "cubic"),
    ("fast", "fast"), ("htcp", "hstcp"), ("htcp", "stcp"), ("bic", "stcp"), ("cubic", "hstcp"), ("cubic", "stcp"),
    ("cubic", "htcp"), ("cubic", "bic"),
}  # fmt: skip
OPEN = {("hstcp", "cubic"): 4, ("cubic", "hstcp"): 3, ("htcp", "cubic"): 4}


@cache
def paper() -> Paper:
    return papers.get("weigle2006")


def published(pair: Pair) -> float:
    """The asymmetry that the paper's regions and signs ask for."""
    if pair == ("htcp", "htcp"):
        return 0.0
    if pair == ("fast", "fast"):
        return -0.236
    region = OPEN.get(pair) or certain_regions(paper().claims)[pair]
    return (-1 if pair in FLOW2_WINS else 1) * MIDDLE[region]


def made(pair: Pair, asymmetry: float, late_s: int = 50, seed: int = 1) -> Run:
    scenario = Setup().scenario(pair, late_s=late_s).with_seed(seed)
    first, second = scenario.flow_names
    rates = {first: constant(311 * (1 + asymmetry)), second: constant(311 * (1 - asymmetry))}
    windows = {first: constant(3700 * (1 + asymmetry)), second: constant(3700 * (1 - asymmetry))}
    return synthetic.run(scenario, rates, cwnd=windows, queue=constant(200.0))


@cache
def as_published() -> tuple[Run, ...]:
    return tuple(made(pair, published(pair)) for pair in PAIRS)


@cache
def verdicts() -> dict[str, Judgment]:
    return {judgment.claim.id: judgment for judgment in papers.evaluate("weigle2006", as_published())}


def test_the_paper_has_its_claims_and_its_runs() -> None:
    assert len(paper().claims.claims) == 149
    assert {claim.relation for claim in paper().claims.claims} <= set(RELATIONS)
    counts = {name.partition(".")[2]: len(e.scenarios) for name, e in paper().experiments.items()}
    all_pairs = {"F2": 36, "F2s": 11, "B40": 36, "B100": 36, "S46": 21}
    assert counts == all_pairs | {"F3": 2, "F4": 2, "F5": 2, "F6": 2, "F7": 2, "F8": 2}


def test_every_experiment_of_the_claims_is_there() -> None:
    assert {claim.experiment for claim in paper().claims.claims} <= set(paper().experiments)


def test_figures_show_runs_of_the_main_experiments_so_that_nothing_is_run_twice() -> None:
    main = {s.hash for name in ("F2", "S46") for s in paper().experiments[f"weigle2006.{name}"].scenarios.values()}
    shown = {s.hash for name, e in paper().experiments.items() if name[-2] == "F" for s in e.scenarios.values()}
    assert shown <= main


def test_the_setup_is_the_paper_s() -> None:
    form = Setup().scenario(("fast", "stcp")).canonical()
    bottleneck = next(link for link in form["links"] if link["name"] == "bottleneck")
    assert (bottleneck["rate_bps"], bottleneck["delay_ps"]) == (622_000_000, 48 * 10**9)
    assert bottleneck["queue"]["limit_packets"] == 1554
    assert [flow["start_ps"] for flow in form["flows"]] == [0, 50 * 10**12]
    assert form["flows"][0]["stack"]["receive_window"] == 67_000
    assert form["flows"][0]["parameters"]["alpha"] == 200.0
    assert form["measure"] == {"from_ps": 250 * 10**12, "to_ps": 500 * 10**12}


def test_what_the_paper_measured_would_be_reproduced() -> None:
    wrong = [
        judgment.claim.id
        for judgment in verdicts().values()
        if judgment.claim.metric in ("region", "asymmetry") and judgment.claim.experiment == "weigle2006.F2"
        if judgment.verdict != "reproduced"
    ]
    assert wrong == []
    for name in ("region.r4_noncubic", "region.r3_fast", "region.r1_intra", "order.r3_r4", "r2.inter_all_htcp"):
        assert verdicts()[f"weigle2006.{name}"].verdict == "reproduced", name
    assert verdicts()["weigle2006.cubic.only_beats_fast"].measured == 2.0
    assert verdicts()["weigle2006.fast.never_wins"].measured == 0.0


def test_the_opposite_of_what_the_paper_measured_differs() -> None:
    # The other flow wins, and what was fair is unfair.
    opposite = [made(pair, math.copysign(1 - abs(published(pair)), -published(pair)) + 0.01) for pair in PAIRS]
    found = {judgment.claim.id: judgment for judgment in papers.evaluate("weigle2006", opposite)}
    assert found["weigle2006.region.stcp_stcp"].verdict == "differs"
    assert found["weigle2006.sign.stcp_hstcp"].verdict == "differs"
    assert found["weigle2006.fast.never_wins"].verdict == "differs"
    assert found["weigle2006.asym.stcp_self_worst"].verdict == "differs"


def test_claims_whose_runs_are_missing_are_not_judged() -> None:
    few = papers.evaluate("weigle2006", as_published()[:1])
    judged = {judgment.claim.id for judgment in few if judgment.verdict != "not_judged"}
    assert "weigle2006.sign.hstcp_hstcp" in judged
    assert "weigle2006.sign.bic_bic" not in judged
    assert "weigle2006.region.hstcp_hstcp" not in judged, "a rank needs all pairs"
    assert all("buffer" not in name for name in judged)


def test_the_setup_is_checked_without_any_run() -> None:
    judged = {j.claim.id for j in papers.evaluate("weigle2006", []) if j.verdict == "reproduced"}
    assert judged == {f"weigle2006.setup.{name}" for name in ("bdp", "b20", "b40", "window_mb", "rtt")}


def test_pairs_that_start_together_are_compared_with_the_late_ones() -> None:
    starting = [label.split(">") for label in paper().experiments["weigle2006.S46"].scenarios]
    together = [made((first, second), 0.0, late_s=0) for first, second in starting]
    found = {judgment.claim.id: judgment for judgment in papers.evaluate("weigle2006", [*as_published(), *together])}
    assert found["weigle2006.same.stcp_stcp.better"].measured == pytest.approx(0.97)
    assert found["weigle2006.same.stcp_biggest"].verdict == "reproduced"
    assert found["weigle2006.same.bic_hstcp.dominates"].verdict == "differs"


def test_a_region_is_that_of_the_median_over_seeds() -> None:
    pair = ("bic", "bic")
    runs = [made(pair, asymmetry, seed=seed) for seed, asymmetry in enumerate((0.05, 0.25, 0.9), start=1)]
    fifths = next(variant for variant in paper().variants if variant.id == "regions-by-fifths")
    judgments = judge_all(paper().claims, fifths.measurer(Evidence(runs)))
    judgment = next(j for j in judgments if j.claim.id == "weigle2006.region.bic_bic")
    assert (judgment.verdict, judgment.measured) == ("reproduced", 2.0)
    assert judgment.interval[1:3] == (1.0, 5.0)
    assert len(judgment.runs) == 3


@pytest.mark.parametrize(
    ("value", "region"), [(0.0, 1), (0.199, 1), (0.2, 2), (0.59, 3), (0.61, 4), (0.8, 5), (1.0, 5)]
)
def test_regions_are_fifths(value: float, region: int) -> None:
    assert region_of(value) == region


def test_regions_by_rank_have_the_paper_s_counts() -> None:
    values = [((i * 7) % 36) / 36 for i in range(36)]
    regions = regions_by_rank(values)
    assert tuple(regions.count(number) for number in range(1, 6)) == REGION_COUNTS
    assert regions[values.index(min(values))] == 1
    assert regions[values.index(max(values))] == 5


def test_other_readings_change_what_they_say_and_nothing_else() -> None:
    own = {label(pair): Setup().scenario(pair).hash for pair in PAIRS}
    by_id = {variant.id: variant for variant in paper().variants}
    changed = {
        name: {pair for pair, scenario in zip(own, variant.scenarios, strict=True) if own[pair] != scenario.hash}
        for name, variant in by_id.items()
    }
    with_fast = {pair for pair in own if "fast" in pair}
    assert changed["fast-alpha-100"] == changed["fast-alpha-400"] == changed["fast-doubling"] == with_fast
    assert changed["wire-1000"] == changed["no-jitter"] == changed["tcp-linux"] == set(own)
    assert changed["regions-by-fifths"] == set()


def test_ranking_judges_the_same_runs_differently() -> None:
    variant = next(variant for variant in paper().variants if variant.id == "regions-by-fifths")
    flat = [made(pair, 0.01 * (i + 3.5)) for i, pair in enumerate(PAIRS)]
    runs = Evidence(flat)
    by_rank = {j.claim.id: j for j in judge_all(paper().claims, paper().measurer(runs))}
    by_fifths = {j.claim.id: j for j in judge_all(paper().claims, variant.measurer(runs))}
    assert by_fifths["weigle2006.region.count1"].measured == 17.0
    assert by_rank["weigle2006.region.count3"].verdict == "not_judged"
    assert "by construction" in by_rank["weigle2006.region.count3"].why
    # The smallest |A| of all is in Region 1 whatever it is, and the thirtieth in Region 5.
    assert by_rank["weigle2006.region.hstcp_hstcp"].measured == 1.0
    assert by_rank["weigle2006.region.cubic_stcp"].measured == 5.0


def test_every_finding_is_about_a_claim() -> None:
    assert set(paper().explanations) <= {claim.id for claim in paper().claims.claims}


def test_boundaries_by_rank_lie_between_neighbors() -> None:
    values = [i / 100 for i in range(36)]
    found = boundaries(values, "ranks")
    assert [bisect(found, value) + 1 for value in values] == regions_by_rank(values)
    assert boundaries(values[:5], "ranks") == []
    assert boundaries([], "fifths") == [0.2, 0.4, 0.6, 0.8]
