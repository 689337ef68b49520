"""No function of the engine is longer than a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.layers.rust_imports import Token, tokens

SOURCE = Path(__file__).parents[2] / "crates" / "sim" / "src"
MOST_LINES = 60


def functions(found: list[Token]) -> Iterator[tuple[str, int, int]]:
    """The functions that have a body, each with its first and its last line.

    The first line has the word ``fn``: comments and attributes before it do not count.
    """
    for at, token in enumerate(found):
        if token.text != "fn" or not found[at + 1].is_word:
            continue  # `fn(u8) -> u8` is a type
        depth = 0
        for after in found[at + 2 :]:
            depth += (after.text in ("{", "(", "[")) - (after.text in ("}", ")", "]"))
            if depth == 0 and after.text in ("}", ";"):
                if after.text == "}":
                    yield found[at + 1].text, token.line, after.line
                break


def test_the_lines_of_a_function_are_those_from_its_word_to_its_last_bracket() -> None:
    one = ["/// Doc.", "#[inline]", "fn one(a: [u8; 2]) -> u8 {", "    let f: fn(u8) -> u8 = g;", '    "}"', "}"]
    two = ["trait T {", "    fn none(&self);", "    fn two(&self) { }", "}"]
    three = ["fn three() where T: U {", "    if a {", "    }", "}"]
    text = "\n".join([*one, *two, *three])
    assert list(functions(tokens(text))) == [("one", 3, 6), ("two", 9, 9), ("three", 11, 14)]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.rs")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_function_of_the_engine_is_longer_than_a_screen(path: Path) -> None:
    found = functions(tokens(path.read_text(encoding="utf-8")))
    long = [f"{name} at {first}" for name, first, last in found if last - first >= MOST_LINES]
    assert not long
