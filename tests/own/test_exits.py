"""An own file that ends the program, or raises what no ``except Exception`` sees: one line, exit status 2."""

from __future__ import annotations

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
