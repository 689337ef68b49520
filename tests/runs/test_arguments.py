"""Wrong arguments of ``run``, ``sweep`` and ``Scenario.dumbbell`` get one line that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import Scenario, ScenarioError, Store

SEED = "is not a seed; it is a whole number from 0 to 9223372036854775807"


def scenario() -> Scenario:
    return Scenario.dumbbell(["cubic"], rate="10 Mbit/s", rtt="20 ms", buffer="50 packets", duration="1 s")


def dumbbell(flows: Any) -> Scenario:
    return Scenario.dumbbell(flows, rate="10 Mbit/s", rtt="20 ms", buffer="50 packets")


def run(stated: Any, **more: Any) -> object:
    return elephan.run(stated, **more)


def sweep(stated: Any, **more: Any) -> object:
    return elephan.sweep(stated, **more)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: run("late.toml"), "'late.toml' is not a scenario; give Scenario.load(...)"),
        (lambda: run(None), "None is not a scenario; give an elephan.Scenario"),
        (
            lambda: run(scenario(), seed="3"),
            f"seed: '3' {SEED}",
        ),
        (
            lambda: run(scenario(), seed=-1),
            f"seed: -1 {SEED}",
        ),
        (lambda: sweep(["late.toml"]), "'late.toml' is not a scenario; give Scenario.load(...)"),
        (
            lambda: sweep([(scenario(), 1.5)]),
            f"seed: 1.5 {SEED}",
        ),
        (
            lambda: sweep(scenario()),
            "a sweep takes a list of scenarios, not one; write elephan.grid(scenario, {...}), [scenario], or "
            "elephan.run(scenario)",
        ),
        (lambda: sweep([scenario()], on={"seed": 1}), "{'seed': 1} is not a backend; it is a name, such as \"sim\""),
        (lambda: dumbbell("cubic"), "flows: 'cubic' is one name; write a list, ['cubic']"),
    ],
)
def test_a_wrong_argument_has_its_line(
    call: Callable[[], object], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        call()
    assert str(caught.value) == line
    assert not list(tmp_path.iterdir())


def test_a_pair_has_its_own_seed(tmp_path: Path) -> None:
    runs = elephan.sweep([scenario(), (scenario(), 5)], store=Store(tmp_path))
    assert [run.seed for run in runs] == [1, 5]
