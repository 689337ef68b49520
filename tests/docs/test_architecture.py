"""ARCHITECTURE.md names files that exist, and the rules of Linux where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENDPOINT = ROOT / "crates" / "sim" / "src" / "endpoint"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
_LINUX = PAGE.partition("## Where Linux's rules live")[2].partition("\n## ")[0]
RULES = [cells for line in _LINUX.splitlines() if len(cells := line.split(" | ")) == 3 and "tcp_" in line]


def named(text: str) -> list[str]:
    """The files of Rust and Python that a text names in code."""
    return re.findall(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:rs|py))`", text)


def test_the_files_of_the_page_exist() -> None:
    paths = [str(path) for top in ("crates", "python") for path in (ROOT / top).rglob("*.*")]
    assert len(named(PAGE)) > 60
    assert [name for name in named(PAGE) if not any(path.endswith(f"/{name}") for path in paths)] == []


@pytest.mark.parametrize("cells", RULES, ids=lambda cells: cells[0].strip("| "))
def test_a_rule_of_linux_is_in_the_files_that_are_named(cells: list[str]) -> None:
    _, functions, places = cells
    files = [base / name for name in named(places) for base in (ENDPOINT, ROOT) if (base / name).exists()]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert [name for name in re.findall(r"`(\w+)`", functions) if name not in text] == []


def test_ten_rules_of_linux_can_be_found() -> None:
    assert len(RULES) >= 10
