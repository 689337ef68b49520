"""An artefact has the runs as they were saved, and metadata that names each file."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from elephan import Run, run
from elephan.cli.main import run_command
from elephan.runs import Store
from elephan.scenario import Scenario


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELEPHAN_STORE", str(tmp_path / "runs"))
    return Store(tmp_path / "runs")


def saved(store: Store, algorithm: str, title: str) -> Run:
    path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"}
    return run(Scenario.dumbbell([algorithm], **path, duration="2 s", title=title), store=store)


def entities(folder: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    return {entity["@id"]: entity for entity in document["@graph"]}


def test_every_file_is_named_and_nothing_else(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [saved(store, name, f"{name} alone").id for name in ("reno", "cubic")]
    assert run_command(["runs", "export", *ids, "--out", "artefact", "--title", "Two & two"]) == 0
    assert capsys.readouterr().out == "artefact\n"
    found = entities(Path("artefact"))
    assert found["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert found["./"]["name"] == "Two & two"
    files = {path.relative_to("artefact").as_posix() for path in Path("artefact").rglob("*") if path.is_file()}
    named = {name for name, entity in found.items() if entity["@type"] == "File"}
    assert named == files - {"ro-crate-metadata.json"}
    for name in named:
        content = (Path("artefact") / name).read_bytes()
        assert found[name]["contentSize"] == str(len(content))
        if "sha256" in found[name]:
            assert hashlib.sha256(content).hexdigest() == found[name]["sha256"]
    references = json.dumps(list(found.values()))
    for reference in set(re.findall(r'\{"@id": "([^"]+)"\}', references)):
        assert reference in found or reference.startswith("https://"), reference


def test_a_run_of_the_artefact_can_be_read_and_repeated(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(store, "reno", "reno alone")
    assert run_command(["runs", "export", one.id, "--out", "artefact", "--license", "https://example.org/l"]) == 0
    assert Run.load(Path("artefact/runs") / one.id).id == one.id
    assert Scenario.load(f"artefact/scenarios/{one.id}.toml").hash == one.scenario.hash
    found = entities(Path("artefact"))
    assert found["./"]["license"] == {"@id": "https://example.org/l"}
    assert found[f"#{one.id}"]["result"] == {"@id": f"runs/{one.id}/"}
    again = next(line for line in Path("artefact/README.md").read_text().splitlines() if line.startswith("elephan run"))
    assert again == f"elephan run scenarios/{one.id}.toml --on sim --set seed=1"


def test_what_cannot_be_exported_is_one_line(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(store, "reno", "reno alone")
    Path("there").mkdir()
    assert run_command(["runs", "export", one.id, "--out", "there"]) == 2
    assert "'there' is there already" in capsys.readouterr().err
    (store.root / one.id / "samples.parquet").write_bytes(b"other")
    assert run_command(["runs", "export", one.id, "--out", "new"]) in (1, 2)
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("new").exists()
    assert not [path for path in Path().iterdir() if path.name.startswith(".new")]


def test_a_citation_has_what_a_reader_needs(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(store, "reno", "100 % of {reno}_alone")
    assert run_command(["runs", "cite", one.id]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"@misc{{elephan:{one.id},\n")
    assert r"{100 \% of \{reno\}\_alone: a run}" in text
    for fact in (one.id, one.scenario.hash, "seed 1", "backend sim", one.manifest["versions"]["engine"]):
        assert fact in text
