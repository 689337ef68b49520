"""The engine for the browser gives the tables of the native one, bit for bit, over the grid of trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.trajectories import grid
from tests.web import wasm

from elephan.runs import tables
from elephan.scenario import Scenario, catalog
from elephan.scenario.stacks import STACKS

FAMILIES = grid.families()
SOME = ("bbr3", "compound", "cubic", "hybla", "vivace")
"""Families with every function of arithmetic that the others have too."""

pytestmark = wasm.needs_node


@pytest.fixture(scope="module")
def engine() -> Iterator[wasm.Engine]:
    with wasm.engine() as started:
        yield started


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("algorithm", SOME)
def test_the_grid_of_an_algorithm_is_that_of_the_native_engine(algorithm: str, stack: str, engine: wasm.Engine) -> None:
    """With its default preset; 'make verify' runs the other presets and families."""
    default = FAMILIES[algorithm][:1]
    assert grid.rows(default, stack, simulate=engine.run) == grid.rows(default, stack)


@pytest.mark.large
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("algorithm", FAMILIES)
def test_the_grid_of_every_preset_is_that_of_the_native_engine(algorithm: str, stack: str, engine: wasm.Engine) -> None:
    assert grid.rows(FAMILIES[algorithm], stack, simulate=engine.run) == grid.rows(FAMILIES[algorithm], stack)


def test_every_table_and_column_is_there() -> None:
    scenario = Scenario.from_dict(
        {
            "duration": "4 s",
            "internals": True,
            "events": {"from": "1 s", "to": "1.1 s"},
            "dumbbell": {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "40 packets"},
            "flow": [{"algorithm": "bbr3"}, {"algorithm": "cubic"}],
            "traffic": [{"algorithm": "reno", "load": "20%", "sizes": {"distribution": "pareto", "mean": "30 kB"}}],
        }
    )
    text = json.dumps(scenario.canonical())
    native = catalog.engine().run(text)
    with wasm.engine() as engine:
        ours = engine.run(text)
    frames = [tables.all_to_polars({n: t for n, t in made.items() if n != "summary"}) for made in (native, ours)]
    assert {name: frame.columns for name, frame in frames[0].items()} == {
        name: frame.columns for name, frame in frames[1].items()
    }
    assert tables.digest(frames[0]) == tables.digest(frames[1])
    summaries = [json.loads(made["summary"]) for made in (native, ours)]
    summaries[0].pop("wall_seconds_inside")
    assert summaries[0] == summaries[1]


def test_a_wrong_scenario_is_refused_in_one_line() -> None:
    with wasm.engine() as engine:
        with pytest.raises(wasm.RefusedError, match="duration_ps"):
            engine.run("{}")
        scenario = Scenario.dumbbell(rate="10 Mbit/s", rtt="40 ms", buffer="40 packets", duration="1 s")
        assert engine.run(json.dumps(scenario.canonical()))["flows"].height == 1
