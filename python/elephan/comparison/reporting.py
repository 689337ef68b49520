"""The report of a comparison: the answer, the trade-off, harm, time series of the decisive runs, assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from elephan.comparison.horizon import SAME
from elephan.comparison.numbers import METRICS, plain, together
from elephan.comparison.preferences import TERMS
from elephan.comparison.result import Comparison
from elephan.comparison.situations import ALONE, LATE, LATE_START
from elephan.metrics.reading import bottleneck, measure_window
from elephan.report import pages
from elephan.report.charts import Spot, TradeOff
from elephan.report.figures import Curve, Figure, Panel, Traces
from elephan.report.matrix import Matrix
from elephan.report.provenance import asked
from elephan.report.series import link_curve, throughput_curve
from elephan.report.tables import table
from elephan.runs import Run

_MOST_CURVES = 8
_BINS = 1200


def comparison_report(found: Comparison, out: str | FilePath) -> FilePath:
    """Write ``report.html`` into a folder, and each figure as SVG and PDF beside it. Returns the page's path.

    Raises:
        OSError: the folder cannot be written.
    """
    figures = [figure for figure in _figures(found) if figure is not None]
    page = {
        "title": f"Which algorithm: {found.path.title}",
        "answer": found.answer.text,
        "notes": list(found.answer.notes),
        "tables": [_ranking(found), _numbers(found)],
        "assumptions": _assumptions(found),
        "toml": found.runs[0].scenario.to_toml(),
        "provenance": asked(found.runs),
    }
    target = FilePath(out) / "report.html"
    return pages.report("comparison.html.j2", target, page, figures, printed=True, runs=found.runs)


def _figures(found: Comparison) -> Iterator[Figure | None]:
    yield _trade_off(found)
    yield _harm(found)
    for name in found.decision.order[:3]:
        yield _time_series(found, name)


def _rows(found: Comparison) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["algorithm"], row["against"], row["metric"]): row for row in found.rows}


def _trade_off(found: Comparison) -> TradeOff | None:
    rows, spots = _rows(found), []
    for name in found.decision.order:
        rate, delay = rows.get((name, ALONE, "goodput_mbps")), rows.get((name, ALONE, "queueing_delay_ms"))
        if rate is not None and delay is not None:
            spots.append(Spot(name, delay["mean"], rate["mean"], _ends(delay), _ends(rate)))
    if not spots:
        return None
    return TradeOff(
        "trade-off", "Goodput against queueing delay, each algorithm alone",
        "Up and to the left is better. Bars are 95 % intervals of the mean; without a bar, the values of all seeds "
        "are equal or there are too few seeds.",
        "mean queueing delay (ms)", "goodput (Mbit/s)", tuple(spots),
    )  # fmt: skip


def _ends(row: dict[str, Any]) -> tuple[float, float] | None:
    return None if row["low"] is None or row["high"] is None else (row["low"], row["high"])


def _harm(found: Comparison) -> Matrix | None:
    rows = _rows(found)
    names, rivals = found.decision.order, found.cast.rivals
    if not rivals:
        return None
    values = tuple(
        tuple(
            rows[name, rival, "excess_harm"]["mean"] if (name, rival, "excess_harm") in rows else float("nan")
            for rival in rivals
        )
        for name in names
    )
    return Matrix(
        "harm", "Harm to rival flows",
        "Fraction of goodput that flows of a column's algorithm lose beside flows of a row's algorithm, in "
        "comparison with as many flows of their own algorithm (after Ware et al. 2019). A negative fraction is a "
        "gain.",
        tuple(names), tuple(rivals), values, "fraction lost", (-1.0, 1.0), "algorithm", "rival",
        high_is_bad=True,
    )  # fmt: skip


def _time_series(found: Comparison, name: str) -> Traces | None:
    panels: list[Panel] = []
    first: Run | None = None
    for against in (ALONE, *found.cast.rivals, LATE):
        seeds = found.evidence.of(name, against)
        if not seeds:
            continue
        run = seeds[min(seeds)].run
        first = first or run
        members = [group.members[0] for group in run.groups][:_MOST_CURVES]
        beside = "alone" if against == ALONE else "with late-starting flows" if against == LATE else f"beside {against}"
        panels.append(Panel(f"{name} {beside}", "Mbit/s", tuple(_rates(run, members))))
        if against == ALONE:
            queue = link_curve(run, bottleneck(run), "queue_mean", "queue", 6, _BINS)
            panels.append(Panel(f"Queue, {name} alone", "packets", (queue,)))
    if first is None:
        return None
    return Traces(
        f"time-{name.translate(_FILE_NAME)}", f"Throughput on the wire over time: {name}",
        "First seed; of a group its first flow. The gray part is measured. Drag to zoom, double-click to go back.",
        tuple(panels), shaded=(*measure_window(first), "measured"),
    )  # fmt: skip


_FILE_NAME = str.maketrans(dict.fromkeys(":/\\ ().", "-"))


def _rates(run: Run, members: list[str]) -> Iterator[Curve]:
    for i, member in enumerate(members):
        yield throughput_curve(run, member, member, i % 8)


_VERDICTS = {"same": f"equal within {100 * SAME:.0f} %", "distinct": "differs", "open": "not distinguished"}


def _ranking(found: Comparison) -> dict[str, Any]:
    rows = []
    for name in found.decision.order:
        value = found.decision.values[name]
        other = found.decision.against(name)
        said = "best" if other is None else _VERDICTS[other.verdict]
        terms = found.evidence.terms(name, 1)
        rows.append([name, plain(value.value), *(_term(terms[term]) for term in TERMS), said])
    header = ["algorithm", "objective", *(f"{term}, seed 1" for term in TERMS), "against the best"]
    return table(f"Ranking by the objective: {found.preference.text}", header, rows, range(1, 2 + len(TERMS)))


def _term(value: float | None) -> str:
    return "–" if value is None else plain(value)


def _numbers(found: Comparison) -> dict[str, Any]:
    rows = [
        [
            row["algorithm"], row["against"], METRICS[row["metric"]],
            *(text or "–" for text in together(row["mean"], _ends(row))), str(row["seeds"]),
        ]
        for row in found.rows
    ]  # fmt: skip
    header = ["algorithm", "against", "metric", "mean", "low", "high", "seeds"]
    return table("Numbers", header, rows, range(3, 7))


def _assumptions(found: Comparison) -> list[tuple[str, str]]:
    evidence, weights = found.evidence, found.preference.weights
    late_s = evidence.duration_s * (1 if evidence.life else LATE_START)
    return [
        ("path", found.path.title),
        ("rivals", ", ".join(found.cast.rivals) or "none"),
        ("objective", ", ".join(f"{term} × {weight:g}" for term, weight in weights.items() if weight)),
        ("time", _time(found)),
        ("late-starting flows", f"begin after {late_s:g} s"),
        ("seeds", f"{found.decision.seeds} of each deciding situation; start times and send times differ (perturb)"),
        ("settled", "yes" if found.answer.settled else "no"),
        ("wall time", f"{found.wall_seconds:.1f} s of {found.budget_s:g} s"),
    ]


def _time(found: Comparison) -> str:
    horizon, evidence = found.answer.horizon, found.evidence
    text = f"{horizon.kind}: means over {horizon.from_s:g} s to {horizon.to_s:g} s of runs of {evidence.duration_s:g} s"
    if evidence.life:
        return text
    return f"{text}; {'the same in the time before' if found.decision.steady else 'they still depend on the duration'}"
