"""Reader of a paper's folder, and the paper that its files and its code make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measuring import At
from elephan.evaluation.tables import read
from elephan.papers import drawing
from elephan.papers.claims import ClaimSet, load_explanations, parse_claims
from elephan.papers.drawing import Drawing
from elephan.papers.paper import Code, Maker, Paper
from elephan.papers.schema import ClaimsTable, PaperTable
from elephan.scenario import Scenario

FOLDER = Path(__file__).parent


@lru_cache(maxsize=16)
def about(paper_id: str) -> PaperTable:
    """The content of a paper's ``paper.toml``."""
    return read(FOLDER / paper_id / "paper.toml", PaperTable)


@lru_cache(maxsize=16)
def claims(paper_id: str) -> ClaimSet:
    """The claims and experiments of a paper's ``claims.toml``."""
    return parse_claims(read(FOLDER / paper_id / "claims.toml", ClaimsTable))


def paper(paper_id: str, quick: bool, code: Code) -> Paper:
    """The paper in a folder; with ``quick``, the same experiments with the reductions of ``[quick]``.

    Raises:
        ScenarioError: the files contradict each other or the code.
    """
    table, stated = about(paper_id), claims(paper_id)
    setup = code.setup(**(table.quick.set if quick else {}))
    made = Maker(paper_id, stated, code, table.names, quick)
    drawn = drawing.read(FOLDER / paper_id / "figures.toml")
    Drawing(made, setup, drawn, Evidence()).check()
    return Paper(
        id=paper_id,
        title=table.title,
        reference=table.reference,
        claims=stated,
        experiments=made.experiments(setup),
        measurer=partial(code.measurer, setup=setup),
        figures=lambda runs: [*Drawing(made, setup, drawn, runs).figures(), *code.figures(runs, setup=setup)],
        quick=quick,
        quick_note=table.quick.note if quick else "",
        quick_scales=frozenset(table.quick.scales),
        assumptions=table.assumption,
        variants=tuple(made.variant(row, setup) for row in table.variant),
        variants_by_default=table.variants_by_default and not quick,
        explanations=load_explanations(FOLDER / paper_id / "explanations.toml", stated),
        ask=partial(code.beyond, setup),
    )


def along(paper_id: str, experiment: str, name: str, *, quick: bool = False) -> tuple[Any, ...]:
    """The values that the first runs of an experiment have for a name of the grid, in order."""
    stated = claims(paper_id)
    runs = stated.experiments[f"{paper_id}.{experiment}"].runs[0]
    return tuple(dict.fromkeys(cell[name] for cell in runs.cells(stated.lists, quick=quick)))


def scenario_at(
    paper_id: str, scenarios: Mapping[str, Callable[..., Scenario]], setup: Any, protocol: str, at: At
) -> Scenario:
    """The scenario of a claim's experiment for a protocol: the arguments of the first runs, and the claim's conditions
    that are named as arguments.

    Raises:
        CriterionError: an argument is missing.
    """
    runs = claims(paper_id).experiments[f"{paper_id}.{at.experiment}"].runs[0]
    make = scenarios[runs.scenario]
    taken = signature(make).parameters
    arguments = runs.fixed | {name: value for name, value in at.where.items() if name in taken} | {"protocol": protocol}
    try:
        signature(make).bind(setup, **arguments)
    except TypeError as error:
        raise CriterionError(f"{at.criterion.id}: where: {error}") from None
    return make(setup, **arguments)
