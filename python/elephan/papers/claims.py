"""Claims of a paper, as data: criteria with the paper's statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from elephan.evaluation.conditions import Where
from elephan.evaluation.criteria import CriterionError, Number, SubjectCriterion, check
from elephan.evaluation.relations import RELATIONS
from elephan.evaluation.tables import expanded, made, read
from elephan.papers.schema import ClaimsTable, ExperimentTable, ExplanationsTable
from elephan.scenario import ScenarioError
from elephan.scenario.fields import Switch, Text, chosen

_USUAL_KINDS = {"limit": "bound", "range": "bound", "parameter": "shape"}
"""The kind of a claim that states none, by what its relation takes; other relations compare: an ordering."""


class Claim(SubjectCriterion):
    """A criterion with a paper's statement; ``document`` is the paper's id, ``section`` is its figure, table or
    section.

    Attributes:
        certainty: ``certain`` (the paper says it), ``inferred`` (our interpretation or our threshold), ``conflict``.
        robustness: robustness of the claim against variants of the paper's open values.
        check: means of judging the claim, such as a simulation.
        tolerance_kind: kind of the statement: a published number, an ordering, a bound, or a shape.
        basis: source of the claim in the paper.
        formula: formula of ``limit``, if the limit was computed.
        threshold_from: source of a bound's number.
        direction_certain: true if the paper states the direction explicitly, and only the number is our choice.
        discriminating: true if a wrong simulator or control law would probably fail the claim.
        note: remarks.
    """

    model_config = ConfigDict(populate_by_name=False)

    document: str = Field(alias="paper")
    section: Text = Field(alias="figure")
    text: Text = Field(alias="quote")
    limit: Number = Field(alias="expected")
    conditions: Where | None = Field(None, alias="where")
    other_conditions: Where | None = Field(None, alias="other_where")
    certainty: Annotated[str, chosen(("certain", "inferred", "conflict"), "a certainty")]
    robustness: Annotated[str, chosen(("high", "medium", "low"), "a robustness")]
    check: Annotated[
        str, chosen(("simulation", "analytic", "unit", "internal", "not_simulable"), "a means of judging a claim")
    ]
    tolerance_kind: Annotated[str, chosen(("bound", "ordering", "published_number", "shape"), "a kind of statement")]
    basis: Annotated[str, chosen(("table", "caption", "text", "formula", "derived"), "a source of a claim")]
    formula: str | None = None
    threshold_from: Annotated[str, chosen(("paper", "derived", "ours"), "a source of a number")] | None = None
    direction_certain: Switch = False
    discriminating: Switch = False
    note: str | None = None

    @property
    def firm(self) -> bool:
        """True if the paper states the claim explicitly, and the claim does not depend on values that the paper leaves
        open."""
        return self.certainty == "certain" and self.robustness in ("high", "medium")


_FIELDS = frozenset(stated.alias or name for name, stated in Claim.model_fields.items())
"""Names of a claim's fields in a claims file."""


@dataclass(frozen=True)
class ClaimSet:
    """The claims of a paper and their experiments.

    Attributes:
        claims: claims, in the order of the file.
        experiments: table of each experiment, by id.
        lists: lists of values that experiments name.
    """

    claims: tuple[Claim, ...]
    experiments: Mapping[str, ExperimentTable]
    lists: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def of_experiments(self, ids: Iterable[str]) -> ClaimSet:
        """A set with only the claims about the given experiments."""
        wanted = set(ids)
        return replace(self, claims=tuple(claim for claim in self.claims if claim.experiment in wanted))


def parse_claims(file: ClaimsTable, source: str = "claims.toml") -> ClaimSet:
    """The claims of a claims file.

    A ``[[claim]]`` is one claim, or with ``columns`` and ``rows`` several claims that share its other fields
    (:func:`elephan.evaluation.tables.expanded`). Ids are written without the paper's id.

    Raises:
        ScenarioError: a field is missing, unknown or has a value that is not allowed, or an id occurs twice.
    """
    rows = (row.model_copy(update={"id": f"{file.paper}.{row.id}"}) for row in file.experiment)
    experiments = {row.id: row for row in rows}
    claims: dict[str, Claim] = {}
    for written in file.claim:
        for table in _rows(file.defaults | written, source):
            table = {"quantity": file.quantities.get(str(table.get("metric")), "")} | table
            claim = _parse_claim(_completed(table, file.paper, experiments), source)
            if claim.id in claims:
                raise ScenarioError(f"{source}: {claim.id}: the id is there twice")
            if claim.experiment not in experiments:
                raise ScenarioError(f"{source}: {claim.id}: '{claim.experiment}' is not an experiment of this file")
            claims[claim.id] = claim
    return ClaimSet(tuple(claims.values()), experiments, file.lists)


def _rows(table: Mapping[str, Any], source: str) -> Iterator[dict[str, Any]]:
    """The tables of a table's claims."""
    try:
        yield from expanded(table, _FIELDS)
    except ScenarioError as error:
        raise ScenarioError(f"{source}: {table.get('id', '')}: {error.message}") from None


def _completed(table: Mapping[str, Any], paper: str, experiments: Mapping[str, ExperimentTable]) -> dict[str, Any]:
    """The table with the paper's id in ids, and with the fields that follow from the relation and the experiment."""
    relation = RELATIONS.get(str(table.get("relation")))
    full = {key: f"{paper}.{table[key]}" for key in ("id", "experiment") if key in table}
    usual: dict[str, Any] = {"paper": paper}
    if (experiment := experiments.get(full.get("experiment", ""))) is not None:
        usual["figure"] = experiment.figure
    if relation is not None:
        printed = relation.name in ("approx", "identity")
        usual["tolerance_kind"] = "published_number" if printed else _USUAL_KINDS.get(relation.takes, "ordering")
        if relation.takes == "other":
            usual["expected"] = 0.0
    return {**usual, **table, **full}


def _parse_claim(table: Mapping[str, Any], source: str) -> Claim:
    where = f"{source}: {table.get('id', 'a claim without id')}"
    try:
        claim = made(Claim, table)
        check(claim)
    except ScenarioError as error:
        raise error.located(source=where) from None
    except CriterionError as error:
        raise ScenarioError(f"{where}: {error}") from None
    return claim


def load_explanations(path: Path, claims: ClaimSet) -> dict[str, str]:
    """Our explanations of differences, by claim; none if there is no file.

    Raises:
        ScenarioError: an explanation names no claim, an unknown claim, or a claim of another explanation.
    """
    if not path.exists():
        return {}
    known = {claim.id.partition(".")[2]: claim.id for claim in claims.claims}
    found: dict[str, str] = {}
    for row in read(path, ExplanationsTable).explanation:
        for name in row.claims:
            if name not in known:
                raise ScenarioError(f"{path.name}: '{name}' is not a claim")
            if known[name] in found:
                raise ScenarioError(f"{path.name}: {name} is explained twice")
            found[known[name]] = " ".join(row.why.split())
    return found
