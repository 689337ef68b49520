"""Evolution of the algorithm ``expression``: a population of pairs of formulas, each judged by an objective.

A step takes a good individual, changes one of its formulas at random, or exchanges a part with another, and judges the
result. The best stay. A longer formula must be better by :data:`PER_NODE` for each node, since a reader has to
understand what is found. The same seed and objective give the same lineage.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from elephan.design.evolution.formulas import Node, changed, crossed, read, size, write
from elephan.design.scoring import score
from elephan.scenario.errors import ScenarioError

RENO = ("1", "0.5")
"""Formulas of Reno, with which a lineage begins."""

POPULATION = 16
PER_NODE = 0.0005
"""Score by which a formula must be better for each of its nodes: a twentieth of a percent of a term."""
_TOURNAMENT = 3
_TRIES = 50

Objective: TypeAlias = Callable[[Mapping[str, str]], float]


@dataclass(frozen=True)
class Individual:
    """A pair of formulas.

    Attributes:
        number: position in the lineage.
        growth: formula of the growth in a round trip.
        kept: formula of the fraction kept after a loss.
        score: objective.
        parents: numbers of the individuals that it comes from; none for the first.
        change: what was changed.
    """

    number: int
    growth: Node
    kept: Node
    score: float
    parents: tuple[int, ...] = ()
    change: str = "Reno"

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of ``expression``."""
        return {"growth": write(self.growth), "kept": write(self.kept)}

    @property
    def fitness(self) -> float:
        """The score less the price of its length."""
        return self.score - PER_NODE * (size(self.growth) + size(self.kept))

    def to_json(self) -> dict[str, Any]:
        """The individual as a JSON document."""
        return {"number": self.number, **self.parameters, "score": self.score, "parents": list(self.parents),
                "change": self.change}  # fmt: skip


@dataclass
class Lineage:
    """All individuals, in the order in which they were judged."""

    individuals: list[Individual] = field(default_factory=list)

    @property
    def best(self) -> Individual:
        """The fittest individual."""
        return max(self.individuals, key=lambda each: each.fitness)

    def fittest(self, count: int) -> list[Individual]:
        """The fittest individuals, the best first."""
        return sorted(self.individuals, key=lambda each: -each.fitness)[:count]

    def ancestry(self, individual: Individual) -> list[Individual]:
        """The individuals that one comes from by its first parents, from the first on."""
        line = [individual]
        while line[-1].parents:
            line.append(self.individuals[line[-1].parents[0]])
        return line[::-1]

    def to_json(self) -> dict[str, Any]:
        """The lineage as a JSON document."""
        return {"best": self.best.number, "individuals": [each.to_json() for each in self.individuals]}


def quick_score(parameters: Mapping[str, str]) -> float:
    """The quick score of ``expression`` on the training paths, with one seed on each."""
    return score("expression", parameters=parameters, seeds=1).combined_score


def evolve(
    candidates: int,
    *,
    seed: int = 1,
    objective: Objective = quick_score,
    begin: tuple[str, str] = RENO,
    told: Callable[[Individual], object] | None = None,
    enough: Callable[[], bool] | None = None,
) -> Lineage:
    """Evolve formulas.

    Args:
        candidates: number of individuals to judge.
        seed: seed of all random changes.
        objective: score of formulas; larger is better.
        begin: formulas of the first individual.
        told: called with each individual after its judgement.
        enough: asked before each individual; true ends the evolution.

    Raises:
        ScenarioError: there are no candidates, or the first formulas are wrong.
    """
    if candidates < 1:
        raise ScenarioError(f"{candidates} is not allowed; at least one is needed", path="candidates")
    draw = random.Random(f"elephan evolution {seed}")
    lineage = Lineage()
    seen: set[tuple[str, str]] = set()

    def judge(growth: Node, kept: Node, parents: tuple[int, ...], change: str) -> None:
        texts = {"growth": write(growth), "kept": write(kept)}
        seen.add((texts["growth"], texts["kept"]))
        made = Individual(len(lineage.individuals), growth, kept, objective(texts), parents, change)
        lineage.individuals.append(made)
        if told is not None:
            told(made)

    judge(read(begin[0]), read(begin[1]), (), "Reno" if begin == RENO else "given")
    while len(lineage.individuals) < candidates and not (enough is not None and enough()):
        population = lineage.fittest(POPULATION)
        for _ in range(_TRIES):
            growth, kept, parents, change = _child(population, draw)
            if (write(growth), write(kept)) not in seen:
                judge(growth, kept, parents, change)
                break
        else:
            raise ScenarioError("has no change that was not tried", path="population")
    return lineage


def _child(population: list[Individual], draw: random.Random) -> tuple[Node, Node, tuple[int, ...], str]:
    def chosen() -> Individual:
        return max((draw.choice(population) for _ in range(_TOURNAMENT)), key=lambda each: each.fitness)

    parent = chosen()
    growth, kept = parent.growth, parent.kept
    kind = draw.random()
    if kind < 0.15 and len(population) > 1:
        other = chosen()
        if draw.random() < 0.5:
            return growth, other.kept, (parent.number, other.number), f"decrease of {other.number}"
        return crossed(growth, other.growth, draw), kept, (parent.number, other.number), f"part of {other.number}"
    if kind < 0.7:
        return changed(growth, draw), kept, (parent.number,), "growth changed"
    return growth, changed(kept, draw), (parent.number,), "decrease changed"
