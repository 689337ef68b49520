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
    assert complete.compared.startswith("share of complete runs of program 0, against 1 with client.py")
    assert beside.worst is not None
    assert beside.worst.judged is not None
    assert 2 < beside.worst.judged.found.value < 4


@pytest.mark.large
def test_a_program_with_sockets_of_linux_meets_the_suite(tmp_path: Path) -> None:
    for name, text in (("server.py", SERVER), ("client.py", CLIENT)):
        (tmp_path / name).write_text(text)
    own = {
        "server": f"/usr/bin/python3 {tmp_path / 'server.py'} {{port}}",
        "client": f"/usr/bin/python3 {tmp_path / 'client.py'} {{address}} {{port}} {{bytes}}",
    }
    (found,) = evaluate([own], quick=True, seeds=2, store=Store(tmp_path / "store"), allow_programs=True)
    missed = [
        f"{outcome.criterion.id}: {outcome.why}"
        for outcome in found.outcomes
        if outcome.worst is None
        or outcome.worst.judged is None
        or not outcome.criterion.allowed.holds(outcome.worst.judged.found.value)
    ]
    # CUBIC fills a deep buffer, as the criterion says itself.
    assert [one.split(":")[0] for one in missed] == ["deep-queue"], missed
    # It is Linux beside Linux, so the flow of Linux loses nothing that a second one would not take.
    harm = found.outcome("harm").worst
    assert harm is not None
    assert harm.judged is not None
    assert harm.judged.found.value < 0.2
