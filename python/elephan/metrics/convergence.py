"""Time until a late-starting flow has its share, by the definitions of the papers that measured it.

The papers have no common definition. ``convergence_time_s`` is the definition of ha2006, and
``convergence_accumulated_time_s`` is a variant of that definition. ``convergence_cwnd_time_s`` and
``convergence_epochs`` are the definitions of leith2008. The papers weigle2006 and hcc2011 report the time at which
flows meet, without a rule; ``convergence_abs_time_s`` is our interpretation. ``delta_fair_convergence_time_s`` is the
definition of RFC 5166. The paper katto2008 has no definition.
"""

from __future__ import annotations

from collections.abc import Sequence

from elephan.metrics.compiled import number
from elephan.metrics.errors import Window
from elephan.metrics.ranges import SHARE
from elephan.metrics.registry import metric
from elephan.runs.result import Run

Flows = Sequence[str] | None
RUNNING_MEAN_S = 10
REACHED = 0.8
CLOSE = 0.1
HOLD_S = 20
STAYS_S = 30
DELTA = 0.1
STEADY = 0.95


@metric("convergence_time_s", "s", "ha2006 §4.7: 80 % of the first flow's timed average, at steps of 1 s")
def convergence_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
) -> float:
    """Time from the second flow's start until its mean throughput first reaches 80 % of the first flow's.

    The means are running means over the previous 10 s, at whole seconds, from 10 s after the second flow's start. The
    value is infinite if this never happens. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    return number(run, "convergence_time_s", window, flows=flows, mean_s=mean_s, reached=reached)


@metric("converged", "1", "ha2006 §4.7", within=SHARE)
def converged(run: Run, window: Window | None = None, flows: Flows = None) -> float:
    """1 if the second flow converges as ``convergence_time_s`` defines, else 0."""
    return number(run, "converged", window, flows=flows)


@metric("convergence_accumulated_time_s", "s", "ha2006 §4.7, the other interpretation of a timed average")
def convergence_accumulated_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, reached: float = REACHED
) -> float:
    """Time from the second flow's start until its bytes since then are 80 % of the first flow's, at whole seconds.

    This metric is ``convergence_time_s`` with cumulative means from the second flow's start instead of running means.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less than a second.
    """
    return number(run, "convergence_accumulated_time_s", window, flows=flows, reached=reached)


@metric("convergence_cwnd_time_s", "s", "our interpretation of leith2008 §IV.B")
def convergence_cwnd_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
    stays_s: int = STAYS_S,
) -> float:
    """Time from the second flow's start until its mean window stays above 80 % of the first flow's for 30 s.

    Congestion windows are averaged over the previous 10 s, at steps of 1 s. The value is the beginning of the 30 s, or
    infinite if the mean window never stays above 80 % for 30 s. The paper states that a new flow obtains its fair share
    on average, and shows windows; the mean, the 80 % and the 30 s are our choice. The window is the whole run unless
    given.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    return number(run, "convergence_cwnd_time_s", window, flows=flows, mean_s=mean_s, reached=reached, stays_s=stays_s)


@metric("convergence_epochs", "epochs", "leith2008 §IV: within 95 % of the steady state")
def convergence_epochs(run: Run, window: Window | None = None, flows: Flows = None, *, steady: float = STEADY) -> float:
    """Number of congestion epochs until the second flow has 95 % of its fair share over an epoch; about 4 for Reno.

    Epochs lie between successive backoffs of the first flow; the first epoch begins with the first flow's first backoff
    after the second flow's start. The fair share is half of both flows' data in the epoch. The value is infinite if the
    second flow has 95 % of its fair share in no complete epoch. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows, both start together, or the first backs off fewer than two times.
    """
    return number(run, "convergence_epochs", window, flows=flows, steady=steady)


@metric("fairness_excursion_s", "s", "our interpretation of leith2008 fig. 4", aliases=("fairness_excursion",))
def fairness_excursion_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    reached: float = REACHED,
) -> float:
    """Longest time for which two flows diverge again after convergence.

    The flows diverge while one running mean is below 80 % of the other running mean. The means are those of
    ``convergence_time_s``. The metric considers only the time after the convergence. The value is 0 if the flows do not
    diverge.

    Raises:
        MetricError: the errors of ``convergence_time_s``, or the flows never converge.
    """
    return number(run, "fairness_excursion_s", window, flows=flows, mean_s=mean_s, reached=reached)


@metric("jain_convergence_time_s", "s", "Elephan's own definition, of Jain's index")
def jain_convergence_time_s(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    mean_s: int = RUNNING_MEAN_S,
    index: float = STEADY,
) -> float:
    """Time from the last start until Jain's index of all flows' running means reaches 0.95, for any number of flows.

    The means are as in ``convergence_time_s``, from the first whole second at which all flows are active; the value is
    infinite if the index never reaches 0.95. The window is the whole run unless given.

    Raises:
        MetricError: there is only one flow, or all flows are active for less than one mean.
    """
    return number(run, "jain_convergence_time_s", window, flows=flows, mean_s=mean_s, index=index)


@metric("delta_fair_convergence_time_s", "s", "Bansal et al. 2001; RFC 5166 §2.3")
def delta_fair_convergence_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, mean_s: int = RUNNING_MEAN_S, delta: float = DELTA
) -> float:
    """Time from the second flow's start until its share of both flows' throughput reaches (1 − δ)/2, with δ = 0.1.

    Throughputs are running means over 10 s. The running means are those of ``convergence_time_s``. The value is
    infinite if the second flow never has this share.

    Raises:
        MetricError: there are not two flows, both start together, or both are active for less time than one running
            mean.
    """
    return number(run, "delta_fair_convergence_time_s", window, flows=flows, mean_s=mean_s, delta=delta)


@metric("convergence_abs_time_s", "s", "our interpretation of weigle2006 and hcc2011")
def convergence_abs_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, hold_s: int = HOLD_S, within: float = CLOSE
) -> float:
    """Simulated time from which the throughputs of two flows stay within 10 % of each other for 20 s.

    Throughputs are taken in bins of 1 s; within 10 % means that they differ by at most 0.1 of the larger throughput.
    The value is the beginning of the first 20 s of this kind after both flows have started; infinite if the flows never
    stay so close. The window is the whole run unless given.

    Raises:
        MetricError: there are not two flows.
    """
    return number(run, "convergence_abs_time_s", window, flows=flows, hold_s=hold_s, within=within)


@metric("rates_close_time_s", "s", "our interpretation of hcc2011 figs. 11 to 13")
def rates_close_time_s(
    run: Run, window: Window | None = None, flows: Flows = None, *, hold_s: int = HOLD_S, within: float = CLOSE
) -> float:
    """Time from the last start until the throughputs of all flows stay within 10 % of each other for 20 s.

    This metric is ``convergence_abs_time_s`` for any number of flows, counted from the start of the last flow.

    Raises:
        MetricError: there is only one flow, or the window contains no whole second in which all flows are active.
    """
    return number(run, "rates_close_time_s", window, flows=flows, hold_s=hold_s, within=within)
