"""``elephan demo``: its numbers are those of its runs, and its scenario and commands work."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from elephan import demo, metrics, scenario
from elephan.cli.main import cli, run_command
from elephan.runs import Store

Output = tuple[Path, str, dict[str, Any]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Output:
    """The folder of a demonstration, what a person reads, and the JSON document."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("ELEPHAN_STORE", raising=False)
        texts: list[str] = []
        for args in (["demo"], ["demo", "--json"]):
            written = io.StringIO()
            patch.setattr("sys.stdout", written)
            assert run_command(args) == 0
            texts.append(written.getvalue())
        return folder, texts[0], json.loads(texts[1])


def test_files_are_beside_each_other(shown: Output) -> None:
    folder, text, document = shown
    for name in (demo.SCENARIO, *demo.FIGURES):
        assert (folder / name).stat().st_size > 0
        assert name in text
    assert [document["scenario"], *document["figures"]] == [demo.SCENARIO, *demo.FIGURES]
    figure = (folder / "demo.svg").read_text(encoding="utf-8")
    for words in (
        "throughput (Mbit/s)",
        "queueing delay (ms)",
        "time (s)",
        *(f"late flow: {name}" for name in demo.LATE),
    ):
        assert words in figure


def test_numbers_are_those_of_the_runs(shown: Output) -> None:
    folder, text, document = shown
    store = Store(folder / ".elephan" / "runs")
    assert [row["algorithm"] for row in document["late"]] == list(demo.LATE)
    for row in document["late"]:
        run = store.get(row["run"])
        first, late = metrics.goodput_mbps(run).values()
        assert (row["first_mbps"], row["late_mbps"]) == (pytest.approx(first), pytest.approx(late))
        assert row["late_share"] == pytest.approx(metrics.late_flow_share(run))
        assert row["queueing_delay_ms"] == pytest.approx(metrics.mean_queue_delay_ms(run))
        assert row["retransmits"] == run.flows["retransmits"].sum()
        sentence = " ".join(text.split()).partition(f"A late {row['algorithm']} flow")[2].partition(" flow's rate ")
        assert f"{late:.0f} Mbit/s, and {first:.0f} Mbit/s are left" in sentence[0]
        reached = metrics.convergence_time_s(run)
        if row["convergence_time_s"] is None:
            assert reached == float("inf")
            assert "does not reach 80 %" in sentence[0]
        else:
            assert row["convergence_time_s"] == reached
            assert sentence[2].startswith(f"after {reached:.0f} s")


def test_no_warning_is_needed(shown: Output) -> None:
    assert shown[2]["warnings"] == []


def test_the_scenario_is_that_of_the_first_run(shown: Output) -> None:
    folder, _, document = shown
    stated = scenario.Scenario.load(folder / demo.SCENARIO)
    assert document["late"][0]["run"].startswith(stated.hash[:8])


def test_commands_are_in_the_text_and_are_accepted(shown: Output) -> None:
    _, text, document = shown
    context = cli.make_context("elephan", [], resilient_parsing=True)
    assert {shlex.split(line)[1] for line in document["commands"]} == {"run", "plot", "compare", "play"}
    for line in document["commands"]:
        assert re.search(rf"^  {re.escape(line)} +# \w", text, re.MULTILINE)
        verb, *rest = shlex.split(line)[1:]
        command = cli.get_command(context, verb)
        assert command is not None
        command.make_context(verb, rest, parent=context)


@pytest.mark.parametrize("number", [0, 2])
def test_a_command_runs(number: int, shown: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shown[0])
    assert run_command(shlex.split(shown[2]["commands"][number])[1:]) == 0


def test_a_changed_scenario_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / demo.SCENARIO
    changed.write_text("# mine\n")
    assert run_command(["demo", "--out", str(tmp_path)]) == 2
    assert f"run it with 'elephan run {changed}', or write --out FOLDER" in capsys.readouterr().err
    assert changed.read_text() == "# mine\n"
    assert not (tmp_path / "demo.svg").exists()


@pytest.mark.parametrize(
    ("share", "reached", "words"),
    [
        (0.3, None, "gets less: 30 Mbit/s, and 70 Mbit/s are left to the first flow. It does not reach 80 % of"),
        (0.52, 12.0, "shares equally: 52 Mbit/s, and 48 Mbit/s are left to the first flow. It reaches 80 % of"),
        (
            0.9,
            3.2,
            "takes more than its share: 90 Mbit/s, and 10 Mbit/s are left to the first flow. It reaches 80 % of",
        ),
    ],
)
def test_words_follow_the_numbers(share: float, reached: float | None, words: str) -> None:
    outcome = demo.Outcome("reno", 100 * (1 - share), 100 * share, share, reached, 1.0, 2, 1.0, "id")
    sentence = demo._sentence(outcome, 40.0)
    assert words in sentence
    assert sentence.endswith("in 40 s." if reached is None else f"after {reached:.0f} s.")
