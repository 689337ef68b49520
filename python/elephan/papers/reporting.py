"""The report of a reproduced paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.evaluation.reporting import provenance, run_views, scenario_groups, warnings
from elephan.evaluation.wording import spread
from elephan.papers.abstract import abstract
from elephan.papers.claims import Claim
from elephan.papers.judging import Judgment
from elephan.papers.tables import tables
from elephan.report import stamps
from elephan.report.paper import REPORT, BeyondView, KernelView, PaperPage, paper_report
from elephan.report.views import RunView, ScenarioGroup, ScenarioRow

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
VERDICTS = {"reproduced": "reproduced", "differs": "differs", "not_judged": "not judged"}


def write(result: PaperResult, out: Path) -> Path:
    """Write the report of a reproduced paper, unless it is up to date. Returns its path."""
    paper, experiments = result.paper, result.paper.experiments.values()
    stamp = stamps.stamp(_made_from(result))
    if stamps.is_current(out, stamp):
        return out / REPORT
    page = PaperPage(
        id=paper.id,
        title=paper.title,
        reference=paper.reference,
        selection=result.selection,
        claims=[_row(judgment) | _kernel_cells(result, judgment) for judgment in result.claims],
        totals=result.totals,
        firm=result.firm,
        figures=paper.figures(result.runs),
        abstract=abstract(result.claims),
        tables=list(tables(result.claims, paper.claims.experiments)),
        views=[*run_views(experiments, result.runs), *_kernel_views(result)],
        sensitivity=[_sensitivity(row.to_json(), paper.id) for row in result.sensitivity],
        variants=[variant.title for variant in paper.variants],
        other_runs=_other_runs(result),
        assumptions=paper.assumptions,
        scenarios=[*scenario_groups(experiments, result.runs), *_twins(result)],
        provenance=provenance(result.runs),
        phases=result.phases,
        quick_note=paper.quick_note,
        seed_checks=result.seed_checks,
        within_noise=sum(judgment.within_noise for judgment in result.claims),
        beyond=_beyond(result),
        kernel=_kernel(result),
        warnings=warnings(result.runs),
        run_count=len(result.runs),
        segments=f"{result.segments_delivered / 1e9:.2f} billion",
        runs=result.runs,
    )
    return paper_report(page, out, stamp)


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


def _beyond(result: PaperResult) -> BeyondView | None:
    answer = result.beyond
    if answer is None:
        return None
    figures = tuple(answer.beyond.figures(answer.runs))
    return BeyondView(answer.beyond.question, answer.beyond.why, answer.sentences, figures)


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
        "interval": spread(judgment.low, judgment.high),
        "verdict_text": VERDICTS[judgment.verdict],
    }


def _kernel_cells(result: PaperResult, judgment: Judgment) -> dict[str, Any]:
    """Cells about the kernel in a claim's row."""
    if result.kernel is None:
        return {}
    found = result.kernel.of(judgment.claim.id)
    return {"kernel": found | {"verdict_text": VERDICTS[found["verdict"]]}}


def _kernel_views(result: PaperResult) -> Iterator[RunView]:
    if result.kernel is not None:
        yield from run_views(
            result.paper.experiments.values(), result.kernel.runs, f"in {result.kernel.plan.carrier.words}: "
        )


def _kernel(result: PaperResult) -> KernelView | None:
    from elephan.papers.kernel_figures import figures

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
    return KernelView(
        totals=column.totals,
        other=[name.removeprefix(f"{result.paper.id}.") for name in column.other_verdicts(result.claims)],
        by_twin=[name.removeprefix(f"{result.paper.id}.") for name in column.by_twin(result.claims)],
        host=column.host,
        how=_IN_REAL_TIME if column.plan.carrier.alone else _IN_VIRTUAL_TIME,
        words=column.plan.carrier.words,
        differences=list(dict.fromkeys(lines)),
        runs=rows,
        not_run=len(column.outcomes) - len(shown),
        left_out=[row.to_json() | {"count": len(row.labels)} for row in column.plan.left_out],
        figures=figures(result, column),
    )


def _sensitivity(row: dict[str, Any], paper_id: str) -> dict[str, Any]:
    for key in ("gained", "lost"):
        row[key] = ", ".join(name.removeprefix(f"{paper_id}.") for name in row[key])
    return row


def _twins(result: PaperResult) -> Iterator[ScenarioGroup]:
    """Scenarios that were run in the kernel."""
    made = [outcome for outcome in result.kernel.outcomes if outcome.run is not None] if result.kernel else []
    rows: list[ScenarioRow] = []
    for outcome in made:
        scenario, seed = outcome.piece.twin.scenario, str(outcome.piece.scenario.seed)
        takes = f"{outcome.piece.twin.duration_s:g} s"
        key = f"kernel-{scenario.hash}"
        if key not in {row.key for row in rows}:
            rows.append(ScenarioRow(key, outcome.piece.label, scenario.hash, seed, takes, scenario.to_toml()))
    if rows and result.kernel is not None:
        carrier = result.kernel.plan.carrier
        yield ScenarioGroup(f"In {carrier.words} (elephan run scenario.toml --on {carrier.backend})", tuple(rows))
