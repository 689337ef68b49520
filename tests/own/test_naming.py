"""Names of own algorithms, and the content of their digests: a saved result is never another algorithm's."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import runs
from elephan.scenario import Scenario, ScenarioError, own

PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "30 packets", "duration": "6 s"}


def of(*flows: Any) -> Scenario:
    return Scenario.dumbbell(flows, **PATH)


def test_the_canonical_form_has_the_name_and_a_digest(write: Callable[..., Path]) -> None:
    write()
    (flow,) = of("./mine.py:Mine").canonical()["flows"]
    assert flow["algorithm"] == "mine.py:Mine"
    assert flow["name"] == "Mine-1"
    assert len(flow["source_sha256"]) == 64
    assert "source_sha256" not in of("reno").canonical()["flows"][0]


def test_a_changed_file_is_another_scenario_and_the_folder_does_not_matter(
    write: Callable[..., Path], here: Path
) -> None:
    first = of(f"{write()}:Mine")
    assert of(f"{write('elsewhere/mine.py')}:Mine").hash == first.hash
    changed = of(f"{write(beta='gamma')}:Mine")
    assert changed.hash != first.hash
    # The first one is still what it was: the class that was loaded then.
    assert own.make(first.flow[0].algorithm, {"beta": 0.1}).__dict__ == {"beta": 0.1}


def test_a_file_that_a_module_reads_when_it_is_loaded_counts(write: Callable[..., Path], here: Path) -> None:
    (here / "table.txt").write_text("0.7")
    write(
        **{"import elephan\n": "import elephan\nfrom pathlib import Path\nB = float(Path('table.txt').read_text())\n"}
    )
    first = of("mine.py:Mine").hash
    (here / "table.txt").write_text("0.8")
    (here / "copy").mkdir()
    shutil.copy(here / "mine.py", here / "copy" / "mine.py")
    assert of("copy/mine.py:Mine").hash != first


def test_code_that_is_not_installed_counts_too(
    write: Callable[..., Path], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(here)
    imports = {"import elephan\n": "import elephan\nimport helper_of_mine\n"}
    hashes = []
    for value in ("0.5", "0.6"):
        (here / "helper_of_mine.py").write_text(f"def beta():\n    return {value}\n")
        path = write(f"{value}/mine.py", **imports)
        hashes.append(of(f"{path}:Mine").hash)
        monkeypatch.delitem(sys.modules, "helper_of_mine")
        shutil.rmtree(here / "__pycache__", ignore_errors=True)
    assert hashes[0] != hashes[1]


def test_files_in_a_scenario_are_beside_it_and_files_on_a_command_line_are_where_one_is(
    write: Callable[..., Path], here: Path
) -> None:
    write("lab/mine.py")
    (here / "lab" / "path.toml").write_text((here / "path.toml").read_text().replace("reno", "./mine.py:Mine"))
    beside = Scenario.load("lab/path.toml")
    assert beside.hash == Scenario.load("path.toml", overrides={"flow[0].algorithm": "lab/mine.py:Mine"}).hash
    with pytest.raises(ScenarioError, match=r"mine\.py: no such file"):
        Scenario.load("lab/path.toml", overrides={"flow[0].algorithm": "./mine.py:Mine"})


def test_a_scenario_survives_a_round_trip_and_a_change_of_another_field(write: Callable[..., Path]) -> None:
    write()
    scenario = of({"algorithm": "mine.py:Mine", "parameters": {"beta": 0.25}})
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    write(beta="gamma")  # what is pinned stays
    later = scenario.with_overrides({"duration": "7 s"})
    assert later.flow[0].algorithm == scenario.flow[0].algorithm


def test_whole_numbers_reach_the_class_as_they_are(write: Callable[..., Path]) -> None:
    write(**{"0.5": "2"})
    scenario = of({"algorithm": "mine.py:Mine", "parameters": {"beta": 3}})
    made = own.make(scenario.flow[0].algorithm, scenario.flow[0].parameters)
    assert made.__dict__ == {"beta": 3}
    assert isinstance(made.__dict__["beta"], int)


class Plain(elephan.Algorithm):
    """In a module that is not installed."""

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta

    def on_ack(self, ack: elephan.Ack) -> None:
        if ack.may_grow:
            self.window += ack.acked / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        self.ssthresh = self.window = max(self.beta * self.window, 2.0)


GAIN = 1.0


def gain() -> float:
    return GAIN


class Indirect(Plain):
    """An algorithm that depends on a function's global."""

    def on_ack(self, ack: elephan.Ack) -> None:
        if ack.may_grow:
            self.window += gain() * ack.acked / self.window


def test_a_class_a_function_and_a_partial_run(here: Path) -> None:
    def fresh(beta: float = 0.5) -> elephan.Algorithm:
        return Plain(beta)

    makers = (Plain, fresh, partial(Plain, beta=0.5), partial(Plain, beta=0.9))
    rows = [runs.run(of({"algorithm": maker, "name": "it"})).flows.drop("algorithm") for maker in makers]
    assert rows[0].equals(rows[1])
    assert rows[0].equals(rows[2])
    assert not rows[0].equals(rows[3])


def test_a_global_that_a_class_depends_on_is_in_its_hash(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = of(Indirect)
    before = runs.run(scenario)
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 4.0)
    assert of(Indirect).hash != scenario.hash
    assert runs.run(scenario).id == before.id  # the saved result of what it was then
    with pytest.raises(ScenarioError, match="has changed since the scenario was built; build the scenario again"):
        runs.run(scenario, force=True)
    monkeypatch.undo()
    assert of(Indirect).hash == scenario.hash


def test_classes_that_differ_in_a_constant_a_base_or_a_closure_differ() -> None:
    def made(beta: float) -> type[elephan.Algorithm]:
        class Mine(Plain):
            def on_congestion(self, signal: elephan.Signal) -> None:
                self.window = max(beta * self.window, 2.0)

        return Mine

    assert of(made(0.5)).hash == of(made(0.5)).hash
    assert of(made(0.5)).hash != of(made(0.6)).hash
    one = {"on_ack": lambda self, ack: None, "on_congestion": lambda self, signal: None}
    other = one | {"on_ack": lambda self, ack: setattr(self, "window", 3.0)}
    for left, right in ((one, other), (one, one | {"window": 7.0}), (one, one | {"needs": ("delivery",)})):
        assert of(type("Mine", (elephan.Algorithm,), left)).hash != of(type("Mine", (elephan.Algorithm,), right)).hash


def test_classes_that_are_alike_by_now_still_are_two(here: Path) -> None:
    def noting(notes: list[elephan.Ack]) -> type[elephan.Algorithm]:
        class Mine(Plain):
            def on_ack(self, ack: elephan.Ack) -> None:
                notes.append(ack)

        return Mine

    first: list[elephan.Ack] = []
    second: list[elephan.Ack] = []
    scenario = of({"algorithm": noting(first), "name": "a"}, {"algorithm": noting(second), "name": "b"})
    assert len({flow["source_sha256"] for flow in scenario.canonical()["flows"]}) == 1
    runs.run(scenario)
    assert len(first) > 100
    assert len(second) > 100
    assert pickle.loads(pickle.dumps(first[0])).now == first[0].now
    # The list that it has collected is a part of it.
    assert of(noting(first)).hash != of(noting([])).hash


def test_what_cannot_be_told_apart_is_refused(here: Path) -> None:
    log = (here / "log").open("w")

    class Mine(Plain):
        def on_ack(self, ack: elephan.Ack) -> None:
            log.write(str(ack))

    with (
        log,
        pytest.raises(
            ScenarioError, match=r"flow\[0\]\.algorithm: .*Mine cannot be distinguished from others: it uses"
        ),
    ):
        of(Mine)


def test_a_class_of_a_program_that_has_ended_can_be_named_and_not_run() -> None:
    scenario = of(Plain)
    later = Scenario.from_toml(scenario.to_toml().replace(__name__, "__main__"))
    assert later.flow_names == ["Plain-1"]
    with pytest.raises(ScenarioError, match="Plain was a class of a program or a notebook that has ended"):
        runs.run(later)


def test_a_file_that_has_changed_since_a_result_was_saved_is_not_run_in_its_name(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    toml = of("mine.py:Mine").to_toml()
    write(beta="gamma")
    monkeypatch.setattr(own, "_live", {})
    again = Scenario.from_toml(toml)
    with pytest.raises(ScenarioError, match=r"mine\.py:Mine has changed since it was pinned"):
        runs.run(again)
