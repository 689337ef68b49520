"""quinn's own log of a run: it has the packets that the tables count, and is the same each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import elephan
from elephan import Run, RunError, Scenario, Store, export
from elephan.backends import quic
from elephan.cli.packets import Packets
from elephan.scenario import ScenarioError

pytestmark = pytest.mark.skipif(quic.program() is None, reason="elephan-quic is not built")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    flows = [{"name": "first", "algorithm": "quinn:cubic"}, {"name": "second", "algorithm": "hcc"}]
    scenario = Scenario.dumbbell(flows, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="5 s", loss="0.2%")
    return elephan.run(scenario, on="quic", store=Store(tmp_path_factory.mktemp("store")))


def test_a_file_has_a_name_that_stays_in_its_folder(tmp_path: Path) -> None:
    flows = [{"name": name, "algorithm": "quinn:cubic"} for name in ("../../outside", "/absolute", "a/b\\c", "a b/c")]
    scenario = Scenario.dumbbell(flows, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="1 s")
    run = elephan.run(scenario, on="quic", store=Store(tmp_path / "store"))
    files = export.write_quinn_qlog(run, tmp_path / "log.sqlog")
    assert {path.parent for path in files} == {tmp_path}
    assert [path.name for path in files][:2] == ["log-1-.._.._outside.sqlog", "log-2-_absolute.sqlog"]
    assert len({path.name for path in files}) == 4


def test_lost_and_sent_packets_are_those_of_the_tables(run: Run, tmp_path: Path) -> None:
    files = export.write_quinn_qlog(run, tmp_path / "log.sqlog")
    assert [path.name for path in files] == ["log-first.sqlog", "log-second.sqlog"]
    for path, flow in zip(files, run.flows.iter_rows(named=True), strict=True):
        head, *events = [json.loads(line.lstrip("\x1e")) for line in path.read_text().strip().split("\n")]
        assert (head["qlog_format"], head["title"]) == ("JSON-SEQ", flow["name"])
        names = [event["name"] for event in events]
        assert names.count("recovery:packet_lost") == flow["retransmits"] > 0
        assert names.count("transport:packet_sent") > 1000
        assert max(event["time"] for event in events) <= 5000.0


def test_the_same_run_has_the_same_log(run: Run, tmp_path: Path) -> None:
    logs = [export.write_quinn_qlog(run, tmp_path / f"{i}.sqlog", ["second"])[0].read_bytes() for i in range(2)]
    assert logs[0] == logs[1]


def test_what_there_is_not_is_refused(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with pytest.raises(ScenarioError, match="a run on 'quic' has no capture"):
        Packets(path, None).write(run)
    with pytest.raises(ScenarioError, match="quinn logs the whole run"):
        Packets(None, path, window=("1 s", "2 s")).write(run)
    with pytest.raises(ScenarioError, match="'frist' is not a flow of this run"):
        Packets(None, path, flows=["frist"]).write(run)
    simulated = elephan.run(Scenario.dumbbell(["reno"], rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="1 s"))
    with pytest.raises(RunError, match="only 'quic' has quinn's log"):
        export.write_quinn_qlog(simulated, path)
    assert not list(tmp_path.iterdir())
