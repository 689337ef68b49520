"""Adapters for design loops with language models; a list of programs stands for the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from elephan.design.adapters import evaluate, evaluate_stage1, points, write_problem
from elephan.design.objective import WORST
from elephan.scenario import ScenarioError

RENO = """import elephan


class Mine(elephan.Algorithm):
    def on_ack(self, ack):
        if ack.may_grow:
            self.window += ack.acked * (1 if self.window < self.ssthresh else {growth})

    def on_congestion(self, signal):
        self.ssthresh = self.window = max(self.window * {kept}, 2.0)
"""
ANSWERS = [
    RENO.format(growth="4 / self.window", kept="0.9"),
    "def on_ack(self, ack):\n    self.window += 1\n",
    RENO.format(growth="1 / self.window", kept="0.5"),
]
"""Answers of the scripted model: too eager, no program, Reno."""


def test_a_loop_of_openevolve_keeps_the_best_answer(tmp_path: Path) -> None:
    # OpenEvolve imports "evaluate" from a file, calls it with the path of each program, and maximizes combined_score.
    best, scores = "", []
    for i, answer in enumerate(ANSWERS):
        program = tmp_path / f"program_{i}.py"
        program.write_text(answer, encoding="utf-8")
        metrics = evaluate(str(program), seeds=1)
        scores.append(metrics["combined_score"])
        assert all(isinstance(value, float) for value in metrics.values())
        if scores[-1] == max(scores):
            best = answer
    assert best == ANSWERS[2]
    assert scores[1] == WORST < scores[0] < scores[2]


def test_the_first_stage_costs_no_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ANSWERS[2], encoding="utf-8")
    assert evaluate_stage1(str(program)) == {"combined_score": 0.0, "runs_successfully": 1.0}
    assert evaluate_stage1(str(tmp_path / "none.py")) == {"combined_score": WORST, "runs_successfully": 0.0}


def test_what_openevolve_takes_has_artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "openevolve"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "evaluation_result.py").write_text(
        "from typing import NamedTuple\nclass EvaluationResult(NamedTuple):\n    metrics: dict\n    artifacts: dict\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    program = tmp_path / "program.py"
    program.write_text(ANSWERS[1], encoding="utf-8")
    found = evaluate_stage1(str(program))
    for name in [name for name in sys.modules if name.startswith("openevolve")]:
        monkeypatch.delitem(sys.modules, name)
    assert found.metrics["combined_score"] == WORST
    assert found.artifacts["failure"].startswith("stage loads: it has no algorithm")


@pytest.mark.parametrize(("answer", "worth"), [(ANSWERS[2], True), (ANSWERS[1], False), (None, False)])
def test_a_problem_folder_scores_a_solution(tmp_path: Path, answer: str | None, worth: bool) -> None:
    folder = tmp_path / "problem"
    names = {path.relative_to(folder).as_posix() for path in write_problem(folder)}
    assert {"readme", "config.yaml", "set_up_env.sh", "evaluate.sh", "evaluator.py"} <= names
    solve = f"return {{'code': {answer!r}}}" if answer is not None else "raise RuntimeError('no idea')"
    solution = tmp_path / "solution.py"
    solution.write_text(f"class Solution:\n    def solve(self, spec_path):\n        {solve}\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", str(folder / "evaluate.sh"), str(solution)],
        cwd=tmp_path, env=os.environ | {"PATH": path, "STAGE": "loads"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    score, unbounded = map(float, ended.stdout.splitlines()[-1].split())
    assert (score, unbounded) == ((50.0, 50.0) if worth else (0.0, 0.0))
    result = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert result["score"] == score
    assert ("failure" in result) is not worth


def test_points_are_50_for_cubic_and_0_for_a_failure() -> None:
    assert points({"combined_score": 0.0})["score"] == 50
    assert points({"combined_score": 1.0}) == {
        "score": 100,
        "score_unbounded": pytest.approx(135.9, 1e-3),
        "combined_score": 1,
    }
    assert points({"combined_score": WORST})["score"] == 0


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(ScenarioError, match="left alone"):
        write_problem(tmp_path)
