"""A program of the user's own judged by a suite, in a Linux guest beside a flow of Linux."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linux.test_linux_programs import CLIENT, SERVER

from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import lab
from elephan.runs import Store
from elephan.suites import evaluate

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
pytestmark = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
SUITE = """
id = "small"
title = "a small suite"
citation = "none"
judges = "program"

[[experiment]]
id = "beside"
title = "beside a flow of Linux"

[experiment.scenario]
duration = "2 s"
dumbbell = { rate = "4 Mbit/s", rtt = "20 ms", buffer = "2 BDP" }
measure = { from = "0 s" }
program = [{ name = "program", bytes = "200 kB" }]
flow = [{ name = "linux", algorithm = "cubic", backend = "linux" }]

[[criterion]]
id = "complete"
section = "1"
force = "must"
text = "It is complete."
experiment = "beside"
metric = "completed"
flows = ["program"]
relation = ">="
limit = 1.0
reason = "ours"

[[criterion]]
id = "beside"
section = "1"
force = "should"
text = "The flow of Linux has some of the rate."
experiment = "beside"
metric = "throughput_mbps"
flows = ["linux"]
relation = ">="
limit = 1.0
reason = "ours"
"""


def test_two_builds_in_a_guest(tmp_path: Path) -> None:
    for name, text in (
        ("server.py", SERVER),
        ("client.py", CLIENT),
        ("pauses.py", f"import time\ntime.sleep(3)\n{CLIENT}"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "suite.toml").write_text(SUITE)
    server = f"/usr/bin/python3 {tmp_path / 'server.py'} {{port}}"
    good, bad = (
        {"name": name, "server": server, "client": f"/usr/bin/python3 {tmp_path / name} {{address}} {{port}} {{bytes}}"}
        for name in ("client.py", "pauses.py")
    )
    (found,) = evaluate([bad], tmp_path, against=good, seeds=2, store=Store(tmp_path / "store"), allow_programs=True)
    complete, beside = found.outcomes
    assert (complete.verdict, complete.comparison) == ("fail", "worse")
    assert complete.compared.startswith("share of runs that complete of program 0, against 1 with client.py")
    assert beside.worst is not None
    assert beside.worst.judged is not None
    assert 2 < beside.worst.judged.found.value < 4
