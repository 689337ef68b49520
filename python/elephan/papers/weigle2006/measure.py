"""How the subjects of weigle2006's claims are measured; the numbers are defined in :mod:`elephan.metrics`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from statistics import fmean, median

from elephan.evaluation.conditions import Value, Where, span
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.evaluation.relations import SIGN_FLOOR
from elephan.papers.claims import Claim, ClaimError, ClaimSet
from elephan.papers.weigle2006.setup import BUFFER, LATE_S, PAIRS, PROTOCOLS, Pair, Setup, label
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present

REGIONS = 5
# Members of each region as the paper states or forces them; of the ten pairs that Regions 2 and 4 share, five are
# certain in 2 and three in 4, and five each leaves one of the three open pairs for Region 3.
REGION_COUNTS = (4, 5, 13, 5, 9)
MIB = 2**20

_WHERE = {"flow1", "flow2", "buffer_pkts", "start2_s", "window_s", "alpha"}
_GROUP = re.compile(r"(?:certain members of region (\d)|region (\d) members)")
_FLOW_METRICS = ("throughput_share", "mean_cwnd_pkts", "cwnd_fraction_of_bdp")
_QUEUE_METRICS = ("queue_cov", "mean_queue_pkts", "min_queue_pkts")


def region_of(abs_asymmetry: float) -> int:
    """The region of an |A| when the five are equal fifths of its range: 1 is the fairest."""
    return min(REGIONS, int(abs_asymmetry * REGIONS) + 1)


def regions_by_rank(values: Sequence[float]) -> list[int]:
    """The region of each value when the regions have the paper's numbers of members; Region 1 has the smallest."""
    regions = [number for number, count in enumerate(REGION_COUNTS, start=1) for _ in range(count)]
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0] * len(values)
    for rank, position in enumerate(order):
        found[position] = regions[rank]
    return found


def boundaries(values: Sequence[float], reading: str) -> list[float]:
    """The |A| between each region and the next: fifths, or halfway between the neighbors in rank.

    By rank all 36 values are needed; with fewer there are no boundaries.
    """
    if reading == "fifths":
        return [number / REGIONS for number in range(1, REGIONS)]
    if len(values) != len(PAIRS):
        return []
    ordered = sorted(values)
    ends = list(accumulate(REGION_COUNTS))[:-1]
    return [(ordered[end - 1] + ordered[end]) / 2 for end in ends]


def certain_regions(claims: ClaimSet) -> dict[Pair, int]:
    """The region of each pair that the paper places, from the claims themselves."""
    return {
        parse_pair(claim.subject): int(claim.limit)
        for claim in claims.claims
        if claim.metric == "region" and claim.certainty == "certain"
    }


def parse_pair(subject: str) -> Pair:
    """``a>b`` as a pair.

    Raises:
        ClaimError: it is none.
    """
    first, _, second = subject.partition(">")
    if first not in PROTOCOLS or second not in PROTOCOLS:
        raise ClaimError(f"'{subject}' is not a pair of {', '.join(PROTOCOLS)}")
    return first, second


@dataclass(frozen=True)
class Context:
    """The conditions of a claim."""

    buffer: int = BUFFER
    late_s: int = LATE_S
    window: tuple[float, float] | None = None
    pair: Pair | None = None


class WeigleMeasurer:
    """Measures the subjects of the claims in the runs of one setup."""

    def __init__(self, runs: RunSet, setup: Setup, placed: Mapping[Pair, int]) -> None:
        self._runs = runs
        self._setup = setup
        self._placed = placed

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """No claim of this paper goes along a parameter."""
        raise NotJudgedError(f"the paper has no points along {parameter}")

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: its runs are not there.
            ClaimError: nothing here knows how it is measured.
        """
        at = self._context(where)
        if metric in _FLOW_METRICS:
            return self._flow(metric, subject, at)
        if metric in _QUEUE_METRICS:
            return self._queue(metric, subject, at)
        if metric in ("asymmetry", "abs_asymmetry", "convergence_abs_time_s"):
            return self._pair_or_group(metric, subject, at)
        special: dict[str, Callable[[str, Context], Measurement]] = {
            "region": lambda subject, at: self._region(parse_pair(subject)),
            "abs_asymmetry_range": self._range,
            "reduction_abs_asymmetry": self._reduction,
            "utilization": self._lowest_utilization,
            "mean_utilization": partial(self._over_pairs, "utilization"),
            "mean_abs_asymmetry": partial(self._over_pairs, "abs_asymmetry"),
            "packets": self._packets,
            "receive_window_mib": self._receive_window_mib,
            "rtt_ms": self._rtt_ms,
        }
        measure = special.get(metric) or self._counts().get(metric)
        if measure is None:
            raise ClaimError(f"{claim.id}: metric: '{metric}' is not measured here")
        return measure(subject, at)

    # ---- conditions ----

    def _context(self, where: Where) -> Context:
        if unknown := set(where) - _WHERE:
            raise ClaimError(f"where: {', '.join(sorted(unknown))} is not understood")
        alpha = where.get("alpha", self._setup.fast_alpha)
        if alpha != self._setup.fast_alpha:
            raise NotJudgedError(f"it is about an alpha of {alpha}, and this setup has {self._setup.fast_alpha}")
        pair = (str(where["flow1"]), str(where["flow2"])) if "flow1" in where and "flow2" in where else None
        return Context(
            buffer=int(where.get("buffer_pkts", BUFFER)),
            late_s=int(where.get("start2_s", LATE_S)),
            window=span(str(where["window_s"])) if "window_s" in where else None,
            pair=pair,
        )

    def _scenario(self, pair: Pair, at: Context) -> Scenario:
        return self._setup.scenario(pair, at.buffer, at.late_s)

    # ---- one run ----

    def _values(self, metric: str, pair: Pair, at: Context, flow: str | None = None) -> Measurement:
        """A metric of a pair's runs, one value a seed; of one flow when the metric has one for each."""
        runs = self._runs.of(self._scenario(pair, at))
        found = [self._runs.metric(run, metric, at.window) for run in runs]
        values = tuple(float(value if flow is None else value[flow]) for value in found)
        return Measurement(sample=values, runs=tuple(run.id for run in runs))

    def _flow(self, metric: str, subject: str, at: Context) -> Measurement:
        protocol, _, which = subject.partition(":")
        if which:
            return self._values(metric, (protocol, protocol), at, f"{protocol}-{which.removeprefix('flow')}")
        if at.pair is None or at.pair.count(protocol) != 1:
            raise ClaimError(f"which flow is '{subject}'? the conditions name {at.pair}")
        return self._values(metric, at.pair, at, f"{protocol}-{at.pair.index(protocol) + 1}")

    def _pair_or_group(self, metric: str, subject: str, at: Context) -> Measurement:
        if group := _GROUP.fullmatch(subject):
            region = int(group[1] or group[2])
            members = self._members(region)
            detail = (
                f"region {region} from {min(m.value() for m in members):.2f} to {max(m.value() for m in members):.2f}"
            )
            return combined(members, median, detail)
        pair = (subject, subject) if subject in PROTOCOLS else parse_pair(subject)
        return self._values(metric, pair, at)

    def _members(self, region: int) -> list[Measurement]:
        """|A| of the pairs that the paper certainly places in a region."""
        return [self._asymmetry(pair, absolute=True) for pair, placed in self._placed.items() if placed == region]

    def _asymmetry(self, pair: Pair, *, absolute: bool = False) -> Measurement:
        return self._values("abs_asymmetry" if absolute else "asymmetry", pair, Context())

    # ---- regions ----

    def _region(self, pair: Pair) -> Measurement:
        own = self._asymmetry(pair, absolute=True)
        detail = f"|A| {own.value():.3f}"
        if self._setup.regions == "fifths":
            return Measurement(children=(own,), combine=lambda values: float(region_of(values[0])), detail=detail)
        position = PAIRS.index(pair)
        everyone = [self._asymmetry(other, absolute=True) for other in PAIRS]
        return combined(everyone, lambda values: float(regions_by_rank(values)[position]), detail)

    def _regions(self, pairs: Iterable[Pair]) -> list[Measurement]:
        return [self._region(pair) for pair in pairs]

    def _range(self, subject: str, at: Context) -> Measurement:
        group = _GROUP.fullmatch(subject)
        if group is None:
            raise ClaimError(f"'{subject}' is not a region's members")
        return combined(self._members(int(group[1] or group[2])), lambda values: max(values) - min(values))

    def _reduction(self, subject: str, at: Context) -> Measurement:
        pair = (subject, subject)
        late = self._asymmetry(pair, absolute=True)
        together = self._values("abs_asymmetry", pair, Context(late_s=0))
        return combined([late, together], lambda values: values[0] - values[1])

    # ---- all pairs ----

    def _lowest_utilization(self, subject: str, at: Context) -> Measurement:
        parts = {pair: self._values("utilization", pair, at) for pair in PAIRS}
        lowest = min(parts, key=lambda pair: parts[pair].value())
        return combined(parts.values(), min, f"lowest for {label(lowest)}")

    def _over_pairs(self, metric: str, subject: str, at: Context) -> Measurement:
        """Mean over the 36 pairs; the subject is the buffer in packets."""
        there = Context(buffer=int(subject), late_s=at.late_s, window=at.window)
        return combined([self._values(metric, pair, there) for pair in PAIRS], fmean)

    def _counts(self) -> dict[str, Callable[[str, Context], Measurement]]:
        mixed = [pair for pair in PAIRS if pair[0] != pair[1]]
        return {
            "n_mixed_pairs_where_cubic_wins": lambda subject, at: self._wins("cubic"),
            "n_mixed_pairs_where_fast_wins": lambda subject, at: self._wins("fast"),
            "n_pairs_where_flow2_wins": lambda subject, at: _count(
                [self._asymmetry(pair) for pair in PAIRS], PAIRS, lambda value: value < -SIGN_FLOOR
            ),
            "n_mixed_pairs_in_region_ge3": lambda subject, at: _count(
                self._regions(mixed), mixed, lambda region: region >= 3, show=False
            ),
            "n_region2_mixed_without_htcp": self._members_among([p for p in mixed if "htcp" not in p], 2),
            "n_region4_without_cubic": self._members_among([p for p in PAIRS if "cubic" not in p], 4),
            "n_region3_with_fast": self._members_among([p for p in PAIRS if "fast" in p], 3),
            "n_region1_intra": self._members_among([p for p in PAIRS if p[0] == p[1]], 1),
            "n_in_region1": self._size(1),
            "n_in_region3": self._size(3),
            "n_in_region5": self._size(5),
            "n_in_region2_plus_4": self._size(2, 4),
            "n_pairs_below_half": lambda subject, at: _count(
                [self._values("utilization", pair, at) for pair in PAIRS], PAIRS, lambda value: value < 0.5
            ),
        }

    def _wins(self, protocol: str) -> Measurement:
        """Mixed pairs in which a protocol has the larger share, whichever flow it is."""
        pairs = [pair for pair in PAIRS if protocol in pair and pair[0] != pair[1]]
        leads = [self._asymmetry(pair).times(1 if pair[0] == protocol else -1) for pair in pairs]
        return _count(leads, pairs, lambda value: value > SIGN_FLOOR)

    def _size(self, *regions: int) -> Callable[[str, Context], Measurement]:
        """How many of all pairs are in some regions, or of the subject's own pairs when it lists any."""
        among = self._members_among(PAIRS, *regions)

        def measure(subject: str, at: Context) -> Measurement:
            if self._setup.regions == "ranks" and ">" not in subject:
                raise NotJudgedError(
                    "regions by rank have the paper's numbers of members, so this holds by construction"
                )
            return among(subject, at)

        return measure

    def _members_among(self, pairs: Sequence[Pair], *regions: int) -> Callable[[str, Context], Measurement]:
        """How many of some pairs are in some regions; of the subject's own pairs when it lists any."""

        def measure(subject: str, at: Context) -> Measurement:
            named = [parse_pair(name.strip()) for name in subject.split(",")] if ">" in subject else pairs
            return _count(self._regions(named), named, lambda region: region in regions)

        return measure

    # ---- the queue ----

    def _queue(self, metric: str, subject: str, at: Context) -> Measurement:
        rivals = [protocol for protocol in PROTOCOLS if protocol != "fast"]
        if subject == "fast":
            # Before flow 2 comes it does not matter who that will be; this is the pair of Figure 5.
            return self._values(metric, ("fast", "stcp"), at)
        if subject == "fast alone":
            return self._values(metric, ("fast", "stcp"), Context(window=(20.0, 50.0)))
        if subject == "fast>loss based":
            return combined(
                [self._values(metric, ("fast", rival), at) for rival in rivals], min, "least of five rivals"
            )
        return self._values(metric, parse_pair(subject), at)

    # ---- the setup itself ----

    def _packets(self, subject: str, at: Context) -> Measurement:
        """The BDP in the paper's segments, without headers; or a buffer as the experiment states it."""
        if subject == "bdp":
            scenario = self._setup.scenario(PAIRS[0])
            payload_bits = 8 * scenario.form.flows[0].stack.payload_bytes
            rate_bps = link_named(scenario.form, "bottleneck").rate_bps
            return constant(rate_bps * scenario.graph.rtt_ps(0) / 1e12 / payload_bits)
        buffers = {"b20": BUFFER, "b40": 40}
        if subject not in buffers:
            raise ClaimError(f"'{subject}' is not a number of packets of the setup")
        form = self._setup.scenario(PAIRS[0], buffers[subject]).form
        # ns-2 drops at its limit, so that the limit is one more than what may wait.
        return constant(float(present(link_named(form, "bottleneck").queue.limit_packets) + 1))

    def _receive_window_mib(self, subject: str, at: Context) -> Measurement:
        stack = self._setup.scenario(PAIRS[0]).form.flows[0].stack
        return constant(present(stack.receive_window) * stack.payload_bytes / MIB)

    def _rtt_ms(self, subject: str, at: Context) -> Measurement:
        return constant(self._setup.scenario(PAIRS[0]).graph.rtt_ps(0) / 1e9)


def _count(
    parts: Sequence[Measurement], pairs: Sequence[Pair], holds: Callable[[float], bool], *, show: bool = True
) -> Measurement:
    """How many of some measurements satisfy a condition, and which."""
    counted = [label(pair) for pair, part in zip(pairs, parts, strict=True) if holds(part.value())]
    detail = ", ".join(counted) if show and len(counted) <= 12 else ""
    return combined(parts, lambda values: float(sum(holds(value) for value in values)), detail)
