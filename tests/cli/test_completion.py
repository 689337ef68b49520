"""Completion: what a shell offers, in bash as it is, and that nothing slow is loaded for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem
from tests.runs import synthetic

from elephan import backends, metrics, papers, suites
from elephan.cli import completion
from elephan.cli.list import entries_of
from elephan.cli.main import VERBS, cli
from elephan.cli.plot import QUANTITIES
from elephan.comparison import PREFERENCES
from elephan.scenario import catalog, transports

HEAVY = {"pydantic", "polars", "pyarrow", "numpy", "scipy", "matplotlib", "rich", "elephan.scenario.schema"}
# With its settings: click keeps the option --help that a command was first asked for, without -h if these are left out.
CONTEXT = click.Context(cli, **cli.context_settings)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "one.toml").touch()
    (tmp_path / "other.toml").touch()
    (tmp_path / "notes.md").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.toml").touch()
    for i in range(3):
        synthetic.manifest_only(tmp_path / ".elephan" / "runs", i, ["cubic"], title=f"number {i}")
    return tmp_path


def asked(line: str, shell: str = "bash_complete") -> tuple[list[str], set[str]]:
    """Lines that the program answers to a shell, and the slow modules that it loads for that."""
    code = (
        "import sys; sys.argv = ['elephan']\n"
        "from elephan.cli.main import run_command\n"
        "status = run_command([])\n"
        f"print(status, *({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    words = line.split(" ")
    environment = os.environ | {
        "_ELEPHAN_COMPLETE": shell, "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1) if shell.startswith("zsh") else words[-1],
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    status, *heavy = done.stderr.split()
    assert status == "0", done.stderr
    return done.stdout.split("\n")[:-1], set(heavy)


RUNS = ["0000000000000000-sim-s1", "3c6ef372fe94f82a-sim-s1", "9e3779b97f4a7c15-sim-s1"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("elephan ru", ["run", "runs"]),
        ("elephan run S.toml --o", ["--on", "--out"]),
        ("elephan run ", ["one.toml", "other.toml"]),
        ("elephan run sub/", ["sub/deep.toml"]),
        ("elephan run S.toml --on m", ["model"]),
        ("elephan run S.toml --on=m", ["model"]),
        ("elephan show cubic:2", ["2005"]),  # bash keeps what is before the colon
        ("elephan plot o", ["one.toml", "other.toml"]),
        ("elephan plot S.toml --algorithms cubic,htcp:f", ["freebsd"]),
        ("elephan plot S.toml --what cwnd,r", ["cwnd,rate", "cwnd,rtt"]),
        ("elephan runs ", ["list", "find", "diff", "verify", "export", "cite", "prune", "size"]),
        ("elephan runs diff 9", ["9e3779b97f4a7c15-sim-s1"]),
        ("elephan runs diff last ", ["last", *RUNS]),
        ("elephan show last --metric mean_queue_d", ["mean_queue_delay_ms"]),
        ("elephan paper w", ["weigle2006"]),
        ("elephan list b", ["backends"]),
    ],
)
def test_bash_is_offered_what_fits(line: str, offered: list[str], folder: Path) -> None:
    answers, heavy = asked(line)
    assert [answer for answer in answers if answer] == [f"plain,{name}" for name in offered]
    assert heavy == set()


@pytest.mark.parametrize("line", ["elephan rnu ", "elephan runs dif ", "elephan run --nothing x "])
def test_a_wrong_word_is_not_complained_about(line: str, folder: Path) -> None:
    answers, _ = asked(line)
    assert all(answer.startswith("plain,") for answer in answers if answer)


def test_the_store_of_the_command_line_is_looked_into(folder: Path) -> None:
    name = synthetic.manifest_only(folder / "elsewhere", 5, ["bic"]).name
    assert asked(f"elephan runs verify --store elsewhere {name[:2]}")[0] == [f"plain,{name}"]


def test_zsh_and_fish_see_titles(folder: Path) -> None:
    answers, _ = asked("elephan runs diff 9e", "zsh_complete")
    assert answers == ["plain", "9e3779b97f4a7c15-sim-s1", "number 1"]
    assert "plain,runs" in [line.partition("\t")[0] for line in asked("ru", "fish_complete")[0]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str, folder: Path) -> None:
    assert any("_ELEPHAN_COMPLETE" in line for line in asked("", f"{shell}_source")[0])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_a_real_bash_completes(folder: Path) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin" / "elephan"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m elephan "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(_ELEPHAN_COMPLETE=bash_source elephan)"
        COMP_LINE="elephan compare cubic:linux"; COMP_POINT=${#COMP_LINE}
        _elephan_completion elephan cubic:linux cubic
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["linux", "linux-2.6"]


def names(source: completion.Source) -> set[str]:
    return {item.value if isinstance(item, CompletionItem) else item for item in source(CONTEXT, "")}


def test_names_are_those_that_the_program_knows() -> None:
    known = metrics.registry().values()
    assert names(completion.metrics) == {name for metric in known for name in (metric.name, *metric.aliases)}
    assert names(completion.backends) == set(backends.names())
    assert names(completion.papers) == set(papers.ids())
    assert names(completion.suites) == set(suites.names())
    assert names(completion.algorithms) == set(catalog.spellings(catalog.algorithms() | transports.listing()))
    assert all({entry["list"] for entry in entries_of(kind)} == {kind} for kind in completion.KINDS)
    assert names(completion.OPTIONS["--what"]) == set(QUANTITIES)
    assert names(completion.OPTIONS["--prefer"]) == set(PREFERENCES)


FREE = {
    "KEY=VALUE", "KEY=V1,V2,…", "N", "SIZE", "TIME", "TEXT", "TEXT…", "DATE", "AGE", "ADDRESS", "FROM TO", "NAME=VALUE",
    "ID|§", "URL",
}  # fmt: skip
"""Values without names."""


@pytest.mark.parametrize("verb", ["run", "plot", "runs", "show", "sweep", "list", "paper"])
def test_each_value_with_a_name_is_completed(verb: str) -> None:
    command = cli.get_command(CONTEXT, verb)
    assert command is not None
    inner = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    for param in (param for each in inner for param in each.params):
        if isinstance(param, click.Option) and (param.is_flag or param.opts[0] in ("--flow", "--link", "--figure")):
            continue
        if param.metavar not in FREE and param.name not in ("only", "seeds"):
            assert completion.source_of(param) is not None, (verb, param.opts, param.metavar)


def test_help_says_how_to_switch_it_on() -> None:
    assert "_ELEPHAN_COMPLETE=bash_source elephan" in cli.get_help(CONTEXT)
    assert set(VERBS) >= {"plot", "runs"}
