"""The canonical JSON of every known scenario stays as it is: its hash names results that are saved."""

from __future__ import annotations

import hashlib
from pathlib import Path

from syrupy.assertion import SnapshotAssertion
from tests.scenario import known

from elephan.scenario import Scenario
from elephan.scenario.canonical import canonical_json, form_hash


def _digests(scenario: Scenario) -> str:
    """The scenario's hash, and a digest of its whole canonical JSON, with title and seed.

    The digest of a class in Python depends on the interpreter's bytecode, so it is left out.
    """
    form = scenario.canonical()
    form["flows"] = [{key: value for key, value in flow.items() if key != "source_sha256"} for flow in form["flows"]]
    whole = hashlib.sha256(canonical_json(form).encode()).hexdigest()[:16]
    return f"{form_hash(form)} {whole}"


def test_the_canonical_json_of_known_scenarios_does_not_change(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert [f"{_digests(scenario)} {name}" for name, scenario in known.scenarios(tmp_path)] == snapshot
