"""Numbers of reports and notebooks are written as people read them."""

from __future__ import annotations

import pytest

from elephan.notebooks import figures, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(10_000.0, "10,000"), (16_270.4, "16,270"), (-123_456.0, "-123,500"), (9_999.4, "9999"), (0.00001234, "1.234e-05"),
     (3e15, "3e+15"), (0.0, "0"), (12.345, "12.35")],
)  # fmt: skip
def test_a_number_has_no_power_of_ten_up_to_a_million_million(value: float, text: str) -> None:
    assert figures(value) == shown(value) == text
