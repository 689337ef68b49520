"""The figures of weigle2006 in its own layout: asymmetry by region (Fig 2), and windows over time (Figs 3 to 8)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from elephan.evaluation.evidence import Evidence
from elephan.papers.claims import ClaimSet
from elephan.papers.loading import claims
from elephan.papers.weigle2006.measure import REGIONS, boundaries, certain_regions
from elephan.papers.weigle2006.setup import LATE_S, MEASURE_S, PAIRS, TITLES, Pair, Setup
from elephan.report.charts import BarChart, BarPanel, Bars
from elephan.report.figures import Figure, Panel, Traces
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


def _asymmetry(runs: Evidence, setup: Setup, stated: ClaimSet) -> BarChart | None:
    placed = certain_regions(stated)
    known = runs.of_each({pair: setup.scenario(pair) for pair in PAIRS}, "asymmetry")
    values = {pair: sorted(one.sample) for pair, one in known.items()}
    if not values:
        return None
    between = boundaries([median(map(abs, found)) for found in values.values()], setup.regions)
    groups: dict[int, list[Pair]] = {number: [] for number in range(1, REGIONS + 2)}
    for pair in sorted(values, key=lambda pair: abs(median(values[pair]))):
        groups[placed.get(pair, REGIONS + 1)].append(pair)
    edges = [0.0, *between, 1.0]
    return BarChart(
        id="figure2",
        title="Figure 2: asymmetry of the ordered pairs, by the paper's regions",
        caption="Each experiment has two bars, one of each flow. The taller bar belongs to the flow with the larger "
        "share, and its height is |A|. Experiments are grouped by the paper's region. The gray band is the range of "
        "our experiments in that region: if the taller bar ends in the band, our region is the paper's region. The "
        "paper states no region for the last experiments.",
        panels=tuple(
            BarPanel(
                f"Region {number}" if number <= REGIONS else "not placed",
                "|A|, median over seeds",
                tuple(f"{TITLES[first]} › {TITLES[second]}" for first, second in pairs),
                _bars({pair: values[pair] for pair in pairs}, placed, between),
                (edges[number - 1], edges[number]) if between and number <= REGIONS else None,
                top=1.04,
            )
            for number, pairs in groups.items()
            if pairs
        ),
        columns=3,
    )


def _bars(
    values: Mapping[Pair, Sequence[float]], placed: Mapping[Pair, int], between: Sequence[float]
) -> tuple[Bars, ...]:
    """The bars of both flows: |A| for the flow with the larger share, |A| (1 - |A|)/(1 + |A|) for the other.

    ``values`` are the asymmetries of each pair's replicates, in ascending order.
    """
    notes = tuple(_note(pair, found, placed.get(pair), between) for pair, found in values.items())
    bars = []
    for flow, name in enumerate(("flow 1", "flow 2")):
        heights, low, high = [], [], []
        for found in values.values():
            middle = median(found)
            top = abs(middle)
            larger = (middle >= 0) == (flow == 0)
            heights.append(round(top if larger else top * (1 - top) / (1 + top), 4))
            ends = [*map(abs, found), *([0.0] if found[0] < 0 < found[-1] else [])] if larger else heights[-1:]
            low.append(min(ends))
            high.append(max(ends))
        bars.append(Bars(name, heights, low, high, flow, notes))
    return tuple(bars)


def _note(pair: Pair, values: Sequence[float], published: int | None, between: Sequence[float]) -> str:
    """The text beside the pointer: the asymmetry, its range over the seeds, and both regions."""
    ours = f"Region {bisect(between, median(map(abs, values))) + 1}" if between else "Region unknown"
    paper = f"Region {published}" if published else "not placed"
    spread = f" ({values[0]:+.3f} to {values[-1]:+.3f} over {len(values)} seeds)" if len(values) > 1 else ""
    titles = f"{TITLES[pair[0]]}, then {TITLES[pair[1]]}"
    return f"{titles}<br>A = {median(values):+.3f}{spread}<br>ours {ours}, paper {paper}"
