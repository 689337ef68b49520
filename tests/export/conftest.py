"""Lossy runs to write out: what they lose, mark and retransmit is what the files must show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from elephan import Run, Scenario, runs

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)  # for tests.export.conftest, from wherever pytest is started

SCENARIO = """
seed = 2
duration = "10 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "40 ms"
buffer = "1 BDP"
queue = "codel"
queue_parameters = { ecn = true }
loss = "0.5%"

[[flow]]
name = "plain"
algorithm = "cubic"

[[flow]]
name = "capable"
algorithm = "reno"
start = "1 s"
stack = { ecn = true, receive_window = "64 KiB", ack_every = 1 }
sender_clock = { offset = "3 s", drift = "100 ppm" }
receiver_clock = { offset = "-2 s", resolution = "10 ms" }

[[flow]]
name = "chatter"
datagrams = { rate = "500 kbit/s", arrivals = "poisson" }
"""


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> runs.Store:
    return runs.Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def lossy(store: runs.Store) -> Run:
    """A run without an event log."""
    return runs.run(Scenario.from_toml(SCENARIO), store=store)


@pytest.fixture(scope="session")
def scenario_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "lossy.toml"
    path.write_text(SCENARIO)
    return path
