"""Objective of a comparison: one number for each seed, by which algorithms are ranked.

The objective is a sum of natural logarithms, so that a term of -0.1 costs about 10 %, and so that a difference between
two algorithms is the logarithm of a ratio:

    U = w_goodput ln(goodput alone / rate of the bottleneck)
      - w_delay   ln((base RTT + mean queueing delay alone) / base RTT)
      + w_harm    min(0, ln(goodput of rivals beside the algorithm / goodput of rivals beside their own kind))
      + w_start   min(0, ln(2 x share of a late-starting flow beside an earlier one))
      - w_short   ln(mean slowdown of the background transfers)

The first two terms are from Remy's objective (Winstein and Balakrishnan 2013). The third term is the harm of Ware et
al. (2019) in excess of the harm that the rivals' flows do to each other. The minimum with 0 prevents a reward for an
algorithm that starves itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

LEAST = 1e-4
"""Smallest ratio that a term distinguishes; a smaller ratio counts as this ratio."""


@dataclass(frozen=True)
class Preference:
    """Weights of the objective.

    Attributes:
        name: name for ``--prefer``.
        text: the objective in words.
        goodput, delay, harm, start, short: weights of the terms.
    """

    name: str
    text: str
    goodput: float = 1.0
    delay: float = 0.0
    harm: float = 0.0
    start: float = 0.0
    short: float = 0.0

    @property
    def weights(self) -> dict[str, float]:
        """Weights by the name of the term."""
        return {term: float(getattr(self, term)) for term in TERMS}

    def value(self, terms: Mapping[str, float | None]) -> float | None:
        """The objective of one seed; ``None`` while a term with a weight is not measured."""
        total = 0.0
        for term, weight in self.weights.items():
            if weight == 0:
                continue
            value = terms.get(term)
            if value is None:
                return None
            total += weight * value
        return total


TERMS = ("goodput", "delay", "harm", "start", "short")
BALANCED = "balanced"
PREFERENCES = {
    kind.name: kind
    for kind in (
        Preference(
            BALANCED,
            "goodput alone, queueing delay, harm to other flows, the share of a late-starting flow",
            delay=1,
            harm=1,
            start=1,
        ),
        Preference("goodput", "goodput alone"),
        Preference("delay", "goodput alone, and four times the queueing delay", delay=4),
        Preference(
            "fairness",
            "harm to other flows, the share of a late-starting flow, and half the goodput alone",
            goodput=0.5,
            harm=1,
            start=1,
        ),
        Preference(
            "short-flows", "slowdown of the background transfers, and half the goodput alone", goodput=0.5, short=1
        ),
    )
}
"""Objectives by name, each with what it weighs."""


def preference(name: str | None) -> Preference:
    """The preference that has the given name; the balanced preference for ``None``.

    Raises:
        ScenarioError: there is no preference with this name.
    """
    found = PREFERENCES.get(name or BALANCED)
    if found is None:
        raise ScenarioError(f"'{name}' is not a preference; {hint(str(name), list(PREFERENCES))}", source="prefer")
    return found


def log_ratio(value: float | None, reference: float | None) -> float | None:
    """ln(value / reference); ``None`` if a number is unknown.

    A number below :data:`LEAST` times the other number is replaced by this product.
    """
    if value is None or reference is None:
        return None
    largest = max(value, reference)
    if largest <= 0:
        return None
    floor = LEAST * largest
    return math.log(max(value, floor) / max(reference, floor))
