"""What a flow costs the others: the same path again, with and without it.

These metrics compare two runs; the other one is given as ``reference``::

    alone = elephan.run(metrics.only_reno(run.scenario), seed=run.seed)
    metrics.tcp_friendliness(run, reference=alone)
"""

from __future__ import annotations

from collections.abc import Sequence

from elephan.metrics.reading import MetricError, Window, specs
from elephan.metrics.registry import metric
from elephan.metrics.throughput import sum_throughput_mbps
from elephan.runs.result import Run
from elephan.scenario import Scenario

Flows = Sequence[str] | None
STANDARD = "reno"


def only_reno(scenario: Scenario) -> Scenario:
    """The same path, flows, starts and names, with standard TCP everywhere: the reference of ``tcp_friendliness``.

    Flows of datagrams stay what they are.
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
    """Throughput of the Reno flows over what the same flows get when all the others are Reno too.

    1 when the others cost them nothing more than Reno would, 0 when they are starved; ``reference`` is the run of
    ``only_reno(run.scenario)``. The flows are those of algorithm ``reno`` unless given.

    Raises:
        MetricError: there is no reference, it is not of the same flows with Reno only, or no flow here is Reno.
    """
    if flows is None:
        flows = [spec.name for spec in specs(run) if _is_standard(spec.algorithm)]
        if not flows:
            raise MetricError("no flow of this run is Reno; choose the flows that others might harm with flows=[...]")
    before = _reference(reference, flows, window)
    if not all(spec.datagrams or _is_standard(spec.algorithm) for spec in specs(before)):
        raise MetricError("not all flows of the reference are Reno; make it with metrics.only_reno(run.scenario)")
    return sum_throughput_mbps(run, window, flows) / sum_throughput_mbps(before, window, flows)


@metric("harm", "1", "Ware, Mukerjee, Seshan, Sherry 2019")
def harm(run: Run, window: Window | None = None, flows: Flows = None, *, reference: Run | None = None) -> float:
    """The part of their throughput that flows lose to the others: (x − y)/x, x in the reference and y in this run.

    0 when they lose nothing, 1 when they are starved, below 0 when they gain. The reference is a run in which the
    flows are by themselves, or in whatever company they are compared with.

    Raises:
        MetricError: there is no reference, the flows are not chosen, or the reference has none of their names.
    """
    if flows is None:
        raise MetricError("choose the flows that others might harm with flows=[...]")
    before = sum_throughput_mbps(_reference(reference, flows, window), window, flows)
    return lost_part(before, sum_throughput_mbps(run, window, flows))


def lost_part(alone: float, together: float) -> float:
    """The part lost of a value of which more is better: harm, for whatever is compared.

    ``alone`` is the value in the reference, and not 0.
    """
    return (alone - together) / alone


def _reference(reference: Run | None, flows: Sequence[str], window: Window | None) -> Run:
    if reference is None:
        raise MetricError("this compares with another run; give it as reference=run")
    if sum_throughput_mbps(reference, window, flows) == 0:
        raise MetricError("nothing of these flows arrived in the reference")
    return reference


def _is_standard(algorithm: str) -> bool:
    return algorithm.partition(":")[0] == STANDARD
