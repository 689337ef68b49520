"""How a scenario is built and changed in Python: copies, names of flows, and arguments that are not there."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

from elephan.scenario import Scenario, ScenarioError

PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"}


def dumbbell(**more: Any) -> Scenario:
    return Scenario.dumbbell(["cubic", {"algorithm": "bic", "count": 2}], **PATH, **more)


def test_replace_gives_a_copy_and_changes_nothing() -> None:
    scenario = dumbbell()
    before = scenario.to_toml()
    other = scenario.replace({"flow[0].algorithm": "reno", "dumbbell.rtt": "40 ms"}, seed=3, duration="9 s")
    assert (other.flow[0].algorithm, other.seed, other.form.duration_ps) == ("reno", 3, 9 * 10**12)
    assert scenario.to_toml() == before
    assert (
        other.hash
        == scenario.with_overrides({"flow[0].algorithm": "reno", "dumbbell.rtt": "40 ms", "duration": "9 s"}).hash
    )
    with pytest.raises(ScenarioError, match="sed: not a field of a scenario; did you mean 'seed'"):
        scenario.replace(sed=3)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace came with Python 3.13")
def test_the_standard_librarys_replace_checks_too() -> None:
    replace = copy.replace  # type: ignore[attr-defined,unused-ignore]
    assert replace(dumbbell(), seed=3).seed == 3
    with pytest.raises(ScenarioError):
        replace(dumbbell(), seed="three")


def test_names_of_flows_have_one_name() -> None:
    scenario = dumbbell()
    assert scenario.flow_names == ["cubic-1", "bic-2-1", "bic-2-2"]
    assert [table.algorithm for table in scenario.flow] == ["cubic", "bic"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"bufer": "1 BDP"}, "dumbbell: bufer: not a field of a dumbbell; did you mean 'buffer'?"),
    (PATH | {"stak": "ns2"}, "dumbbell: stak: not a field of a dumbbell; did you mean 'stack'?"),
    (PATH | {"start": ["1 s"]}, "dumbbell: start: not a field of a dumbbell; did you mean 'starts'?"),
    (PATH | {"flow": []}, "dumbbell: flow: not an argument; write flows=[...]"),
    ({"rate": "1 Mbit/s", "rtt": "1 ms"}, 'dumbbell: buffer: missing; write for example buffer = "20% BDP"'),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_argument_of_dumbbell_is_one_line(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.dumbbell(["cubic"], **arguments)
    assert str(caught.value) == said
