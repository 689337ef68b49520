"""Fairness between flows: indices of equality, and ratios of shares."""

from __future__ import annotations

from collections.abc import Sequence

from elephan.metrics.compiled import number
from elephan.metrics.errors import MetricError, Window
from elephan.metrics.ranges import REAL, SHARE
from elephan.metrics.registry import metric
from elephan.runs.result import Run
from elephan.scenario.catalog import engine

Flows = Sequence[str] | None
FAIRNESS_BIN_S = 1.0


@metric("jain_fi", "1", "Jain, Chiu, Hawe 1984; RFC 5166 §2.3.1", aliases=("jain",), within=SHARE)
def jain_fi(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Jain's index (Σx)² / (n Σx²) of the flows' throughputs; 1 for equal throughputs, 1/n if one flow has all.

    Raises:
        MetricError: nothing arrived.
    """
    return number(run, "jain_fi", window, flows=flows)


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index of rates in any unit.

    Raises:
        MetricError: all are zero.
    """
    try:
        found: float = engine().jain_index([float(rate) for rate in rates])
    except engine().UndefinedError as error:
        raise MetricError(error.args[0]) from None
    return found


@metric("mean_jain_fi", "1", "ha2006 §4.7: fairness index over time scales", within=SHARE)
def mean_jain_fi(
    run: Run, window: Window | None = None, flows: Flows = None, *, bin_s: float = FAIRNESS_BIN_S
) -> float:
    """Mean of Jain's index over bins of 1 s, or of ``bin_s``: the fairness at that time scale.

    Flows that take turns are fair over the whole window and unfair in each bin. Bins without arrivals are left out, and
    so is an incomplete bin at the window's end.

    Raises:
        MetricError: nothing arrived in any bin.
    """
    return number(run, "mean_jain_fi", window, flows=flows, bin_s=bin_s)


@metric("jain_fi_when_all_active", "1", "our interpretation of hcc2011 figs. 12 and 13", within=SHARE)
def jain_fi_when_all_active(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Jain's index of the throughputs over the time of the window in which all flows are active.

    The time begins with the first sample after the last start, and ends with the last sample before the first end. The
    window is the whole run unless given.

    Raises:
        MetricError: the flows are never all active, or nothing arrived.
    """
    return number(run, "jain_fi_when_all_active", window, flows=flows)


@metric("min_max_ratio", "1", "RFC 5166 §2.3.1: epsilon-fairness", within=SHARE)
def min_max_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """The smallest throughput over the largest; 1 if all are equal, 0 if a flow is starved.

    Flows are ε-fair when this ratio is at least 1 − ε.

    Raises:
        MetricError: nothing arrived.
    """
    return number(run, "min_max_ratio", window, flows=flows)


@metric("product_fairness", "1", "RFC 5166 §2.3.1: product measure", within=SHARE)
def product_fairness(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Geometric over arithmetic mean of the throughputs; 1 if all are equal, 0 if a flow is starved.

    Proportional fairness maximizes the product of the throughputs. The product depends on the unit and on the number of
    flows; the n-th root of the product, divided by the mean, does not depend on them.

    Raises:
        MetricError: nothing arrived.
    """
    return number(run, "product_fairness", window, flows=flows)


@metric("asymmetry", "1", "Bullot, Cottrell, Hughes-Jones 2003", within=(-1.0, 1.0))
def asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """(x₁ − x₂) / (x₁ + x₂) of the throughputs of two flows, numbered in order of start; 1 if the first flow has all.

    Raises:
        MetricError: there are not two flows, or nothing arrived.
    """
    return number(run, "asymmetry", window, flows=flows)


@metric("abs_asymmetry", "1", "weigle2006 §3", within=SHARE)
def abs_asymmetry(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Absolute value of the asymmetry of two flows; 0 for equal shares, 1 if one flow has all of the throughput."""
    return number(run, "abs_asymmetry", window, flows=flows)


@metric("throughput_ratio", "1", "leith2008 §VI: figs. 8 and 9")
def throughput_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of the throughputs of two flows, the first over the second, in order of start.

    Raises:
        MetricError: there are not two flows, or no data of the second flow arrived.
    """
    return number(run, "throughput_ratio", window, flows=flows)


@metric("rtt_fairness_ratio", "1", "RFC 5166 §2.3.2", aliases=("throughput_ratio_short_over_long",))
def rtt_fairness_ratio(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of throughputs: the flow with the shortest propagation RTT over the flow with the longest.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the longest RTT.
    """
    return number(run, "rtt_fairness_ratio", window, flows=flows)


@metric("throughput_ratio_long_over_short", "1", "leith2008 §V: fig. 7")
def throughput_ratio_long_over_short(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Ratio of throughputs: the flow with the longest propagation RTT over the flow with the shortest.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the shortest RTT.
    """
    return number(run, "throughput_ratio_long_over_short", window, flows=flows)


@metric("rtt_fairness_exponent", "1", "Lakshman, Madhow 1997; the two notions of ha2006 §4.4", within=REAL)
def rtt_fairness_exponent(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """Exponent a of throughput ∝ RTT⁻ᵃ, from the flows with the shortest and the longest RTT.

    The exponent is 0 for equal shares at any RTT, 1 for shares in inverse proportion to the RTT, and 2 for the shares
    of Reno flows with synchronized losses. With an exponent below 0, the flow with the longer RTT has the larger share.
    RTTs are those of propagation.

    Raises:
        MetricError: all flows have the same RTT, or nothing arrived from the flow with the shortest or the longest RTT.
    """
    return number(run, "rtt_fairness_exponent", window, flows=flows)
