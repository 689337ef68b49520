"""The figures of weigle2006 in its own layout: asymmetry by region (Fig 2), and windows over time (Figs 3 to 8)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from statistics import median

from elephan.evaluation.evidence import Evidence
from elephan.papers.claims import ClaimSet
from elephan.papers.loading import claims
from elephan.papers.weigle2006.measure import REGIONS, boundaries, certain_regions
from elephan.papers.weigle2006.setup import LATE_S, MEASURE_S, PAIRS, TITLES, Pair, Setup
from elephan.report.figures import BarGroup, Figure, PairBar, PairBars, Panel, Traces
from elephan.report.series import flow_curve

CAPTIONS = {
    "weigle2006.F3": "Region 1 in the paper: the H-TCP flows meet near 150 s, the CUBIC flows near 450 s.",
    "weigle2006.F4": "Region 2 in the paper: HS-TCP gets more than H-TCP in both orders.",
    "weigle2006.F5": (
        "Region 3 in the paper: FAST keeps its share against S-TCP, and of BIC-TCP and HS-TCP the first flow stays "
        "ahead."
    ),
    "weigle2006.F6": "Region 4 in the paper: CUBIC gets less than BIC-TCP in both orders.",
    "weigle2006.F7": (
        "Region 5 in the paper: S-TCP suppresses BIC-TCP, and the late-starting H-TCP flow has no visible window."
    ),
    "weigle2006.F8": (
        "In the paper the late-starting S-TCP flow has no visible window (top), and two flows that start together are "
        "equal (bottom)."
    ),
}


def figures(runs: Evidence, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs exist."""
    found: list[Figure] = []
    stated = claims("weigle2006")
    asymmetry = _asymmetry(runs, setup, stated)
    if asymmetry is not None:
        found.append(asymmetry)
    for name in CAPTIONS:
        points = [cell for part in stated.experiments[name].runs for cell in part.cells(stated.lists)]
        cases = [((cell["first"], cell["second"]), cell.get("start2_s", LATE_S)) for cell in points]
        panels = list(_panels(runs, setup, cases))
        if panels:
            number = name[-1]
            title = f"Figure {number}: congestion windows"
            shaded = (float(MEASURE_S[0]), float(MEASURE_S[1]), "measured")
            found.append(Traces(f"figure{number}", title, CAPTIONS[name], tuple(panels), shaded=shaded))
    return found


def _panels(runs: Evidence, setup: Setup, cases: Sequence[tuple[Pair, int]]) -> Iterator[Panel]:
    for pair, late_s in cases:
        run = runs.first(setup.scenario(pair, late_s=late_s))
        if run is None:
            continue
        start = f"{TITLES[pair[1]]} from {late_s} s" if late_s else "both from the start"
        curves = tuple(
            flow_curve(run, f"{protocol}-{number}", "cwnd", f"{TITLES[protocol]} (flow {number})", number - 1)
            for number, protocol in enumerate(pair, start=1)
        )
        yield Panel(f"{TITLES[pair[0]]} and {TITLES[pair[1]]}, {start}", "cwnd (segments)", curves)


def _asymmetry(runs: Evidence, setup: Setup, stated: ClaimSet) -> PairBars | None:
    placed = certain_regions(stated)
    known = runs.of_each({pair: setup.scenario(pair) for pair in PAIRS}, "asymmetry")
    values = {pair: sorted(one.sample) for pair, one in known.items()}
    if not values:
        return None
    between = boundaries([median(map(abs, found)) for found in values.values()], setup.regions)
    groups: dict[int, list[PairBar]] = {number: [] for number in range(1, REGIONS + 2)}
    for pair, found in values.items():
        groups[placed.get(pair, REGIONS + 1)].append(_bar(pair, found, placed.get(pair), between))
    edges = [0.0, *between, 1.0]
    return PairBars(
        id="figure2",
        title="Figure 2: asymmetry of the ordered pairs, by the paper's regions",
        caption="Each experiment has two rectangles, flow 1 on the left and flow 2 on the right. The taller rectangle "
        "belongs to the flow with the larger share, and its height is |A|. Experiments are grouped by the "
        "paper's region. The gray band is the range of our experiments in that region: if the taller rectangle "
        "ends in the band, our region is the paper's region. The paper states no region for the last experiments.",
        y_label="|A|, median over seeds",
        series=tuple(TITLES.values()),
        groups=tuple(
            BarGroup(
                f"Region {number}" if number <= REGIONS else "not placed",
                (edges[number - 1], edges[number]) if between and number <= REGIONS else None,
                tuple(sorted(bars, key=lambda bar: abs(bar.value))),
            )
            for number, bars in groups.items()
            if bars
        ),
        lines=tuple(between),
    )


def _bar(pair: Pair, values: Sequence[float], published: int | None, between: Sequence[float]) -> PairBar:
    """The bar of a pair; ``values`` are the asymmetries of the pair's replicates, in ascending order."""
    middle = median(values)
    ours = f"Region {bisect(between, median(map(abs, values))) + 1}" if between else "Region unknown"
    paper = f"Region {published}" if published else "not placed"
    spread = f" ({values[0]:+.3f} to {values[-1]:+.3f} over {len(values)} seeds)" if len(values) > 1 else ""
    note = f"{TITLES[pair[0]]}, then {TITLES[pair[1]]}<br>A = {middle:+.3f}{spread}<br>ours {ours}, paper {paper}"
    low, high = (values[0], values[-1]) if len(values) > 1 else (None, None)
    return PairBar(TITLES[pair[0]], TITLES[pair[1]], middle, low, high, note)
