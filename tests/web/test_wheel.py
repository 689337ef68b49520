"""The wheel in an empty environment, without Rust and without Node.js."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.web.wasm import ROOT

WHEELS = sorted((ROOT / "dist").glob("elephan-*.whl"))

pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(not WHEELS, reason="there is no wheel: make dist"),
]


@pytest.fixture(scope="module")
def elephan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", str(WHEELS[-1])]
    subprocess.run(pip, check=True, timeout=900)
    return folder / "bin" / "elephan"


def _run(elephan: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(elephan), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_a_paper_is_reproduced(elephan: Path, tmp_path: Path) -> None:
    done = _run(elephan, tmp_path, "paper", "weigle2006", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["reproduced"] > 0


def test_the_page_is_written(elephan: Path, tmp_path: Path) -> None:
    done = _run(elephan, tmp_path, "play", "--no-open")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "elephan.html").stat().st_size > 500_000


def test_the_man_page_is_installed(elephan: Path) -> None:
    text = (elephan.parents[1] / "share" / "man" / "man1" / "elephan.1").read_text(encoding="utf-8")
    assert ".SS elephan evaluate" in text


def test_the_lab_says_what_there_is(elephan: Path, tmp_path: Path) -> None:
    done = _run(elephan, tmp_path, "lab", "check")
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
