"""Tables for people: columns share the room, and numbers stay whole."""

from __future__ import annotations

import pytest

from elephan.cli.common import LONGEST_WHOLE, column_widths, print_table

HEADER = ("algorithm", "goodput Mbit/s", "what it is")
ROW = ("cubic", "0.000847", "a cubic function of the time since the last loss")


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        (200, [9, 14, 48]),  # all fit
        (60, [9, 14, 37]),  # the widest gives way first
        (30, [9, 11, 10]),
        (25, [9, 8, 8]),  # words stay whole
        (10, [9, 8, 8]),  # wider than the room
    ],
)
def test_columns_are_narrowed_from_the_widest_down_to_their_longest_word(room: int, widths: list[int]) -> None:
    assert column_widths([HEADER, ROW], room) == widths


def test_a_word_of_any_length_leaves_room_for_others() -> None:
    assert column_widths([("path",), ("/a" * 500,)], 20) == [LONGEST_WHOLE]


def test_a_table_that_is_too_wide_keeps_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    many = [f"{0.000847 + i * 1e-6:.6f}" for i in range(30)]
    print_table("", [f"column {i}" for i in range(30)], [many])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "0.000847" in line] == [many]
