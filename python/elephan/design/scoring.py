"""The score of a candidate: stages of growing cost, of which each has to be passed.

| stage | content |
|---|---|
| loads | the text is reviewed, the class is loaded and an object is made |
| quick | one run of each situation, twice, and then the training paths with all seeds |
| full | the training paths for longer, and as many held-out paths |
| suite | the criteria of RFC 9743, by a quick evaluation; each *must* has to be met |

A failure of any kind has the worst score, and a reason on which the author can act.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from elephan.comparison.preferences import BALANCED, Preference, preference
from elephan.design import baseline, objective, places, trials, verdicts
from elephan.design.candidates import Candidate, CandidateError, candidate
from elephan.design.objective import TERMS, WORST, Terms
from elephan.design.places import Place
from elephan.design.trials import BASELINE, SITUATIONS, Parameters
from elephan.scenario import ScenarioError
from elephan.scenario.words import hint

LOADS, QUICK, FULL, SUITE = "loads", "quick", "full", "suite"
STAGES = (LOADS, QUICK, FULL, SUITE)
_WALL_S = {LOADS: 10.0, QUICK: 60.0, FULL: 600.0, SUITE: 1.5 * verdicts.BUDGET_S}
"""Wall time after which a contained candidate is ended."""
_SHOWN = 3
_C_PATHS = 6
"""Number of paths of a candidate in C: a second on Linux costs as much as many in the simulator."""


@dataclass(frozen=True)
class _Paths:
    """Number of paths and of seeds, and the seed of the held-out paths."""

    count: int
    seeds: int
    held_out_seed: int


@dataclass(frozen=True)
class Score:
    """The score of a candidate.

    Attributes:
        candidate: what was judged.
        stage: the last stage.
        combined_score: the objective; CUBIC has 0, and :data:`~elephan.design.objective.WORST` is a failure.
        parts: terms and components of the objective by name; of the stages before the one that failed.
        failures: the stage and the reason of each failure.
        artifacts: what helps an author: the worst paths, the restrictions, what the candidate printed.
    """

    candidate: str
    stage: str
    combined_score: float
    parts: dict[str, float] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)
    artifacts: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON document."""
        return {
            "candidate": self.candidate,
            "stage": self.stage,
            "combined_score": self.combined_score,
            "parts": self.parts,
            "failures": self.failures,
            "artifacts": self.artifacts,
        }


def score(
    name: str,
    *,
    stage: str = QUICK,
    parameters: Parameters | None = None,
    prefer: str = BALANCED,
    seeds: int = places.SEEDS,
    held_out_seed: int = places.HELD_OUT,
    paths: int | None = None,
    jobs: int | None = None,
) -> Score:
    """Score a candidate against CUBIC, on the same paths with the same seeds.

    Args:
        name: a built-in algorithm, a file with a class, ``mine.py:Mine``, whose class may be left out if there is one,
            ``mine.rs``, a crate's folder, or ``tcp_mine.c``.
        stage: ``"loads"``, ``"quick"``, ``"full"`` or ``"suite"``, which includes the full score.
        parameters: parameters of the algorithm.
        prefer: weights of the objective, as in a comparison.
        seeds: replicates on each path.
        held_out_seed: seed of the held-out paths of the full score.
        paths: number of training paths, and of held-out paths; all 24 by default, and 6 for a candidate in C.
        jobs: number of simultaneous runs; one per core by default.

    Raises:
        ScenarioError: there is no such candidate, stage, preference or parameter.
    """
    if stage not in STAGES:
        raise ScenarioError(f"'{stage}' is not a stage; {hint(stage, STAGES)}", source="stage")
    chosen = preference(prefer)
    if chosen.short:
        raise ScenarioError(f"'{prefer}' needs background transfers, which the paths do not have", source="prefer")
    begun = time.monotonic()
    found: Candidate | None = None
    reached = LOADS
    try:
        found = candidate(name, parameters)
        reached = FULL if stage == SUITE else stage
        chosen_paths = _Paths(paths or (_C_PATHS if found.in_c else places.PATHS), seeds, held_out_seed)
        parts, artifacts = _judged(found, reached, chosen, chosen_paths, jobs)
        failures: list[dict[str, str]] = []
        combined = parts.pop("combined")
        if stage == SUITE:
            reached = SUITE
            failures = _by_suite(found, parts, artifacts, jobs)
            combined = WORST if failures else combined
    except CandidateError as error:
        combined, parts, artifacts = WORST, {}, {}
        failures = [{"stage": reached, "reason": str(error)}]
    artifacts |= {
        "baseline": BASELINE,
        "objective": chosen.text,
        "contained": (found.limits or {}) if found is not None and found.in_file else {},
        "output": found.output if found is not None else "",
        "wall_seconds": round(time.monotonic() - begun, 3),
    }
    return Score(name, stage, combined, parts, failures, artifacts)


def _judged(
    found: Candidate, stage: str, chosen: Preference, asked: _Paths, jobs: int | None
) -> tuple[dict[str, float], dict[str, Any]]:
    """Components of the objective, and what helps an author.

    Raises:
        CandidateError: the candidate failed.
    """
    seeds = asked.seeds
    training = places.training()[: asked.count]
    if stage == LOADS:
        found.measure([[]], jobs=1, wall_s=_WALL_S[LOADS])
        return {"combined": 0.0}, {}
    mean_s = places.QUICK_S if stage == QUICK else places.FULL_S
    hidden = () if stage == QUICK else places.drawn(asked.held_out_seed, hidden=True)[: asked.count]
    own, others = (trials.plan(paths, seeds, mean_s, found.digest) for paths in (training, hidden))
    # The first runs are made twice. A run on Linux costs too much for that.
    first = [] if found.in_c else [own[: len(SITUATIONS)]]
    measured = found.measure([*first, own, others], jobs=jobs, wall_s=_WALL_S[stage])
    base = baseline.measure([*own, *others], jobs=jobs, on_linux=found.in_c)
    paths = objective.by_path({trial: measured[trial] for trial in own}, base)
    values = {place: objective.value(terms, chosen) for place, terms in paths.items()}
    parts = _parts(paths, list(values.values()))
    if others:
        unseen = objective.by_path({trial: measured[trial] for trial in others}, base)
        parts["training"] = parts["combined"]
        parts["held_out"], _, _ = objective.combined([objective.value(terms, chosen) for terms in unseen.values()])
        # The smaller of the two: what is fitted to the training paths gains nothing by it.
        parts["combined"] = min(parts["combined"], parts["held_out"])
    return parts, {"worst_paths": _worst(paths, values), "runs": len(measured), "paths": len(values)}


def _by_suite(
    found: Candidate, parts: dict[str, float], artifacts: dict[str, Any], jobs: int | None
) -> list[dict[str, str]]:
    """Add the verdicts of the suite to the parts and the artifacts. Returns each *must* that is not met or not judged.

    Raises:
        CandidateError: the candidate failed.
    """
    rows = found.judge(jobs=jobs, wall_s=_WALL_S[SUITE])
    judged = [row for row in rows if row.is_judged]
    parts["criteria_met"] = sum(row.is_met for row in judged) / len(judged) if judged else 0.0
    artifacts["suite"] = verdicts.SUITE
    artifacts["criteria"] = [
        {"id": row.id, "section": row.section, "force": row.force, "verdict": row.verdict, "why": row.why}
        for row in rows if not row.is_met
    ]  # fmt: skip
    return [{"stage": SUITE, "reason": row.failure} for row in rows if row.failure]


def _parts(paths: dict[Place, Terms], values: Sequence[float]) -> dict[str, float]:
    combined, mean, worst = objective.combined(values)
    terms = {term: fmean(terms[term] for terms in paths.values()) for term in TERMS}
    return {"combined": combined, "mean": mean, "worst_paths": worst, **terms}


def _worst(paths: dict[Place, Terms], values: dict[Place, float]) -> list[dict[str, Any]]:
    """The training paths on which the candidate is worst, with their terms."""
    order = sorted(values, key=lambda place: values[place])[:_SHOWN]
    return [{"path": place.title, "value": values[place], **paths[place]} for place in order]


__all__ = ["SITUATIONS", "STAGES", "Score", "score"]
