"""Refusals of the kernel backend and their sentences: anywhere, root or not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kernel.victim import stated

from elephan import Ack, Algorithm, Signal, backends
from elephan.backends.kernel import host, records, session, tables
from elephan.backends.kernel.plan import Plan
from elephan.cli.main import run_command
from elephan.scenario import Scenario, ScenarioError


class Mine(Algorithm):
    def on_ack(self, ack: Ack) -> None:
        self.window += ack.acked / self.window

    def on_congestion(self, signal: Signal) -> None:
        self.window = max(self.window / 2.0, 2.0)


LOAD = {"algorithm": "reno", "load": "10%", "sizes": {"distribution": "pareto", "mean": "20 kB", "shape": 1.5}}


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        (stated(["cubic"], events=True), "events: the backend 'kernel' cannot do an event log"),
        (stated(["cubic"], queue="codel"), "link bottleneck: the backend 'kernel' cannot do a queue 'codel'"),
        (stated(["cubic"], send_jitter="1 ms"), "send_jitter: the backend 'kernel' cannot do send_jitter"),
        (stated(["udt"]), "flow[0].algorithm: the backend 'kernel' cannot do UDT"),
        (stated(["vivace"]), "flow[0].algorithm: the backend 'kernel' has no 'vivace'; allowed: areno, "),
        (stated(["cubic:2005"]), "flow[0].algorithm: Linux has its own cubic and not 'cubic:2005'; write 'cubic'"),
        (stated([{"algorithm": "cubic", "parameters": {"c": 0.3}}]), "Linux's own cubic has no parameter"),
        (stated(["reno"], stack="ns2"), "which do not support header_bytes = 40"),
        (stated(["reno"], stack={"ecn": True}), "which do not support ecn = True"),
        (stated(["reno"], jitter={"uniform": "2 ms"}), "cannot do a link with jitter; "),
        (stated([{"algorithm": "reno", "base_rtt_error": "1 ms"}]), "cannot do a flow with base_rtt_error; "),
        (stated(["reno"], duration="10 s", traffic=[LOAD]), "the backend 'kernel' cannot do background traffic"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_by_name(scenario: Scenario, sentence: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Plan.of(scenario)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("where", ["kernel", "model"])
def test_an_algorithm_in_python_is_refused_by_its_name(where: str) -> None:
    scenario = Scenario.dumbbell([Mine], rate="10 Mbit/s", rtt="20 ms", buffer="20 packets", duration="10 s")
    with pytest.raises(ScenarioError) as refused:
        backends.get(where).check(scenario)
    assert str(refused.value).startswith("flow[0].algorithm: 'Mine' is written in Python, ")
    assert "source_sha256" not in str(refused.value)


def test_buffers_are_larger_than_what_the_path_holds() -> None:
    plan = Plan.of(stated(["cubic"], rate="622 Mbit/s", rtt="100 ms", buffer="1 BDP"))
    (ends,) = plan.document({0: "cubic"})["flows"]
    # The kernel takes twice what it is told, so this is four times a BDP on the path and one in the queue.
    assert 2 * ends["send_buffer_bytes"] >= 4 * 2 * 622e6 * 0.1 / 8
    assert ends["receive_buffer_bytes"] == ends["send_buffer_bytes"]
    assert plan.spin_us == 0
    assert Plan.of(stated(["cubic"], rate="100 Mbit/s")).spin_us > 0


def test_a_host_that_cannot_says_what_would_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(stated(["cubic"]).to_toml())
    assert host.missing()["root"]
    assert run_command(["run", "s.toml", "--on", "kernel"]) == 2
    assert "the backend 'kernel' needs root" in capsys.readouterr().err
    assert run_command(["lab", "check"]) == 1
    assert "cannot run on real Linux TCP" in capsys.readouterr().out


def test_what_belongs_to_a_process_that_is_there_is_not_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("ELEPHAN_RUNTIME_DIR", str(tmp_path))
    mine, gone = records.Record.new(), records.Record.new()
    gone.started = "0"
    for record in (mine, gone):
        record.folder().mkdir()
        record.write()
    assert records.remove_abandoned() == [f"folder {gone.folders[0]}"]
    assert [record.name for record in records.records()] == [mine.name]
    assert mine.remove() == [f"folder {mine.folders[0]}"]
    assert records.records() == []


def test_what_a_closed_socket_said_last_is_held() -> None:
    """The last sample may come when a socket is closed; the simulator keeps a flow's last window too."""
    plan = Plan.of(stated(["cubic"]))
    sender = {
        "cwnd": [None, 10, 20, None], "ssthresh": [None, None, 15, None], "srtt_s": [None, 0.02, 0.03, None],
        "in_flight": [None, 10, 20, None], "retransmits": [None, 0, 3, None], "loss_events": [None, 0, 1, None],
        "ecn_events": [None, 0, 0, None], "timeouts": [None, 0, 1, None],
    }  # fmt: skip
    path = {"rtt_s": [None, 0.02, 0.03, 0.03], "received_bytes": [0, 1448, 2896, 4344], "wire_bytes": [0, 1, 2, 3]}
    link = {"times_s": [0.0, 0.1, 0.2, 0.3], "flows": [{"samples": path}]}
    logs = session.Logs(link, {"flows": [{"samples": sender}]}, {}, {}, 0)
    samples = tables._samples(plan, logs, 0)
    assert samples["cwnd"].to_list() == [0, 10, 20, 20]
    assert samples["ssthresh"].to_list() == [None, None, 15, 15]
    assert samples["in_flight"].to_list() == [0, 10, 20, 0]
    assert samples["retransmits"].to_list() == [0, 0, 3, 3]
    assert samples["loss_events"].to_list() == [0, 0, 1, 1]
    assert samples["timeouts"].to_list() == [0, 0, 1, 1]
