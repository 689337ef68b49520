"""OpenEvolve's interface: ``evaluate(program_path)`` returns metrics by name, and artifacts for the next prompt.

The metrics are those of :func:`elephan.design.score`: ``combined_score``, which OpenEvolve maximizes, and its parts.
The reason of a failure is an artifact. The cascade is that of the score: loads, quick, full.
"""

from __future__ import annotations

import json
from typing import Any

from elephan.design.scoring import FULL, LOADS, QUICK, Score, score
from elephan.scenario.errors import ScenarioError


def evaluate(program_path: str, *, stage: str = QUICK, **more: Any) -> Any:
    """Score a program: a Python file with a class of :class:`elephan.Algorithm`.

    Args:
        program_path: the file.
        stage: stage of the score.
        **more: other arguments of :func:`elephan.design.score`.

    Returns:
        An ``EvaluationResult`` if OpenEvolve is installed, otherwise its metrics as a dictionary.
    """
    try:
        found = score(str(program_path), stage=stage, **more)
    except ScenarioError as error:
        metrics, artifacts = metrics_of(None), {"failure": str(error)}
    else:
        metrics, artifacts = metrics_of(found), artifacts_of(found)
    try:
        from openevolve.evaluation_result import EvaluationResult
    except ImportError:
        return metrics
    return EvaluationResult(metrics=metrics, artifacts=artifacts)


def evaluate_stage1(program_path: str) -> Any:
    """Load a program, and make an object: a failure costs no run."""
    return evaluate(program_path, stage=LOADS)


def evaluate_stage2(program_path: str) -> Any:
    """Score a program on the training paths."""
    return evaluate(program_path, stage=QUICK)


def evaluate_stage3(program_path: str) -> Any:
    """Score a program on the training paths for longer, and on held-out paths."""
    return evaluate(program_path, stage=FULL)


def metrics_of(found: Score | None) -> dict[str, float]:
    """The metrics of a score; those of a failure for ``None``."""
    from elephan.design.objective import WORST

    if found is None or found.failures:
        return {"combined_score": WORST, "runs_successfully": 0.0}
    return {"combined_score": found.combined_score, "runs_successfully": 1.0, **found.parts}


def artifacts_of(found: Score) -> dict[str, str]:
    """Texts for the author of the next program."""
    texts = {"objective": str(found.artifacts.get("objective", ""))}
    if found.failures:
        texts["failure"] = "; ".join(f"stage {row['stage']}: {row['reason']}" for row in found.failures)
    if found.artifacts.get("worst_paths"):
        texts["worst_paths"] = json.dumps(found.artifacts["worst_paths"])
    if found.artifacts.get("output"):
        texts["output"] = str(found.artifacts["output"])
    return texts
