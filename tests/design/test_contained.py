"""Candidates that misbehave: each ends in one row within its limits, and leaves nothing."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from elephan.design import contained, places, trials
from elephan.design.contained import ContainedError

BODY = """
import elephan

class Mine(elephan.Algorithm):
    acks = 0

    def on_ack(self, ack):
        self.acks += 1
        if self.acks == 50:
            {step}
        if ack.may_grow:
            self.window += ack.acked / self.window

    def on_congestion(self, signal):
        self.ssthresh = self.window = max(self.window / 2, 2.0)
"""


def failure(tmp_path: Path, step: str, before: str = "", wall_s: float = 20.0) -> str:
    """The reason of a candidate with a step at its 50th ACK."""
    file = tmp_path / "mine.py"
    file.write_text(before + BODY.format(step=step), encoding="utf-8")
    trial = trials.plan(places.training()[:1], 1, 5.0)[:1]
    begun = time.monotonic()
    with pytest.raises(ContainedError) as raised:
        contained.run(f"{file}:Mine", {}, [trial], jobs=1, wall_s=wall_s)
    assert time.monotonic() - begun < wall_s + 10
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.py"]
    return str(raised.value)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("import os; os._exit(0)", "exit status 0"),
        ("raise SystemExit", "on_ack raised SystemExit"),
        ("self.window = float('nan')", "window is NaN"),
        ("import os; os.fork()", "PermissionError"),
        ("import subprocess; subprocess.run(['true'])", "PermissionError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("open('/tmp/left', 'w')", "PermissionError"),
        ("open('/etc/passwd')", "PermissionError"),
        ("import os; os.remove(__file__)", "PermissionError"),
        ("import os; os.kill(1, 9)", "PermissionError"),
        ("self.kept = bytearray(100 * 2**30)", "MemoryError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import os, signal; os.close(2); self.x = memoryview(b'').obj; import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    ],
)
def test_a_misbehaving_candidate_ends_with_its_reason(tmp_path: Path, step: str, reason: str) -> None:
    assert reason in failure(tmp_path, step)
    assert not Path("/tmp/left").exists()


def test_criteria_are_judged_in_restricted_processes(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BODY.format(step="pass"), encoding="utf-8")
    found = contained.judge(f"{file}:Mine", {}, [["collapse-silence"]], wall_s=60.0)
    assert [(one.id, one.verdict) for one in found.criteria] == [("collapse-silence", "pass")]


def test_a_failure_in_a_criterion_has_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BODY.format(step="self.window = float('nan')"), encoding="utf-8")
    with pytest.raises(ContainedError, match="window is NaN"):
        contained.judge(f"{file}:Mine", {}, [["delay-step"]], wall_s=60.0)


def test_an_endless_loop_ends_at_the_limit(tmp_path: Path) -> None:
    # A busy host may need the time for loading.
    found = failure(tmp_path, "while True: pass", wall_s=3.0)
    assert re.fullmatch("it took more than 3 s, (in its runs|while it was loaded); each callback must end soon", found)


def test_what_happens_while_a_file_is_loaded_is_contained_too(tmp_path: Path) -> None:
    assert "line 1: calls sys.exit(3)" in failure(tmp_path, "pass", before="import sys; sys.exit(3)\n")
    assert "PermissionError" in failure(tmp_path, "pass", before="open('/tmp/left', 'w')\n")


def test_numbers_written_by_a_candidate_are_no_results(tmp_path: Path) -> None:
    write = "import os; [os.write(fd, b'[]\\n') for fd in range(3, 20) if os.path.exists(f'/proc/self/fd/{fd}')]"
    assert "channel of the results" in failure(tmp_path, write) or "Error" in failure(tmp_path, write)


def test_the_output_is_kept_up_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BODY.format(step="print('window', self.window)"), encoding="utf-8")
    trial = trials.plan(places.training()[:1], 1, 5.0)[:1]
    found = contained.run(f"{file}:Mine", {}, [trial], jobs=1, wall_s=60)
    assert "window" in found.output
    assert set(found.measured) == set(trial)
    assert found.limits["memory"] == "2048 MiB"
    if os.uname().machine in ("x86_64", "aarch64"):
        assert found.limits["network"] == found.limits["processes"] == found.limits["files written"] == "none"
