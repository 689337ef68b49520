"""A paper: its experiments as scenarios, its claims, and its open values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.papers.claims import Claim, ClaimSet
from elephan.papers.judging import Reduced
from elephan.papers.schema import AssumptionTable
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.report.figures import Figure


@dataclass(frozen=True)
class Variant:
    """A variant of the paper's open values; its runs show the verdicts that depend on these values.

    Attributes:
        id: short name.
        title: the change.
        scenarios: the scenarios to run; scenarios that the variant does not change are shared with the paper's own
            setup.
        measurer: measures the subjects under the variant.
        by_default: true to run it with the paper even if the paper's other variants are not run.
    """

    id: str
    title: str
    scenarios: tuple[Scenario, ...]
    measurer: Callable[[Evidence], Measurer[Claim]]
    by_default: bool = False


@dataclass(frozen=True)
class Beyond:
    """A question that a paper left open, with the experiments that answer it.

    Attributes:
        question: the question in one sentence.
        why: relevance of the question, and the paper's statement about it.
        experiments: experiments that answer the question, by id.
        figures: draws the answer; figures whose runs are missing are left out.
        answer: sentences built from measured values only.
    """

    question: str
    why: str
    experiments: Mapping[str, Experiment]
    figures: Callable[[Evidence], Sequence[Figure]]
    answer: Callable[[Evidence], Sequence[str]]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        id: id in claims and commands.
        title: the paper's title.
        reference: authors, venue, year.
        claims: claims of the paper.
        experiments: experiments by id, with the main experiment first.
        quick: true for small experiments with about a tenth of the work, for a first overview.
        quick_note: the reductions of ``quick``.
        quick_scales: metrics whose values scale with the reductions, unless the measurer gives them at the paper's
            scale; claims that compare such a value with a number of the paper are not judged by quick runs.
        assumptions: assumptions for the paper's open values.
        variants: variants of the open values.
        variants_by_default: true to run the variants with the paper; otherwise they are run only on request.
        beyond: a question that the paper left open; run only on request.
        measurer: measures the subjects of the claims.
        figures: draws the paper's figures from runs; figures whose runs are missing are left out.
        explanations: our explanations of differences, by claim id.
    """

    id: str
    title: str
    reference: str
    claims: ClaimSet
    experiments: Mapping[str, Experiment]
    measurer: Callable[[Evidence], Measurer[Claim]]
    figures: Callable[[Evidence], Sequence[Figure]]
    quick: bool = False
    quick_note: str = ""
    quick_scales: frozenset[str] = frozenset()
    assumptions: tuple[AssumptionTable, ...] = ()
    variants: tuple[Variant, ...] = ()
    variants_by_default: bool = False
    explanations: Mapping[str, str] = field(default_factory=dict)
    beyond: Beyond | None = None

    @property
    def reduced(self) -> Reduced | None:
        """The reductions of a quick paper; ``None`` at the paper's own size."""
        return Reduced(self.quick_note, self.quick_scales) if self.quick else None
