"""The page that compares the simulator with Linux is made from the saved means, which more seeds can join."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import scripts

AGREEMENT = scripts.load("benches/linux_agreement.py")
ROWS = AGREEMENT.measured_rows()


def test_the_page_is_that_of_the_saved_means() -> None:
    causes = AGREEMENT.json.loads(AGREEMENT.CAUSES.read_text(encoding="utf-8"))
    assert AGREEMENT.page(list(ROWS.values()), causes) == AGREEMENT.PAGE.read_text(encoding="utf-8")


def test_another_seed_joins_the_means() -> None:
    row = ROWS["two", "1 Mbit/s × 100 ms, 4 BDP", "cubic"]
    assert row.seeds == [1, 2, 3, 4, 5]
    other = replace(row, seeds=[6], within=0, sim=row.sim | {"retransmits": row.sim["retransmits"] + 60})
    both = row.joined(other)
    assert both.seeds == [1, 2, 3, 4, 5, 6]
    assert both.within == row.within
    assert both.sim["retransmits"] == pytest.approx(row.sim["retransmits"] + 10)
    assert both.shares == pytest.approx(row.shares)
