"""The registry of metrics: every number that Elephan reports is defined once, by a function registered here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from elephan.hooks import hook
from elephan.metrics.errors import MetricError
from elephan.metrics.ranges import POSITIVE, Range
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.runs import Run

Scope = Literal["run", "flow", "link"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """A registered metric; a metric is called like its function: ``metric(run, window=(250, 500))``.

    Attributes:
        name: name in claims, tables and JSON.
        unit: unit of the value; ``1`` for a ratio.
        source: the paper, RFC or convention that the definition comes from.
        scope: ``run`` and ``link`` metrics give one number, and a ``flow`` metric gives one number for each flow, in
            order of start.
        function: function that computes it.
        aliases: other names of the same definition.
        within: lowest and highest value that the quantity can have.
    """

    name: str
    unit: str
    source: str
    scope: Scope
    function: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    within: Range = POSITIVE

    @property
    def title(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]

    @property
    def label(self) -> str:
        """The quantity in a few words, without its unit, for a sentence with a value."""
        return _LABELS.get(self.name) or spelled(self.name)

    @property
    def shown_unit(self) -> str:
        """The unit beside a value; empty for a ratio."""
        return "" if self.unit == "1" else self.unit

    def heading(self, name: str = "") -> str:
        """The name, or the one that was asked for, with the unit, over values."""
        return f"{name or self.name} ({self.unit})" if self.shown_unit else name or self.name

    @property
    def doc(self) -> str:
        """The whole definition, as the function's docstring states it."""
        return cleandoc(self.function.__doc__ or "")

    def __call__(self, run: Any, *args: Any, **options: Any) -> Any:
        """The metric's value for a run; ``options`` are passed to the function."""
        return self.function(run, *args, **options)


UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "pkts": "packets", "bytes": "B", "mib": "MiB"}
"""The last word of the name of a quantity, and the unit that it stands for."""
_SPELLED = {
    "rtt": "RTT", "srtt": "smoothed RTT", "owd": "one-way delay", "cwnd": "congestion window", "bdp": "BDP",
    "wnd": "window", "ecn": "ECN", "cov": "coefficient of variation of the", "abs": "absolute", "p50": "median",
    "p95": "95 % quantile", "p99": "99 % quantile", "jain": "Jain's index", "n": "number of",
    "rtt1": "first RTT", "rtt2": "second RTT", "start2": "second start",
}  # fmt: skip


def spelled(name: str) -> str:
    """The name of a quantity in words, without its unit."""
    words = name.split("_")
    return " ".join(_SPELLED.get(word, word) for word in (words[:-1] if words[-1] in UNITS else words))


_LABELS = {
    "backoff_delta": "multiplicative decrease",
    "completed": "share of complete runs",
    "completed_fraction": "completed fraction of the transfers",
    "completion_s": "completion time",
    "cwnd_cov": "coefficient of variation of the congestion window",
    "cwnd_curvature": "curvature of the congestion window",
    "cwnd_fraction_of_bdp": "congestion window over the BDP",
    "increase_pkts_per_rtt": "increase of the window in an RTT",
    "jain_fi": "Jain's index",
    "jain_fi_when_all_active": "Jain's index while all flows are active",
    "max_cwnd_pkts": "largest congestion window",
    "max_queue_pkts": "largest queue",
    "mean_dwnd_fraction": "mean share of the delay-based window",
    "mean_flow_duration_ms": "mean duration of the transfers",
    "mean_queue_delay_ms": "mean queueing delay",
    "min_max_ratio": "smallest over largest throughput",
    "min_queue_pkts": "smallest queue",
    "offered_pkts_per_rtt": "packets sent in an RTT",
    "owd_p50_ms": "median one-way delay",
    "owd_p95_ms": "95 % quantile of the one-way delay",
    "owd_p99_ms": "99 % quantile of the one-way delay",
    "peak_window_over_bdp": "largest window over the BDP",
    "queue_cov": "coefficient of variation of the queue",
    "response_pkts_per_rtt": "packets in an RTT",
    "retransmit_rate": "retransmission rate",
    "rtt_fairness_ratio": "throughput of the short RTT over that of the long one",
    "short_flow_total_mbps": "throughput of all short flows",
    "sum_goodput_mbps": "goodput of all flows",
    "sum_throughput_mbps": "throughput of all flows",
}
"""Metrics whose label is not made from their name."""

_METRICS: dict[str, Metric] = {}
_ALIASES: dict[str, str] = {}


def metric(
    name: str,
    unit: str,
    source: str,
    *,
    scope: Scope = "run",
    aliases: tuple[str, ...] = (),
    within: Range = POSITIVE,
) -> Callable[[F], F]:
    """Register the decorated function as the definition of ``name``.

    Raises:
        ValueError: the name is taken, or the function has no docstring (the text of the definition).
    """

    def register(function: F) -> F:
        for taken in (name, *aliases):
            if taken in _METRICS or taken in _ALIASES:
                raise ValueError(f"the metric '{taken}' is defined twice")
        if not function.__doc__:
            raise ValueError(f"the metric '{name}' has no definition; write it as the docstring")
        _METRICS[name] = Metric(name, unit, source, scope, function, aliases, within)
        _ALIASES.update(dict.fromkeys(aliases, name))
        return function

    return register


def get(name: str) -> Metric:
    """The metric of a name or alias.

    Raises:
        MetricError: there is no such metric; the message has the most similar name.
    """
    found = find(name)
    if found is None:
        raise MetricError(
            f"'{name}' is not a metric; {hint(name, [*_METRICS, *_ALIASES], lister='elephan list metrics')}"
        )
    return found


def of_run(run: Run, name: str, **options: Any) -> Any:
    """A metric of a run by its name.

    Raises:
        MetricError: there is no such metric or option, or the metric is not defined for this run.
    """
    metric = get(name)
    known = [option for option in signature(metric.function).parameters if option != "run"]
    for option in options:
        if option not in known:
            raise MetricError(f"'{name}' has no option '{option}'; {hint(option, known)}")
    return metric(run, **options)


def find(name: str) -> Metric | None:
    """The metric of a name or alias; ``None`` if there is no such metric."""
    hook("metrics")()
    return _METRICS.get(_ALIASES.get(name, name))


def registry() -> dict[str, Metric]:
    """All metrics by name, in alphabetical order."""
    hook("metrics")()
    return dict(sorted(_METRICS.items()))
