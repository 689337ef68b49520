"""The report of a reproduced paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.evaluation.reporting import run_views, warnings
from elephan.papers.boards import abstract
from elephan.papers.claims import Claim
from elephan.papers.judging import Judgment
from elephan.papers.printed import tables
from elephan.report import pages, stamps
from elephan.report.charts import DataTable
from elephan.report.figures import COLORS, Figure, entry
from elephan.report.provenance import asked

if TYPE_CHECKING:
    from elephan.papers.results import PaperResult

_IN_REAL_TIME = (
    "in real time, one run each. An emulated path carries the packets of real sockets. These runs do not reproduce "
    "the paper; they show which of its claims hold today. A claim is judged if all of its runs exist and the host "
    "was not too busy during any of them."
)
_IN_VIRTUAL_TIME = (
    "in virtual time, one run each. netem inside the guest emulates the path; if datagrams or background traffic are "
    "simulated, the engine simulates the path. These runs do not reproduce the paper; they show which of its claims "
    "hold today. A claim is judged if all of its runs exist."
)
REPORT = "report.html"
RUNS_PAGE = "runs.html"
"""The page beside a report with each run: its curves and its scenario."""
VERDICTS = {"reproduced": "reproduced", "differs": "differs", "not_judged": "not judged"}


def write(result: PaperResult, out: Path) -> Path:
    """Write the report of a reproduced paper, unless it is up to date. Returns its path."""
    stamp = stamps.stamp(_made_from(result))
    if stamps.is_current(out, stamp):
        return out / REPORT
    out.mkdir(parents=True, exist_ok=True)
    stamps.remove(out)
    shown = _shown(result)
    # A figure is large, so it is specified once.
    figures = {one.id: spec for each in shown.values() for one in each if (spec := one.spec())}
    entries = {name: [_entry(figure, out) for figure in each] for name, each in shown.items()}
    text = pages.render("paper.html.j2", {}, figures=figures, runs=result.runs, page=_page(result) | entries)
    _write_runs(result, out / RUNS_PAGE)
    path = pages.write(out / REPORT, text)
    stamps.put(
        out, stamp, [REPORT, RUNS_PAGE, *(name for each in entries.values() for one in each for name in one["files"])]
    )
    return path


def _write_runs(result: PaperResult, file: Path) -> None:
    views = [*run_views(result.paper.experiments.values(), result.runs), *_kernel_views(result)]
    page = {"id": result.paper.id, "title": result.paper.title, "report": REPORT, "runs": views}
    payloads = {"explorer-data": {"colors": COLORS, "runs": views}}
    pages.write(file, pages.render("runs.html.j2", payloads, figures={}, page=page))


def _shown(result: PaperResult) -> dict[str, list[Figure]]:
    """The figures and tables of the page, by its section."""
    from elephan.papers import kernel_figures

    return {
        "figures": list(result.paper.figures(result.runs)),
        "tables": list(tables(result.claims, result.paper.claims.experiments)),
        "beyond_figures": list(result.beyond.beyond.figures(result.beyond.runs)) if result.beyond else [],
        "kernel_figures": list(kernel_figures.figures(result, result.kernel)) if result.kernel else [],
    }


def _entry(figure: Figure, out: Path) -> dict[str, Any]:
    return entry(figure, out) | {"table": figure if isinstance(figure, DataTable) else None}


def _page(result: PaperResult) -> dict[str, Any]:
    """The page without its figures, by the names that ``paper.html.j2`` has."""
    paper, firm = result.paper, result.firm
    judged = firm["reproduced"] + firm["differs"]
    claims = [_row(judgment) | _kernel_cells(result, judgment) for judgment in result.claims]
    return {
        "id": paper.id, "title": paper.title, "runs_page": RUNS_PAGE, "reference": paper.reference,
        "selection": result.selection,
        "claims": claims, "experiments": list(dict.fromkeys(claim["experiment"] for claim in claims)),
        "totals": result.totals, "judged": result.totals["reproduced"] + result.totals["differs"],
        "firm": firm, "firm_share": round(100 * firm["reproduced"] / judged) if judged else None,
        "abstract": abstract(result.claims), "quick_note": paper.quick_note,
        "sensitivity": [_sensitivity(row.to_json(), paper.id) for row in result.sensitivity],
        "variants": [variant.title for variant in paper.variants], "other_runs": _other_runs(result),
        "assumptions": paper.assumptions, "provenance": asked(result.runs), "phases": result.phases,
        "seed_checks": result.seed_checks,
        "within_noise": sum(judgment.within_noise for judgment in result.claims),
        "beyond": _beyond(result), "kernel": _kernel(result), "warnings": warnings(result.runs),
        "run_count": len(result.runs), "segments": f"{result.segments_delivered / 1e9:.2f} billion",
    }  # fmt: skip


def _made_from(result: PaperResult) -> dict[str, Any]:
    """Inputs of a report besides the code: the texts, and the runs in the figures. The report is up to date if these
    inputs are unchanged."""
    answer, column = result.beyond, result.kernel
    runs = [*result.runs, *(answer.runs if answer else ()), *(column.runs if column else ())]
    words = {key: value for key, value in result.to_json().items() if key not in {"report", "wall_seconds"}}
    return words | {"drawn": [[run.id, run.manifest.get("created")] for run in runs]}


def anchor(claim: Claim) -> str:
    """Anchor of a claim in its paper's report."""
    return f"claim-{claim.id}"


def _other_runs(result: PaperResult) -> list[tuple[str, tuple[str, ...]]]:
    """Runs that the page neither draws nor lists: their purposes, and the hashes of the scenarios."""
    found = [(row.variant.title, row.scenarios) for row in result.sensitivity if row.scenarios]
    if result.beyond is not None:
        hashes = (str(run.manifest["scenario_hash"]) for run in result.beyond.runs)
        found.append((result.beyond.beyond.question, tuple(dict.fromkeys(hashes))))
    return found


def _beyond(result: PaperResult) -> dict[str, Any] | None:
    answer = result.beyond
    if answer is None:
        return None
    return {"question": answer.beyond.question, "why": answer.beyond.why, "sentences": answer.sentences}


def _row(judgment: Judgment) -> dict[str, Any]:
    claim = judgment.claim
    # The subject of a pair already names the flows.
    where = {
        key: value for key, value in (claim.conditions or {}).items() if ">" not in claim.subject or key[:4] != "flow"
    }
    conditions = ", ".join(f"{key} {value}" for key, value in where.items())
    return judgment.to_json() | {
        "anchor": anchor(claim),
        "short": claim.id.removeprefix(f"{claim.document}."),
        "experiment": claim.experiment.removeprefix(f"{claim.document}."),
        "conditions": conditions,
        "interval": judgment.interval_text,
        "verdict_text": VERDICTS[judgment.verdict],
        "run": _first_run(judgment),
    }


def _first_run(judgment: Judgment) -> dict[str, str] | None:
    """The first run of a claim that was measured in the runs of one scenario."""
    hashes = {run.partition("-")[0] for run in judgment.runs}
    return {"id": judgment.runs[0], "hash": hashes.pop()} if len(hashes) == 1 else None


def _kernel_cells(result: PaperResult, judgment: Judgment) -> dict[str, Any]:
    """Cells about the kernel in a claim's row."""
    if result.kernel is None:
        return {}
    found = result.kernel.of(judgment.claim.id)
    return {"kernel": found | {"verdict_text": VERDICTS[found["verdict"]]}}


def _kernel_views(result: PaperResult) -> list[dict[str, Any]]:
    if result.kernel is None:
        return []
    carrier = result.kernel.plan.carrier
    where = f"in {carrier.words} (--on {carrier.backend}): "
    return run_views(result.paper.experiments.values(), result.kernel.runs, where)


def _kernel(result: PaperResult) -> dict[str, Any] | None:
    column = result.kernel
    if column is None:
        return None
    shown = [outcome for outcome in column.outcomes if outcome.run is not None or outcome.piece.chosen]
    lines = [line for outcome in shown for line in outcome.piece.twin.differences]
    rows = [
        {
            "experiment": ", ".join(name.partition(".")[2] for name in outcome.piece.experiments),
            "label": outcome.piece.label,
            "run": outcome.run.id if outcome.run else "",
            "state": "counts" if outcome.valid else outcome.why,
            "warnings": [] if outcome.why else list(outcome.run.warnings if outcome.run else ()),
        }
        for outcome in shown
    ]
    ids = {"other": column.other_verdicts(result.claims), "by_twin": column.by_twin(result.claims)}
    return {key: [name.removeprefix(f"{result.paper.id}.") for name in names] for key, names in ids.items()} | {
        "totals": column.totals, "host": column.host, "words": column.plan.carrier.words,
        "how": _IN_REAL_TIME if column.plan.carrier.alone else _IN_VIRTUAL_TIME,
        "differences": list(dict.fromkeys(lines)), "runs": rows, "not_run": len(column.outcomes) - len(shown),
        "left_out": [row.to_json() | {"count": len(row.labels)} for row in column.plan.left_out],
    }  # fmt: skip


def _sensitivity(row: dict[str, Any], paper_id: str) -> dict[str, Any]:
    for key in ("gained", "lost"):
        row[key] = ", ".join(name.removeprefix(f"{paper_id}.") for name in row[key])
    return row
