"""The metrics of weigle2006's claims, and the runs of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from statistics import fmean, median

from elephan.evaluation.conditions import span
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.measuring import At, Combine, Rule, Suite, Window, both, count, difference, reach, stated
from elephan.evaluation.relations import SIGN_FLOOR
from elephan.papers.claims import ClaimSet
from elephan.papers.loading import claims
from elephan.papers.weigle2006.setup import BUFFER, LATE_S, PAIRS, PROTOCOLS, Pair, Setup, label
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present

REGIONS = 5
# Members of each region that the paper states or implies. Regions 2 and 4 have ten pairs together, of which five are
# certainly in 2 and three in 4; if both regions have five pairs, one of the three open pairs is left for Region 3.
REGION_COUNTS = (4, 5, 13, 5, 9)
MIB = 2**20
MIXED = [pair for pair in PAIRS if pair[0] != pair[1]]
RIVALS = [protocol for protocol in PROTOCOLS if protocol != "fast"]
MOST_NAMED = 12

_WHERE = ("flow1", "flow2", "buffer_pkts", "start2_s", "window_s", "alpha")
_GROUP = re.compile(r"(?:certain members of region (\d)|region (\d) members)")


def region_of(abs_asymmetry: float) -> int:
    """Region (1 to 5) of an |A| if its range is divided into five equal parts; 1 is the fairest."""
    return min(REGIONS, int(abs_asymmetry * REGIONS) + 1)


def regions_by_rank(values: Sequence[float]) -> list[int]:
    """Region of each value by its rank and the paper's number of members of each region; Region 1 has the smallest
    values."""
    regions = [number for number, count in enumerate(REGION_COUNTS, start=1) for _ in range(count)]
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0] * len(values)
    for rank, position in enumerate(order):
        found[position] = regions[rank]
    return found


def boundaries(values: Sequence[float], kind: str) -> list[float]:
    """The value of |A| at the border of two neighboring regions: a multiple of one fifth, or the midpoint between
    neighbors in rank.

    Borders by rank need all 36 values; with fewer values the list is empty.
    """
    if kind == "fifths":
        return [number / REGIONS for number in range(1, REGIONS)]
    if len(values) != len(PAIRS):
        return []
    ordered = sorted(values)
    ends = list(accumulate(REGION_COUNTS))[:-1]
    return [(ordered[end - 1] + ordered[end]) / 2 for end in ends]


def certain_regions(stated: ClaimSet) -> dict[Pair, int]:
    """Region of each pair that the paper assigns, from the claims themselves."""
    return {
        parse_pair(claim.subject): int(claim.limit)
        for claim in stated.claims
        if claim.metric == "region" and claim.certainty == "certain"
    }


def parse_pair(subject: str) -> Pair:
    """Parse ``a>b`` to a pair.

    Raises:
        CriterionError: the text is not a pair.
    """
    first, _, second = subject.partition(">")
    if first not in PROTOCOLS or second not in PROTOCOLS:
        raise CriterionError(f"'{subject}' is not a pair of {', '.join(PROTOCOLS)}")
    return first, second


def measurer(runs: Evidence, setup: Setup) -> Suite:
    """The measurements in the runs of one setup."""
    placed = certain_regions(claims("weigle2006"))
    groups: dict[str, Combine] = {
        "asymmetry": _median,
        "abs_asymmetry": _median,
        "convergence_abs_time_s": _median,
        "abs_asymmetry_range": reach,
    }
    of_groups: dict[str, Rule] = {name: _group(name, placed, combine) for name, combine in groups.items()}
    return Suite(runs, setup, TABLE | of_groups, _scenario, _WHERE)


def _scenario(setup: Setup, subject: str, at: At) -> Scenario:
    """The scenario of a pair, or of one protocol with itself."""
    if (alpha := at.where.get("alpha", setup.fast_alpha)) != setup.fast_alpha:
        raise NotJudgedError(f"it is about an alpha of {alpha}, and this setup has {setup.fast_alpha}")
    pair = (subject, subject) if subject in PROTOCOLS else parse_pair(subject)
    return setup.scenario(pair, at.get("buffer_pkts", BUFFER), at.get("start2_s", LATE_S))


def _window(at: At) -> Window | None:
    return span(str(at.where["window_s"])) if "window_s" in at.where else None


def _value(metric: str) -> Rule:
    """A rule for a metric of a pair's runs; for a metric with a value for each flow, the value of the subject's
    flow."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        return suite.values(suite.scenario(suite.setup, subject, at), metric, window=_window(at))

    return rule


def _flow(metric: str) -> Rule:
    """A rule for a metric of one flow. The subject ``a:flow2`` is flow 2 of two flows of protocol a. The subject ``a``
    is the flow of protocol a in the pair that the conditions name."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        protocol, _, which = subject.partition(":flow")
        pair = (protocol, protocol) if which else (at.get("flow1", ""), at.get("flow2", ""))
        if not which and pair.count(protocol) != 1:
            raise CriterionError(f"which flow is '{subject}'? the conditions name {pair}")
        flow = f"{protocol}-{which or pair.index(protocol) + 1}"
        # A share refers to both flows.
        return suite.values(suite.scenario(suite.setup, label(pair), at), metric, flow, _window(at), flows=None)

    return rule


def _plain(at: At) -> At:
    """The paper's main conditions."""
    return At({}, at.criterion)


def _asymmetry(suite: Suite, pair: Pair, at: At, *, absolute: bool = True) -> Measurement:
    return _value("abs_asymmetry" if absolute else "asymmetry")(suite, label(pair), _plain(at))


def _median(values: list[float]) -> float:
    return median(values)


def _group(metric: str, placed: Mapping[Pair, int], combine: Combine) -> Rule:
    """A rule for a metric of a pair, or for |A| combined over the pairs that the paper certainly assigns to a
    region."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        group = _GROUP.fullmatch(subject)
        if group is None:
            return _value(metric)(suite, subject, at)
        region = int(group[1] or group[2])
        members = [_asymmetry(suite, pair, at) for pair, number in placed.items() if number == region]
        values = [member.value() for member in members]
        detail = f"region {region} from {min(values):.2f} to {max(values):.2f}" if combine is _median else ""
        return combined(members, combine, detail)

    return rule


def _region(suite: Suite, subject: str, at: At) -> Measurement:
    """The region of a pair."""
    position = PAIRS.index(parse_pair(subject))
    own = _asymmetry(suite, PAIRS[position], at)
    detail = f"|A| {own.value():.3f}"
    if suite.setup.regions == "fifths":
        return combined([own], lambda values: float(region_of(values[0])), detail)
    everyone = [_asymmetry(suite, other, at) for other in PAIRS]
    return combined(everyone, lambda values: float(regions_by_rank(values)[position]), detail)


def _members(pairs: Sequence[Pair], *regions: int, forced: bool = False, most: int = MOST_NAMED) -> Rule:
    """A rule for the number of pairs in some regions, among the subject's pairs if the subject lists any.

    If ``forced`` is set and regions are defined by rank, the claim is not judged: the result then follows from the
    paper's numbers of members.
    """

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        if forced and suite.setup.regions == "ranks" and ">" not in subject:
            raise NotJudgedError("regions by rank have the paper's numbers of members, so this holds by construction")
        names = [name.strip() for name in subject.split(",")] if ">" in subject else map(label, pairs)
        found = {name: _region(suite, name, at) for name in names}
        return count(found, lambda region: region in regions, most=most)

    return rule


def _pairs_where(metric: str, pairs: Iterable[Pair], holds: Callable[[float], bool], winner: str = "") -> Rule:
    """A rule for the number of pairs whose value satisfies a condition; with ``winner``, a value is positive if this
    protocol has the larger share."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        # An asymmetry is measured under the paper's main conditions, and a utilization under the claim's conditions.
        here = _plain(at) if metric == "asymmetry" else at
        found = {label(pair): _value(metric)(suite, label(pair), here) for pair in pairs}
        leads = {name: part.times(1 if name.startswith(f"{winner}>") else -1) for name, part in found.items()}
        return count(leads if winner else found, holds, most=MOST_NAMED)

    return rule


def _wins(protocol: str) -> Rule:
    """A rule for the number of mixed pairs in which a protocol has the larger share, as either flow."""
    pairs = [pair for pair in MIXED if protocol in pair]
    return _pairs_where("asymmetry", pairs, lambda value: value > SIGN_FLOOR, protocol)


def _lowest_utilization(suite: Suite, subject: str, at: At) -> Measurement:
    parts = {label(pair): _value("utilization")(suite, label(pair), at) for pair in PAIRS}
    lowest = min(parts, key=lambda name: parts[name].value())
    return combined(parts.values(), min, f"lowest for {lowest}")


def _over_pairs(metric: str) -> Rule:
    """A rule for the mean over the 36 pairs; the subject is the buffer in packets."""
    return lambda suite, subject, at: combined(
        [_value(metric)(suite, label(pair), at.but(buffer_pkts=int(subject))) for pair in PAIRS], fmean
    )


def _together(suite: Suite, subject: str, at: At) -> Measurement:
    return _value("abs_asymmetry")(suite, subject, _plain(at).but(start2_s=0))


def _queue(metric: str) -> Rule:
    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        value = partial(_value(metric), suite)
        if subject == "fast>loss based":
            return combined([value(f"fast>{rival}", at) for rival in RIVALS], min, "least of five rivals")
        # Before flow 2 starts, the algorithm of flow 2 has no effect; the pair used is that of Figure 5.
        alone = _plain(at).but(window_s="20..50") if subject == "fast alone" else at
        return value("fast>stcp" if subject in ("fast", "fast alone") else subject, alone)

    return rule


# ---- the setup itself ----


def _packets(suite: Suite, subject: str, at: At) -> float:
    """The BDP in the paper's segments, without headers, or the buffer of the experiment in packets."""
    buffers = {"bdp": BUFFER, "b20": BUFFER, "b40": 40}
    if subject not in buffers:
        raise CriterionError(f"'{subject}' is not a number of packets of the setup")
    scenario = suite.setup.scenario(PAIRS[0], buffers[subject])
    bottleneck = link_named(scenario.form, "bottleneck")
    if subject == "bdp":
        payload_bits = 8 * scenario.form.flows[0].stack.payload_bytes
        return float(bottleneck.rate_bps * scenario.graph.rtt_ps(0) / 1e12 / payload_bits)
    # ns-2 drops at its limit, so the limit is one more than the number of waiting packets.
    return float(present(bottleneck.queue.limit_packets) + 1)


def _receive_window_mib(suite: Suite, subject: str, at: At) -> float:
    stack = suite.setup.scenario(PAIRS[0]).form.flows[0].stack
    return float(present(stack.receive_window) * stack.payload_bytes / MIB)


TABLE: dict[str, Rule] = {
    **{name: _flow(name) for name in ("throughput_share", "mean_cwnd_pkts", "cwnd_fraction_of_bdp")},
    **{name: _queue(name) for name in ("queue_cov", "mean_queue_pkts", "min_queue_pkts")},
    "region": _region,
    "reduction_abs_asymmetry": both(
        lambda suite, subject, at: _asymmetry(suite, (subject, subject), at), _together, difference
    ),
    "utilization": _lowest_utilization,
    "mean_utilization": _over_pairs("utilization"),
    "mean_abs_asymmetry": _over_pairs("abs_asymmetry"),
    "n_mixed_pairs_where_cubic_wins": _wins("cubic"),
    "n_mixed_pairs_where_fast_wins": _wins("fast"),
    "n_pairs_where_flow2_wins": _pairs_where("asymmetry", PAIRS, lambda value: value < -SIGN_FLOOR),
    "n_pairs_below_half": _pairs_where("utilization", PAIRS, lambda value: value < 0.5),
    "n_mixed_pairs_in_region_ge3": _members(MIXED, 3, 4, 5, most=-1),
    "n_region2_mixed_without_htcp": _members([pair for pair in MIXED if "htcp" not in pair], 2),
    "n_region4_without_cubic": _members([pair for pair in PAIRS if "cubic" not in pair], 4),
    "n_region3_with_fast": _members([pair for pair in PAIRS if "fast" in pair], 3),
    "n_region1_intra": _members([pair for pair in PAIRS if pair[0] == pair[1]], 1),
    "n_in_region1": _members(PAIRS, 1, forced=True),
    "n_in_region3": _members(PAIRS, 3, forced=True),
    "n_in_region5": _members(PAIRS, 5, forced=True),
    "n_in_region2_plus_4": _members(PAIRS, 2, 4, forced=True),
    "packets": stated(_packets),
    "receive_window_mib": stated(_receive_window_mib),
    "rtt_ms": stated(lambda suite, subject, at: suite.setup.scenario(PAIRS[0]).graph.rtt_ps(0) / 1e9),
}
