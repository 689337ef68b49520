"""Runs that earlier versions saved are found, verified and read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from elephan.runs import DamagedRunError, Run, RunError, Store
from elephan.runs.saved import FILES, MANIFEST, MANIFEST_FORMAT, SEAL, read_manifest
from elephan.scenario.document import write

SAVED = Path(__file__).parent / "format_1" / "770f90c0d4c5ebb1-sim-s1"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copytree(SAVED, tmp_path / "runs" / SAVED.name)
    return Store(tmp_path / "runs")


def test_a_run_of_the_first_format_is_found_and_has_the_fields_of_today(store: Store) -> None:
    assert json.loads((SAVED / MANIFEST).read_text())["habitat"] == "sim"
    run = store.find(SAVED.name)
    assert run is not None
    assert (run.backend, run.manifest["format"], "habitat" in run.manifest) == ("sim", MANIFEST_FORMAT, False)
    summary = run.summary()
    assert (summary["backend"], summary["flows"][0]["segments_delivered"]) == (
        "sim",
        run.flows["segments_delivered"][0],
    )
    counts = ("retransmits", "loss_events", "ecn_events", "timeouts")
    for row, before in zip(summary["flows"], json.loads((SAVED / "summary.json").read_text())["flows"], strict=True):
        # At that time the counts were over the whole run, and samples had neither marks nor timeouts.
        assert {name: row[f"total_{name}"] for name in counts if name in before} == {
            name: before[name] for name in counts if name in before
        }
        assert (row["retransmits"], row["loss_events"]) < (before["retransmits"], before["loss_events"])
        assert (row["ecn_events"], row["timeouts"]) == (None, None)
        assert {**row, **before}.items() >= {key: row[key] for key in row if not key.endswith(counts)}.items()
    assert store.verify() == {}


def test_the_scenario_of_a_run_of_the_first_format_is_read_with_the_defaults_of_today(store: Store) -> None:
    run = store.find(SAVED.name)
    assert run is not None
    document = run.canonical
    assert "traffic" not in document
    assert "ecn" not in document["flows"][0]["stack"]
    assert (run.form.traffic, run.form.flows[0].stack.ecn, run.form.flows[0].application) == ((), False, None)
    assert write(run.form) == document
    # The file states no stack, whose defaults have changed since: Linux's timers, quick ACKs, the handshake and bursts.
    then = {"host": "plain", "quick_acks": 16, "hz": None, "handshake": False, "tso": False}
    for flow, today in zip(run.form.flows, run.scenario.form.flows, strict=True):
        stack = today.stack
        assert (stack.quick_acks, stack.hz, stack.handshake, stack.tso) == (1080, 250, True, True)
        assert flow == replace(today, stack=replace(stack, **then))
    assert replace(run.form, flows=()) == replace(run.scenario.form, flows=())


def test_a_scenario_that_is_no_canonical_form_is_a_run_error(store: Store) -> None:
    run = store.find(SAVED.name)
    assert run is not None
    wrong = Run(run.manifest | {"scenario": {"flows": []}}, folder=run.dir)
    with pytest.raises(RunError, match=r"is not a canonical form \(Object missing required field `duration_ps`\)"):
        _ = wrong.form


@pytest.mark.parametrize("found", [1, 2])
def test_a_kernel_run_of_an_earlier_format_has_its_failed_checks(store: Store, found: int) -> None:
    path = store.path(SAVED.name) / MANIFEST
    document = json.loads(path.read_text())
    late = "one packet of a hundred was late"
    facts = {"warnings": [late], "kernel": {"believable": False, "drops": 0}}
    saved = {"format": found, "engine_summary": document["engine_summary"] | facts}
    if found == 2:
        document["backend"] = document.pop("habitat")
    document.pop(SEAL)
    document.pop(FILES)
    path.write_text(json.dumps(document | saved))
    kernel = read_manifest(path.parent)["engine_summary"]["kernel"]
    assert kernel == {"valid": False, "failed_checks": [late], "drops": 0}


def test_an_altered_run_of_the_first_format_is_damaged(store: Store) -> None:
    manifest = store.path(SAVED.name) / MANIFEST
    manifest.write_text(manifest.read_text().replace('"habitat": "sim"', '"habitat": "kernel"'))
    with pytest.raises(DamagedRunError, match="altered since it was saved"):
        Run.load(store.path(SAVED.name))


def test_a_run_of_the_first_format_is_exported_in_that_of_today(store: Store, tmp_path: Path) -> None:
    run = store.find(SAVED.name)
    assert run is not None
    run.to_parquet(tmp_path / "out")
    again = Run.load(tmp_path / "out")
    assert (again.manifest["format"], again.backend, again.id) == (MANIFEST_FORMAT, "sim", run.id)


def test_a_format_of_a_later_version_is_refused(store: Store) -> None:
    path = store.path(SAVED.name) / MANIFEST
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"format": MANIFEST_FORMAT + 1}))
    with pytest.raises(DamagedRunError, match=f"format {MANIFEST_FORMAT + 1} instead of {MANIFEST_FORMAT}"):
        Run.load(store.path(SAVED.name))
