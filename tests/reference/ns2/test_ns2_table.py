"""The comparison with ns-2 (docs/reference/ns2.md): its judgement, and the lines that are cheap to run.

Where ns-2 sent again what had arrived, because it forgot its SACKs, the goodput is not compared; that it did is.
"""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from tests import scripts

ROOT = Path(__file__).resolve().parents[3]
TABLE = json.loads((Path(__file__).parent / "table.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "reference" / "ns2.md").read_text(encoding="utf-8")


COMPARE = scripts.load("benches/ns2/compare.py")
CASES = COMPARE.cases(TABLE)
CHEAP = [
    case
    for case in CASES
    if case.start == "slow"
    and (case.path == "100M" or (case.path == "622M" and case.flows == 1 and not case.timestamps))
]
def some(cases: list[Any], shift: int) -> list[Any]:
    """A case of each module runs in ``make test``, by turns of another path or number of flows, and the others in
    ``make verify``."""
    kept = set()
    for turn, module in enumerate(dict.fromkeys(case.algorithm for case in cases), shift):
        own = [case for case in cases if case.algorithm == module]
        kept.add(own[turn % len(own)])
    return [case if case in kept else pytest.param(case, marks=pytest.mark.large) for case in cases]


GENTLE = [case for case in CASES if case.start == "gentle" and case.flows == 1]
JUDGED = [case for case in CASES if (case.path, case.flows, case.start) in COMPARE.TITLES]
# Both simulators together, in two flows: a value that chance moves by more than that is judged on the page.
TOTAL_AGREES = 0.01


def name(case: Any) -> str:
    return f"{case.algorithm}-{case.path}-{case.flows}{'-timestamps' if case.timestamps else ''}"


def totals(figures: Any) -> list[float]:
    return [sum(flows) for flows in zip(*figures.goodput_mbps, strict=True)]


def agree(ns2: Any, ours: Any) -> bool:
    """True if a run of ours has ns-2's total goodput within 1 %, or is among what microseconds make of it there."""
    theirs, mine = totals(ns2), statistics.median(totals(ours))
    low, high = min(theirs) * (1 - TOTAL_AGREES), max(theirs) * (1 + TOTAL_AGREES)
    return low <= mine <= high


@pytest.mark.parametrize("case", some(CHEAP, 0), ids=name)
def test_goodput_agrees_with_ns2(case: Any) -> None:
    ns2, ours = COMPARE.figures(CASES[case]), COMPARE.figures([COMPARE.run_ours(case, TABLE, 0)])
    # Elephan never sends again more than a few segments that had arrived.
    assert max(ours.resent_per_drop) < 1.05
    assert COMPARE.forgets(ns2) or agree(ns2, ours), (ns2, ours)


@pytest.mark.parametrize("case", some(GENTLE, 1), ids=name)
def test_without_the_overshoot_every_module_agrees(case: Any) -> None:
    """Also those that make ns-2 forget its SACKs after an overshoot: nothing else makes them differ."""
    ns2, ours = COMPARE.figures(CASES[case]), COMPARE.figures([COMPARE.run_ours(case, TABLE, 0)])
    assert not COMPARE.forgets(ns2)
    assert agree(ns2, ours), (ns2, ours)


@pytest.mark.parametrize(
    ("module", "dropped", "retransmits"), [("compound", 4184, [4056, 128]), ("yeah", 6652, [6588, 64])]
)
def test_what_follows_a_recovery_is_as_in_ns2(module: str, dropped: int, retransmits: list[int]) -> None:
    """The slow start that a recovery interrupts, of two flows that start together.

    ns-2: ``ns benches/ns2/dumbbell.tcl headers tcp algorithms "compound compound" starts "0 0" rate_bps 300000000
    delay_s 0.010 access_bps 1e9 access_s "0.010 0.025" buffer 1622 timestamps 1 duration_s 5``, and the same with yeah.
    """
    case = COMPARE.Case(module, "300M-0.5", 2, True, "slow")
    path = TABLE["paths"]["300M-0.5"] | {"duration_s": 5, "from_s": 1}
    table = TABLE | {"second_starts_s": 0.0, "paths": {"300M-0.5": path}}
    ours = COMPARE.run_ours(case, table, 0)
    assert ours["dropped"] == pytest.approx(dropped, rel=0.001)
    assert ours["retransmits"] == pytest.approx(retransmits, rel=0.001)


@pytest.mark.parametrize(
    ("ours", "theirs", "least", "word"),
    [
        ([100.0] * 8, [100.5] * 8, 0.0, "same"),
        ([102.0] * 8, [100.0] * 8, 0.0, "differs"),
        ([103.0, 97.0, 102.0, 98.0], [100.0, 100.1, 100.0, 99.9], 0.0, "not settled"),
        ([110.0, 111.0, 109.0, 110.0], [100.0, 100.1, 100.0, 99.9], 0.0, "differs"),
        # One packet of 46 is more than 1 %.
        ([47.0] * 4, [46.0] * 4, 1.0, "same"),
        ([47.0] * 4, [46.0] * 4, 0.0, "differs"),
        ([0.0] * 4, [0.0] * 4, 1.0, "same"),
        ([1.0] * 4, [0.0] * 4, 1.0, "differs"),
    ],
)
def test_a_difference_is_judged_by_its_interval(
    ours: list[float], theirs: list[float], least: float, word: str
) -> None:
    assert COMPARE.difference(ours, theirs, least).verdict == word


def test_the_modules_are_all_there() -> None:
    assert {case.algorithm for case in GENTLE} == {case.algorithm for case in CHEAP}
    assert len({case.path for case in JUDGED}) >= 6
    assert {len(CASES[case]) for case in JUDGED} == {3, 4, 8}


def test_the_page_has_every_judged_line_and_its_count() -> None:
    rows = [line for line in PAGE.splitlines() if re.search(r"\| (same|not settled|\*\*differs\*\*) \|", line)]
    assert len(rows) == len(JUDGED)
    words = {word: sum(f"| {word} |" in row for row in rows) for word in ("same", "not settled", "**differs**")}
    counts = re.search(r"All of them together: (\d+) lines: (\d+) same, (\d+) not settled, (\d+) differs", PAGE)
    assert counts is not None
    assert [int(n) for n in counts.groups()] == [len(rows), *words.values()]
