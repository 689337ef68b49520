"""Tunings: the best of a range, a front, held-out paths, early ends, and wrong input."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.comparison.preferences import preference
from elephan.design import reporting, tuning
from elephan.design.tuning import Setting, Tuning, tune
from elephan.scenario import ScenarioError

PATHS = """
[[path]]
rate_mbps = 5
rtt_ms = 40
buffer_bdp = 1

[[path]]
rate_mbps = 4
rtt_ms = 60
buffer_bdp = 0.5

[[path]]
rate_mbps = 6
rtt_ms = 30
buffer_bdp = 2
"""


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("paths") / "paths.toml"
    file.write_text(PATHS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def windows(paths: Path) -> Tuning:
    """A constant window, whose best value is about the BDP, and which is far too large at the end of its range."""
    return tune("fixed", ["window=2..300"], on_paths=paths, settings=14, seeds=8, duration_s=5.0)


def test_a_tuning_finds_the_better_part_of_a_range(windows: Tuning) -> None:
    best, own = windows.best, windows.settings[0]
    assert best.score >= max(setting.score for setting in windows.settings if not setting.given_up)
    assert best.score > own.score or best is own
    assert windows.paths == (2, 1)
    assert len(windows.held_out) == 2
    assert windows.runs >= len(windows.settings) * 2 * 3 * 8


def test_a_setting_that_is_clearly_worse_is_given_up(windows: Tuning) -> None:
    given_up = [setting for setting in windows.settings if setting.given_up]
    assert given_up
    assert all(setting.score < windows.best.score for setting in given_up)


def test_a_tuning_repeats(windows: Tuning, paths: Path) -> None:
    again = tune("fixed", ["window=2..300"], on_paths=paths, settings=14, seeds=8, duration_s=5.0)
    assert [setting.to_json() for setting in again.settings] == [setting.to_json() for setting in windows.settings]


def test_whole_ends_give_whole_numbers(windows: Tuning) -> None:
    assert all(float(s.parameters["window"]).is_integer() for s in windows.settings[1:])


def test_the_importance_is_of_the_parameters(windows: Tuning) -> None:
    assert windows.importance == {"window": pytest.approx(1.0)}


def test_a_front_has_no_setting_that_another_surpasses(paths: Path) -> None:
    found = tune(
        "cubic", ["beta=0.3..0.9"], on_paths=paths, front=["goodput", "delay"], settings=8, seeds=8, duration_s=5.0
    )
    goals = [(setting.term("goodput"), setting.term("delay")) for setting in found.front]
    assert goals == sorted(goals)
    assert [delay for _, delay in goals] == sorted((delay for _, delay in goals), reverse=True)
    assert len(found.front) >= 1


def test_a_report_shows_each_setting(windows: Tuning, tmp_path: Path) -> None:
    page = reporting.report(windows, tmp_path).read_text(encoding="utf-8")
    assert reporting.values(windows.best) in page
    assert "held out" in page
    assert (tmp_path / "settings.svg").exists()


def test_a_look_compares_the_seeds_that_both_have() -> None:
    result = Tuning("x", (), preference(None), ())
    result.settings = [Setting({}, [0.0] * 16)]
    assert tuning._is_worse(Setting({}, [-0.2, -0.1, -0.3, -0.2, -0.1, -0.2, -0.3, -0.2]), result)
    assert not tuning._is_worse(Setting({}, [-0.2, 0.3, -0.1, 0.2, -0.3, 0.1, -0.2, 0.2]), result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": ["beta"]}, "parameter: 'beta' is not a range; write for example beta=0.5..0.9"),
        ({"parameters": ["beta=0.9..0.5"]}, "parameter: 'beta=0.9..0.5' is not a range"),
        ({"parameters": []}, "parameter: missing"),
        ({"parameters": ["bet=0.5..0.9"]}, "parameters.bet: not a parameter of cubic; did you mean 'beta'?"),
        ({"parameters": ["beta=0.5..1.7"]}, "parameters.beta: 1.7 is not allowed; it must be from 0.1 to 0.999"),
        ({"seeds": 9}, "seeds: 9 is not a number of seeds of a look: 8, 16, 32"),
        ({"front": ["goodputs"]}, "front: 'goodputs' is not a term; did you mean 'goodput'?"),
        ({"parameters": ["beta=0.5..0.9", "beta=0.5..0.8"]}, "parameter: 'beta' has two statements"),
        ({"fixed": {"beta": 0.7}}, "parameter: 'beta' has two statements; tune it, or set it"),
        ({"on_paths": "none.toml"}, "on-paths: neither 'training' nor a file: none.toml: no such file"),
        ({"prefer": "short-flows"}, "prefer: 'short-flows' needs background transfers"),
        ({"algorithm": "cubik"}, "'cubik' is not an algorithm"),
    ],
)
def test_wrong_input_is_one_line(options: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elephan.design.trials.measure", None)  # it is said before any run
    given: dict[str, object] = {"algorithm": "cubic", "parameters": ["beta=0.5..0.9"], "settings": 2, **options}
    with pytest.raises(ScenarioError) as raised:
        tune(**given)  # type: ignore[arg-type]
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rtt_ms = 40", "rtt = 40"), "path[0].rtt: not a field; did you mean 'rtt_ms'?"),
        (("rtt_ms = 40", 'rtt_ms = "x"'), "path[0].rtt_ms: 'x' is not a number"),
        (("rtt_ms = 40\n", ""), "path[0].rtt_ms: missing"),
    ],
)
def test_a_wrong_path_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = tmp_path / "paths.toml"
    file.write_text(PATHS.replace(*change), encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        tune("cubic", ["beta=0.5..0.9"], on_paths=file)
    assert message in str(raised.value)
