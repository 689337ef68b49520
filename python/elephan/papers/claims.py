"""Claims of a paper, as data: criteria with the paper's statements."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as checked

from elephan.evaluation.criteria import Criterion, CriterionError, check

SCHEMA_VERSION = 1
_KEYS = {
    "paper": "document",
    "figure": "section",
    "quote": "text",
    "expected": "limit",
    "where": "conditions",
    "other_where": "other_conditions",
}
"""Keys of a claims file that are named as the fields of :class:`Criterion`."""

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


@checked(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Claim(Criterion):
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

    certainty: str
    robustness: str
    check: str
    tolerance_kind: str
    basis: str
    formula: str | None = None
    threshold_from: str | None = None
    direction_certain: bool = False
    discriminating: bool = False
    note: str | None = None

    @property
    def firm(self) -> bool:
        """True if the paper states the claim explicitly, and the claim does not depend on values that the paper leaves
        open."""
        return self.certainty == "certain" and self.robustness in ("high", "medium")


@dataclass(frozen=True)
class ClaimSet:
    """The claims of a paper and their experiments.

    Attributes:
        claims: claims, in the order of the file.
        experiments: the published setup of each experiment, by id.
    """

    claims: tuple[Claim, ...]
    experiments: Mapping[str, Mapping[str, Any]]

    def of_experiments(self, ids: Iterable[str]) -> ClaimSet:
        """A set with only the claims about the given experiments."""
        wanted = set(ids)
        return replace(self, claims=tuple(claim for claim in self.claims if claim.experiment in wanted))


def load_claims(path: Path) -> ClaimSet:
    """Read a claims file.

    Raises:
        ClaimError: a field is missing, unknown or has a value that is not allowed, or an id occurs twice.
    """
    return parse_claims(tomllib.loads(path.read_text(encoding="utf-8")), path.name)


def parse_claims(tables: Mapping[str, Any], source: str = "claims.toml") -> ClaimSet:
    """Parse the tables of a claims file."""
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
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if unknown := set(_KEYS.values()) & set(given):
        raise ClaimError(f"{where}: {min(unknown)}: Unexpected keyword argument")
    try:
        claim = Claim(**{_KEYS.get(key, key): value for key, value in given.items()})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        spelt = {name: key for key, name in _KEYS.items()}
        place = ".".join(str(spelt.get(str(part), part)) for part in problem["loc"])
        raise ClaimError(f"{where}: {place}: {problem['msg']}") from None
    for field, allowed in _CHOICES.items():
        value = getattr(claim, field)
        if value is not None and value not in allowed:
            raise ClaimError(f"{where}: {field}: {value!r} is not one of {', '.join(allowed)}")
    try:
        check(claim)
    except CriterionError as error:
        raise ClaimError(f"{where}: {error}") from None
    return claim


def load_explanations(path: Path, claims: ClaimSet) -> dict[str, str]:
    """Our explanations of differences: ``[[explanation]]`` tables with ``claims`` (ids) and ``why``; by claim.

    Raises:
        ClaimError: an explanation names no claim, an unknown claim, or a claim of another explanation.
    """
    if not path.exists():
        return {}
    known = {claim.id for claim in claims.claims}
    found: dict[str, str] = {}
    for table in tomllib.loads(path.read_text(encoding="utf-8")).get("explanation", []):
        for name in table["claims"]:
            if name not in known:
                raise ClaimError(f"{path.name}: '{name}' is not a claim")
            if name in found:
                raise ClaimError(f"{path.name}: {name} is explained twice")
            found[name] = " ".join(str(table["why"]).split())
    return found
