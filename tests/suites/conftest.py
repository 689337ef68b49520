"""Lets these tests import what they share, from wherever pytest is started; and a small suite."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

SMALL = """
id = "small"
title = "a small suite"
citation = "none"

[sections]
"1" = "use"
"2" = "harm"
"3" = "text"

[[cells.paths]]
rate = "10 Mbit/s"
rtt = "20 ms"
quick = true

[[cells.paths]]
rate = "20 Mbit/s"
rtt = "20 ms"
quick = { rate = "5 Mbit/s" }

[[cells.paths]]
rate = "40 Mbit/s"
rtt = "20 ms"

[[experiment]]
id = "alone"
title = "alone"
cells = "paths"

[experiment.scenario]
duration = "4 s"
dumbbell = { rate = "{rate}", rtt = "{rtt}", buffer = "1 BDP" }
flow = [{ name = "subject", algorithm = "{algorithm}" }]

[[experiment]]
id = "beside"
title = "beside"
grid = { rival = ["cubic"] }

[experiment.scenario]
duration = "10 s"
dumbbell = { rate = "10 Mbit/s", rtt = "20 ms", buffer = "2 BDP" }
flow = [{ name = "subject", algorithm = "{algorithm}" }, { name = "other", algorithm = "{rival}" }]

[[criterion]]
id = "use"
section = "1"
force = "must"
text = "It uses the link."
experiment = "alone"
metric = "utilization"
relation = ">="
limit = 0.7
reason = "ours"

[[criterion]]
id = "harm"
section = "2"
force = "must"
text = "It harms little."
experiment = "beside"
metric = "goodput_mbps"
flows = ["other"]
baseline = { algorithm = "{rival}", flows = ["subject", "other"], as = "lost" }
relation = "<="
limit = 0.5
reason = "ours"

[[obligation]]
section = "3"
text = "It is explained."
reason = "an obligation of text"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small suite."""
    made = tmp_path / "mysuite"
    made.mkdir()
    (made / "suite.toml").write_text(SMALL)
    return made
