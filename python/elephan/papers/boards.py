"""Counts of judged claims, grouped by several properties, and a paper's verdicts in one paragraph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from elephan.papers.judging import Judgment, totals
from elephan.scenario.words import listed

Board = dict[str, dict[str, int]]
Key = Callable[[Judgment], str]

OTHER = "do its rules and models describe its behavior?"
_METRICS = {
    "does it fill the pipe?": (
        "utilization", "mean_utilization", "throughput_mbps", "sum_throughput_mbps", "max_sum_throughput_mbps",
        "time_to_full_rate_s", "fill_time_s", "wnd_fill_time_s", "cov_total_throughput",
        "throughput_loss_vs_case1_mbps",
        "throughput_loss_vs_case2_mbps", "relative_spread_throughput", "reverse_rate_cap_mbps", "max_cwnd_pkts",
    ),
    "do flows share it?": (
        "jain_fi", "jain_fi_range", "jain_gain_vs_nobg", "abs_change_jain_vs_nobg", "jain_fi_when_all_active",
        "jain_fi_four_flows", "asymmetry", "abs_asymmetry", "abs_asymmetry_range", "mean_abs_asymmetry",
        "reduction_abs_asymmetry", "region", "throughput_share", "throughput_mbps_flow1", "throughput_mbps_flow2",
        "throughput_ratio", "throughput_ratio_long_over_short", "throughput_ratio_short_over_long", "row_ratio",
        "throughput_rank", "n_algorithms_with_higher_jain", "fairness_excursion", "n_in_region1", "n_in_region3",
        "n_in_region5", "n_in_region2_plus_4", "n_region4_without_cubic", "n_region3_with_fast", "n_region1_intra",
        "n_mixed_pairs_where_cubic_wins", "n_mixed_pairs_where_fast_wins", "n_pairs_below_half",
        "n_mixed_pairs_in_region_ge3", "n_pairs_where_flow2_wins", "n_region2_mixed_without_htcp",
        "competitor_throughput_mbps",
    ),
    "does it converge, and recover?": (
        "convergence_time_s", "convergence_abs_time_s", "convergence_epochs", "n_rtts_not_converged", "converged",
        "n_algorithms_converging_faster", "recovery_time_s", "recovery_start_s", "recovery_slope_ratio",
        "epoch_duration_s", "epoch_duration_ratio", "epoch_ratio_to_reno", "epoch_growth_pkts", "epoch_growth_time_s",
    ),
    "does it leave room for ordinary TCP and short transfers?": (
        "throughput_mbps_reno_mean", "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps",
        "mean_flow_duration_ms", "long_flow_mbps", "short_flow_total_mbps",
    ),
    "what does it do to the queue, and what is lost?": (
        "mean_queue_pkts", "min_queue_pkts", "queue_cov", "loss_rate", "loss_count", "loss_events",
        "loss_events_steady", "n_algorithms_with_higher_loss", "spurious_backoffs",
    ),
}  # fmt: skip
_THEME = {metric: theme for theme, metrics in _METRICS.items() for metric in metrics}
THEMES = (*_METRICS, OTHER)


def theme(judgment: Judgment) -> str:
    """The question that a claim belongs to."""
    return _THEME.get(judgment.claim.metric, OTHER)


KINDS = {"published_number": "number", "ordering": "ordering", "bound": "bound", "shape": "shape"}


KEYS: dict[str, Key] = {
    "question": theme,
    "kind": lambda judgment: KINDS[judgment.claim.tolerance_kind],
    **{name: attrgetter(f"claim.{name}") for name in ("certainty", "robustness", "check")},
}


def discriminating(judgment: Judgment) -> bool:
    """True if a wrong simulator or control law would probably fail the claim."""
    return judgment.claim.discriminating


def sure(judgment: Judgment) -> bool:
    """True if the claim is judged by simulation, stated explicitly by the paper, and robust against variants of the
    values that the paper leaves open."""
    claim = judgment.claim
    return (claim.check, claim.certainty, claim.robustness) == ("simulation", "certain", "high")


def split(judgments: Sequence[Judgment], key: Key) -> Board:
    """Claims by verdict, for each value of a key in the order of the claims."""
    values = dict.fromkeys(map(key, judgments))
    return {value: totals(j for j in judgments if key(j) == value) for value in values}


def by_kind(judgments: Iterable[Judgment]) -> dict[str, Board]:
    """Counts of claims by question, kind, certainty, robustness and check, and the counts of all claims, of the sure
    claims and of the discriminating claims."""
    listed = list(judgments)
    boards = {name: split(listed, key) for name, key in KEYS.items()}
    boards["selection"] = {
        "all": totals(listed),
        "simulation, certain, high robustness": totals(filter(sure, listed)),
        "discriminating": totals(filter(discriminating, listed)),
    }
    return boards


def percent(counts: dict[str, int]) -> str:
    """Percentage of the judged claims that are reproduced; a dash if none was judged."""
    judged = counts["reproduced"] + counts["differs"]
    return f"{100 * counts['reproduced'] / judged:.0f} %" if judged else "–"


def abstract(judgments: Sequence[Judgment]) -> str:
    """The paragraph at the top of a report; empty without claims."""
    if not judgments:
        return ""
    counts = totals(judgments)
    judged = counts["reproduced"] + counts["differs"]
    sentences = [_counted(counts, len(judgments))]
    firm = totals(judgment for judgment in judgments if judgment.claim.firm)
    if firm["reproduced"] + firm["differs"]:
        sentences.append(
            "Of the claims that the paper states explicitly and that are robust against variants of its open values, "
            f"{percent(firm)} are reproduced."
        )
    if judged:
        sentences += _by_question(judgments)
    differ = [judgment for judgment in judgments if judgment.verdict == "differs"]
    if differ:
        sentences.append(_differences(differ))
    noisy = sum(judgment.within_noise for judgment in judgments)
    if noisy:
        sentences.append(f"Other seeds could change {_verdicts(noisy)}.")
    turned = sum(bool(judgment.depends_on) for judgment in judgments)
    if turned:
        sentences.append(f"Other variants that were run change {_verdicts(turned)}.")
    return " ".join(sentences)


def _counted(counts: dict[str, int], claims: int) -> str:
    weak, differ = counts["weak"], counts["differs"]
    parts = [f"{counts['reproduced']} are reproduced ({percent(counts)} of those judged)"]
    if weak:
        parts.append(f"{weak} {'holds' if weak == 1 else 'hold'} only by a tolerance wider than the published value")
    parts.append(f"{differ or 'none'} {'differ' if differ > 1 else 'differs'}")
    if counts["not_judged"]:
        parts.append(f"{counts['not_judged']} cannot be judged")
    return f"Of {claims} claims, {listed(parts, 'and')}."


def _by_question(judgments: Sequence[Judgment]) -> list[str]:
    """Sentence with the number of reproduced claims for each question, the highest fraction first; none if there is
    only one question."""
    board = split(judgments, theme)
    judged = {name: (found["reproduced"], found["reproduced"] + found["differs"]) for name, found in board.items()}
    known = sorted((name for name in judged if judged[name][1]), key=lambda name: -judged[name][0] / judged[name][1])
    if len(known) < 2:
        return []
    listed = "; ".join(f"“{name}” {judged[name][0]} of {judged[name][1]}" for name in known)
    return [f"Reproduced by question: {listed}."]


def _differences(differ: Sequence[Judgment]) -> str:
    sections: dict[str, int] = {}
    for judgment in differ:
        sections[judgment.claim.section] = sections.get(judgment.claim.section, 0) + 1
    most = sorted(sections, key=lambda name: -sections[name])[:3]
    named = ", ".join(f"{name} ({sections[name]})" for name in most)
    explained = sum(judgment.explained for judgment in differ)
    why = "all have" if explained == len(differ) else f"{explained} of {len(differ)} have"
    return f"The differences are{' mostly' if len(sections) > 3 else ''} in {named}; {why} an explanation."


def _verdicts(count: int) -> str:
    return "one verdict" if count == 1 else f"{count} verdicts"
