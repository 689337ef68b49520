"""A paper: its experiments as scenarios, its claims, and the values that it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.experiments import Experiment, RunSet
from elephan.papers.claims import Claim, ClaimSet
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.report.figures import Figure


@dataclass(frozen=True)
class Assumption:
    """A quantity that the paper does not state, with the value that the experiments use.

    Attributes:
        name: short name of the quantity.
        value: value that the experiments use.
        reason: reason for this value.
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Variant:
    """Another variant of what the paper leaves open, to see which verdicts depend on it.

    Attributes:
        id: short.
        title: what is changed.
        scenarios: the scenarios to run; a scenario that it does not change is shared with the paper's own.
        measurer: how subjects are measured under it.
        by_default: run it with the paper, though the paper's other variants are not.
    """

    id: str
    title: str
    scenarios: tuple[Scenario, ...]
    measurer: Callable[[RunSet], Measurer[Claim]]
    by_default: bool = False


@dataclass(frozen=True)
class Beyond:
    """A question that a paper left open, answered with the same machinery.

    Attributes:
        question: in one sentence.
        why: why it is worth an answer, and what the paper says of it.
        experiments: what is run for it, by id.
        figures: draws the answer; figures whose runs are missing are left out.
        answer: sentences built from measured values only.
    """

    question: str
    why: str
    experiments: Mapping[str, Experiment]
    figures: Callable[[RunSet], Sequence[Figure]]
    answer: Callable[[RunSet], Sequence[str]]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        id: as in claims and commands.
        title: the paper's.
        reference: authors, venue, year.
        claims: what it says.
        experiments: what it ran, by id; the first is its main one.
        quick: the experiments are small ones, for a first look: the same shapes at about a tenth of the work.
        quick_note: what ``quick`` made smaller.
        assumptions: what it leaves open.
        variants: the same with other values.
        variants_by_default: run them with the paper; otherwise only when asked, since there are many.
        beyond: a question that the paper left open; run only when asked.
        measurer: how its subjects are measured.
        figures: draws its figures from runs; figures whose runs are missing are left out.
        explanations: our explanations of differences, by claim id.
    """

    id: str
    title: str
    reference: str
    claims: ClaimSet
    experiments: Mapping[str, Experiment]
    measurer: Callable[[RunSet], Measurer[Claim]]
    figures: Callable[[RunSet], Sequence[Figure]]
    quick: bool = False
    quick_note: str = ""
    assumptions: tuple[Assumption, ...] = ()
    variants: tuple[Variant, ...] = ()
    variants_by_default: bool = False
    explanations: Mapping[str, str] = field(default_factory=dict)
    beyond: Beyond | None = None
