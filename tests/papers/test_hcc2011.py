"""hcc2011: its setup, its measurements on runs whose rates are given, and a small part of it end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

import elephan
from elephan import papers
from elephan.evaluation.evidence import Evidence
from elephan.metrics.reading import flow_series
from elephan.models import hcc
from elephan.papers.hcc2011 import published
from elephan.papers.hcc2011.rules import Climb
from elephan.papers.hcc2011.setup import RATIO_RTTS_MS, Setup
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.loading import claims
from elephan.papers.paper import Paper
from elephan.papers.reproduction import Reproduction, Wanted
from elephan.runs import Run, Store
from elephan.scenario import Scenario

LETTERS = {600: "a", 2000: "b"}
HIGH_SPEED: tuple[str, ...] = claims("hcc2011").lists["high_speed"]


@cache
def paper(quick: bool = False) -> Paper:
    return papers.get("hcc2011", quick)


def made(scenario: Scenario, rates_mbps: Sequence[float], queue: float = 10.0) -> Run:
    rates = {flow: constant(rate) for flow, rate in zip(scenario.flow_names, rates_mbps, strict=True)}
    return synthetic.run(scenario, rates, queue=constant(queue))


@cache
def table2(scale: int = 1) -> tuple[Run, ...]:
    """The printed throughputs, as runs."""
    setup = Setup(scale=scale)
    rows = published.rows(paper().claims)
    return tuple(
        made(setup.ratio(protocol, ratio, buffer), tuple(row[f"throughput_mbps_flow{flow}"] / scale for flow in (1, 2)))
        for buffer, letter in LETTERS.items()
        for protocol in HIGH_SPEED
        for ratio in RATIO_RTTS_MS
        for row in [rows[f"hcc2011.T2{letter}", protocol, ratio]]
    )


def verdicts(runs: Sequence[Run], of: Paper | None = None) -> dict[str, Judgment]:
    chosen = of or paper()
    judged = judge_all(chosen.claims, chosen.measurer(Evidence(runs)), intervals=False)
    return {judgment.claim.id.removeprefix("hcc2011."): judgment for judgment in judged}


def test_the_paper_has_its_claims_and_its_runs() -> None:
    assert len(paper().claims.claims) == 449
    assert {claim.experiment for claim in paper().claims.claims} <= set(paper().experiments)
    counts = {name.partition(".")[2]: len(e.scenarios) for name, e in paper().experiments.items()}
    assert counts | {"T2a": 21, "T2b": 21, "F6": 72, "F8a": 45, "F8b": 50, "F14c": 7, "F15": 48, "F18": 21} == counts


def test_figures_share_their_runs() -> None:
    shown = {name: {s.hash for s in e.scenarios.values()} for name, e in paper().experiments.items()}
    assert shown["hcc2011.F6"] == shown["hcc2011.F7"]
    assert shown["hcc2011.F9a"] | shown["hcc2011.F9b"] <= shown["hcc2011.F6"]
    assert shown["hcc2011.F17"] <= shown["hcc2011.F16"] <= shown["hcc2011.F18"]


def test_the_setup_is_the_paper_s() -> None:
    form = Setup().ratio("hcc", 6, 2000).canonical()
    bottleneck = next(link for link in form["links"] if link["name"] == "bottleneck")
    assert (bottleneck["rate_bps"], bottleneck["delay_ps"]) == (200_000_000, 20 * 10**9)
    assert bottleneck["queue"]["limit_packets"] == 1999
    access = [link for link in form["links"] if link["name"].startswith(("sender", "receiver"))]
    assert len(access) == 8, "two a flow, both ways"
    assert {(link["rate_bps"], link["queue"]["limit_packets"]) for link in access} == {(200_000_000, 1999)}
    assert (form["duration_ps"], form["measure"]) == (300 * 10**12, {"from_ps": 0, "to_ps": 300 * 10**12})
    stack = form["flows"][0]["stack"]
    assert (stack["payload_bytes"], stack["header_bytes"]) == (1000, 40)
    graph = Setup().ratio("hcc", 6, 2000).graph
    assert [graph.rtt_ps(flow) for flow in (0, 1)] == [60 * 10**9, 360 * 10**9]
    short, long = (flow["parameters"] for flow in form["flows"])
    assert (short["alpha"], short["gamma"], short["known_owd"], long["known_owd"]) == (400, 0.5, 0.03, 0.18)
    fast = Setup().lone("fast", 600).canonical()["flows"][0]["parameters"]
    assert (fast["alpha"], fast["known_rtt"]) == (400, 0.12)


def test_traffic_on_the_way_back_has_a_buffer_of_its_own() -> None:
    scenario = Setup().reverse("fast", 100, 0.9)
    form = scenario.canonical()
    limits = {
        link["name"]: link["queue"]["limit_packets"] for link in form["links"] if "reverse" not in link["name"][1:]
    }
    assert (limits["bottleneck"], limits["reverse"]) == (99, 1999)
    assert scenario.graph.rtt_ps(0) == 120 * 10**9
    assert form["flows"][1]["datagrams"] is True
    assert Setup().reverse("fast", 2000, 0.0) == Setup().lone("fast", 2000)


def test_without_runs_only_the_rules_and_the_printed_table_are_judged() -> None:
    found = verdicts([])
    judged = {name for name, judgment in found.items() if judgment.verdict != "not_judged"}
    assert {name for name in judged if not name.startswith("alg.")} == {
        "table2.internal.ei", "table2.internal.fi", "table2.ei_max", "table2.ei_counts_wire",
    }  # fmt: skip
    assert all(found[name].verdict == "reproduced" for name in judged)
    assert len(judged) == 4 + 11
    missing = [judgment.why for name, judgment in found.items() if name not in judged]
    assert all("not part of this selection" in why for why in missing), "every claim has its measurement"


def test_a_wrong_cell_of_the_printed_table_is_found() -> None:
    claims = paper().claims
    spoilt = tuple(
        claim.model_copy(update={"limit": claim.limit + 1}) if claim.id == "hcc2011.table2b.hcc.ratio2.t2" else claim
        for claim in claims.claims
    )
    rows = published.rows(replace(claims, claims=spoilt))
    claim = next(claim for claim in claims.claims if claim.check == "internal")
    found = published.measurer(rows.values(), Evidence()).measure("max_abs_residual", "EI_minus_T1_plus_T2", {}, claim)
    assert found.value() == pytest.approx(1, abs=0.01)
    assert [len(row) for row in rows.values()] == [4] * 42


def test_what_the_paper_measured_in_table_2_would_be_reproduced() -> None:
    found = {name: judgment for name, judgment in verdicts(table2()).items() if name.startswith("table2")}
    wrong = {name for name, judgment in found.items() if judgment.verdict != "reproduced"}
    # The text has Illinois among the fairer ones at a ratio of 6 too, and the table has not.
    assert wrong == {"table2a.illinois_vs_group.ratio6"}
    assert found["table2a.hcc.stable"].measured == pytest.approx(0.0368, abs=1e-4)


def test_a_smaller_scale_is_judged_at_the_paper_s() -> None:
    small = verdicts(table2(10), paper(quick=True))
    assert small["table2b.hcc.ratio6.t1"].measured == pytest.approx(103.31)
    assert small["table2b.hcc.ratio6.fi"].verdict == "reproduced"


def test_flows_that_share_alike_fail_the_lock_outs() -> None:
    even = [made(Setup().ratio(p, r, 600), (99.7, 99.7)) for p in HIGH_SPEED for r in RATIO_RTTS_MS]
    found = verdicts(even)
    assert found["table2a.stcp.lockout.ratio2"].verdict == "differs"
    assert found["table2a.hstcp.ratio2.ei"].verdict == "reproduced"
    assert found["table2a.hcc_vs_group.ratio2"].verdict == "differs"


def test_reno_beside_others_is_measured_by_its_mean() -> None:
    runs = [
        made(Setup().friendly("hcc", buffer), (50, 60, 20, 20 + step))
        for step, buffer in enumerate((600, 1000, 2000, 3000))
    ]
    found = verdicts(runs)
    assert found["F14a.hcc.suppresses"].measured == pytest.approx(55 / 20)
    assert found["F14.hcc.trend"].verdict == "reproduced"
    assert found["F14d.hcc.reno_ge"].measured == pytest.approx(21.5)


def test_of_three_flows_the_smallest_counts_once_all_have_settled() -> None:
    scenario = Setup().three(gigabit=True)
    late = synthetic.step(220, 100.0, 333.0)
    rates = dict(zip(scenario.flow_names, (constant(333.0), constant(330.0), late), strict=True))
    waiting = {"bottleneck": synthetic.step(220, 0.0, 5000.0), "sender-1": constant(700.0), "sender-2": constant(200.0)}
    tables = [
        synthetic.tables(scenario, rates, queue=waiting.get(link, constant(100.0)), link=link)
        for link in ("bottleneck", "sender-1", "sender-2", "sender-3")
    ]
    links = pl.concat([table["links"].with_columns(pl.col("link").cast(pl.String)) for table in tables])
    found = verdicts(
        [Run.from_tables(scenario, tables[0] | {"links": links.with_columns(pl.col("link").cast(pl.Categorical))})]
    )
    assert found["F13.rate"].measured == pytest.approx(330)
    assert found["F13.queue3"].measured == pytest.approx(6000)


def climb(*steps: float, reference: float = 1000.0) -> Climb:
    """A window that halves at the reference and then grows by these steps, one sample a round trip."""
    window = np.concatenate([[reference], reference / 2 + np.concatenate([[0.0], np.cumsum(steps)])])
    return Climb(window, reference, 1, 1)


def test_who_leads_is_seen_in_the_steps() -> None:
    searching = [100.0, 100, 100, 100, 50, 25, 12, 7, 5, 2]
    assert climb(*searching, 100, 100).leads(200) == (True, True)
    assert climb(*searching, 5, 5, 5, 5).leads(200) == (True, False)
    assert climb(100, 100, 100, 100, 100, 100, 100).leads(200) == (False, True)
    assert climb(100, 50).leads(200) == (False, False), "never above the reference"


def test_formulas_of_the_rules() -> None:
    assert hcc.anticipated_window(400, 0.056, 0.016) == pytest.approx(1400)
    assert hcc.anticipated_window(400, 0.056, 0.0) == float("inf")
    assert hcc.delay_step(1288.889, 1450, 200) == pytest.approx(-80.5555)
    assert [hcc.search_step(1400, w, 200, 1) for w in (700, 1100, 1399)] == [100, 75, 0.5]


def test_the_engine_follows_the_formulas() -> None:
    run = elephan.run(Setup().two_losses())
    climbing = Climb.of(run)
    # Round trips of 120 ms from the middle of the search on, where its steps are below the largest.
    window = climbing.window[climbing.lost :: climbing.round_samples]
    near = [(w, after - w) for w, after in pairwise(window) if climbing.reference - 300 < w < climbing.reference - 40]
    assert len(near) >= 4
    for w, grown in near:
        assert grown == pytest.approx(hcc.search_step(climbing.reference, w, 200, 1), rel=0.1)
    times, early = flow_series(run, "hcc-1", "cwnd", (1.44, 2.4))
    assert early[-1] - early[0] == pytest.approx((times[-1] - times[0]) / 0.12 * hcc.delay_step(1e9, 0, 200), rel=0.02)


def test_its_rules_hold_end_to_end_at_both_scales(tmp_path: Path) -> None:
    for quick in (False, True):
        result = papers.reproduce(
            paper(quick), "ALG", store=Store(tmp_path / "store"), out=tmp_path / str(quick), jobs=1
        )
        assert {judgment.verdict for judgment in result.claims} == {"reproduced"}
        assert result.report_path is not None
        assert result.report_path.exists()


def test_equal_shares_at_unequal_rtts_end_to_end() -> None:
    runs = [
        elephan.run(paper(quick=True).experiments["hcc2011.T2b"].scenarios[f"{p}, ratio {r}"])
        for p in ("hcc", "fast")
        for r in (1.5, 6)
    ]
    found = verdicts(runs, paper(quick=True))
    for protocol in ("hcc", "fast"):
        for ratio in ("1p5", "6"):
            for flow in ("t1", "t2"):
                judgment = found[f"table2b.{protocol}.ratio{ratio}.{flow}"]
                assert judgment.measured == pytest.approx(judgment.claim.limit, abs=3), judgment.claim.id


def test_other_readings_change_what_they_say_and_nothing_else() -> None:
    by_id = {variant.id: {scenario.hash for scenario in variant.scenarios} for variant in paper().variants}
    own = {s.hash for e in paper().experiments.values() for s in e.scenarios.values()}
    assert all(hashes - own for hashes in by_id.values()), "each changes something"
    hcc_only = [s for v in paper().variants if v.id == "hcc-imin" for s in v.scenarios if s.hash not in own]
    assert all(any(flow.startswith("hcc-") for flow in scenario.flow_names) for scenario in hcc_only)


def test_of_the_other_readings_only_the_noise_is_run_by_default() -> None:
    def ids(wanted: Wanted, quick: bool = False) -> list[str]:
        return [variant.id for variant in Reproduction(paper(quick), wanted).variants]

    assert ids(Wanted()) == ["noise"]
    assert ids(Wanted(), quick=True) == ids(Wanted(figure="6")) == ids(Wanted(sensitivity=False)) == []
    assert len(ids(Wanted(sensitivity=True))) == len(paper().variants) > 10


def test_noise_breaks_ties_and_keeps_phases() -> None:
    """Round trips differ by 6 µs or more within a packet's time, which the noise must not reach."""
    form = Setup().ratio("fast", 1.5, 600).canonical()
    packet_ps = 8 * 1040 * 10**12 // 200_000_000
    assert form["send_jitter_ps"] == round(packet_ps / 40, -3)
    phases = [rtt_ms * 10**9 % packet_ps for rtt_ms in (60, *RATIO_RTTS_MS.values())]
    assert min(after - before for before, after in pairwise(sorted(phases))) > 6 * form["send_jitter_ps"]


def test_the_open_question_keeps_the_paper_s_queue() -> None:
    for quick, alpha in ((False, 2222), (True, 222)):
        beyond = paper(quick).beyond
        assert beyond is not None
        scenarios = beyond.experiments["hcc2011.beyond.alone"].scenarios
        form = scenarios["hcc, 100 %"].canonical()
        (bottleneck,) = (link for link in form["links"] if link["name"] == "bottleneck")
        assert form["flows"][0]["parameters"]["alpha"] == alpha
        assert alpha * 8 * 9000 / bottleneck["rate_bps"] == pytest.approx(0.016, rel=0.01)


def test_every_finding_is_about_a_claim() -> None:
    assert set(paper().explanations) <= {claim.id for claim in paper().claims.claims}
