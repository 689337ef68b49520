"""Papers: what they ran, what they say, and what comes out when it is run again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.papers.claims import Judgment
    from elephan.papers.paper import Paper
    from elephan.papers.reproduction import PaperResult, Progress
    from elephan.runs import Run, Store

INDEX = {
    "weigle2006": (
        "Performance of Competing High-Speed TCP Flows",
        "M. C. Weigle, P. Sharma, J. R. Freeman, Networking 2006",
    ),
}
"""Title and reference of each paper; its folder here has the same name."""


def ids() -> list[str]:
    """Ids of the papers of this version."""
    return list(INDEX)


def listing() -> list[dict[str, Any]]:
    """The papers as ``elephan list papers --json`` gives them; nothing is built for it."""
    return [
        {"name": name, "kind": "paper", "title": title, "source": reference, "parameters": []}
        for name, (title, reference) in INDEX.items()
    ]


@lru_cache(maxsize=8)
def get(paper_id: str) -> Paper:
    """The paper of an id.

    Raises:
        ScenarioError: there is none; the message has the nearest.
    """
    if paper_id not in INDEX:
        raise ScenarioError(f"'{paper_id}' is not a paper; {hint(paper_id, ids())}")
    found: Paper = import_module(f"elephan.papers.{paper_id}").paper()
    return found


def evaluate(paper: Paper | str, runs: Iterable[Run]) -> list[Judgment]:
    """Judge a paper's claims by runs that are there; claims whose runs are missing are not judged."""
    from elephan.papers import reproduction

    return reproduction.evaluate(get(paper) if isinstance(paper, str) else paper, runs)


def reproduce(
    paper_id: str,
    figure: str | None = None,
    quick: bool = False,
    jobs: int | None = None,
    store: Store | None = None,
    out: str | Path | None = None,
    seeds: int | None = None,
    sensitivity: bool | None = None,
    progress: Progress | None = None,
) -> PaperResult:
    """Reproduce a paper; see :func:`elephan.papers.reproduction.reproduce`.

    Raises:
        ScenarioError: no such paper or figure.
        SweepError: a run failed.
        Interrupted: Ctrl-C; what was finished is saved.
    """
    from elephan.papers import reproduction

    return reproduction.reproduce(
        get(paper_id),
        figure=figure,
        quick=quick,
        jobs=jobs,
        store=store,
        out=out,
        seeds=seeds,
        sensitivity=sensitivity,
        progress=progress,
    )


def scoreboard(
    paper_ids: Sequence[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    store: Store | None = None,
    out: str | Path | None = None,
    seeds: int | None = None,
    progress: Progress | None = None,
) -> list[PaperResult]:
    """Reproduce several papers (all by default), and write one page over them into ``out`` (``reports`` by default).

    Raises:
        ScenarioError: no such paper.
        SweepError: a run failed.
        Interrupted: Ctrl-C; what was finished is saved.
    """
    from elephan import report

    folder = Path(out) if out is not None else Path("reports")
    results = [
        reproduce(name, quick=quick, jobs=jobs, store=store, out=folder / name, seeds=seeds, progress=progress)
        for name in (ids() if paper_ids is None else paper_ids)
    ]
    report.scoreboard([result.to_json() | {"title": result.paper.title} for result in results], folder)
    return results


__all__ = ["evaluate", "get", "ids", "listing", "reproduce", "scoreboard"]
