"""Tuning of an algorithm's parameters on a set of paths, for one objective or for a front of several.

A setting is a point in the ranges of the parameters. It is judged at 8, 16 and 32 seeds, and given up at a look at
which the interval of its paired difference to the best setting lies below 0: the rule of all sequential procedures here
(:data:`elephan.metrics.statistics.LOOKS`). The best setting is then run on paths that took no part in the tuning.
"""

from __future__ import annotations

import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from elephan.comparison.preferences import BALANCED, Preference, preference
from elephan.design import objective, places, trials
from elephan.design.objective import SITUATION_OF, TERMS, Results
from elephan.design.places import Place
from elephan.design.proposals import extra
from elephan.design.trials import BASELINE, TrialError
from elephan.metrics.statistics import LOOK_CONFIDENCE, LOOKS, paired_difference
from elephan.scenario import ScenarioError, own, reading
from elephan.scenario.words import hint

TRAINING = "training"
_HELD_OUT_EVERY = 3
_FAILED = float("-inf")
_DURATION_S = 12.0
_PLACE_FIELDS = {"rate_mbps": float, "rtt_ms": float, "buffer_bdp": float, "loss": float, "queue": str}

Watch = Callable[[int, int, float, float], object]


@dataclass(frozen=True)
class Range:
    """A parameter to tune.

    Attributes:
        name: name of the parameter.
        low, high: ends of its range.
        whole: true for whole numbers.
    """

    name: str
    low: float
    high: float
    whole: bool = False


@dataclass
class Setting:
    """A setting of the parameters, and what it has.

    Attributes:
        parameters: values by name.
        scores: the objective for each seed, relative to CUBIC with the same seed; in a front, that of its terms alone.
        terms: for each seed, the mean over the paths of each term.
        given_up: true if it was clearly worse at a look.
        why: the reason if a run failed.
    """

    parameters: dict[str, float]
    scores: list[float] = field(default_factory=list)
    terms: list[dict[str, float]] = field(default_factory=list)
    given_up: bool = False
    why: str = ""

    @property
    def score(self) -> float:
        """Mean of the objective."""
        return fmean(self.scores) if self.scores else _FAILED

    def term(self, name: str) -> float:
        """Mean of a term."""
        return fmean(row[name] for row in self.terms) if self.terms else _FAILED

    def to_json(self) -> dict[str, Any]:
        """The setting as a JSON document."""
        return {
            "parameters": self.parameters, "score": self.score if self.scores else None, "seeds": len(self.scores),
            "terms": {name: self.term(name) for name in self.terms[0]} if self.terms else {}, "given_up": self.given_up,
            "why": self.why,
        }  # fmt: skip


@dataclass
class Tuning:
    """The result of a tuning.

    Attributes:
        algorithm: the algorithm.
        ranges: what was tuned.
        preference: the weights of the objective.
        goals: the terms of the front; empty for one objective.
        settings: all settings, in the order of their runs; the first has the algorithm's own values.
        front: settings that no other one surpasses in all goals; of one objective, the best.
        held_out: score of the best and of the first setting on the held-out paths.
        importance: fraction of the variation of the objective that each parameter explains.
        runs: number of runs.
        wall_seconds: time for all of it.
        paths: number of paths, and of held-out paths.
    """

    algorithm: str
    ranges: tuple[Range, ...]
    preference: Preference
    goals: tuple[str, ...]
    settings: list[Setting] = field(default_factory=list)
    front: list[Setting] = field(default_factory=list)
    held_out: list[Setting] = field(default_factory=list)
    importance: dict[str, float] = field(default_factory=dict)
    runs: int = 0
    wall_seconds: float = 0.0
    paths: tuple[int, int] = (0, 0)

    @property
    def best(self) -> Setting:
        """The setting with the best objective, of those that were not given up."""
        return max((s for s in self.settings if not s.given_up and s.scores), key=lambda s: s.score)

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON document."""
        best, first = self.best, self.settings[0]
        gain = paired_difference(best.scores[: len(first.scores)], first.scores[: len(best.scores)])
        return {
            "algorithm": self.algorithm, "objective": self.preference.text, "front_of": list(self.goals),
            "ranges": {r.name: [r.low, r.high] for r in self.ranges},
            "best": best.to_json(), "own": first.to_json(), "gain": {"value": gain.value, **gain.ends},
            "held_out": [setting.to_json() for setting in self.held_out],
            "front": [setting.to_json() for setting in self.front], "importance": self.importance,
            "settings": len(self.settings), "given_up": sum(s.given_up for s in self.settings), "runs": self.runs,
            "paths": self.paths[0], "held_out_paths": self.paths[1], "wall_seconds": round(self.wall_seconds, 2),
        }  # fmt: skip


class _Bench:
    """Runs settings on paths, with the baseline's runs shared by all of them: those that the terms need."""

    def __init__(
        self, algorithm: str, fixed: Mapping[str, Any], chosen: Preference, terms: Sequence[str], jobs: int | None
    ) -> None:
        self._algorithm, self._fixed, self._chosen, self._jobs = algorithm, fixed, chosen, jobs
        self._terms = terms
        self._situations = tuple(dict.fromkeys(SITUATION_OF[term] for term in terms))
        self._baseline: dict[tuple[tuple[Place, ...], int], Results] = {}
        self.runs = 0

    def extend(self, setting: Setting, paths: tuple[Place, ...], seeds: int, mean_s: float) -> None:
        """Run a setting with further seeds, up to a number; a failure is its reason."""
        wanted = range(len(setting.scores) + 1, seeds + 1)
        plans = {
            seed: [
                trials.Trial(place, situation, seed, *places.times_s(place, seed, mean_s))
                for place in paths for situation in self._situations
            ]
            for seed in wanted
        }  # fmt: skip
        missing = [trial for seed in wanted if (paths, seed) not in self._baseline for trial in plans[seed]]
        if missing:
            numbers = trials.measure(BASELINE, {}, missing, jobs=self._jobs)
            for seed in {trial.seed for trial in missing}:
                self._baseline[paths, seed] = {trial: numbers[trial] for trial in plans[seed]}
        every = [trial for plan in plans.values() for trial in plan]
        self.runs += len(missing) + len(every)
        try:
            found = trials.measure(self._algorithm, {**self._fixed, **setting.parameters}, every, jobs=self._jobs)
        except TrialError as error:
            setting.why, setting.given_up = str(error), True
            return
        for seed, plan in plans.items():
            every_term = objective.by_path({t: found[t] for t in plan}, self._baseline[paths, seed]).values()
            rows = [{term: row[term] for term in self._terms} for row in every_term]
            combined, _, _ = objective.combined([objective.value(terms, self._chosen) for terms in rows])
            setting.scores.append(combined)
            setting.terms.append({term: fmean(row[term] for row in rows) for term in self._terms})


def tune(
    algorithm: str,
    parameters: Sequence[str],
    *,
    on_paths: str | Path = TRAINING,
    prefer: str = BALANCED,
    front: Sequence[str] = (),
    fixed: Mapping[str, Any] | None = None,
    settings: int = 64,
    seeds: int = LOOKS[-1],
    budget_s: float = 600.0,
    duration_s: float = _DURATION_S,
    seed: int = 1,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> Tuning:
    """Tune parameters of an algorithm on a set of paths.

    Args:
        algorithm: a built-in algorithm, or a file and a class.
        parameters: ranges, ``"beta=0.5..0.9"``.
        on_paths: ``"training"`` for the paths of a score, or a TOML file with ``[[path]]`` tables.
        prefer: weights of the objective, as in a comparison.
        front: terms for a front instead of one objective: goodput, delay, harm, start. Only the runs that they need
            are made.
        fixed: parameters that are not tuned.
        settings: largest number of settings.
        seeds: largest number of seeds: 8, 16 or 32.
        budget_s: wall time after which no setting is begun.
        duration_s: simulated time of a run, on average.
        seed: seed of the optimizer.
        jobs: number of simultaneous runs.
        watch: called with the settings done, all settings, the time, and the best objective.

    Raises:
        ScenarioError: an argument is wrong, or Optuna is missing.
    """
    chosen = preference(prefer)
    if chosen.short:
        raise ScenarioError(f"'{prefer}' needs background transfers, which the paths do not have", source="prefer")
    for term in front:
        if term not in TERMS:
            raise ScenarioError(f"'{term}' is not a term; {hint(term, TERMS)}", source="front")
    if seeds not in LOOKS:
        raise ScenarioError(f"{seeds} is not a number of seeds of a look: {', '.join(map(str, LOOKS))}", source="seeds")
    ranges = tuple(_range(text) for text in parameters)
    if not ranges:
        raise ScenarioError("missing; write a range, for example beta=0.5..0.9", source="parameter")
    names = [one.name for one in ranges]
    for name in names:
        if names.count(name) > 1 or name in (fixed or {}):
            raise ScenarioError(f"'{name}' has two statements; tune it, or set it", source="parameter")
    tuned, held_out = _paths(on_paths)
    spec = own.pin(algorithm)
    for one in ranges:
        for end in (one.low, one.high):
            # A name or an end that is not allowed is said before any run.
            value = int(end) if one.whole else end
            _ = trials.base((spec, spec), {**(fixed or {}), one.name: value}, trials.ALONE).form
    result = Tuning(own.label(spec), ranges, chosen, tuple(front), paths=(len(tuned), len(held_out)))
    bench = _Bench(spec, dict(fixed or {}), chosen, tuple(front) or TERMS, jobs)
    begun = time.monotonic()
    study = _study(len(front) or 1, seed)
    looks = [look for look in LOOKS if look <= seeds]
    for setting, tell in _asked(study, result, settings):
        for look in looks:
            bench.extend(setting, tuned, look, duration_s)
            if setting.why or _is_worse(setting, result):
                setting.given_up = True
                break
        if not result.settings and setting.why:
            raise ScenarioError(f"its own values fail: {setting.why}", source="tune")
        result.settings.append(setting)
        tell(setting)
        result.runs, result.wall_seconds = bench.runs, time.monotonic() - begun
        if watch is not None:
            watch(len(result.settings), settings, result.wall_seconds, result.best.score)
        if result.wall_seconds > budget_s:
            break
    result.front = _front(result)
    result.importance = _importance(study)
    for setting in (result.best, result.settings[0]):
        other = Setting(setting.parameters)
        bench.extend(other, held_out, looks[0], duration_s)
        result.held_out.append(other)
    result.runs, result.wall_seconds = bench.runs, time.monotonic() - begun
    return result


def _range(text: str) -> Range:
    name, equals, value = (word.strip() for word in text.partition("="))
    low, dots, high = value.partition("..")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (0.0, 0.0)
    if not (equals and dots and ends[0] < ends[1]):
        raise ScenarioError(f"'{text}' is not a range; write for example beta=0.5..0.9", source="parameter")
    whole = all(end.strip().lstrip("-").isdigit() for end in (low, high))
    return Range(name, *ends, whole)


def _paths(source: str | Path) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Paths for the tuning, and held-out paths: of a file every third path is held out."""
    if str(source) == TRAINING:
        return places.training(), places.drawn(places.HELD_OUT, hidden=True)
    file = Path(source)
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8")).get("path", [])
    except FileNotFoundError:
        raise ScenarioError(f"neither '{TRAINING}' nor a file: {reading.missing(file)}", source="on-paths") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(str(error), source=str(file)) from None
    if len(rows) < _HELD_OUT_EVERY:
        message = f"{len(rows)} [[path]] tables; it needs {_HELD_OUT_EVERY}, of which one is held out"
        raise ScenarioError(message, source=str(file))
    found = [_place(row, f"path[{i}]", file) for i, row in enumerate(rows)]
    held_out = found[_HELD_OUT_EVERY - 1 :: _HELD_OUT_EVERY]
    return tuple(place for place in found if place not in held_out), tuple(held_out)


def _place(row: Mapping[str, Any], path: str, file: Path) -> Place:
    for name, value in row.items():
        kind = _PLACE_FIELDS.get(name)
        if kind is None:
            raise ScenarioError(
                f"not a field; {hint(name, list(_PLACE_FIELDS))}", path=f"{path}.{name}", source=str(file)
            )
        if not isinstance(value, str if kind is str else int | float) or isinstance(value, bool):
            raise ScenarioError(
                f"{value!r} is not a {'text' if kind is str else 'number'}", path=f"{path}.{name}", source=str(file)
            )
    for name in ("rate_mbps", "rtt_ms", "buffer_bdp"):
        if name not in row:
            raise ScenarioError("missing", path=f"{path}.{name}", source=str(file))
    return Place(**row)


def _study(directions: int, seed: int) -> Any:
    optuna = extra("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=10, multivariate=True)
    return optuna.create_study(directions=["maximize"] * directions, sampler=sampler)


def _asked(study: Any, result: Tuning, most: int) -> Iterator[tuple[Setting, Callable[[Setting], None]]]:
    """Settings, the algorithm's own values first, each with the function that reports its result."""
    optuna = extra("optuna")
    yield Setting({}), lambda setting: None
    for _ in range(most - 1):
        trial = study.ask()
        values = {
            r.name: trial.suggest_int(r.name, int(r.low), int(r.high)) if r.whole
            else float(f"{trial.suggest_float(r.name, r.low, r.high):.6g}")
            for r in result.ranges
        }  # fmt: skip

        def tell(setting: Setting, trial: Any = trial) -> None:
            if setting.why:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, _goals(setting, result))

        yield Setting(values), tell


def _goals(setting: Setting, result: Tuning) -> list[float]:
    return [setting.term(name) for name in result.goals] if result.goals else [setting.score]


def _is_worse(setting: Setting, result: Tuning) -> bool:
    """True if another setting is clearly better: in the objective, or in each goal of a front."""
    if not result.settings:
        return False
    if not result.goals:
        return _clearly_below(setting.scores, result.best.scores)
    rivals = [other for other in result.settings if not other.given_up]
    return any(
        all(_clearly_below([r[g] for r in setting.terms], [r[g] for r in other.terms]) for g in result.goals)
        for other in rivals
    )


def _clearly_below(values: Sequence[float], reference: Sequence[float]) -> bool:
    count = min(len(values), len(reference))
    if count < 2:
        return False
    found = paired_difference(values[:count], reference[:count], LOOK_CONFIDENCE)
    return found.high < 0 if found.known else found.value < 0


def _front(result: Tuning) -> list[Setting]:
    kept = [setting for setting in result.settings if setting.scores and not setting.why]
    if not result.goals:
        return [result.best]
    goals = {id(setting): _goals(setting, result) for setting in kept}

    def surpassed(setting: Setting) -> bool:
        own_goals = goals[id(setting)]
        return any(
            other is not setting and all(a >= b for a, b in zip(goals[id(other)], own_goals, strict=True))
            and goals[id(other)] != own_goals
            for other in kept
        )  # fmt: skip

    return sorted((s for s in kept if not surpassed(s)), key=lambda s: _goals(s, result))


def _importance(study: Any) -> dict[str, float]:
    """Importance of each parameter for the first goal (PED-ANOVA); empty with too few settings."""
    optuna = extra("optuna")
    done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if len(done) < 10:
        return {}
    with warnings.catch_warnings():
        # The class is experimental, and says that it asks for low values.
        warnings.simplefilter("ignore")
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        found = optuna.importance.get_param_importances(
            study,
            evaluator=evaluator,
            target=lambda trial: -float(trial.values[0]),  # it asks for low values
        )
    return {str(name): float(share) for name, share in found.items()}
