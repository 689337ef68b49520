"""The papers on real Linux: their runs within a time budget, and one page with the verdicts side by side.

Each claim has the published statement, the simulator's verdict with the paper's endpoints, and the verdict of real
Linux in virtual time. The page is written from the JSON document of the runs, and the document is written from the
saved runs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.evaluation.in_kernel import CARRIERS, require
from elephan.papers import in_kernel, reproduction
from elephan.papers.paper import Paper
from elephan.papers.results import PaperResult
from elephan.scenario import ScenarioError

if TYPE_CHECKING:
    from elephan.evaluation.planning import Progress
    from elephan.runs import Store

ORDER = ("weigle2006", "hcc2011", "leith2008", "katto2008", "ha2006")
"""The papers in the order of their runs; the order matters if the budget does not suffice."""
DOCUMENT = "papers-on-linux.json"
PAGE = "papers-on-linux.md"
_WORDS = {"reproduced": "holds", "differs": "does not hold", "not_judged": "–"}
_LONGEST_QUOTE = 110


def run(
    papers: Sequence[Paper],
    *,
    budget_s: float | None,
    jobs: int | None,
    store: Store,
    out: Path,
    progress: Progress | None,
) -> dict[str, Any]:
    """Run the supported experiments of some papers on Linux until the budget is spent. Returns the JSON document of the
    page.

    The papers are simulated first, one seed each, unless the results are saved; the budget does not include this time.

    Raises:
        ScenarioError: this host cannot run the backend.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    require(CARRIERS["linux"], "papers")
    ordered = sorted(papers, key=lambda paper: ORDER.index(paper.id) if paper.id in ORDER else len(ORDER))
    wanted = reproduction.Wanted(seeds=1, sensitivity=False)
    results = reproduction.reproduce_all(
        [(paper, wanted, out / paper.id) for paper in ordered], jobs=jobs, store=store, progress=progress
    )
    until_s = None if budget_s is None else time.monotonic() + budget_s
    rows = [_paper(result, jobs, store, until_s, progress) for result in results]
    quick = any(paper.quick for paper in papers)
    return _kept({"made": datetime.now(UTC).strftime("%B %Y"), "quick": quick, "papers": rows})


def _paper(
    result: PaperResult, jobs: int | None, store: Store, until_s: float | None, progress: Progress | None
) -> dict[str, Any]:
    """A paper's entry in the document."""
    try:
        planned = in_kernel.plan(result.paper, store=store, on="linux")
    except ScenarioError as error:
        return result.to_json() | {"nothing": str(error)}
    in_kernel.add(result, planned, jobs=jobs, store=store, progress=progress, until_s=until_s)
    return result.to_json() | {"host": result.kernel.host if result.kernel else ""}


def write(document: Mapping[str, Any], folder: Path) -> Path:
    """Write the document and its page into a folder. Returns the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DOCUMENT).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    target = folder / PAGE
    target.write_text(page(document), encoding="utf-8")
    return target


_CLAIM = ("id", "experiment", "figure", "subject", "quote", "allowed", "verdict", "measured_text")
_IN_KERNEL = ("verdict", "measured_text", "why", "twin_simulated")


def _kept(document: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the document with only the fields of the papers' documents that the page needs."""
    papers = []
    for row in document["papers"]:
        mine = {key: row[key] for key in ("paper", "title", "totals", "nothing", "host") if key in row}
        mine["claims"] = [
            {key: claim[key] for key in _CLAIM}
            | ({"kernel": {key: claim["kernel"][key] for key in _IN_KERNEL}} if "kernel" in claim else {})
            for claim in row["claims"]
        ]
        if row.get("kernel"):
            column = row["kernel"]
            runs = [
                {key: run[key] for key in ("experiments", "label", "why")}
                | {"made": run["run"] is not None, "differences": run["differences"]}
                for run in column["runs"]
            ]
            mine["kernel"] = {"totals": column["totals"], "left_out": column["left_out"], "runs": runs}
        papers.append(mine)
    return {"made": document["made"], "quick": document["quick"], "papers": papers}


# ---- the page ----


def page(document: Mapping[str, Any]) -> str:
    """The page of a document, in Markdown."""
    return "\n".join(_page(document)) + "\n"


def _page(document: Mapping[str, Any]) -> Iterator[str]:
    papers = document["papers"]
    command = "elephan papers --on linux" + (" --quick" if document["quick"] else "")
    yield "# The papers on the Linux of today"
    yield ""
    yield (
        f"This page was made by `{command}` from saved runs ({document['made']}). Each experiment of a paper runs on a "
        "real Linux kernel in virtual time ([Linux in virtual time](linux.md)), with the paper's network and flows and "
        "with Linux's own endpoints. The algorithms are Linux's own where Linux has them, and otherwise Elephan's C "
        "source, compiled into that kernel. This page does not reproduce a paper; it shows which of the "
        "paper's results hold today. Each experiment has one seed."
    )
    if document["quick"]:
        yield ""
        yield (
            "These are the small experiments of `--quick`: the same experiments at about a tenth of the work. "
            "Verdicts are preliminary."
        )
    yield ""
    yield from _table(
        ["paper", "claims", "simulator: hold", "differ", "Linux: hold", "differ", "not judged", "runs made", "of"],
        [_counts(row) for row in papers],
    )
    yield from _both(papers)
    for row in papers:
        yield from _section(row)


def _counts(row: Mapping[str, Any]) -> list[Any]:
    simulated, column = row["totals"], row.get("kernel")
    here = [_holds(simulated), simulated["differs"]]
    if column is None:
        return [row["paper"], len(row["claims"]), *here, "–", "–", len(row["claims"]), 0, 0]
    totals, runs = column["totals"], column["runs"]
    made = sum(run["made"] for run in runs)
    there = [_holds(totals), totals["differs"], totals["not_judged"]]
    return [row["paper"], len(row["claims"]), *here, *there, made, len(runs)]


def _holds(totals: Mapping[str, int]) -> int:
    return totals["reproduced"] + totals["weak"]


def _both(papers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Paragraphs on the claims that both Linux and the simulator judge: the number of claims with equal verdicts, and
    the claims that hold only on Linux or only in the simulator."""
    yield "## Findings that hold today, and those that do not"
    yield ""
    for row in papers:
        judged = [claim for claim in row["claims"] if "kernel" in claim and _verdict(claim) != "not_judged"]
        if not judged:
            yield f"**{row['paper']}**: no claim is judged by runs on Linux yet."
            yield ""
            continue
        holds = [claim for claim in judged if _verdict(claim) == "reproduced"]
        lost = [claim for claim in judged if (claim["verdict"], _verdict(claim)) == ("reproduced", "differs")]
        gained = [claim for claim in judged if (claim["verdict"], _verdict(claim)) == ("differs", "reproduced")]
        yield (
            f"**{row['paper']}**: {len(holds)} of {len(judged)} judged claims hold on Linux. {len(lost)} hold only "
            f"in the simulator with the paper's endpoints, and {len(gained)} only on Linux."
        )
        by_twin = [claim for claim in lost if (claim["kernel"]["twin_simulated"] or {}).get("verdict") == "differs"]
        if lost:
            yield _by_endpoints(len(by_twin), len(lost))
        yield ""
        rows = [
            (words, _quote(claim), claim["allowed"], _measured(claim))
            for words, claims in (("only in the simulator", lost), ("only on Linux", gained))
            for claim in claims
        ]
        if rows:
            yield from _table(["holds", "claim", "allowed", "Linux"], rows)


def _verdict(claim: Mapping[str, Any]) -> str:
    return str(claim["kernel"]["verdict"])


def _measured(claim: Mapping[str, Any]) -> str:
    return str(claim["kernel"]["measured_text"])


def _quote(claim: Mapping[str, Any]) -> str:
    """Text of a claim with its section, and the published number."""
    text = claim["quote"]
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return f"{claim['figure']}, {claim['subject']}: {short}"


def _section(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {row['paper']}: {row['title']}"
    yield ""
    if "nothing" in row:
        yield f"No experiment of this paper runs on Linux in virtual time: {row['nothing']}."
        yield ""
        return
    column = row["kernel"]
    judged = [claim for claim in row["claims"] if _verdict(claim) != "not_judged"]
    if row.get("host"):
        yield f"Kernel: {row['host']}."
        yield ""
    if judged:
        yield from _table(
            ["claim", "the paper", "allowed", "simulator", "", "Linux", "", "Linux's run, simulated"],
            [_claim(row["paper"], claim) for claim in judged],
        )
    yield from _not_run(row, column)
    differences = dict.fromkeys(line for run in column["runs"] if run["made"] for line in run["differences"])
    if differences:
        yield "Changes that were made for Linux:"
        yield ""
        yield from (f"- {line}" for line in differences)
        yield ""


def _claim(paper: str, claim: Mapping[str, Any]) -> list[str]:
    column, twin = claim["kernel"], claim["kernel"]["twin_simulated"] or {}
    return [
        f"`{claim['id'].removeprefix(paper + '.')}`", _quote(claim), claim["allowed"],
        claim["measured_text"], _WORDS[claim["verdict"]], column["measured_text"], _WORDS[column["verdict"]],
        f"{twin.get('measured_text', '')} {_WORDS[twin['verdict']] if twin else ''}".strip(),
    ]  # fmt: skip


def _not_run(row: Mapping[str, Any], column: Mapping[str, Any]) -> Iterator[str]:
    """Runs that are missing, by experiment and reason, and claims without a verdict."""
    missing: dict[tuple[str, str], int] = {}
    for run in column["runs"]:
        if not run["made"]:
            key = (", ".join(run["experiments"]), run["why"])
            missing[key] = missing.get(key, 0) + 1
    rows: list[tuple[str, int, str]] = [(name, count, why) for (name, why), count in missing.items()]
    rows += [(out["experiment"], len(out["runs"]), out["why"]) for out in column["left_out"]]
    if rows:
        yield "These runs were not made:"
        yield ""
        yield from _table(["experiments", "runs", "reason"], rows)
    without = sum(_verdict(claim) == "not_judged" for claim in row["claims"])
    if without:
        yield (
            f"{without} of the paper's {len(row['claims'])} claims have no verdict of Linux: a run that they need is "
            "missing."
        )
        yield ""


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join(['---'] * len(header))} |"
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _by_endpoints(agree: int, lost: int) -> str:
    """How many of the claims that Linux does not reproduce depend on its endpoints and algorithms alone."""
    if agree == 0:
        which = "this claim" if lost == 1 else f"any of these {lost} claims"
        return f"The simulator does not agree with Linux on {which} even with Linux's endpoints and algorithms."
    which = "this claim" if lost == 1 else f"{agree} of these {lost} claims"
    return (
        f"The simulator agrees with Linux on {which} once it has Linux's endpoints and algorithms, so these are the "
        "cause."
    )
