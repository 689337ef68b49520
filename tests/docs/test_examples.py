"""The documentation's examples are run: scenario files load, commands work, Python blocks execute."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from elephan.backends import quic
from elephan.cli.main import run_command
from elephan.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
ON_LINUX = ("own_in_linux.toml", "linux_beside_bbr3.toml")  # tests/linux runs them, where there is a kernel
ON_QUIC = ("quic_beside_tcp.toml",)
LONG = "--on sim,linux"
"""Option of the commands that take minutes."""
_FILE_NAME = re.compile(r"# (\w+\.py)\n")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in _FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def save_files(page: Path, folder: Path) -> None:
    """A Python block that begins with the name of a file is that file; the examples in C are there too."""
    for path in (ROOT / "examples").glob("*.c"):
        shutil.copy(path, folder)
    for text in blocks(page, "python"):
        name = _FILE_NAME.match(text)
        if name is not None:
            (folder / name[1]).write_text(text)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
    assert sum(len(blocks(page, "toml")) for page in PAGES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_file_loads_and_survives_a_round_trip(path: Path) -> None:
    scenario = Scenario.load(path)
    assert scenario.title
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.name not in ON_LINUX], ids=lambda path: path.name)
def test_an_example_file_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shorter = ["--set", "duration=4 s", "--set", "flow[*].start=0 s", "--set", "measure.from=1 s"]
    if path.name in ON_QUIC and quic.program() is None:
        pytest.skip("elephan-quic is not built")
    on = ["--on", "quic"] if path.name in ON_QUIC else []
    assert run_command(["run", str(path), *on, *shorter]) == 0


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "scenarios.md"], ids=lambda page: page.name)
def test_scenarios_in_a_page_load(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_files(page, tmp_path)
    for text in blocks(page, "toml"):
        assert Scenario.from_toml(text, source=page.name).flow_names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_a_page_work(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_commands(page, tmp_path, monkeypatch, capsys, long=False)


@pytest.mark.large
@pytest.mark.parametrize("page", [page for page in PAGES if LONG in page.read_text()], ids=lambda page: page.name)
def test_long_commands_in_a_page_work(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_commands(page, tmp_path, monkeypatch, capsys, long=True)


def run_commands(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, long: bool
) -> None:
    """The first scenario of a page is saved under the name that its commands use; make and git are not run here."""
    monkeypatch.chdir(tmp_path)
    scenarios = blocks(page, "toml")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    save_files(page, tmp_path)
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] != "elephan" or (LONG in line) != long:
            continue
        if words[1:] == ["demo"]:  # tests/docs/test_readme.py runs it
            continue
        wanted = next((word for word in words[1:] if word.endswith(".toml") and "/" not in word), None)
        if wanted is not None:
            (tmp_path / wanted).write_text(scenarios[0])
        assert run_command(shorter(words[1:])) == 0, (line, capsys.readouterr().err)


def shorter(words: list[str]) -> list[str]:
    """A command with one seed, and a comparison of a short time; the words that a page shows are kept."""
    wanted = {"evaluate": {"--seeds": "1"}, "compare": {"--seeds": "1", "--duration": "30s"}}.get(words[0], {})
    return [*words, *(word for option, value in wanted.items() if option not in words for word in (option, value))]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "extending.md"], ids=lambda page: page.name)
def test_python_in_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    save_files(page, tmp_path)
    text = "\n".join(blocks(page, "python"))
    exec(compile(text, page.name, "exec"), {"__name__": page.stem})


def test_the_processes_of_a_cluster_listen_on_loopback_only() -> None:
    """Without an address, Dask's page has port 8787 of every address, ``--no-dashboard`` or not."""
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    lines = [shlex.split(line) for line in text.splitlines() if line.startswith("dask ")]
    assert {words[1] for words in lines} == {"scheduler", "worker"}
    for words in lines:
        assert words[words.index("--host") + 1] == "127.0.0.1"
        assert words[words.index("--dashboard-address") + 1] == "127.0.0.1:0"
