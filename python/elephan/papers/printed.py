"""Numbers that a paper prints about a figure, for drawing them in our version of the figure."""

from __future__ import annotations

from collections.abc import Mapping

from elephan.papers.claims import Claim, ClaimSet
from elephan.papers.schema import ExperimentTable


def along(claims: ClaimSet, section: str, metric: str, parameter: str) -> dict[str, dict[float, float]]:
    """The printed numbers of a figure, by subject and by the point along a parameter.

    A claim with conditions that differ from those of the figure's experiment is left out, since it is about other runs.
    """
    found: dict[str, dict[float, float]] = {}
    for claim in _printed(claims, section, metric):
        where = claim.conditions or {}
        other = {key: value for key, value in where.items() if key != parameter}
        if parameter in where and _within(other, claims.experiments[claim.experiment]):
            found.setdefault(claim.subject, {})[float(where[parameter])] = claim.limit
    return found


def single(claims: ClaimSet, section: str, metric: str) -> dict[str, float]:
    """The printed numbers of a figure that have no conditions, by subject."""
    return {claim.subject: claim.limit for claim in _printed(claims, section, metric) if not claim.conditions}


def _printed(claims: ClaimSet, section: str, metric: str) -> list[Claim]:
    return [
        claim
        for claim in claims.claims
        if (claim.section, claim.metric, claim.relation) == (section, metric, "approx") and claim.basis != "derived"
    ]


def _within(where: Mapping[str, object], experiment: ExperimentTable) -> bool:
    # The first runs are those that the figure shows; others are for comparison.
    return all(runs.fixed.get(key) == value for runs in experiment.runs[:1] for key, value in where.items())
