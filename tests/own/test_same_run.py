"""A Python algorithm that reimplements Reno gives the very same run as the built-in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan import AlgorithmError, backends
from elephan.scenario import Scenario

MY_RENO = f"{Path(__file__).resolve().parents[2] / 'examples' / 'my_reno.py'}:MyReno"


def tables(algorithm: str, parameters: dict[str, float], **path: Any) -> dict[str, pl.DataFrame]:
    flows: list[dict[str, Any]] = [
        {"algorithm": algorithm, "parameters": parameters, "name": "a"},
        {"algorithm": "cubic", "name": "b", "start": "2 s"},
        {"algorithm": algorithm, "name": "short", "size": "200 kB", "start": "4 s"},
    ]
    scenario = Scenario.dumbbell(flows, rate="20 Mbit/s", rtt="40 ms", duration="15 s", **path)
    result = backends.get("sim").run(scenario, seed=3)
    frames = {name: pl.DataFrame(table) for name, table in result.tables.items()}
    frames["flows"] = frames["flows"].drop("algorithm")  # it is what differs
    return frames


def as_bytes(frame: pl.DataFrame) -> bytes:
    return frame.write_ipc(None).getvalue()


@pytest.mark.parametrize("stack", ["linux", "linux-2.6", "ns2", "ns2-sack1", "rfc6675"])
@pytest.mark.parametrize("parameters", [{}, {"increase": 2.0, "decrease": 0.3}], ids=["reno", "another"])
def test_the_tables_are_the_same_bytes(stack: str, parameters: dict[str, float]) -> None:
    for path in ({"buffer": "20% BDP"}, {"buffer": "5 packets", "loss": "3%"}):
        built_in, own = (tables(name, parameters, stack=stack, **path) for name in ("reno", MY_RENO))
        assert built_in["flows"]["loss_events"][0] > 10
        for name, frame in built_in.items():
            assert as_bytes(frame) == as_bytes(own[name]), (path, name)


def alone(algorithm: str, stack: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    # Timeouts by many losses, and by a way that becomes longer although nothing was lost.
    longer = {"at": "5 s", "change": "400 ms"}
    path: dict[str, Any] = {
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "buffer": "20 packets",
        "loss": "4%",
        "delay_steps": [longer],
    }
    flow = {"algorithm": algorithm, "name": "a"}
    result = backends.get("sim").run(Scenario.dumbbell([flow], stack=stack, duration="15 s", **path), seed=1)
    frames = {name: pl.DataFrame(table) for name, table in result.tables.items()}
    counts = {"undone": result.summary["undone"], "timeouts": frames["flows"]["timeouts"].sum()}
    frames["flows"] = frames["flows"].drop("algorithm")
    return counts, {name: as_bytes(frame) for name, frame in frames.items()}


def test_timeouts_and_undone_episodes_are_the_same_too() -> None:
    for stack, what in (("linux", "undone"), ("rfc6675", "timeouts")):
        built_in, own = alone("reno", stack), alone(MY_RENO, stack)
        assert built_in[0][what] > 0
        assert built_in == own


@pytest.mark.parametrize("arrivals", [{"load": "40%"}, {"users": 3, "think": "0.2 s"}], ids=["open", "closed"])
def test_transfers_of_a_source_are_the_same_bytes(arrivals: dict[str, Any]) -> None:
    def found(algorithm: str) -> dict[str, pl.DataFrame]:
        source = {"algorithm": algorithm, "name": "web", "sizes": {"distribution": "exponential", "mean": "60 kB"}}
        scenario = Scenario.dumbbell(
            [{"algorithm": "cubic"}], traffic=[source | arrivals], rate="20 Mbit/s", rtt="40 ms", buffer="30 packets",
            duration="10 s",
        )  # fmt: skip
        frames = backends.get("sim").run(scenario, seed=3).tables
        return {name: pl.DataFrame(table).drop("algorithm", strict=False) for name, table in frames.items()}

    built_in, own = found("reno"), found(MY_RENO)
    assert built_in["transfers"].height > 40
    assert built_in["transfers"]["retransmits"].sum() > 10
    for name, frame in built_in.items():
        assert as_bytes(frame) == as_bytes(own[name]), name


def test_an_exception_in_a_transfer_names_its_source(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "from elephan import Algorithm\n"
        "made = []\n"
        "class Late(Algorithm):\n"
        "    def __init__(self):\n"
        "        made.append(self)\n"
        "        if len(made) > 6: raise RuntimeError('six are enough')\n"
        "    def on_ack(self, ack): pass\n"
        "    def on_congestion(self, signal): pass\n"
    )
    source = {"algorithm": f"{tmp_path / 'late.py'}:Late", "name": "web", "load": "20%"}
    sizes = {"distribution": "exponential", "mean": "20 kB"}
    scenario = Scenario.dumbbell(
        [], traffic=[source | {"sizes": sizes}], rate="20 Mbit/s", rtt="40 ms", buffer="30 packets", duration="10 s"
    )
    with pytest.raises(AlgorithmError, match=r"web.*__init__.*six are enough"):
        backends.get("sim").run(scenario)
