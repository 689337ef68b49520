"""An own file that ends the program, or raises what no ``except Exception`` sees: one line, exit status 2."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elephan.cli.main import run_command

SCENARIO = """
duration = "1 s"
[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "20 packets"
[[flow]]
algorithm = "reno"
"""

CLASS = """
from elephan import Algorithm
class Mine(Algorithm):
    {}
    def on_ack(self, ack): pass
    def on_congestion(self, signal): pass
"""

SOURCES = {
    "import sys\nsys.exit(0)": "mine.py: line 2: calls sys.exit(0); it must not end the program",
    "import sys\nsys.exit('bye')": "mine.py: line 2: calls sys.exit('bye')",
    "raise BaseException('odd')": "mine.py: line 1: BaseException: odd",
    "raise GeneratorExit": "mine.py: line 1: GeneratorExit",
    "x = " + "(" * 1000: "mine.py: ",
    "\0": "mine.py: ",
    CLASS.format("def __init__(self): raise SystemExit"): "mine.py:Mine cannot be made: calls sys.exit()",
    CLASS.format("needs = 5"): "mine.py:Mine.needs: 5 is not a tuple of words",
    CLASS.format("needs = (5,)"): "mine.py:Mine.needs: '5' is not a need",
    CLASS.format("needs = property(lambda self: exit(1))"): "mine.py:Mine.needs: calls sys.exit(1)",
}


@pytest.mark.parametrize(("source", "said"), SOURCES.items(), ids=range(len(SOURCES)))
def test_a_file_that_ends_the_program_has_its_line(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(source)
    status = run_command(["run", "late.toml", "--set", "flow[0].algorithm=./mine.py:Mine"])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def begun(tmp_path: Path, scenario: str, source: str) -> subprocess.Popen[str]:
    """A run of an own algorithm, as a command in a process of its own."""
    (tmp_path / "late.toml").write_text(scenario)
    (tmp_path / "mine.py").write_text(source)
    args = ["run", "late.toml", "--set", "flow[0].algorithm=./mine.py:Mine"]
    return subprocess.Popen(
        [sys.executable, "-m", "elephan", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_thread_of_an_algorithm_does_not_hold_the_command(tmp_path: Path) -> None:
    start = "def on_start(self, start): threading.Thread(target=time.sleep, args=(3600,)).start()"
    process = begun(tmp_path, SCENARIO, "import threading, time\n" + CLASS.format(start))
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "mine.py:Mine" in out


BESIDE = """
duration = "4000 s"
[dumbbell]
rate = "200 kbit/s"
rtt = "600 ms"
buffer = "unlimited"
[[flow]]
algorithm = "reno"
start = "3999 s"
[[flow]]
datagrams = { rate = "50 Mbit/s" }
[[traffic]]
algorithm = "copa"
users = 20000
think = "10 ms"
sizes = { distribution = "constant", mean = "20 kB" }
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_that_calls_its_algorithm_seldom(number: int, tmp_path: Path) -> None:
    process = begun(tmp_path, BESIDE, CLASS.format("pass"))
    claims = tmp_path / ".elephan" / "runs" / ".claims"
    while not (claims.is_dir() and any(claims.iterdir())):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(1)  # the engine works; a signal before that is the test of the beginning
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number, err
