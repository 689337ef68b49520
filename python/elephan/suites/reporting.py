"""The report of evaluations: a summary paragraph, the matrix of sections and algorithms, and the evidence, down to
single runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from elephan.evaluation.verdicts import Judged
from elephan.evaluation.wording import Quantity, spoken
from elephan.metrics.registry import get
from elephan.report import pages
from elephan.report.charts import Blob, Ellipses, LineChart, LinePanel, Points, far_apart
from elephan.report.provenance import command
from elephan.report.tables import Ids, table
from elephan.runs import Run, Store
from elephan.suites import programs
from elephan.suites.drawn import Curve, TradeOff
from elephan.suites.result import Evaluation, Outcome
from elephan.suites.sides import Sides, sides
from elephan.suites.words import paragraph, said_of
from elephan.version import __version__

_CAPTION = (
    "A dot is one run, and a large symbol marks the medians. An ellipse is the 1-sigma contour of the normal "
    "distribution fitted to the runs; its tilt shows their covariance. The delay grows to the left, so up and to the "
    "right is better. After RFC 7928, section 2.7."
)
_CURVES = "Means over seeds with their 95 % intervals by Student's t, where replicates differ."


def evaluation_report(found: Sequence[Evaluation], out: str | Path, store: Store | None = None) -> Path:
    """Write ``report.html`` into a folder. Returns its path. The reader can repeat the runs of ``store`` in the
    page.

    Raises:
        OSError: the folder cannot be written.
    """
    first = found[0]
    figures: list[Ellipses | LineChart] = [*_figures(found), *_charts(found)]
    page = {
        "title": f"{', '.join(one.name for one in found)}: {first.suite.table.title}",
        "citation": first.suite.table.citation,
        "answers": [*map(said_of, sides(found)), *(paragraph(one) for one in found)],
        "notes": list(dict.fromkeys(note for one in found for note in one.notes)),
        "matrix": _matrix(found),
        "sides": [_sides(one) for one in sides(found) if one.differences],
        "criteria": [_criteria(one) for one in found],
        "evidence": [(f"{one.name}: {o.criterion.id}", _cells(o)) for one in found for o in one.outcomes],
        "obligations": [(f"§{row.section}: {row.text}", row.reason) for row in first.suite.table.obligation],
        "provenance": _provenance(found),
    }
    target, runs = Path(out) / "report.html", _first(found, store)
    return pages.report("evaluation.html.j2", target, page, figures, printed=True, runs=runs)


def _figures(found: Sequence[Evaluation]) -> Iterator[Ellipses]:
    """Figures of the trade-offs of all algorithms, one for each entry of the suite."""
    for stated in found[0].suite.table.ellipse:
        blobs = [
            _blob(one.name, trade_off)
            for one in found
            for trade_off in one.trade_offs
            if trade_off.stated.id == stated.id
        ]
        if blobs:
            delay, goodput = get(stated.delay), get(stated.goodput)
            yield Ellipses(
                stated.id, f"§{stated.section}: {stated.title}", _CAPTION, f"{delay.name} ({delay.unit})",
                f"{goodput.name} ({goodput.unit})", tuple(blobs),
            )  # fmt: skip


def _charts(found: Sequence[Evaluation]) -> Iterator[LineChart]:
    """Figures of the curves of all algorithms, one for each entry of the suite."""
    for stated in found[0].suite.table.curve:
        lines = [(one.name, curve) for one in found for curve in one.curves if curve.stated.id == stated.id]
        if lines:
            metric, label = get(stated.metric), lines[0][1].axis.label
            series = tuple(_points(name, curve, style) for style, (name, curve) in enumerate(lines))
            places = [x for points in series for x in points.x]
            panel = LinePanel("", label, metric.heading(), series, log_x=far_apart(places))
            yield LineChart(stated.id, f"§{stated.section}: {stated.title}", _CURVES, (panel,))


def _points(series: str, curve: Curve, style: int) -> Points:
    x, means = [place.at for place in curve.places], [place.mean for place in curve.places]
    low, high = ([mean.ends[end] for mean in means] for end in ("low", "high"))
    name = series if curve.flow is None else f"{series}: {curve.flow}"
    return Points(name, x, [mean.value for mean in means], low, high, style)


def _blob(series: str, found: TradeOff) -> Blob:
    x, y = found.coordinates
    try:
        contour = found.ellipse().contour()
    except ValueError:  # too few points, or equal points: they are drawn without an ellipse
        contour = None
    return Blob(series, found.cell, x, y, (median(x), median(y)), contour)


def _first(found: Sequence[Evaluation], store: Store | None) -> Iterator[Run]:
    """The first saved run of each cell, those that decide a criterion before the others."""
    outcomes = [outcome for one in found for outcome in one.outcomes]
    ids = dict.fromkeys(outcome.runs[0] for outcome in outcomes if outcome.runs)
    ids |= dict.fromkeys(cell.runs[0] for outcome in outcomes for cell in outcome.cells if cell.runs)
    saved = (store.find(run_id) for run_id in ids) if store is not None else ()
    return (run for run in saved if run is not None)


def _matrix(found: Sequence[Evaluation]) -> dict[str, Any]:
    rows = []
    for i, section in enumerate(found[0].sections):
        cells = [_said(one.sections[i].verdict, one.sections[i].comparison) for one in found]
        rows.append([section.name, section.title, *cells])
    header = ["§", "section", *(one.name for one in found)]
    return table("Sections and algorithms", header, rows)


def _said(verdict: str, change: str | None) -> str:
    return ", ".join(map(spoken, filter(None, (verdict, change))))


def _sides(found: Sides) -> dict[str, Any]:
    rows = []
    for one in found.differences:
        quantity = found.evaluations[0].outcome(one.criterion).quantity
        values = [x for at in one.judged for x in (spoken(at.verdict), _ends(quantity, at))]
        rows.append([one.criterion, one.cell, quantity.name, *values])
    backends = [x for name in found.backends for x in (f"{name}: verdict", f"{name}: value")]
    title = f"Where the backends differ: {found.algorithm}"
    return table(title, ["criterion", "cell", "quantity", *backends], rows)


def _ends(quantity: Quantity, judged: Judged) -> str:
    low, high = judged.ends
    ends = "" if low == high else f" ({quantity.plain(low)} to {quantity.plain(high)})"
    return f"{quantity.amount(judged.found.value)}{ends}"


def _criteria(one: Evaluation) -> dict[str, Any]:
    rows = []
    for outcome in one.outcomes:
        criterion = outcome.criterion
        verdict = _said(outcome.verdict, outcome.comparison) + (" (weak)" if outcome.weak else "")
        limit = f"{outcome.quantity.name} {outcome.limit_text}"
        picture = outcome.gauge or ""
        rows.append(
            [criterion.section, criterion.id, criterion.force, criterion.text, limit, verdict, picture, outcome.said]
        )
    header = ["§", "criterion", "force", "statement", "requirement", "verdict", "interval and range", "why"]
    return table(f"Criteria: {one.name}", header, rows)


def _cells(outcome: Outcome) -> dict[str, Any]:
    rows = []
    for cell in outcome.cells:
        judged, compared = cell.judged, cell.compared
        if judged is None:
            rows.append([cell.case.cell.name, "–", "–", "–", "–", "not judged", cell.why, Ids(cell.runs)])
            continue
        found = judged.found
        plain = outcome.quantity.plain
        ends = [plain(found.low), plain(found.high)] if found.known else ["–", "–"]
        said = spoken(judged.verdict)
        why = judged.why if compared is None else f"{judged.why}; {spoken(compared.change)}: {compared.why}"
        row = [cell.case.cell.name, plain(found.value), *ends, str(judged.seeds), said, why, Ids(cell.runs)]
        rows.append(row)
    unit = f" ({outcome.quantity.unit})" if outcome.quantity.unit else ""
    header = ["cell", f"{outcome.quantity.name}{unit}", "low", "high", "seeds", "verdict", "why", "runs"]
    title = f"{outcome.criterion.id}: {outcome.criterion.reason}"
    return table(title, header, rows, range(1, 5))


def _provenance(found: Sequence[Evaluation]) -> list[tuple[str, str]]:
    first = found[0]
    by_backend = list({one.on: one for one in found}.values())
    created = sorted(str(m["created"]) for one in by_backend for m in one.manifests if "created" in m)
    rows = [
        ("elephan", __version__),
        ("suite", f"{first.suite.id} ({first.suite.file})"),
        ("backend", ", ".join(dict.fromkeys(one.on for one in found))),
        ("runs", str(sum(len(one.manifests) for one in by_backend))),
        ("time of the runs", f"{sum(one.run_seconds for one in by_backend):.1f} s"),
        ("computed", f"{created[0]} to {created[-1]}" if created else ""),
        *((f"program {name}", text) for one in by_backend for name, text in programs.told(one.programs)),
        ("one run again", "elephan show RUN shows the scenario of a run; elephan run repeats it"),
        ("command", command()),
    ]
    return [(name, value) for name, value in rows if value]
