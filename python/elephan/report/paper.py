"""The report page of a reproduced paper: its content, and the function that writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report import figures as drawing
from elephan.report import pages, stamps
from elephan.report.charts import DataTable
from elephan.report.figures import Figure
from elephan.report.views import RunView, ScenarioGroup

if TYPE_CHECKING:
    from elephan.runs import Run

REPORT = "report.html"


@dataclass(frozen=True)
class BeyondView:
    """The answer to a question that the paper leaves open."""

    question: str
    why: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class KernelView:
    """The section on the same experiments on a real Linux kernel.

    Attributes:
        totals: claims by the kernel's verdict.
        other: ids of the claims whose verdict differs from the simulator's verdict.
        by_twin: ids of the claims in ``other`` whose simulated twins have the kernel's verdict.
        host: kernel versions and numbers of cores.
        how: description of the path and of the time (real or virtual) of the runs, in a sentence or two.
        words: name of the backend in a sentence.
        differences: differences of the backend's runs from the paper's setup.
        runs: rows with ``experiment``, ``label``, ``run``, ``state`` and ``warnings``.
        not_run: number of supported runs that were not requested.
        left_out: rows with ``experiment``, ``count`` and ``why``.
        figures: comparison of the simulator and the kernel, and the paper's figures from runs of the kernel.
    """

    totals: Mapping[str, int]
    other: Sequence[str]
    by_twin: Sequence[str]
    host: str
    how: str
    words: str
    differences: Sequence[str]
    runs: Sequence[Mapping[str, Any]]
    not_run: int
    left_out: Sequence[Mapping[str, Any]]
    figures: Sequence[Figure]


@dataclass(frozen=True)
class PaperPage:
    """Content of a paper's report.

    Attributes:
        id: id of the paper.
        title: title of the paper.
        reference: authors, venue, year.
        selection: the selection that was run; empty for the whole paper.
        claims: rows of the table.
        totals: claims by verdict.
        firm: certain and robust claims by verdict.
        figures: figures, in the paper's order.
        views: runs that the page shows.
        sensitivity: rows with the effects of the paper's variants on its verdicts; empty if they were not run.
        variants: titles of all variants.
        other_runs: the hashes of further scenarios that were run, by their purpose.
        assumptions: rows with ``name``, ``value``, ``reason``.
        scenarios: scenarios, by experiment.
        provenance: names and values.
        phases: rows with the durations of the work.
        quick_note: the reductions of a quick run; empty at the paper's own size.
        abstract: the verdicts in one paragraph.
        tables: the paper's tables, with each published number beside our number.
        seed_checks: rows with the verdicts that fewer seeds would have given.
        within_noise: number of claims whose verdict other seeds could change.
        beyond: the answer to a question that the paper left open, if it was requested.
        kernel: the same experiments on a real Linux kernel, if they were run.
        warnings: warnings of the runs.
        run_count: number of the claims' runs.
        segments: number of segments delivered in these runs, as text.
        runs: runs that a reader can repeat in the page, if they are small enough for a browser.
    """

    id: str
    title: str
    reference: str
    selection: str
    claims: Sequence[Mapping[str, Any]]
    totals: Mapping[str, int]
    firm: Mapping[str, int]
    figures: Sequence[Figure]
    views: Sequence[RunView]
    sensitivity: Sequence[Mapping[str, Any]]
    variants: Sequence[str]
    other_runs: Sequence[tuple[str, Sequence[str]]]
    assumptions: Sequence[Any]
    scenarios: Sequence[ScenarioGroup]
    provenance: Sequence[tuple[str, str]]
    phases: Sequence[Any]
    quick_note: str = ""
    abstract: str = ""
    tables: Sequence[DataTable] = ()
    seed_checks: Sequence[Any] = ()
    within_noise: int = 0
    beyond: BeyondView | None = None
    kernel: KernelView | None = None
    warnings: Sequence[str] = field(default_factory=tuple)
    run_count: int = 0
    segments: str = ""
    runs: Iterable[Run] = ()

    @property
    def judged(self) -> int:
        """Number of claims with a verdict."""
        return self.totals["reproduced"] + self.totals["differs"]

    @property
    def firm_share(self) -> int | None:
        """Percentage of the judged firm claims that are reproduced; ``None`` if none was judged."""
        judged = self.firm["reproduced"] + self.firm["differs"]
        return round(100 * self.firm["reproduced"] / judged) if judged else None

    @property
    def experiments(self) -> list[str]:
        """Experiments of the claims, in order."""
        return list(dict.fromkeys(str(claim["experiment"]) for claim in self.claims))


def paper_report(page: PaperPage, out: str | Path, stamp: str) -> Path:
    """Write ``report.html``, and every figure as PDF and SVG beside it. Returns the path of the page.

    ``stamp`` identifies the inputs of the page (:mod:`elephan.report.stamps`).
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    stamps.remove(folder)
    beyond = () if page.beyond is None else page.beyond.figures
    in_kernel = () if page.kernel is None else page.kernel.figures
    curves = [(figure, figure.plotly()) for figure in (*page.figures, *beyond, *in_kernel)]
    payloads = {
        "figures-data": {figure.id: drawn for figure, drawn in curves if drawn},
        "explorer-data": {"colors": drawing.COLORS, "runs": [_view(view) for view in page.views]},
    }
    values = {name: getattr(page, name) for name in page.__dataclass_fields__}
    saved = {
        "figures": [_saved(figure, folder) for figure in page.figures],
        "tables": [_saved(table, folder) for table in page.tables],
        "beyond_figures": [_saved(figure, folder) for figure in beyond],
        "kernel_figures": [_saved(figure, folder) for figure in in_kernel],
    }
    values |= saved
    values |= {"judged": page.judged, "firm_share": page.firm_share, "experiments": page.experiments}
    text = pages.render("paper.html.j2", payloads, plotly=True, runs=page.runs, page=values)
    path = pages.write(folder / REPORT, text)
    stamps.put(folder, stamp, [REPORT, *(name for group in saved.values() for one in group for name in one["files"])])
    return path


def _view(view: RunView) -> dict[str, Any]:
    """The view as a dictionary, without the copies of all curves that ``dataclasses.asdict`` makes."""
    return vars(view) | {name: [vars(curve) for curve in getattr(view, name)] for name in ("windows", "queue")}


def _saved(figure: Figure, folder: Path) -> dict[str, Any]:
    """Data of a figure for the page; the figure is also saved for print."""
    return drawing.entry(figure, folder) | {"table": figure if isinstance(figure, DataTable) else None}
