"""Sources of transfers in the canonical form: start times, sizes, and round-trip times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from elephan.scenario import reading
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.form import (
    ArrivalsSpec,
    ConstantDuration,
    ConstantSize,
    DurationSpec,
    ExponentialDuration,
    ExponentialSize,
    FlowSpec,
    ListArrivals,
    LoadArrivals,
    LognormalParetoSize,
    ParetoDuration,
    ParetoSize,
    PoissonArrivals,
    RttSpec,
    SizeSpec,
    SourceSpec,
    UsersArrivals,
)
from elephan.scenario.schema import Flow, Traffic
from elephan.scenario.units import PS_PER_S, format_time
from elephan.scenario.words import hint

_PS_PER_MS = 10**9
_MOST_QUANTILES = 1001
_MOST_BYTES = 2_000_000_000
_MOST_ROWS = 20_000_000

RTTS: dict[str, tuple[tuple[float, int], ...]] = {
    "aikat": tuple(
        (share, ms * _PS_PER_MS)
        for share, ms in (
            (0.0, 5), (0.1, 15), (0.25, 27), (0.5, 72), (0.6, 100), (0.75, 145), (0.9, 280), (0.95, 500), (1.0, 1000),
        )
    ),
}  # fmt: skip
"""Named distributions of round-trip times. ``aikat``: 60 % are below 100 ms, as Aikat et al. (IMC 2003) found. The
shape of the distribution is an assumption: it is the shape of the round-trip times in ns-2's Tmix example, scaled so
that 60 % are below 100 ms."""


def source_form(flow: FlowSpec, source: Traffic, where: str, slowest_bps: int) -> SourceSpec:
    """A source of transfers with the common properties of ``flow``, on a path whose slowest link has a rate of
    ``slowest_bps``.

    Raises:
        ScenarioError: the source is stated twice or not at all, or a file cannot be read.
    """
    listed = _list(source, where)
    if listed is not None:
        return SourceSpec(flow=flow, arrivals=listed, record=_record(source))
    quantiles = rtt_quantiles(source, where)
    rtts = RttSpec(shares=tuple(share for share, _ in quantiles), rtts_ps=tuple(rtt for _, rtt in quantiles))
    return SourceSpec(
        flow=flow,
        arrivals=_arrivals(source, slowest_bps),
        sizes=_sizes(source),
        rtts=rtts if quantiles else None,
        record=_record(source),
    )


def _record(source: Traffic) -> Literal["all", "summary"]:
    return "summary" if source.record == "summary" else "all"


def duration_form(kind: str, mean_ps: int, shape: float) -> DurationSpec:
    """A distribution of durations; only a Pareto distribution has a shape."""
    match kind:
        case "constant":
            return ConstantDuration(mean_ps=mean_ps)
        case "exponential":
            return ExponentialDuration(mean_ps=mean_ps)
        case _:
            return ParetoDuration(mean_ps=mean_ps, shape=shape)


def rtt_quantiles(source: Flow | Traffic, where: str) -> Sequence[tuple[float, int]]:
    """The quantiles of the round-trip times of a source or a group of flows: shares, and times in ps; ``None`` if the
    path determines the RTT.

    Raises:
        ScenarioError: there is no distribution and no file of that name.
    """
    if isinstance(source.rtts, tuple):
        return source.rtts
    if source.rtts is None or source.rtts in RTTS:
        return RTTS.get(source.rtts or "", ())
    path = Path(source.rtts)
    place = join_path(where, "rtts")
    if path.suffix not in (".csv", ".parquet"):
        raise ScenarioError(
            f"'{source.rtts}' is not a distribution of round-trip times; {hint(source.rtts, RTTS)}; or write a .csv or "
            ".parquet file with a column rtt_ms",
            path=place,
        )
    times = sorted(_times(_column(_table(path, place), "rtt_ms", path, place), _PS_PER_MS, place))
    if len(times) < 2:
        raise ScenarioError(f"'{path}' has less than two round-trip times", path=place)
    count = min(len(times), _MOST_QUANTILES)
    picks = [round(i * (len(times) - 1) / (count - 1)) for i in range(count)]
    return [(i / (count - 1), times[pick]) for i, pick in enumerate(picks)]


def check_round_trips(source: Traffic, where: str, path_ps: int) -> None:
    """Reject round-trip times that are impossible on a path of ``path_ps``: a listed time below ``path_ps``, or a
    distribution whose times are all below ``path_ps``.

    Some quantiles of a distribution may be below the path's RTT: transfers at these quantiles have the path's RTT, and
    a caution states their number.

    Raises:
        ScenarioError: a time is impossible; the message has the shortest time and the path's RTT.
    """
    shown = format_time(path_ps)
    listed = _list(source, where)
    if listed is not None:
        short = [rtt for rtt in listed.rtts_ps if rtt < path_ps]
        if short:
            raise ScenarioError(
                f"{len(short)} of the {len(listed.rtts_ps)} round-trip times are shorter than the path's {shown}; the "
                f"shortest is {format_time(min(short))}: give the path no more delay than that",
                path=join_path(where, "transfers" if source.file is None else "file"),
            )
        return
    quantiles = rtt_quantiles(source, where)
    if quantiles and quantiles[-1][1] < path_ps:
        raise ScenarioError(
            f"all round-trip times are shorter than the path's {shown}; the longest is "
            f"{format_time(quantiles[-1][1])}: give the path less delay",
            path=join_path(where, "rtts"),
        )


def _list(source: Traffic, where: str) -> ListArrivals | None:
    """The transfers that a source lists, itself or in a file.

    Raises:
        ScenarioError: the source is stated twice or not at all, or a file cannot be read.
    """
    _check(source, where)
    if source.file is not None:
        return _replayed(Path(source.file), join_path(where, "file"))
    return None if source.transfers is None else _listed(source.transfers, join_path(where, "transfers"))


def _check(source: Traffic, where: str) -> None:
    names = ("load", "per_second", "users", "file", "transfers")
    ways = {name: getattr(source, name) for name in names}
    given = [name for name, value in ways.items() if value is not None]
    if not given:
        raise ScenarioError("missing; write load, per_second, users, file or transfers", path=join_path(where, "load"))
    if len(given) > 1:
        raise ScenarioError(
            f"{given[0]} already determines the starts of transfers; write one", path=join_path(where, given[1])
        )
    if (source.users is None) != (source.think is None):
        missing, reason = ("think", "users need a mean time to think") if source.users else ("users", "nobody thinks")
        raise ScenarioError(f"missing; {reason}", path=join_path(where, missing))
    for way, words in (("file", "is in the file"), ("transfers", "is in the list of transfers")):
        for name in ("sizes", "rtts"):
            if way in given and name in source.model_fields_set:
                raise ScenarioError(f"{words} already; leave it out", path=join_path(where, name))


def _arrivals(source: Traffic, slowest_bps: int) -> ArrivalsSpec:
    if source.users is not None and source.think is not None:
        think = duration_form(source.think_times, source.think, source.think_shape)
        return UsersArrivals(users=source.users, think=think)
    if source.per_second is not None:
        return PoissonArrivals(per_second=source.per_second)
    load = source.load or 0
    return LoadArrivals(bps=round(load * slowest_bps) if isinstance(load, float) else load)


def _sizes(source: Traffic) -> SizeSpec:
    sizes = source.sizes
    match sizes.distribution:
        case "lognormal-pareto":
            return LognormalParetoSize(
                mu=sizes.mu,
                sigma=sizes.sigma,
                body_share=sizes.body_share,
                tail_bytes=float(sizes.tail),
                tail_shape=sizes.tail_shape,
                most_bytes=float(sizes.most),
            )
        case "pareto":
            return ParetoSize(mean_bytes=float(sizes.mean), shape=sizes.shape)
        case "constant":
            return ConstantSize(mean_bytes=float(sizes.mean))
        case _:
            return ExponentialSize(mean_bytes=float(sizes.mean))


def _listed(transfers: Sequence[tuple[int, int, int | None]], place: str) -> ListArrivals:
    rows = sorted(transfers, key=lambda row: row[0])
    rtts = [rtt for _, _, rtt in rows if rtt is not None]
    if rtts and len(rtts) < len(rows):
        raise ScenarioError("some have a round-trip time and some have none; write it for all or for none", path=place)
    return ListArrivals(
        starts_ps=tuple(row[0] for row in rows), sizes_bytes=tuple(row[1] for row in rows), rtts_ps=tuple(rtts)
    )


def _replayed(path: Path, place: str) -> ListArrivals:
    table = _table(path, place)
    starts = _times(_column(table, "start_s", path, place), PS_PER_S, place)
    sizes = [round(size) for size in _column(table, "size_bytes", path, place)]
    rtts: list[int] = []
    if "rtt_ms" in table.columns:
        rtts = _times(_column(table, "rtt_ms", path, place), _PS_PER_MS, place)
    order = sorted(range(len(starts)), key=lambda i: starts[i])
    return ListArrivals(
        starts_ps=tuple(starts[i] for i in order),
        sizes_bytes=tuple(sizes[i] for i in order),
        rtts_ps=tuple(rtts[i] for i in order) if rtts else (),
    )


def _table(path: Path, place: str) -> Any:
    try:
        return reading.read_table(path, _MOST_BYTES, _MOST_ROWS)
    except ScenarioError as error:
        raise error.located(path=place) from None


def _column(table: Any, name: str, path: Path, place: str) -> list[float]:
    if name not in table.columns:
        raise ScenarioError(f"'{path}' has no column {name}; its columns are {', '.join(table.columns)}", path=place)
    values: list[Any] = table[name].to_list()
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ScenarioError(f"'{path}', row {row}: {value!r} is not a {name}", path=place)
    return values


def _times(values: Sequence[float], unit_ps: int, place: str) -> list[int]:
    times = [round(value * unit_ps) for value in values]
    if any(time >= 2**62 for time in times):
        raise ScenarioError("a time is longer than the clock, 53 days", path=place)
    return times
