"""The grid of ``elephan sweep``: how its values are read."""

from __future__ import annotations

from elephan.cli.sweep import parse_grid, split_values


def test_values_are_read_as_toml_and_else_as_words() -> None:
    grid = parse_grid(["flow[0].algorithm=cubic,bic", "seed=1,2", "dumbbell.buffer=40 packets,20% BDP"])
    assert grid == {
        "flow[0].algorithm": ["cubic", "bic"],
        "seed": [1, 2],
        "dumbbell.buffer": ["40 packets", "20% BDP"],
    }


def test_commas_inside_quotes_and_brackets_do_not_separate() -> None:
    assert split_values('"a,b",c') == ['"a,b"', "c"]
    assert split_values("[1, 2],[3, 4]") == ["[1, 2]", "[3, 4]"]
    assert split_values("{ packets = [1, 2] },0") == ["{ packets = [1, 2] }", "0"]


def test_no_axis_is_one_point() -> None:
    assert parse_grid([]) == {}
