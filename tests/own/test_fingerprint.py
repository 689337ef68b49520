"""Digests of code: their content, and that they are the same in every process."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elephan.scenario.fingerprint import UnknownValueError, Walk, installed


def digest(value: Any) -> str:
    walk = Walk()
    walk.add(value)
    return walk.hexdigest()


def function(text: str, **names: Any) -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": "__main__", **names}
    exec(text, space)
    made: Callable[..., Any] = space["f"]
    return made


SAME = [
    ("def f(x): return x + 1", "def f(x):\n    # a comment\n\n    return x + 1"),
    ("def f(x):\n    '''One.'''\n    return x", "def f(x):\n    '''Another.'''\n    return x"),
    ("def f(x): return x", "def f(x: int) -> int: return x"),
]
OTHER = [
    ("def f(x): return x + 1", "def f(x): return x + 2"),
    ("def f(x): return x + 1", "def f(x): return x - 1"),
    ("def f(x): return 1", "def f(x): return 1.0"),
    ("def f(x): return 1", "def f(x): return True"),
    ("def f(x=1): return x", "def f(x=2): return x"),
    ("def f(*, x=1): return x", "def f(*, x=2): return x"),
    ("def f(x): return (1, 2)", "def f(x): return (12,)"),
    ("def f(x): return 'used'", "def f(x): return 'else'"),
    ("def f(x): return lambda: 1", "def f(x): return lambda: 2"),
    ("def f(x): return x.min", "def f(x): return x.max"),
    ("f = lambda x: 'a'", "f = lambda x: 'b'"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_what_does_not_count(left: str, right: str) -> None:
    assert digest(function(left)) == digest(function(right))


@pytest.mark.parametrize(("left", "right"), OTHER)
def test_what_counts(left: str, right: str) -> None:
    assert digest(function(left)) != digest(function(right))


@dataclass
class Point:
    x: float = 0.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


VALUES: list[Any] = [
    1, 1.0, True, "1", b"1", None, (), [], {}, set(), (1, 2), [1, 2], {1: 2}, {1, 2}, frozenset({1}), {"a": [1]},
    Point(1.0), Point(2.0), Point, Color.RED, Color.BLUE, np.arange(3), np.arange(4), np.float64(1), 1 + 2j,
    len, max, [].append, "x".join, Path("a"), Path("b"), ..., float("nan"), 0.0, -0.0,
    range(3), range(4), types.MappingProxyType({1: 1}),
]  # fmt: skip


def test_values_that_differ_differ() -> None:
    digests = [digest(function("def f(): return value", value=value)) for value in VALUES]
    assert len(set(digests)) == len(VALUES)
    assert digests == [digest(function("def f(): return value", value=value)) for value in VALUES]


def test_a_module_that_is_not_installed_counts_as_a_whole() -> None:
    one, other = types.ModuleType("mine_to_test"), types.ModuleType("mine_to_test")
    one.__dict__["gain"], other.__dict__["gain"] = 1.0, 2.0
    text = "def f(): return helper.gain"
    assert digest(function(text, helper=one)) != digest(function(text, helper=other))


def test_code_behind_a_cache_or_a_property_counts() -> None:
    def cached(gain: float) -> Callable[..., Any]:
        return lru_cache(lambda: gain)

    assert digest(cached(1.0)) != digest(cached(2.0))
    assert digest(property(lambda self: 1)) != digest(property(lambda self: 2))
    assert digest(staticmethod(lambda: 1)) != digest(staticmethod(lambda: 2))


def test_what_refers_to_itself_ends() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    other: list[Any] = [1]
    other.append([other])
    assert digest(loop) != digest(other)


def test_what_cannot_be_told_says_so(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file, pytest.raises(UnknownValueError, match="a TextIOWrapper"):
        digest(function("def f(): return file", file=file))


def test_what_is_installed() -> None:
    assert all(installed(name) for name in ("os", "json.decoder", "numpy", "elephan.algorithm", "sys"))
    assert not any(installed(name) for name in ("__main__", __name__, "never_heard_of"))


def test_every_process_finds_the_same_digest(tmp_path: Path) -> None:
    (tmp_path / "helper_of_mine.py").write_text(
        "WORDS = {'a', 'b', 'c', 'd', 'e'}\ndef keep():\n    return len(WORDS)\n"
    )
    (tmp_path / "mine.py").write_text(
        "import elephan\nimport helper_of_mine\n\n\nclass Mine(elephan.Algorithm):\n"
        "    words = frozenset({'x', 'y', 'z', 'u', 'v'})\n"
        "    def on_ack(self, ack):\n        self.window = 2.0 + helper_of_mine.keep()\n"
        "    def on_congestion(self, signal):\n        pass\n"
    )
    program = (
        "import elephan; from mine import Mine\n"
        "path = dict(rate='10 Mbit/s', rtt='40 ms', buffer='30 packets', duration='6 s')\n"
        "print(*(elephan.Scenario.dumbbell([it], **path).hash for it in (Mine, 'mine.py:Mine')))\n"
    )
    answers = set()
    for seed in ("1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        answers.add(done.stdout)
    assert len(answers) == 1
