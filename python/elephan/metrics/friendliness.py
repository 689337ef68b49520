"""Harm of a flow to others: comparison of runs on the same path with and without the flow.

The metrics of this module compare two runs; the other run is given as ``reference``::

    alone = elephan.run(metrics.only_reno(run.scenario), seed=run.seed)
    metrics.tcp_friendliness(run, reference=alone)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from elephan.metrics.delay import mean_srtt_ms
from elephan.metrics.ranges import LOST
from elephan.metrics.reading import MetricError, Window, specs
from elephan.metrics.registry import metric
from elephan.metrics.throughput import sum_goodput_mbps, sum_throughput_mbps
from elephan.metrics.transfers import mean_flow_duration_ms
from elephan.metrics.windows import retransmit_rate
from elephan.runs.result import Run
from elephan.scenario import Scenario
from elephan.scenario.words import hint

Flows = Sequence[str] | None
STANDARD = "reno"


def only_reno(scenario: Scenario) -> Scenario:
    """The same path, flows, starts and names, with standard TCP everywhere: the reference of ``tcp_friendliness``.

    Flows of datagrams are unchanged.
    """
    tables = scenario.to_dict()
    for name, flow in zip(scenario.flow_names, tables["flow"], strict=True):
        if "datagrams" not in flow:
            flow.pop("parameters", None)
            flow |= {"algorithm": STANDARD, "name": name}
    return Scenario(**tables)


@metric("tcp_friendliness", "1", "RFC 9743 §5.2.1; Tokuda, Hasegawa, Murata 2003")
def tcp_friendliness(
    run: Run, window: Window | None = None, flows: Flows = None, *, reference: Run | None = None
) -> float:
    """Throughput of the Reno flows, relative to their throughput in a run in which all other flows are Reno too.

    The value is 1 if the other flows harm the Reno flows no more than Reno would, and 0 if the Reno flows are starved.
    ``reference`` is the run of ``only_reno(run.scenario)``. The default flows are those of algorithm ``reno``.

    Raises:
        MetricError: there is no reference, the reference does not have the same flows with Reno only, or no flow of
            this run is Reno.
    """
    if flows is None:
        flows = [spec.name for spec in specs(run) if _is_standard(spec.algorithm)]
        if not flows:
            raise MetricError("no flow of this run is Reno; choose the flows that others might harm with flows=[...]")
    before = _reference(reference, flows, window)
    if not all(spec.datagrams or _is_standard(spec.algorithm) for spec in specs(before)):
        raise MetricError("not all flows of the reference are Reno; make it with metrics.only_reno(run.scenario)")
    return sum_throughput_mbps(run, window, flows) / sum_throughput_mbps(before, window, flows)


@metric("harm", "1", "Ware, Mukerjee, Seshan, Sherry 2019", within=LOST)
def harm(
    run: Run,
    window: Window | None = None,
    flows: Flows = None,
    *,
    reference: Run | None = None,
    of: Performance = "goodput",
    reference_flows: Flows = None,
) -> float:
    """Fraction of one quantity, such as goodput, that flows lose because of other flows.

    The harm is (x − y)/x for a quantity that should be large, and (y − x)/y otherwise; x is the value in the
    reference and y the value in this run. The harm is 0 if the flows lose nothing, 1 if they are starved, and below 0
    if they gain. The reference is a run of the flows alone, or beside other flows for comparison. ``of`` names the
    quantity:

    - ``"goodput"``: sum of the flows' goodputs; more is better.
    - ``"delay"``: mean over the flows of the mean smoothed RTT; less is better.
    - ``"loss"``: mean over the flows of retransmissions for each delivered segment; less is better.
    - ``"completion"``: mean duration of the transfers that start in the window and finish; less is better.

    ``reference_flows`` are the names of the flows in the reference, if the names differ.

    Raises:
        MetricError: there is no reference, the flows are not chosen, the quantity is unknown or not defined for one of
            the runs, or the divisor of the harm is 0.
    """
    if flows is None:
        raise MetricError("choose the flows that others might harm with flows=[...]")
    if of not in _PERFORMANCES:
        raise MetricError(f"'{of}' is not a quantity of harm; {hint(of, list(_PERFORMANCES))}")
    if reference is None:
        raise MetricError("this compares with another run; give it as reference=run")
    measure, more_is_better = _PERFORMANCES[of]
    before = measure(reference, window, flows if reference_flows is None else reference_flows)
    try:
        return fraction_lost(before, measure(run, window, flows), more_is_better=more_is_better)
    except ZeroDivisionError:
        missing = "has no goodput in the reference" if more_is_better else "has none of it in this run"
        raise MetricError(f"harm in {of} is not defined: {', '.join(flows)} {missing}") from None


def fraction_lost(alone: float, together: float, *, more_is_better: bool = True) -> float:
    """Fraction of a performance that is lost between two values.

    The fraction is (alone − together)/alone if more is better, otherwise (together − alone)/together; 0 for two zeros.

    Raises:
        ZeroDivisionError: the divisor is 0.
    """
    if not more_is_better and alone == together:
        return 0.0
    return (alone - together) / alone if more_is_better else (together - alone) / together


def _mean_rtt_ms(run: Run, window: Window | None, flows: Flows) -> float:
    return fmean(mean_srtt_ms(run, window, flows).values())


def _retransmitted(run: Run, window: Window | None, flows: Flows) -> float:
    return fmean(retransmit_rate(run, window, flows).values())


Performance = Literal["goodput", "delay", "loss", "completion"]
_PERFORMANCES: dict[str, tuple[Callable[[Run, Window | None, Flows], float], bool]] = {
    "goodput": (sum_goodput_mbps, True),
    "delay": (_mean_rtt_ms, False),
    "loss": (_retransmitted, False),
    "completion": (mean_flow_duration_ms, False),
}
"""For each quantity of harm, its metric, and true if a higher value is better."""


def _reference(reference: Run | None, flows: Sequence[str], window: Window | None) -> Run:
    if reference is None:
        raise MetricError("this compares with another run; give it as reference=run")
    if sum_throughput_mbps(reference, window, flows) == 0:
        raise MetricError("nothing of these flows arrived in the reference")
    return reference


def _is_standard(algorithm: str) -> bool:
    return algorithm.partition(":")[0] == STANDARD
