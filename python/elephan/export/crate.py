"""Runs as a folder for an artefact: an RO-Crate (version 1.1), with the runs, their scenarios and how to repeat them.

The metadata is written here, because it is one document of JSON-LD, and the library for it brings a client of HTTP.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elephan.export import bibtex
from elephan.runs import Run
from elephan.runs import saved as saved_runs
from elephan.version import __version__

METADATA = "ro-crate-metadata.json"
_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_CONFORMS = "https://w3id.org/ro/crate/1.1"
_SOFTWARE = "#elephan"
_FORMATS = {".parquet": "application/vnd.apache.parquet", ".json": "application/json", ".toml": "application/toml",
            ".md": "text/markdown", ".bib": "application/x-bibtex", ".jsonl": "application/jsonl"}  # fmt: skip
Entity = dict[str, Any]


class CrateError(Exception):
    """A folder cannot be written; the message has the reason."""


def write(runs: Sequence[Run], out: Path, title: str = "", license_url: str = "") -> Path:
    """Write an RO-Crate of saved runs into a new folder. Returns the folder.

    Raises:
        CrateError: the folder is there already, or a run is no longer as it was saved.
    """
    if out.exists():
        raise CrateError(f"'{out}' is there already; name a new folder")
    folders = [run.dir for run in runs]
    for why in saved_runs.damaged(folders).values():
        raise CrateError(why)
    # The folder has its name when all is in it.
    with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=f".{out.name}.") as place:
        made = Path(place) / out.name
        made.mkdir()
        for run, folder in zip(runs, folders, strict=True):
            shutil.copytree(folder, made / "runs" / run.id)
            scenario = made / "scenarios" / f"{run.id}.toml"
            scenario.parent.mkdir(exist_ok=True)
            scenario.write_text(run.scenario.to_toml(), encoding="utf-8")
        named = title or f"{len(runs)} run{'s' * (len(runs) != 1)} of Elephan"
        (made / "README.md").write_text(_readme(runs, named), encoding="utf-8")
        (made / "citation.bib").write_text(
            "\n".join(bibtex.of_run(run.manifest, title_of(run)) for run in runs), encoding="utf-8"
        )
        text = json.dumps(_metadata(runs, made, named, license_url), indent=2, ensure_ascii=False)
        (made / METADATA).write_text(text + "\n", encoding="utf-8")
        made.rename(out)
    return out


def title_of(run: Run) -> str:
    """Title of a run, or its algorithms."""
    return str(
        run.manifest.get("title") or ", ".join(dict.fromkeys(flow.algorithm for flow in run.form.flows)) or run.id
    )


def _readme(runs: Sequence[Run], title: str) -> str:
    rows = [
        f"| `{run.id}` | {title_of(run)} | {run.manifest['backend']} | {run.manifest['seed']} | "
        f"{run.manifest.get('versions', {}).get('engine', '')} |"
        for run in runs
    ]
    backends = {run.id: run.manifest["backend"] for run in runs}
    again = [
        f"elephan run scenarios/{run.id}.toml --on {backends[run.id]} --set seed={run.manifest['seed']}" for run in runs
    ]
    return "\n".join(
        [
            f"# {title}", "",
            f"Runs of Elephan {__version__}. `runs` has their tables, `scenarios` what they are of, `citation.bib` how",
            f"to cite them, and `{METADATA}` is the metadata of an RO-Crate 1.1.", "",
            "| run | title | backend | seed | engine |", "| --- | --- | --- | --- | --- |", *rows, "",
            "`elephan runs verify runs/ID` compares a run's files with their digests. The simulator gives the same",
            "tables again with the same engine:", "", "```bash", *again, "```", "",
        ]
    )  # fmt: skip


def _metadata(runs: Sequence[Run], folder: Path, title: str, license_url: str) -> Entity:
    created = max((str(run.manifest.get("created", "")) for run in runs), default="")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {
        f"runs/{run.id}/{name}": entry["sha256"] for run in runs for name, entry in run.manifest["files"].items()
    }
    parts = [_file(path, folder, digests) for path in files]
    root: Entity = {
        "@id": "./", "@type": "Dataset", "name": title,
        "description": "Runs of congestion control, with their scenarios, tables and provenance.",
        "datePublished": created[:10],
        "license": {"@id": license_url} if license_url else "No license is stated.",
        "hasPart": [{"@id": f"runs/{run.id}/"} for run in runs] + [
            {"@id": part["@id"]} for part in parts if not part["@id"].startswith("runs/")
        ],
        "mentions": [{"@id": f"#{run.id}"} for run in runs],
    }  # fmt: skip
    return {
        "@context": _CONTEXT,
        "@graph": [
            {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": _CONFORMS}, "about": {"@id": "./"}},
            root,
            *([{"@id": license_url, "@type": "CreativeWork", "name": license_url}] if license_url else []),
            {"@id": _SOFTWARE, "@type": "SoftwareApplication", "name": "Elephan", "version": __version__,
             "softwareVersion": __version__},
            *(entity for run in runs for entity in _entities(run, parts)),
            *parts,
        ],
    }  # fmt: skip


def _entities(run: Run, parts: Sequence[Entity]) -> list[Entity]:
    """A run as a dataset, and as the action that made it of a scenario."""
    place = f"runs/{run.id}/"
    manifest: Mapping[str, Any] = run.manifest
    own = [{"@id": part["@id"]} for part in parts if part["@id"].startswith(place)]
    action: Entity = {
        "@id": f"#{run.id}", "@type": "CreateAction", "name": title_of(run), "instrument": {"@id": _SOFTWARE},
        "object": {"@id": f"scenarios/{run.id}.toml"}, "result": {"@id": place},
        "description": str(manifest.get("command", "")),
    }  # fmt: skip
    action |= {"endTime": str(manifest["created"])} if manifest.get("created") else {}
    described = (
        f"Backend {manifest['backend']}, seed {manifest['seed']}, scenario {manifest['scenario_hash']}, engine "
        f"{manifest.get('versions', {}).get('engine', 'unknown')}."
    )
    return [
        {"@id": place, "@type": "Dataset", "name": title_of(run), "identifier": run.id, "description": described,
         "hasPart": own},
        action,
    ]  # fmt: skip


def _file(path: Path, folder: Path, digests: Mapping[str, str]) -> Entity:
    name = path.relative_to(folder).as_posix()
    found: Entity = {"@id": name, "@type": "File", "name": path.name, "contentSize": str(path.stat().st_size)}
    if path.suffix in _FORMATS:
        found["encodingFormat"] = _FORMATS[path.suffix]
    if name in digests:
        found["sha256"] = digests[name]
    return found
