"""One algorithm on several backends: disagreements come first, and what a backend refuses is not judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.backends import Backend, Progress, RawResult
from elephan.cli.main import run_command
from elephan.runs import Store
from elephan.suites import evaluate
from elephan.suites.sides import sides
from elephan.suites.words import said_of


class Same(Backend):
    """The simulator under another name; refuses two flows."""

    name = "same"
    title = "the simulator under another name"

    def version(self) -> str:
        return "1"

    def check(self, scenario: Scenario) -> None:
        if len(scenario.flow) > 1:
            raise ScenarioError("'same' has one flow alone")

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        return backends.get("sim").run(scenario, seed, progress)


class Lossy(Same):
    """The simulator with 5 % of loss."""

    name = "lossy"
    title = "the simulator with losses"

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        return super().run(scenario.with_overrides({"dumbbell.loss": "5%"}), seed, progress)


@pytest.fixture(autouse=True)
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [EntryPoint(kind.name, f"{__name__}:{kind.__name__}", backends.GROUP) for kind in (Same, Lossy)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == backends.GROUP else [])
    backends._offered.cache_clear()
    yield
    backends._offered.cache_clear()


def test_a_verdict_that_differs_comes_first_and_refusals_are_not_judged(folder: Path) -> None:
    found = evaluate(["cubic"], folder, on=["sim", "lossy"], quick=True, store=Store(folder / "store"))
    assert [one.name for one in found] == ["cubic", "cubic on lossy"]
    (beside,) = sides(found)
    assert beside.backends == ["sim", "lossy"]
    assert [(one.criterion, one.opposed) for one in beside.differences] == [("use", True), ("use", True)]
    assert [value.verdict for value in beside.differences[0].judged] == ["pass", "fail"]
    harm = found[1].outcome("harm")
    assert harm.verdict == "not_judged"
    assert "'same' has one flow alone" in harm.why
    assert beside.missing == {"sim": [], "lossy": ["harm"]}
    said = said_of(beside)
    assert said.startswith(
        "cubic: sim and lossy disagree in 2 of 2 cells that both judge: use at 10 Mbit/s, 20 ms: utilization sim "
    )
    assert said.endswith("Not judged on lossy: harm.")


def test_a_backend_with_the_same_results_disagrees_in_nothing(folder: Path) -> None:
    found = evaluate(["cubic"], folder, on=["sim", "same"], only=["use"], quick=True, store=Store(folder / "store"))
    (beside,) = sides(found)
    assert len(beside.shared) == 2
    assert beside.differences == []
    assert said_of(beside) == "cubic: no settled verdict differs between sim and same in 2 cells that both judge."
    assert sides(found[:1]) == []


def test_a_cell_in_trains_is_one_of_the_simulator_alone(folder: Path) -> None:
    file = folder / "suite.toml"
    text = file.read_text()
    for rate in ("10", "20", "40"):
        text = text.replace(f'rate = "{rate} Mbit/s"\nrtt', f'resolution = "segment"\nrate = "{rate} Mbit/s"\nrtt')
    text = text.replace('quick = { rate = "5 Mbit/s" }', 'quick = { resolution = "train" }')
    file.write_text(text.replace('duration = "4 s"', 'duration = "4 s"\nresolution = "{resolution}"'))
    found = evaluate(["cubic"], folder, on=["sim", "same"], only=["use"], quick=True, store=Store(folder / "store"))
    names = [[cell.case.cell.name for cell in one.outcome("use").cells] for one in found]
    assert names == [["10 Mbit/s, 20 ms", "20 Mbit/s, 20 ms, in trains of segments"], ["10 Mbit/s, 20 ms"]]
    assert [one.outcome("use").verdict for one in found] == ["pass", "pass"]
    assert len(sides(found)[0].shared) == 1


def test_the_command_says_disagreements_before_all_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "evaluate", "cubic", "--suite", str(folder), "--store", str(folder / "store"), "--quick", "--on", "sim,lossy",
        "--out", str(folder / "r"), "--markdown", str(folder / "m.md"),
    ]  # fmt: skip
    assert run_command(arguments) == 0
    text = capsys.readouterr().out
    assert text.startswith("cubic: sim and lossy disagree in 2 of 2 cells")
    assert "cubic on lossy" in text
    assert (folder / "m.md").read_text().startswith("cubic: sim and lossy disagree")
    assert "Where the backends differ: cubic" in (folder / "r" / "report.html").read_text()
    assert run_command([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["backend"] for one in document["evaluations"]] == ["sim", "lossy"]
    (beside,) = document["sides"]
    assert (beside["cells"], beside["not_judged"]) == (2, {"sim": [], "lossy": ["harm"]})
    assert set(beside["differences"][0]["backends"]) == {"sim", "lossy"}


def test_a_budget_reckons_with_the_cost_of_a_backend(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same runs to make, and the same budget: the one that is dearer leaves cells out."""
    monkeypatch.setattr(Same, "cost", 1e6)
    (found,) = evaluate(
        ["cubic"], folder, on="same", only=["use"], budget="60 s", quick=True, store=Store(folder / "s")
    )
    assert all(cell.left_out for cell in found.outcome("use").cells)


def test_one_wrong_backend_of_several_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["evaluate", "cubic", "--suite", str(folder), "--on", "sim,lossi"]) == 2
    assert "--on: 'lossi' is not a backend; did you mean 'lossy'?" in capsys.readouterr().err
