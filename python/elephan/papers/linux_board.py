"""The papers on real Linux: their runs within a time budget, and one page with the verdicts side by side.

Each claim has the published statement, the simulator's verdict with the paper's endpoints, and the verdict of real
Linux in virtual time. The page is written from the JSON document of the runs, and the document is written from the
saved runs.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from elephan.evaluation.in_kernel import CARRIERS, require
from elephan.papers import in_kernel, reproduction
from elephan.papers.paper import Paper
from elephan.papers.results import PaperResult
from elephan.report import pages
from elephan.scenario import ScenarioError

if TYPE_CHECKING:
    from elephan.evaluation.planning import Running

ORDER = ("weigle2006", "hcc2011", "leith2008", "katto2008", "ha2006")
"""The papers in the order of their runs; the order matters if the budget does not suffice."""
DOCUMENT = "papers-on-linux.json"
PAGE = "papers-on-linux.md"
_WORDS = {"reproduced": "holds", "differs": "does not hold", "not_judged": "–"}
_LONGEST_QUOTE = 110


def run(papers: Sequence[Paper], *, budget_s: float | None, out: Path, **running: Unpack[Running]) -> dict[str, Any]:
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
    results = reproduction.reproduce_all([(paper, wanted, out / paper.id) for paper in ordered], **running)
    until_s = None if budget_s is None else time.monotonic() + budget_s
    rows = [_paper(result, until_s, **running) for result in results]
    quick = any(paper.quick for paper in papers)
    return _kept({"made": datetime.now(UTC).strftime("%B %Y"), "quick": quick, "papers": rows})


def _paper(result: PaperResult, until_s: float | None, **running: Unpack[Running]) -> dict[str, Any]:
    """A paper's entry in the document."""
    try:
        planned = in_kernel.plan(result.paper, store=running.get("store"), on="linux")
    except ScenarioError as error:
        return result.to_json() | {"nothing": str(error)}
    in_kernel.add(result, planned, until_s=until_s, **running)
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


def page(document: Mapping[str, Any]) -> str:
    """The page of a document, in Markdown."""
    return pages.markdown("papers-on-linux.md.j2", **{**document, "papers": [*map(_view, document["papers"])]})


def _view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Values that the page shows of a paper."""
    column = row.get("kernel") or {"runs": [], "left_out": []}
    known = [claim for claim in row["claims"] if "kernel" in claim]
    judged = [claim for claim in known if claim["kernel"]["verdict"] != "not_judged"]
    apart = {
        words: [claim for claim in judged if (claim["verdict"], claim["kernel"]["verdict"]) == verdicts]
        for words, verdicts in (
            ("only in the simulator", ("reproduced", "differs")),
            ("only on Linux", ("differs", "reproduced")),
        )
    }
    lost, gained = apart.values()
    runs = column["runs"]
    return {
        "nothing": "",
        "host": "",
        **row,
        "counts": _counts(row),
        "judged": judged,
        "hold": sum(claim["kernel"]["verdict"] == "reproduced" for claim in judged),
        "lost": len(lost),
        "gained": len(gained),
        "by_twin": sum((claim["kernel"]["twin_simulated"] or {}).get("verdict") == "differs" for claim in lost),
        "apart": [
            (words, _quote(claim), claim["allowed"], claim["kernel"]["measured_text"])
            for words, claims in apart.items()
            for claim in claims
        ],
        "rows": [_claim(row["paper"], claim) for claim in judged],
        "missing": _missing(column),
        "without": len(known) - len(judged),
        "claims": len(row["claims"]),
        "differences": list(dict.fromkeys(line for run in runs if run["made"] for line in run["differences"])),
    }


def _counts(row: Mapping[str, Any]) -> list[Any]:
    column, claims = row.get("kernel"), len(row["claims"])
    here = [row["paper"], claims, _holds(row["totals"]), row["totals"]["differs"]]
    if column is None:
        return [*here, "–", "–", claims, 0, 0]
    totals, runs = column["totals"], column["runs"]
    return [*here, _holds(totals), totals["differs"], totals["not_judged"], sum(r["made"] for r in runs), len(runs)]


def _holds(totals: Mapping[str, int]) -> int:
    return totals["reproduced"] + totals["weak"]


def _quote(claim: Mapping[str, Any]) -> str:
    """Text of a claim with its section, and the published number."""
    text = claim["quote"]
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return f"{claim['figure']}, {claim['subject']}: {short}"


def _claim(paper: str, claim: Mapping[str, Any]) -> list[str]:
    column, twin = claim["kernel"], claim["kernel"]["twin_simulated"] or {}
    return [
        f"`{claim['id'].removeprefix(paper + '.')}`", _quote(claim), claim["allowed"],
        claim["measured_text"], _WORDS[claim["verdict"]], column["measured_text"], _WORDS[column["verdict"]],
        f"{twin.get('measured_text', '')} {_WORDS[twin['verdict']] if twin else ''}".strip(),
    ]  # fmt: skip


def _missing(column: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """Runs that were not made, by experiment and reason."""
    found = Counter((", ".join(run["experiments"]), run["why"]) for run in column["runs"] if not run["made"])
    listed = [(name, count, why) for (name, why), count in found.items()]
    return listed + [(out["experiment"], len(out["runs"]), out["why"]) for out in column["left_out"]]
