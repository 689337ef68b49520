"""`evaluate`: verdicts by looks, budgets, what is saved, comparisons, and the files that it writes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import elephan
from elephan.backends import quic
from elephan.cli.main import run_command
from elephan.evaluation import bench
from elephan.evaluation.verdicts import Compared, compare
from elephan.metrics.registry import get
from elephan.metrics.statistics import CONFIDENCE, LOOKS
from elephan.runs import Cancelled, Store, sweep
from elephan.scenario import Scenario, ScenarioError
from elephan.suites import document, evaluate, load, schedule
from elephan.suites.limits import with_limits
from elephan.suites.schedule import LEFT_OUT
from elephan.suites.words import paragraph


def run(folder: Path, *arguments: str) -> int:
    return run_command(["evaluate", *arguments, "--suite", str(folder), "--store", str(folder / "store")])


def test_a_standard_algorithm_passes_and_one_that_ignores_losses_fails(folder: Path) -> None:
    cubic, fixed = evaluate(["cubic", "fixed"], folder, quick=True, store=Store(folder / "store"))
    assert [outcome.verdict for outcome in cubic.outcomes] == ["pass", "pass"]
    assert cubic.totals == {"pass": 2, "concern": 0, "fail": 0, "not_settled": 0, "not_judged": 1, "weak": 0}
    harm = fixed.outcome("harm")
    assert harm.verdict == "fail"
    assert harm.worst is not None
    assert harm.worst.judged is not None
    assert harm.worst.judged.found.low > 0.5
    assert len(harm.runs) == 16, "eight seeds of the run and of what it is compared with"
    assert [section.verdict for section in fixed.sections] == ["pass", "fail", "not_judged"]
    assert "Fails: §2 harm" in paragraph(fixed)
    assert paragraph(cubic).startswith("cubic by small (quick): 2 of 2 criteria pass, 2 of 2 of those that are a must.")


def test_a_controller_of_another_stack_is_judged_on_its_backend(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = evaluate(["quinn:cubic"], folder, on="quic", quick=True, store=Store(folder / "store"))
    assert found.outcome("use").verdict == "pass"
    assert run(folder, "quinn", "--on", "quic") == 2
    assert "write one of quinn:cubic, quinn:newreno, quinn:bbr" in capsys.readouterr().err
    assert run(folder, "quinn:cubic", "--on", "quic", "--parameter", "beta=0.5") == 2
    assert "quinn:cubic has no parameters" in capsys.readouterr().err


def test_a_controller_that_the_backend_is_built_without_is_refused_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = folder / "elephan-quic"
    plain.write_text("#!/bin/sh\necho 'flows[0].algorithm: it is not built in' >&2\nexit 2\n")
    plain.chmod(0o755)
    monkeypatch.setenv("ELEPHAN_QUIC", str(plain))
    assert run(folder, "s2n:cubic", "--on", "quic", "--quick") == 2
    assert capsys.readouterr().err.endswith("algorithm: the backend 'quic' cannot do it: it is not built in\n")


def cancel_after(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancel each sweep of an evaluation after some runs.

    A callback of the progress cannot do it: it is called a few times a second, and a fast host has then completed all
    runs.
    """

    def cancelled(scenarios: Sequence[Scenario], **options: Any) -> None:
        sweep(scenarios[:runs], **options)
        raise Cancelled

    monkeypatch.setattr(bench, "sweep", cancelled)


def test_a_second_evaluation_uses_what_the_first_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(folder / "store")
    with monkeypatch.context() as first:
        cancel_after(3, first)
        (part,) = evaluate(["reno"], folder, quick=True, store=store)
    assert part.outcome("use").verdict == "not_settled", "runs are missing"
    kept = {run.id: run.manifest["created"] for run in store}
    assert len(kept) == 3
    (whole,) = evaluate(["reno"], folder, quick=True, store=store)
    assert whole.outcome("use").verdict == "pass"
    created = {manifest["created"] for manifest in whole.manifests}
    assert set(kept.values()) <= created, "what was finished is used"
    before = len(list(store))
    (again,) = evaluate(["reno"], folder, quick=True, store=store)
    assert len(list(store)) == before
    assert document(again)["criteria"] == document(whole)["criteria"]


def test_cells_that_do_not_fit_into_the_budget_are_listed_and_do_not_pass(folder: Path) -> None:
    (found,) = evaluate(["cubic"], folder, budget="400 ms", jobs=1, store=Store(folder / "store"))
    missing = [cell for outcome in found.outcomes for cell in outcome.cells if cell.left_out]
    assert missing
    for outcome in found.outcomes:
        if any(cell.left_out for cell in outcome.cells):
            assert outcome.verdict == "not_settled"
            assert LEFT_OUT in outcome.why


def test_a_budget_that_is_spent_too_early_leaves_whole_cells_and_the_long_ones_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at ten runs of sixteen, all eight of the slow link are there, and the fast one is not judged."""
    cancel_after(10, monkeypatch)
    (found,) = evaluate(["cubic"], folder, only=["use"], budget="1000 s", quick=True, store=Store(folder / "store"))
    cells = {cell.case.cell.name: cell.judged is not None for cell in found.outcome("use").cells}
    assert cells == {"10 Mbit/s, 20 ms": False, "5 Mbit/s, 20 ms": True}
    assert found.outcome("use").verdict == "not_settled"


def test_looks_go_on_only_where_nothing_is_settled(folder: Path) -> None:
    text = (folder / "suite.toml").read_text().replace("limit = 0.5", "limit = -0.09")
    (folder / "suite.toml").write_text(text)
    (found,) = evaluate(["cubic"], folder, store=Store(folder / "store"))
    use, harm = found.outcome("use"), found.outcome("harm")
    assert use.worst is not None
    assert use.worst.judged is not None
    assert use.worst.judged.seeds == LOOKS[0]
    assert harm.verdict == "not_settled", (
        "the limit is the mean of these short runs, so that no number of seeds settles it"
    )
    assert harm.worst is not None
    assert harm.worst.judged is not None
    assert harm.worst.judged.seeds == LOOKS[-1]
    assert CONFIDENCE == 0.95


class Copy(elephan.Algorithm):
    """A window that ignores losses, as ``fixed`` has it."""

    def on_start(self, start: elephan.Start) -> None:
        super().on_start(start)
        self.window = 100.0

    def on_ack(self, ack: elephan.Ack) -> None:
        pass

    def on_congestion(self, signal: elephan.Signal) -> None:
        pass

    def on_timeout(self, signal: elephan.Signal) -> None:
        pass


def test_two_copies_are_the_same_and_a_change_is_found(folder: Path) -> None:
    store = Store(folder / "store")
    (same,) = evaluate(["cubic"], folder, against="cubic", quick=True, store=store)
    assert {outcome.comparison for outcome in same.outcomes} == {"same"}
    assert not same.reaches("worse")
    (worse,) = evaluate(["fixed"], folder, against="cubic", quick=True, store=store)
    assert worse.outcome("harm").comparison == "worse"
    assert worse.reaches("worse")
    assert "worse in harm" in paragraph(worse)
    (better,) = evaluate(["cubic"], folder, against="fixed", quick=True, store=store)
    assert better.outcome("harm").comparison == "better"


def test_the_cells_of_a_criterion_share_the_error_of_its_comparison(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def watched(*values: Sequence[float], confidence: float, **more: Any) -> Compared:
        asked.append(confidence)
        return compare(*values, confidence=confidence, **more)

    monkeypatch.setattr(schedule, "compare", watched)
    evaluate(["reno"], folder, against="cubic", only=["use"], quick=True, store=Store(folder / "store"))
    assert asked == pytest.approx([1 - (1 - CONFIDENCE) / 2] * 2)


def test_parameters_are_those_of_the_algorithm_alone(folder: Path) -> None:
    store = Store(folder / "store")
    (found,) = evaluate(["fixed"], folder, parameters={"window": 2.0}, against="fixed", quick=True, store=store)
    assert found.subject.label == "fixed window=2.0"
    assert found.outcome("use").comparison == "worse"
    (other,) = evaluate(["cubic"], folder, parameters={"beta": 0.3}, only=["harm"], quick=True, store=store)
    scenarios = {cell.case.baseline for outcome in other.outcomes for cell in outcome.cells}
    assert all(scenario is not None and not scenario.form.flows[0].parameters for scenario in scenarios) or all(
        scenario is not None and scenario.form.flows[0].parameters != {"beta": 0.3} for scenario in scenarios
    )


def test_an_algorithm_of_ones_own_is_judged(folder: Path) -> None:
    (found,) = evaluate([Copy], folder, only=["harm"], quick=True, store=Store(folder / "store"))
    assert found.subject.label == "Copy"
    assert found.outcome("harm").verdict == "fail"


def test_what_an_algorithm_cannot_run_is_not_judged(folder: Path) -> None:
    (found,) = evaluate(["xcp"], folder, only=["use"], quick=True, store=Store(folder / "store"))
    assert found.outcome("use").verdict == "not_judged"
    assert "cannot be run" in found.outcome("use").why


@pytest.mark.parametrize(("name", "said"), [("cubik", "did you mean 'cubic'"), ("./no.py:Mine", "no.py")])
def test_a_wrong_name_is_one_line(folder: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, name, "--quick") == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


def test_a_criterion_that_is_none_is_named(folder: Path) -> None:
    with pytest.raises(ScenarioError, match="did you mean 'harm'"):
        evaluate(["cubic"], folder, only=["harn"])


def test_a_reader_may_have_another_limit_which_the_verdict_states(folder: Path) -> None:
    store = Store(folder / "store")
    (found,) = evaluate(["fixed"], folder, limits={"use": "0.3", "harm": "100 %"}, quick=True, store=store)
    use, harm = found.outcome("use"), found.outcome("harm")
    assert (use.criterion.limit, harm.criterion.limit) == (0.3, 1.0)
    assert (harm.verdict, harm.limit_text) == ("pass", "must be at most 100 %"), "by the suite's limit it fails"
    assert harm.criterion.reason == "the limit of this evaluation; the suite has at most 50 %"
    assert found.notes[:2] == (
        "limit of this evaluation, not of the suite: use at least 0.3; the suite has at least 0.7",
        "limit of this evaluation, not of the suite: harm at most 100 %; the suite has at most 50 %",
    )


def test_a_range_is_stated_by_its_ends(folder: Path) -> None:
    file = folder / "suite.toml"
    stated = 'relation = ">="\nlimit = 0.7'
    file.write_text(file.read_text().replace(stated, 'relation = "in_range"\nrange = [0.7, 1]\nbetter = "higher"'))
    changed, _ = with_limits(load(folder), {"use": "0.2..0.3"})
    assert changed.table.criterion[0].range == (0.2, 0.3)
    for wrong, said in {
        "0.3": "write use=0.7..1",
        "0.3..0.2": "in the wrong order",
        "a..1": "write use=0.7..1",
    }.items():
        with pytest.raises(ScenarioError, match=re.escape(said)):
            with_limits(load(folder), {"use": wrong})


def test_the_exit_status_is_that_of_fail_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "fixed", "--quick") == 0
    assert run(folder, "fixed", "--quick", "--fail-on", "fail") == 1
    assert run(folder, "cubic", "--quick", "--fail-on", "concern") == 0
    assert run(folder, "fixed", "--quick", "--fail-on", "worse", "--against", "cubic") == 1
    assert run(folder, "fixed", "--quick", "--fail-on", "worse") == 2
    assert "--against" in capsys.readouterr().err


def test_json_has_the_fields_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "cubic", "--quick", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"suite", "algorithm", "against", "criteria", "totals", "wall_seconds", "report"} <= set(found)
    fields = {
        "id", "section", "force", "text", "metric", "value", "low", "high", "limit", "verdict", "evidence", "weak",
        "comparison",
    }  # fmt: skip
    assert all(fields <= set(criterion) for criterion in found["criteria"])
    assert [criterion["verdict"] for criterion in found["criteria"]] == ["pass", "pass", "not_judged"]
    assert len(found["criteria"][0]["evidence"]) == 16


def test_files_for_other_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {option: str(folder / name) for option, name in [("--junit", "j.xml"), ("--markdown", "m.md")]}
    assert (
        run(folder, "fixed", "--quick", *(x for pair in files.items() for x in pair), "--out", str(folder / "r")) == 0
    )
    suite = ElementTree.parse(files["--junit"]).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    text = Path(files["--markdown"]).read_text()
    assert "| 2 | harm | fail |" in text
    assert re.search(r"<summary>Evidence: \d+ runs</summary>", text)
    assert re.search(r"- engine: \S+\n- backend: sim\n- seeds: 1, 2", text)
    assert re.search(r"\| [0-9a-f]{16}-sim-s1 \|", text)
    page = (folder / "r" / "report.html").read_text()
    assert "Sections and algorithms" in page
    assert capsys.readouterr().out.count("\n") > 3


CURVE = """
[[curve]]
id = "goodput-rate"
section = "1"
title = "goodput against the rate"
experiment = "alone"
x = "rate"
metric = "goodput_mbps"
flows = ["subject"]
"""


def test_a_metric_over_a_value_of_the_cells_is_a_curve_in_the_document_and_in_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "suite.toml").write_text((folder / "suite.toml").read_text() + CURVE)
    assert run(folder, "cubic", "reno", "--quick", "--json", "--out", str(folder / "r"), "--only", "1") == 0
    evaluations = json.loads(capsys.readouterr().out)["evaluations"]
    store = Store(folder / "store")
    for (curve,) in (one["curves"] for one in evaluations):
        assert (curve["unit"], curve["flow"]) == ("Mbit/s", "subject")
        assert [point["x"] for point in curve["points"]] == ["5 Mbit/s", "10 Mbit/s"], "in the order of the axis"
        for point in curve["points"]:
            made = [store.find(name) for name in point["runs"]]
            values = [get("goodput_mbps")(one)["subject"] for one in made if one is not None]
            assert len(values) == 8
            assert point["mean"] == pytest.approx(math.fsum(values) / 8)
            assert point["low"] < point["mean"] < point["high"]
    page = (folder / "r" / "report.html").read_text()
    assert "goodput against the rate" in page
    assert {path.name for path in (folder / "r").iterdir()} == {"report.html", "goodput-rate.svg", "goodput-rate.pdf"}


ELLIPSE = """
[[ellipse]]
id = "goodput-delay"
section = "1"
title = "goodput against delay"
experiment = "alone"
"""


def test_replicates_are_points_with_an_ellipse_in_the_document_and_in_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "suite.toml").write_text((folder / "suite.toml").read_text() + ELLIPSE)
    assert run(folder, "cubic", "reno", "--quick", "--json", "--out", str(folder / "r"), "--only", "1") == 0
    cubic, reno = json.loads(capsys.readouterr().out)["evaluations"]
    assert [one["cell"] for one in cubic["trade_offs"]] == ["10 Mbit/s, 20 ms", "5 Mbit/s, 20 ms"]
    for one in [*cubic["trade_offs"], *reno["trade_offs"]]:
        assert one["units"] == {"delay": "ms", "goodput": "Mbit/s"}
        assert len(one["points"]) == 8
        mean = [math.fsum(point[axis] for point in one["points"]) / 8 for axis in ("delay", "goodput")]
        assert (one["ellipse"] is None) == bool(one["why"])
        if one["ellipse"] is not None:
            assert one["ellipse"]["mean"] == pytest.approx(mean)
    assert any(one["ellipse"] is not None for one in cubic["trade_offs"])
    store = Store(folder / "store")
    found, point = cubic["trade_offs"][0], cubic["trade_offs"][0]["points"][0]
    made = store.find(point["run"])
    assert made is not None
    assert get(found["metrics"]["delay"])(made) == point["delay"]
    assert get(found["metrics"]["goodput"])(made) == point["goodput"]
    page = (folder / "r" / "report.html").read_text()
    assert "goodput against delay" in page
    assert {path.name for path in (folder / "r").iterdir()} == {
        "report.html", "goodput-delay.svg", "goodput-delay.pdf"
    }  # fmt: skip
    assert run(folder, "cubic", "--quick", "--json", "--only", "2") == 0
    assert json.loads(capsys.readouterr().out)["trade_offs"] == [], "no criterion that is judged has these runs"


WRONG = {
    ("--fail-on", "concrn"): "'concrn' is not a level; did you mean 'concern'?",
    ("--fail-on", "wors"): "'wors' is not a level; did you mean 'worse'?",
    ("--against", "cubik"): "--against: 'cubik' is not an algorithm; did you mean 'cubic'?",
    ("--only", "hram"): "--only: 'hram' is neither a criterion nor a section of small; did you mean 'harm'?",
    ("--limit", "harn=3 %"): "--limit: 'harn' is not a judged criterion of small; did you mean 'harm'?",
    ("--limit", "harm=0.3"): "--limit: '0.3' is not a value of harm; write harm='50 %'",
    ("--limit", "harm"): "--limit: 'harm' has no value; write ID=VALUE",
    ("--patch", "mine.patch"): "--patch: a patch changes the kernel of --on linux, and this is --on sim",
    ("--before-after", ""): "--before-after: there is no patch to compare with; write --patch FILE",
    ("--parameter", "bta=0.5"): "--parameter: parameters.bta: not a parameter of cubic; did you mean 'beta'?",
    ("--parameter", "beta=7"): "--parameter: parameters.beta: 7 is not allowed",
    ("--on", "simm"): "--on: 'simm' is not a backend; did you mean 'sim'?",
    ("--budget", "5x"): "--budget: '5x': 'x' is not a unit of time",
    ("--seeds", "0"): "--seeds: '0' is not a whole number",
    ("--quik", ""): "'--quik' is not an option; did you mean '--quick'?",
}


@pytest.mark.parametrize("given", WRONG, ids=" ".join)
def test_a_wrong_option_is_one_line_with_the_nearest_word(
    folder: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, str]
) -> None:
    assert run(folder, "cubic", "--quick", *filter(None, given)) == 2
    line = capsys.readouterr().err
    assert WRONG[given] in line
    assert line.count("\n") == 1


@pytest.mark.skipif(quic.program() is None, reason="elephan-quic is not built")
def test_a_controller_of_another_transport_is_evaluated_on_its_backend(folder: Path) -> None:
    store = Store(folder / "store")
    (found,) = evaluate(
        ["quinn:cubic"], folder, only=["use"], on="quic", against="quinn:newreno", quick=True, store=store
    )
    assert found.outcome("use").verdict == "pass"
    with pytest.raises(ScenarioError, match="quinn:cubic has no parameters"):
        evaluate(["quinn:cubic"], folder, parameters={"beta": 0.6}, on="quic", quick=True, store=store)
