"""Backends by name: the built-in ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from elephan import Scenario, ScenarioError, backends, runs
from elephan.backends import Backend, Progress, RawResult
from elephan.cli.main import run_command

SHORT = Scenario.dumbbell(["reno"], duration="1 s", rate="2 Mbit/s", rtt="20 ms", buffer="1 BDP")


class Doubled(Backend):
    """The simulator under another name; refuses CUBIC."""

    name = "doubled"
    title = "the simulator under another name"

    def version(self) -> str:
        return "1"

    def check(self, scenario: Scenario) -> None:
        if any(flow.algorithm == "cubic" for flow in scenario.flow):
            raise ScenarioError("'doubled' cannot do CUBIC")

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        return backends.get("sim").run(scenario, seed, progress)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [
        EntryPoint("doubled", f"{__name__}:Doubled", backends.GROUP),
        EntryPoint("absent", "no_such_module:Absent", backends.GROUP),
        EntryPoint("other", "pathlib:Path", backends.GROUP),
        EntryPoint("sim", f"{__name__}:Doubled", backends.GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == backends.GROUP else [])
    backends._offered.cache_clear()
    yield
    backends._offered.cache_clear()


def test_every_built_in_backend_says_what_it_is() -> None:
    for name in backends.names():
        kind = backends.kind(name)
        assert (kind.name, bool(kind.title)) == (name, True)


@pytest.mark.usefixtures("offered")
def test_the_backend_of_a_package_runs_a_scenario(tmp_path: Path) -> None:
    assert backends.names() == ["sim", "model", "kernel", "linux", "quic", "doubled", "absent", "other"]
    run = runs.run(SHORT, on="doubled", store=runs.Store(tmp_path))
    assert (run.backend, run.id.split("-")[1]) == ("doubled", "doubled")
    assert runs.run(SHORT, on="doubled", store=runs.Store(tmp_path)).cached
    assert backends.kind("sim") is not Doubled, "a package never hides a built-in backend"


@pytest.mark.usefixtures("offered")
def test_a_backend_refuses_a_sweep_before_anything_is_run(tmp_path: Path) -> None:
    cubic = SHORT.with_overrides({"flow[0].algorithm": "cubic"})
    with pytest.raises(ScenarioError, match="cannot do CUBIC"):
        runs.sweep([SHORT, cubic], on="doubled", store=runs.Store(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("absent", "the backend 'absent' of no_such_module:Absent cannot be loaded: No module named 'no_such_module'"),
        ("other", "the backend 'other' of pathlib:Path is not a subclass of elephan.backends.Backend"),
        ("doubel", "'doubel' is not a backend; did you mean 'doubled'?"),
    ],
)
def test_a_backend_that_cannot_be_had_has_its_line(name: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        backends.get(name)
    assert str(caught.value) == line


def test_the_earlier_verb_names_its_successor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["compare-habitats", "two.toml"]) == 2
    assert capsys.readouterr().err == "elephan: 'compare-habitats' is now called 'compare-backends'\n"
