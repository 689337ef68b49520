"""Programs that change the host end before the cleanup begins, even if a signal arrives."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from elephan.backends.kernel.records import to_its_end


@pytest.mark.parametrize("started", [True, False])
def test_a_signal_while_the_thread_starts_leaves_no_program_running(
    started: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, changed = threading.Thread.start, tmp_path / "changed"

    def interrupted(thread: threading.Thread) -> None:
        if started:
            start(thread)
            time.sleep(0.2)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        to_its_end("sh", "-c", f"sleep 0.5; touch {changed}")
    assert changed.exists() == started, "a program that runs has ended; otherwise it never begins"


def test_the_output_of_a_program_is_returned() -> None:
    done = to_its_end("sh", "-c", "echo said >&2; exit 3")
    assert (done.returncode, done.stderr) == (3, "said\n")
