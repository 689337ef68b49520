"""The paper's own Table 2, read from the claims, with checks of its consistency."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from elephan.evaluation.conditions import Value
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measuring import Rule, Suite, stated
from elephan.metrics import jain_index
from elephan.papers.claims import ClaimSet

Row = Mapping[str, float]
"""One protocol at one ratio: both throughputs and their sum in Mbit/s, and Jain's index, by the metric of the claim."""


def rows(claims: ClaimSet) -> dict[tuple[str, str, Value], dict[str, float]]:
    """The rows of Table 2 as printed, by experiment, protocol and ratio."""
    found: dict[tuple[str, str, Value], dict[str, float]] = {}
    for claim in claims.claims:
        if claim.experiment in ("hcc2011.T2a", "hcc2011.T2b") and claim.relation == "approx":
            key = claim.experiment, claim.subject, (claim.conditions or {})["rtt_ratio"]
            found.setdefault(key, {})[claim.metric] = claim.limit
    return found


def measurer(table: Collection[Row], runs: Evidence) -> Suite:
    """The measurements of the whole table."""

    def largest(number: Callable[[float, float, float, float], float]) -> Rule:
        metrics = ("throughput_mbps_flow1", "throughput_mbps_flow2", "sum_throughput_mbps", "jain_fi")
        value = max(number(*(row[metric] for metric in metrics)) for row in table)
        return stated(value, f"over {len(table)} rows as printed")

    residual = {
        "EI_minus_T1_plus_T2": largest(lambda t1, t2, ei, fi: abs(ei - t1 - t2)),
        "FI_minus_formula": largest(lambda t1, t2, ei, fi: abs(fi - jain_index([t1, t2]))),
    }
    found: dict[str, Rule] = {
        "max_abs_residual": lambda suite, subject, at: residual[subject](suite, subject, at),
        "sum_throughput_mbps": largest(lambda t1, t2, ei, fi: ei),
        "max_sum_throughput_mbps": largest(lambda t1, t2, ei, fi: ei),
    }
    return Suite(runs, None, found)
