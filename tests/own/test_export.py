"""``elephan export --to rust``: the skeleton compiles, and its twin test fails until it is filled in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from elephan import backends
from elephan.cli.main import run_command
from elephan.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
MY_STCP = f"{ROOT / 'examples/my_stcp.py'}:MyStcp"

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")


def cargo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    environment = os.environ | {"CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true"}
    shutil.copy(ROOT / "Cargo.lock", folder)  # the versions that this checkout has fetched
    return subprocess.run(["cargo", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@needs_cargo
def test_the_twin_test_fails_until_the_skeleton_is_filled_in(here: Path) -> None:
    assert run_command(["export", MY_STCP, "--to", "rust"]) == 0
    crate = here / "my-stcp"
    empty = cargo(crate, "test", "--test", "twin")
    assert empty.returncode != 0
    assert "warning" not in empty.stderr
    assert "not yet implemented: on_start" in empty.stdout

    shutil.copy(ROOT / "examples/my_stcp.rs", crate / "src/lib.rs")
    filled = cargo(crate, "test", "--test", "twin")
    assert filled.returncode == 0, filled.stdout + filled.stderr

    source = (crate / "src/lib.rs").read_text()
    (crate / "src/lib.rs").write_text(source.replace("self.ssthresh * 0.5", "self.ssthresh * 0.4"))
    wrong = cargo(crate, "test", "--test", "twin")
    assert wrong.returncode != 0
    assert "recovery_floor is" in wrong.stdout


OTHER = '''
import elephan


class Odd(elephan.Algorithm):
    """Paces, counts losses and shows itself."""

    needs = ("pacing", "delivery", "l4s")

    def __init__(self, word: str = 'a "b"', steps: int = 3, sure: bool = True, rate: float = float("inf")) -> None:
        self.word, self.steps, self.sure, self.rate = word, steps, sure, rate
        self.count = 0
        self.history = []

    def on_ack(self, ack):
        self.pacing_rate = 100.0

    def on_congestion(self, signal):
        self.ssthresh = 2.0

    def on_lost(self, lost):
        self.count += 1

    def observe(self):
        return {"count": self.count, "unknown": float("nan")}
'''


@needs_cargo
def test_every_kind_of_parameter_state_and_need_compiles(here: Path) -> None:
    (here / "odd.py").write_text(OTHER)
    assert run_command(["export", "./odd.py:Odd", "--to", "rust", "--out", "crate", "--set", "steps=4"]) == 0
    source = (here / "crate/src/lib.rs").read_text()
    for line in ("steps: 4.0,", "sure: true,", "rate: f64::INFINITY,", "// history: list in Python", "losses: true"):
        assert line in source
    done = cargo(here / "crate", "check", "--tests")
    assert done.returncode == 0, done.stderr


def test_a_recording_is_written_anew_and_nothing_else(here: Path) -> None:
    assert run_command(["export", MY_STCP, "--to", "rust"]) == 0
    crate = here / "my-stcp"
    first = (crate / "tests/sequence.txt").read_text()
    (crate / "tests/sequence.txt").write_text("")
    (crate / "src/lib.rs").write_text("// mine")
    assert run_command(["export", MY_STCP, "--to", "rust"]) == 2
    assert run_command(["export", MY_STCP, "--to", "rust", "--recording"]) == 0
    assert (crate / "tests/sequence.txt").read_text() == first
    assert (crate / "src/lib.rs").read_text() == "// mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cubic"], "elephan: 'cubic' is built in, and is in Rust already: the crate elephan-cc has it\n"),
        (["cubik"], "elephan: 'cubik' is not a user-defined algorithm; write for example ./mine.py:Mine\n"),
        (["./mine.py:Mime"], "elephan: mine.py: there is no 'Mime' in it; did you mean 'Mine'?\n"),
        (
            ["./mine.py:Mine", "--set", "betta=1"],
            "elephan: betta: not a parameter of mine.py:Mine; did you mean 'beta'?\n",
        ),
        (
            ["./mine.py:Mine", "--recording"],
            "elephan: 'mine' is no exported crate: it has no tests/twin.rs; leave --recording out to write one\n",
        ),
    ],
)
def test_mistakes_are_one_line(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    write()
    assert run_command(["export", *words, "--to", "rust"]) == 2
    assert capsys.readouterr().err == told


def test_the_example_runs_as_the_built_in_algorithm() -> None:
    def tables(algorithm: str) -> dict[str, bytes]:
        path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", "duration": "15 s", "loss": "0.1%"}
        scenario = Scenario.dumbbell([{"algorithm": algorithm, "name": "a"}], **path)
        frames = {name: pl.DataFrame(table) for name, table in backends.get("sim").run(scenario, seed=3).tables.items()}
        assert frames["flows"]["loss_events"][0] > 10
        frames["flows"] = frames["flows"].drop("algorithm")
        return {name: frame.write_ipc(None).getvalue() for name, frame in frames.items()}

    assert tables("stcp") == tables(MY_STCP)
