"""The kept figures are what ns-2 gives: its recorded command, run again for the first three simulated seconds."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (apt-get install ns2)")
@pytest.mark.parametrize("algorithm", ["reno", "scalable"])
def test_the_recorded_command_gives_the_recorded_rows(algorithm: str, tmp_path: Path) -> None:
    kept = json.loads((HERE / f"single-{algorithm}.json").read_text())
    out = tmp_path / "out.json"
    command = [*shlex.split(kept["provenance"]["command"]), "duration_s", "3.05", "marks", "1.2 3", "out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    again = json.loads(out.read_text())
    assert again["columns"] == kept["columns"]
    assert again["rows"][::10] == kept["rows"][:4]
    assert [dict(zip(again["columns"], row, strict=True)) for row in again["marks"]] == kept["marks"][:2]
