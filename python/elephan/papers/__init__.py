"""Papers: their experiments, their claims, and the results of running them again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.evaluation.kernel_runs import KernelRuns
    from elephan.evaluation.planning import Running
    from elephan.papers.judging import Judgment
    from elephan.papers.overview import Scoreboard
    from elephan.papers.paper import Paper
    from elephan.papers.results import KernelColumn, PaperResult
    from elephan.runs import Run


FOLDER = Path(__file__).parent
IDS = ("hcc2011", "ha2006", "leith2008", "weigle2006", "katto2008")
"""The papers in the order of the scoreboard; each is the name of a folder beside this file."""


def ids() -> list[str]:
    """Ids of the papers of this version."""
    return list(IDS)


def listing() -> list[dict[str, Any]]:
    """The papers in the form of ``elephan list papers --json``, without building their experiments."""
    tables = {name: tomllib.loads((FOLDER / name / "paper.toml").read_text(encoding="utf-8")) for name in IDS}
    return [
        {"name": name, "kind": "paper", "title": table["title"], "source": table["reference"], "parameters": []}
        for name, table in tables.items()
    ]


def get(paper_id: str, quick: bool = False) -> Paper:
    """The paper that has the given id; with ``quick``, the same experiments at about a tenth of the work.

    Raises:
        ScenarioError: no paper has this id; the message names the most similar id.
    """
    if paper_id not in IDS:
        raise ScenarioError(f"'{paper_id}' is not a paper; {hint(paper_id, ids(), lister='elephan list papers')}")
    return _built(paper_id, quick)


@lru_cache(maxsize=16)
def _built(paper_id: str, quick: bool) -> Paper:
    """A paper with its experiments; one paper, however :func:`get` was given its arguments."""
    from elephan.papers import loading

    return loading.paper(paper_id, quick, import_module(f"elephan.papers.{paper_id}").CODE)


def evaluate(paper: Paper | str, runs: Iterable[Run]) -> list[Judgment]:
    """Judge a paper's claims by existing runs; claims whose runs are missing are not judged."""
    from elephan.evaluation.evidence import Evidence
    from elephan.papers.judging import judge_all

    of = get(paper) if isinstance(paper, str) else paper
    return judge_all(of.claims, of.measurer(Evidence(runs)), of.explanations, reduced=of.reduced)


def reproduce(
    paper: Paper | str, figure: str | None = None, quick: bool = False, *, out: str | Path | None = None,
    seeds: int | None = None, sensitivity: bool | None = None, beyond: bool = False, **running: Unpack[Running],
) -> PaperResult:  # fmt: skip
    """Reproduce a paper; of a paper by its id, ``quick`` runs the same experiments at about a tenth of the work, one
    seed each.

    The other arguments are those of :class:`elephan.papers.reproduction.Wanted`; the report is written into ``out``
    (``reports/ID`` by default).

    Raises:
        ScenarioError: there is no such paper or figure.
        SweepError: a run failed.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    from elephan.papers import reproduction

    of = get(paper, quick) if isinstance(paper, str) else paper
    wanted = reproduction.Wanted(figure, seeds, sensitivity, beyond)
    folder = Path(out) if out is not None else Path("reports") / of.id
    (result,) = reproduction.reproduce_all([(of, wanted, folder)], **running)
    return result


def plan_in_kernel(paper_id: str, figure: str | None = None, quick: bool = False, **options: Any) -> KernelRuns:
    """Plan and estimated duration of a paper's runs on a real Linux kernel; ``options`` are those of
    :func:`elephan.papers.in_kernel.plan`.

    Raises:
        ScenarioError: there is no such paper or figure, the backend is not available, or it supports none of the runs.
    """
    from elephan.papers import in_kernel

    return in_kernel.plan(get(paper_id, quick), figure, **options)


def add_kernel(
    result: PaperResult, planned: KernelRuns, *, until_s: float | None = None, **running: Unpack[Running]
) -> KernelColumn:
    """Make the planned runs in the kernel, and add them to a reproduced paper and its report.

    Raises:
        SweepError: a twin could not be simulated.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    from elephan.papers import in_kernel

    return in_kernel.add(result, planned, until_s=until_s, **running)


def scoreboard(
    paper_ids: Sequence[str] | None = None, quick: bool = False, *, out: str | Path | None = None,
    seeds: int | None = None, sensitivity: bool | None = None, beyond: bool = False, **running: Unpack[Running],
) -> Scoreboard:  # fmt: skip
    """Reproduce several papers (all by default), and write one page over them into ``out`` (``reports`` by default).
    ``beyond`` also answers the papers' open questions.

    Raises:
        ScenarioError: there is no such paper.
        SweepError: a run failed.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    from elephan.papers import overview, reproduction

    folder = Path(out) if out is not None else Path("reports")
    listed = []
    for name in ids() if paper_ids is None else paper_ids:
        paper = get(name, quick)
        wanted = reproduction.Wanted(None, seeds, sensitivity, beyond and paper.beyond is not None)
        listed.append((paper, wanted, folder / name))
    return overview.write(reproduction.reproduce_all(listed, **running), folder)


def on_linux(
    paper_ids: Sequence[str] | None = None, quick: bool = False, *, budget_s: float | None = None,
    out: str | Path | None = None, **running: Unpack[Running],
) -> tuple[dict[str, Any], Path]:  # fmt: skip
    """Run papers (all by default) on Linux in virtual time until a time budget is spent. Returns the document and the
    path of its page.

    Raises:
        ScenarioError: there is no such paper, or this host cannot run the backend.
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    from elephan.papers import linux_board

    folder = Path(out) if out is not None else Path("reports")
    listed = [get(name, quick) for name in (ids() if paper_ids is None else paper_ids)]
    found = linux_board.run(listed, budget_s=budget_s, out=folder, **running)
    return found, linux_board.write(found, folder)


__all__ = ["add_kernel", "evaluate", "get", "ids", "listing", "on_linux", "plan_in_kernel", "reproduce", "scoreboard"]
