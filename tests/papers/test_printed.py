"""A paper's tables and its abstract, from claims with known values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from elephan import papers
from elephan.evaluation.judging import Assessment
from elephan.evaluation.relations import Outcome
from elephan.evaluation.tables import made
from elephan.metrics.statistics import interval
from elephan.papers import printed
from elephan.papers.boards import abstract
from elephan.papers.claims import ClaimSet, parse_claims
from elephan.papers.judging import Judgment, Verdict
from elephan.papers.printed import tables
from elephan.papers.schema import ClaimsTable

BASE: Mapping[str, Any] = {
    "figure": "Table 2(a)", "experiment": "T2", "metric": "throughput_mbps_flow1", "subject": "hcc",
    "relation": "approx", "tolerance_kind": "published_number", "expected": 100.5, "tol_abs": 5.0, "basis": "table",
    "certainty": "certain", "check": "simulation", "robustness": "high", "quote": "a cell",
}  # fmt: skip


def claims(*changed: Mapping[str, Any]) -> ClaimSet:
    listed = [{**BASE, "id": str(i), **more} for i, more in enumerate(changed)]
    experiments = [{"id": "T2", "title": "two users", "figure": "Table 2(a)"}]
    tables = {"schema_version": 2, "paper": "p", "experiment": experiments, "claim": listed}
    return parse_claims(made(ClaimsTable, tables))


def given(measured: float) -> Assessment:
    return Assessment(Outcome(measured, 0.0, passed=True), interval([measured]))


def judged(stated: ClaimSet, *found: tuple[Verdict, float | None]) -> list[Judgment]:
    return [
        Judgment(claim, verdict, "why", None if measured is None else given(measured))
        for claim, (verdict, measured) in zip(stated.claims, found, strict=True)
    ]


def at(ratio: float, **more: Any) -> dict[str, Any]:
    return {"where": {"buffer_pkts": 600, "rtt_ratio": ratio, "rtt2_ms": 60 * ratio}, **more}


def test_a_table_has_published_numbers_beside_ours() -> None:
    stated = claims(
        at(2),
        at(2, metric="jain_fi", expected=0.61, tol_abs=0.05),
        at(6),
        at(6, metric="throughput_mbps_flow2", expected=0.3, tol_abs=6.0),
        at(6, subject="fast"),
        at(6, figure="Fig 3"),
    )
    found = judged(
        stated, ("reproduced", 101.25), ("differs", 0.7), ("not_judged", None), ("reproduced", 2.0),
        ("reproduced", 99.0), ("differs", 1.0),
    )  # fmt: skip
    (table,) = tables(found, stated.experiments)
    assert (table.id, table.title) == ("table2a", "Table 2(a): two users")
    assert table.groups == (("", 2), ("throughput_mbps_flow1", 2), ("jain_fi", 2), ("throughput_mbps_flow2", 2))
    assert table.header[:4] == ("of whom", "rtt_ratio", "published", "ours")
    assert table.rows == (
        ("hcc", "2", "100.5", "101.2", "0.61", "0.7", "", ""),
        ("hcc", "6", "100.5", "–", "", "", "0.3", "2"),
        ("fast", "6", "100.5", "99", "", "", "", ""),
    )
    assert table.marks == {
        (0, 3): "reproduced", (0, 5): "differs", (1, 3): "not_judged", (1, 7): "weak", (2, 3): "reproduced",
    }  # fmt: skip


def test_claims_that_are_not_one_printed_number_make_no_table() -> None:
    bound = claims(at(2, relation=">=", tolerance_kind="bound"), at(6, relation=">=", tolerance_kind="bound"))
    assert list(tables(judged(bound, ("reproduced", 1.0), ("reproduced", 1.0)), {})) == []


@pytest.mark.parametrize(("name", "ids"), [("hcc2011", ["table2a", "table2b", "table1"]), ("leith2008", ["tablei"])])
def test_a_papers_own_tables(name: str, ids: list[str]) -> None:
    paper = papers.get(name)
    found = list(tables([Judgment(claim, "not_judged", "") for claim in paper.claims.claims], {}))
    assert [table.id for table in found] == ids
    if name == "hcc2011":
        assert found[0].rows[-1][:2] == ("hcc", "6")
        assert {"182.33", "16.18", "198.51", "0.588"} <= set(found[0].rows[-1])
        assert len(found[0].rows) == len(found[1].rows) == 21


def test_an_abstract_counts_and_names_where_it_differs() -> None:
    stated = claims({}, {"metric": "jain_fi"}, {"figure": "Fig 3"}, {"expected": 0.3, "tol_abs": 6.0}, {})
    one: tuple[Verdict, float] = ("reproduced", 1.0)
    text = abstract(judged(stated, one, one, ("differs", 9.0), one, ("not_judged", None)))
    assert text.startswith(
        "Of 5 claims, 2 are reproduced (67 % of those judged), 1 holds only by a tolerance wider than the published "
        "value, 1 differs and 1 cannot be judged."
    )
    assert "The differences are in Fig 3 (1); 0 of 1 have an explanation." in text
    assert abstract([]) == ""


def test_printed_numbers_of_a_figure() -> None:
    paper = papers.get("hcc2011").claims
    assert printed.along(paper, "Fig 7", "mean_queue_pkts", "buffer_pkts") == {"fast": {2000: 400}, "hcc": {2000: 400}}
    # These are derived from a law, and of another RTT than the figure's.
    assert printed.along(paper, "Fig 8(b)", "throughput_mbps", "loss_probability") == {}
    leith = papers.get("leith2008").claims
    assert printed.single(leith, "Fig 8(a)", "throughput_mbps") == {"illinois": 65, "reno": 24}
