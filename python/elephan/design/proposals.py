"""Optimizers of a search: each proposes points of the unit cube, and learns how severe they are.

Random search needs no library. CMA-ES is that of the package cmaes, and the tree-structured Parzen estimator (TPE) that
of Optuna; both are of the optional extra ``design``.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

from elephan.scenario import ScenarioError
from elephan.scenario.words import hint

Coordinates = tuple[float, ...]
BATCH = 16
"""Number of points that are proposed at once."""
_RESTART_BELOW = 1e-3


class Optimizer(Protocol):
    """An optimizer of severity."""

    def ask(self) -> list[Coordinates]:
        """The next points."""

    def tell(self, points: Sequence[Coordinates], severities: Sequence[float]) -> None:
        """Learn the severities of the points that were asked for."""


class Random:
    """Uniform points."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._draw = random.Random(seed)

    def ask(self) -> list[Coordinates]:
        """The next points."""
        return [tuple(self._draw.random() for _ in range(self._size)) for _ in range(BATCH)]

    def tell(self, points: Sequence[Coordinates], severities: Sequence[float]) -> None:
        """Nothing to learn."""


class Cma:
    """CMA-ES within the cube, which begins at random points and again when it has converged."""

    def __init__(self, size: int, seed: int) -> None:
        self._module = extra("cmaes")
        self._size = size
        self._draw = random.Random(seed)
        self._waiting = [tuple(self._draw.random() for _ in range(size)) for _ in range(4 * BATCH)]
        self._start: tuple[float, Coordinates] | None = None
        self._running: Any = None

    def ask(self) -> list[Coordinates]:
        """The next points: random ones, then the populations around the best of them."""
        if self._running is None:
            return self._waiting
        return [tuple(float(x) for x in self._running.ask()) for _ in range(self._running.population_size)]

    def tell(self, points: Sequence[Coordinates], severities: Sequence[float]) -> None:
        """Learn the severities; a population without progress ends a start."""
        import numpy as np

        if self._running is None:
            best = max(zip(severities, points, strict=True))
            bounds = np.array([[0.0, 1.0]] * self._size)
            self._running = self._module.CMA(
                mean=np.array(best[1]), sigma=0.25, bounds=bounds, seed=self._draw.randrange(1, 2**31),
                population_size=BATCH,
            )  # fmt: skip
            return
        self._running.tell([(np.array(x), -severity) for x, severity in zip(points, severities, strict=True)])
        if self._running.should_stop() or max(severities) - min(severities) < _RESTART_BELOW:
            self._waiting = [tuple(self._draw.random() for _ in range(self._size)) for _ in range(4 * BATCH)]
            self._running = None


class Tpe:
    """Optuna's tree-structured Parzen estimator."""

    def __init__(self, size: int, seed: int) -> None:
        optuna = extra("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=4 * BATCH, multivariate=True, constant_liar=True
            )
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._space = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(size)}
        self._asked: list[Any] = []

    def ask(self) -> list[Coordinates]:
        """The next points."""
        self._asked = [self._study.ask(self._space) for _ in range(BATCH)]
        return [tuple(trial.params[name] for name in self._space) for trial in self._asked]

    def tell(self, points: Sequence[Coordinates], severities: Sequence[float]) -> None:
        """Learn the severities."""
        for trial, severity in zip(self._asked, severities, strict=True):
            self._study.tell(trial, severity)


OPTIMIZERS: dict[str, Any] = {"cma": Cma, "tpe": Tpe, "random": Random}


def optimizer(name: str, size: int, seed: int) -> Optimizer:
    """The optimizer with a name.

    Raises:
        ScenarioError: there is none, or its package is missing.
    """
    if name not in OPTIMIZERS:
        raise ScenarioError(f"'{name}' is not an optimizer; {hint(name, list(OPTIMIZERS))}", source="by")
    found: Optimizer = OPTIMIZERS[name](size, seed)
    return found


def extra(name: str) -> Any:
    """A package of the optional extra ``design``.

    Raises:
        ScenarioError: it is not installed.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        message = f"needs the package {name}: pip install 'elephan[design]' (a search with --by random needs none)"
        raise ScenarioError(message, source="design") from None
