"""Applications that write given sizes at given times, and the times at which the writes are complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan import Run, backends, run
from elephan.runs.errors import RunError
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

S = 10**12
WRITES = [{"at": "1 s", "size": "1448 B"}, {"at": "2 s", "size": "100 kB"}, {"at": "2 s", "size": "1 B"}]


def scenario(application: dict[str, Any], duration: str = "5 s", **flow: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "duration": duration,
            "start_jitter": "0 s",
            "dumbbell": {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 packets"},
            "flow": [{"name": "f", "algorithm": "cubic", "application": application} | flow],
        }
    )


def made(given: Scenario, folder: Path) -> Run:
    return run(given, store=Store(folder))


def test_writes_are_in_the_form_with_their_bytes() -> None:
    given = scenario({"writes": WRITES})
    (flow,) = given.canonical()["flows"]
    assert flow["application"] == {
        "rate_bps": 0,
        "writes": [{"at_ps": S, "bytes": 1448}, {"at_ps": 2 * S, "bytes": 100_000}, {"at_ps": 2 * S, "bytes": 1}],
    }
    assert Scenario.from_toml(given.to_toml()).hash == given.hash


def test_a_file_has_times_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("time_ms,size_bytes\n1000,1448\n2000,100000\n2000,1\n")
    assert scenario({"writes": str(tmp_path / "w.csv")}).hash == scenario({"writes": WRITES}).hash
    (tmp_path / "s.toml").write_text(
        'duration = "5 s"\nstart_jitter = "0 s"\n[dumbbell]\nrate = "10 Mbit/s"\nrtt = "40 ms"\n'
        'buffer = "100 packets"\n[[flow]]\nname = "f"\nalgorithm = "cubic"\napplication = { writes = "w.csv" }\n'
    )
    assert Scenario.load(tmp_path / "s.toml").hash == scenario({"writes": WRITES}).hash


@pytest.mark.parametrize(
    ("application", "flow", "line"),
    [
        ({}, {}, "flow[0].application.rate: missing; write for example rate"),
        ({"writes": []}, {}, "flow[0].application.writes: [] is not a list of writes"),
        ({"writes": [{"at": "1 s"}]}, {}, "write 1: {'at': '1 s'} is not a write; it has at and size"),
        ({"writes": [{"at": "1 s", "size": "0 B"}]}, {}, "write 1: size: '0 B' is too small"),
        ({"writes": [WRITES[1], WRITES[0]]}, {}, "write 2: '1 s' is before the write before, 2 s"),
        ({"writes": "none.csv"}, {}, "flow[0].application.writes: 'none.csv': no such file"),
        ({"writes": WRITES, "rate": "1 Mbit/s"}, {}, "flow[0].application.rate: there are writes too"),
        ({"writes": WRITES, "on": "1 s", "off": "1 s"}, {}, "flow[0].application.on: there are writes too"),
        ({"writes": WRITES}, {"size": "1 MB"}, "flow[0].size: the writes have sizes already"),
        ({"writes": WRITES}, {"algorithm": "udt"}, "flow[0].application.writes: UDT has no writes"),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(application: dict[str, Any], flow: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(application, **flow)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_write_after_the_end_is_told() -> None:
    assert "f: 2 of its 3 writes are not made before its end" in scenario({"writes": WRITES}, "2 s").warnings()
    assert not [line for line in scenario({"writes": WRITES}).warnings() if "writes" in line]


def test_each_write_has_its_row_and_its_time(tmp_path: Path) -> None:
    """A write of one segment on an idle path takes a round trip and the transmissions, which are exact. (Its ACK is one
    of the first sixteen, which do not wait.)"""
    found = made(scenario({"writes": WRITES}), tmp_path)
    rows = found.writes.to_dicts()
    assert [(row["flow"], row["write"], row["at_s"], row["size_bytes"], row["size_segments"]) for row in rows] == [
        ("f", 0, 1.0, 1448, 1),
        ("f", 1, 2.0, 100_000, 70),
        ("f", 2, 2.0, 1, 1),
    ]
    # 1500 B at 100, 10 and 100 Mbit/s, and an ACK of 52 B back.
    transmissions = (1500 + 52) * 8 * (1 / 100e6 + 1 / 10e6 + 1 / 100e6)
    assert rows[0]["completion_s"] == pytest.approx(0.04 + transmissions, abs=1e-6)
    # 71 segments of 1500 B need 85 ms at 10 Mbit/s, and three round trips from a window of ten.
    assert 0.085 < rows[1]["completion_s"] <= rows[2]["completion_s"] < 0.3
    assert found.flows["segments_delivered"][0] == 72
    assert found.flows["completion_s"][0] == pytest.approx(2.0 + rows[2]["completion_s"])
    assert found.tables()["writes"].equals(found.writes)


def test_a_write_before_the_start_waits_for_it_and_one_without_an_end_has_no_time(tmp_path: Path) -> None:
    writes = [{"at": "0 s", "size": "1 kB"}, {"at": "1.5 s", "size": "10 MB"}]
    found = made(scenario({"writes": writes}, "2 s", start="1 s"), tmp_path)
    first, second = found.writes.to_dicts()
    assert (first["at_s"], second["at_s"]) == (1.0, 1.5)
    # The handshake takes a round trip, and the write another.
    assert first["completion_s"] == pytest.approx(0.08, abs=0.005)
    assert second["completion_s"] is None
    assert found.flows["completion_s"][0] is None


def test_every_flow_of_a_group_writes(tmp_path: Path) -> None:
    found = made(scenario({"writes": WRITES[:2]}, count=3), tmp_path)
    assert found.writes.group_by("flow", maintain_order=True).len()["len"].to_list() == [2, 2, 2]
    assert found.writes["completion_s"].null_count() == 0
    again = Store(tmp_path).get(found.id)
    assert again.writes.equals(found.writes)


def test_a_run_without_writes_says_so(tmp_path: Path) -> None:
    found = made(scenario({"rate": "1 Mbit/s"}), tmp_path)
    assert "writes" not in found.tables()
    with pytest.raises(RunError, match="has no flow with writes"):
        _ = found.writes


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("linux", "the backend 'linux' cannot do an application with writes; 'sim' can"),
        ("kernel", "the backend 'kernel' cannot do a flow with application; 'sim' can"),
        ("model", "a flow with application"),
    ],
)
def test_other_backends_refuse_writes_before_the_run(name: str, line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        backends.get(name).check(scenario({"writes": WRITES}))
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_table_is_a_frame_with_its_columns(tmp_path: Path) -> None:
    frame = made(scenario({"writes": WRITES}), tmp_path).writes
    assert frame.schema["flow"] == pl.Categorical
    assert frame.columns == ["flow", "write", "at_s", "size_bytes", "size_segments", "completion_s"]
