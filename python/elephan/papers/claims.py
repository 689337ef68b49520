"""Claims of a paper, as data.

A claim names a metric, a subject, the conditions it holds under, and the relation it has to hold
(:mod:`elephan.papers.relations`). Measuring a subject is the paper's own business (a :class:`Measurer`); the judgment
(:mod:`elephan.papers.judging`) is the same for all papers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as checked

from elephan.papers.conditions import Value, Where
from elephan.papers.measurement import Measurement
from elephan.papers.relations import RELATIONS, Terms

SCHEMA_VERSION = 1
_CHOICES = {
    "certainty": ("certain", "inferred", "conflict"),
    "check": ("simulation", "analytic", "unit", "internal", "not_simulable"),
    "robustness": ("high", "medium", "low"),
    "tolerance_kind": ("bound", "ordering", "published_number", "shape"),
    "basis": ("table", "caption", "text", "formula", "derived"),
    "threshold_from": ("paper", "derived", "ours"),
}


class ClaimError(ValueError):
    """A claims file is wrong; the message names the claim and the field."""


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=True))
class Claim:
    """One statement of a paper that can be checked.

    Attributes:
        id: unique, begins with the paper's id.
        paper: id of the paper.
        figure: figure, table or section where the paper says it.
        experiment: id of the experiment that it is about.
        metric: what is measured; a name of the metric registry, or one that the paper's measurer knows.
        subject: whom it is about.
        relation: a name in :data:`~elephan.papers.relations.RELATIONS`.
        expected: published value, bound or smallest margin, in the metric's unit.
        certainty: ``certain`` (the paper says it), ``inferred`` (our reading or our threshold), ``conflict``.
        robustness: how far it survives other readings of what the paper leaves open.
        check: what it takes to judge it.
        tolerance_kind: what kind of statement it is.
        basis: what it was read from.
        quote: the statement in a few words of our own.
        tol_abs: absolute slack; tol_rel: slack as a part of the reference.
        values: range, allowed values, subjects or parameter, as the relation says.
        other: subjects to compare with, under ``other_where`` or else under ``where``.
        where: the conditions.
        formula: where ``expected`` comes from when it was computed.
        threshold_from: who chose the number of a bound.
        direction_certain: the paper states the direction plainly, and only the number is ours.
        discriminating: a wrong simulator or control law is likely to fail it.
        note: remarks.
    """

    id: str
    paper: str
    figure: str
    experiment: str
    metric: str
    subject: str
    relation: str
    expected: float
    certainty: str
    robustness: str
    check: str
    tolerance_kind: str
    basis: str
    quote: str
    tol_abs: float | None = None
    tol_rel: float | None = None
    values: tuple[float | str, ...] = ()
    other: tuple[str, ...] = ()
    where: Where | None = None
    other_where: Where | None = None
    formula: str | None = None
    threshold_from: str | None = None
    direction_certain: bool = False
    discriminating: bool = False
    note: str | None = None

    @property
    def terms(self) -> Terms:
        """The numbers of the claim, for its relation."""
        return Terms(self.expected, self.tol_abs, self.tol_rel, self.values)

    @property
    def firm(self) -> bool:
        """The paper says it plainly, and it does not hang on what the paper leaves open."""
        return self.certainty == "certain" and self.robustness in ("high", "medium")


@dataclass(frozen=True)
class ClaimSet:
    """The claims of a paper and the experiments that they are about.

    Attributes:
        claims: in the order of the file.
        experiments: the published setup of each experiment, by id.
    """

    claims: tuple[Claim, ...]
    experiments: Mapping[str, Mapping[str, Any]]

    def of_experiments(self, ids: Iterable[str]) -> ClaimSet:
        """Only the claims about some experiments."""
        wanted = set(ids)
        return replace(self, claims=tuple(claim for claim in self.claims if claim.experiment in wanted))


def load_claims(path: Path) -> ClaimSet:
    """Read a claims file.

    Raises:
        ClaimError: a field is missing, unknown or has a value that is not allowed, or an id is there twice.
    """
    return parse_claims(tomllib.loads(path.read_text(encoding="utf-8")), path.name)


def parse_claims(tables: Mapping[str, Any], source: str = "claims.toml") -> ClaimSet:
    """As :func:`load_claims`, from tables that were read already."""
    version = tables.get("schema_version", tables.get("meta", {}).get("schema_version"))
    if version != SCHEMA_VERSION:
        raise ClaimError(f"{source}: schema_version is {version!r}, and {SCHEMA_VERSION} is understood")
    experiments = dict(tables.get("experiment", {}))
    claims: dict[str, Claim] = {}
    for table in tables.get("claim", []):
        claim = _parse_claim(table, source)
        if claim.id in claims:
            raise ClaimError(f"{source}: {claim.id}: the id is there twice")
        if claim.experiment not in experiments:
            raise ClaimError(f"{source}: {claim.id}: '{claim.experiment}' is not an experiment of this file")
        claims[claim.id] = claim
    return ClaimSet(tuple(claims.values()), experiments)


def _parse_claim(table: Mapping[str, Any], source: str) -> Claim:
    where = f"{source}: {table.get('id', 'a claim without id')}"
    listed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        claim = Claim(**listed)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise ClaimError(f"{where}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    for field, allowed in _CHOICES.items():
        value = getattr(claim, field)
        if value is not None and value not in allowed:
            raise ClaimError(f"{where}: {field}: {value!r} is not one of {', '.join(allowed)}")
    known = RELATIONS.get(claim.relation)
    if known is None:
        raise ClaimError(f"{where}: relation: '{claim.relation}' is not one of {', '.join(RELATIONS)}")
    if known.needs == "other" and not claim.other:
        raise ClaimError(f"{where}: other: missing; '{claim.relation}' compares with something")
    if (known.needs in ("subjects", "parameter") or claim.relation in _NEED_VALUES) and not claim.values:
        raise ClaimError(f"{where}: values: missing; '{claim.relation}' needs them")
    if claim.relation in ("argmax", "argmin") and claim.subject not in claim.values:
        raise ClaimError(f"{where}: subject: '{claim.subject}' is not among values")
    if claim.relation in ("in_range", "count") and len(claim.values) != 2:
        raise ClaimError(f"{where}: values: a range has two ends")
    return claim


_NEED_VALUES = ("in_range", "count", "sign", "member_of")


class Measurer(Protocol):
    """How a paper's subjects are measured."""

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: it was not, or cannot be, measured.
        """
        ...

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """The points along a parameter, where the claim does not list them.

        Raises:
            NotJudgedError: there are none.
        """
        ...


def load_findings(path: Path, claims: ClaimSet) -> dict[str, str]:
    """Our explanations of differences: ``[[finding]]`` tables with ``claims`` (ids) and ``why``; by claim.

    Raises:
        ClaimError: a finding is about no claim, about an unknown one, or two are about the same.
    """
    if not path.exists():
        return {}
    known = {claim.id for claim in claims.claims}
    found: dict[str, str] = {}
    for table in tomllib.loads(path.read_text(encoding="utf-8")).get("finding", []):
        for name in table["claims"]:
            if name not in known:
                raise ClaimError(f"{path.name}: '{name}' is not a claim")
            if name in found:
                raise ClaimError(f"{path.name}: {name} is explained twice")
            found[name] = " ".join(str(table["why"]).split())
    return found
