"""The command line as a person meets it: help, mistakes, and exit statuses."""

from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from elephan.cli.main import VERBS, LazyGroup, cli, run_command

SCENARIO = """
duration = "10 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "reno"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "late.toml").write_text(SCENARIO)
    return tmp_path


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a wrong command gets; its status must be 2 and its stdout empty."""
    status = run_command(args)
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), (args, status, out, err)
    assert err.count("\n") == 1, err
    assert err.startswith("elephan: ")
    return err.strip()


RUNS_VERBS = ("list", "find", "diff", "verify", "export", "cite", "prune", "size")
PATHS_VERBS = ("list", "show", "import")
HELP = [
    [],
    ["--help"],
    *([verb, "--help"] for verb in VERBS),
    *(["runs", verb, "--help"] for verb in RUNS_VERBS),
    *(["paths", verb, "--help"] for verb in PATHS_VERBS),
]


@pytest.mark.parametrize("args", HELP, ids=" ".join)
def test_help_says_what_there_is(
    args: list[str], folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert run_command(args) == 0
    assert capsys.readouterr().out == snapshot


MISTAKES = [
    ["rum", "late.toml"],
    ["bnch"],
    ["Run", "late.toml"],
    ["frobnicate"],
    ["--jsn", "list"],
    ["run"],
    ["run", "late.tml"],
    ["run", "late.toml", "--sed", "1"],
    ["run", "late.toml", "--seeds"],
    ["run", "late.toml", "--seeds", "none"],
    ["run", "late.toml", "--seeds", "0"],
    ["run", "late.toml", "--jobs", "-1"],
    ["run", "late.toml", "extra"],
    ["run", "late.toml", "--on", "kernel", "--set", "dumbbell.queue=codel"],
    ["run", "late.toml", "--on", "sin"],
    ["run", "late.toml", "--set", "duration"],
    ["run", "late.toml", "--set", "flow[0].algorithm=cubik"],
    ["run", "late.toml", "--set", "flow[3].algorithm=cubic"],
    ["run", "late.toml", "--set", "dumbbell.bufer=40 packets"],
    ["run", "late.toml", "--set", "perturb=none", "--seeds", "3"],
    ["run", "late.toml", "--json", "--set", "flow[0].algorithm=cubik"],
    ["sweep", "late.toml", "--grid", "flow[0].algorithm"],
    ["sweep", "late.toml", "--grid", "flow[0].algorithm="],
    ["sweep", "late.toml", "--grid", "flow[0].algorithm=reno,cubik"],
    ["sweep", "late.toml", "--grid", "seed=1", "--grid", "seed=2"],
    ["compare"],
    ["compare", "cubic"],
    ["compare", "cubic", "--rate", "1 Gbit/s", "--rtt", "10 ms"],
    ["list", "algoritms"],
    ["evaluate"],
    ["evaluate", "cubik"],
    ["evaluate", "cubic", "--suite", "rfc9473"],
    ["evaluate", "cubic", "--against", "rno"],
    ["evaluate", "cubic", "--only", "harm"],
    ["evaluate", "cubic", "--fail-on", "worse"],
    ["evaluate", "cubic", "--fail-on", "wors"],
    ["evaluate", "cubic", "--budget", "soon"],
    ["evaluate", "cubic", "--parameter", "beta"],
    ["list", "suits"],
    ["bench", "--repeat", "0"],
    ["demo", "late.toml"],
    ["show", "late.toml"],
    ["show", "cubik"],
    ["show", "cubic", "--figure", "cwnd"],
    ["paper", "weigel2006"],
    ["paper", "weigle2006", "--on", "kernell"],
    ["paper", "weigle2006", "--only", "reno"],
    ["paper", "weigle2006", "--again"],
    ["paper", "weigle2006", "--seeds", "0"],
    ["paper", "weigle2006", "--figure", "99"],
    ["paper", "leith2008", "--on", "kernel", "--figure", "99"],
    ["papers", "--seeds", "2"],
    ["compare-backends", "late.toml", "--in", "simm"],
    ["plot", "late.toml", "--on", "modl"],
    ["diff", "a", "b"],
    ["calibrate"],
    ["new"],
    ["play", "extra"],
]


def test_every_kind_of_mistake_has_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    lines = [f"$ elephan {' '.join(args)}\n{complaint(args, capsys)}" for args in MISTAKES]
    assert "\n".join(lines) == snapshot


def options() -> list[tuple[str, str]]:
    """Every long option of every verb."""
    context = click.Context(cli)
    assert isinstance(cli, LazyGroup)
    found = []
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        found += [(verb, opt) for param in command.params for opt in param.opts if opt.startswith("--")]
    return found


@st.composite
def typo(draw: st.DrawFn, word: str) -> str:
    position = draw(st.integers(2, len(word) - 1))
    letter = draw(st.sampled_from(string.ascii_lowercase))
    before, here, after = word[:position], word[position], word[position + 1 :]
    return draw(st.sampled_from([before + after, before + here + here + after, before + letter + after]))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_typing_mistake_in_any_option_gets_one_line(
    data: st.DataObject, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, option = data.draw(st.sampled_from(options()))
    known = [name for owner, name in options() if owner == verb] + ["--help"]
    # A prefix of one option is that option, as in other commands.
    wrong = data.draw(typo(option).filter(lambda word: not any(name.startswith(word) for name in known)))
    line = complaint([verb, wrong], capsys)
    assert f"'{wrong}' is not an option; " in line
    assert "did you mean '--" in line or "allowed: " in line


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_typing_mistake_in_any_verb_gets_one_line(
    data: st.DataObject, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = data.draw(st.sampled_from(sorted(VERBS)))
    letter = data.draw(st.sampled_from(string.ascii_lowercase))
    position = data.draw(st.integers(0, len(verb) - 1))
    wrong = verb[:position] + letter + verb[position + 1 :]
    if wrong not in VERBS:
        assert f"'{wrong}' is not a verb; did you mean '" in complaint([wrong], capsys)


def test_help_needs_nothing_heavy() -> None:
    heavy = ("pydantic", "polars", "numpy", "matplotlib", "rich", "scipy")
    code = (
        "import sys; from elephan.cli.main import run_command; run_command(['--help']); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_importing_the_package_needs_nothing_heavy() -> None:
    code = "import sys, elephan; print([m for m in ('pydantic', 'polars', 'numpy', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_module_is_a_command_too(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "elephan", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "elephan 0.1.0\n")


def test_an_unknown_attribute_of_the_package_is_an_attribute_error() -> None:
    import elephan

    module: Any = elephan
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense
