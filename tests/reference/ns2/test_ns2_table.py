"""The comparison with ns-2 (docs/reference/ns2.md): goodput within 5 %, on the lines that are cheap to run.

Where ns-2 sent again what had arrived, because it forgot its SACKs, the goodput is not compared; that it did is. Where
microseconds move the goodput by more than 5 %, the two ranges overlap.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = json.loads((Path(__file__).parent / "table.json").read_text(encoding="utf-8"))


def comparison() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ns2_compare", ROOT / "benches" / "ns2" / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ns2_compare"] = module
    spec.loader.exec_module(module)
    return module


COMPARE = comparison()
CASES = COMPARE.cases(TABLE)
CHEAP = [
    case
    for case in CASES
    if case.start == "slow" and (case.path == "100M" or (case.flows == 1 and not case.timestamps))
]
GENTLE = [case for case in CASES if case.start == "gentle"]


def name(case: Any) -> str:
    return f"{case.algorithm}-{case.path}-{case.flows}{'-timestamps' if case.timestamps else ''}"


def both(case: Any) -> tuple[Any, Any]:
    return COMPARE.figures(CASES[case]), COMPARE.figures([COMPARE.run_ours(case, TABLE, 0)])


@pytest.mark.parametrize("case", CHEAP, ids=name)
def test_goodput_agrees_with_ns2(case: Any) -> None:
    ns2, ours = both(case)
    # Elephan never sends again more than a few segments that had arrived.
    assert max(ours.resent_per_drop) < 1.05
    if abs(ours.differs(ns2)) > COMPARE.AGREES and not COMPARE.forgets(ns2):
        moved = COMPARE.figures([COMPARE.run_ours(case, TABLE, row["moved_us"]) for row in CASES[case]])
        assert COMPARE.overlap(ns2, moved), (ns2, moved)


@pytest.mark.parametrize("case", GENTLE, ids=name)
def test_without_the_overshoot_every_module_agrees(case: Any) -> None:
    """Also those that make ns-2 forget its SACKs after an overshoot: nothing else makes them differ."""
    ns2, ours = both(case)
    assert not COMPARE.forgets(ns2)
    assert abs(ours.differs(ns2)) <= COMPARE.AGREES, (ns2, ours)


def test_the_modules_are_all_there() -> None:
    assert {case.algorithm for case in GENTLE} == {case.algorithm for case in CHEAP}
    assert len(CASES) >= 100
