"""Searches find failures that are known from the literature, in their simplest form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from elephan import metrics, suites
from elephan.design import keeping, searching, space
from elephan.design.goals import goal
from elephan.design.proposals import OPTIMIZERS, optimizer
from elephan.design.searching import Judge, Search, search
from elephan.design.shrinking import shrunk
from elephan.design.space import Point
from elephan.runs import Store, run
from elephan.scenario import Scenario, ScenarioError

CALM = tuple(f"{factor}=none" for factor in ("loss", "outage", "slower", "route", "pulses"))
SHORT = ("rate=5..20", "rtt=10..50")

KNOWN = {
    "BBRv1 loses heavily in shallow buffers (Hock, Bless and Zitterbart 2017)": ("bbr", "collapse", (), "buffer"),
    "a low-rate attack on timeouts (Kuzmanovic and Knightly 2003)": (
        "reno", "underuse",
        (*SHORT, "buffer=0.5..4", "loss=none", "outage=none", "slower=none", "route=none"), "pulses.share",
    ),
    "starvation of Copa by jitter (Arun and others 2022)": (
        "copa", "starvation", (*CALM, "far=none", "late=none"), None,
    ),
    "starvation of Vegas by jitter (Arun and others 2022)": (
        "vegas", "starvation", (*CALM, "far=none", "late=none"), None,
    ),
    "starvation of BBR by the RTT (Arun and others 2022)": (
        "bbr", "starvation", ("rate=20..60", "buffer=1..16", "late=none", *CALM), None,
    ),
    "late-starting flows of LEDBAT (Rossi and others 2010)": (
        "ledbat", "starvation", (*CALM, "far=none", "jitter=none", "dip=none"), "late.start",
    ),
    "a wrong base RTT of Vegas after a change of route (La, Walrand and Anantharam 1998)": (
        "vegas", "underuse", (*SHORT, "loss=none", "outage=none", "pulses=none"), "route.longer",
    ),
    "late-starting flows of Illinois with the bug of Linux 2.6.23 (Leith and others 2008)": (
        "illinois:linux-2.6.23", "starvation", ("loss=none", "pulses=none"), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_failure_is_found(name: str) -> None:
    algorithm, purpose, over, dimension = KNOWN[name]
    result = search(algorithm, purpose, over=over, most_runs=2000)
    assert result.found is not None, result.worst
    assert len(space.factors_of(result.found.point)) <= 5
    assert dimension is None or dimension in result.found.point
    fails = [result.goal.severity(value) >= 0 for value in result.found.seeds]
    assert sum(fails) >= 6


def test_the_advantage_of_a_late_starting_fast_flow_is_found() -> None:
    """The second flow takes the queue of the first for a part of its path (Tan, Yuan and Zukerman 2005)."""
    result = search("fast", "late-start", over=("rate=5..20", "rtt=50..100", "buffer=4..16"), most_runs=1500)
    assert result.found is not None
    assert 1.5 <= result.found.value < 2.0
    assert "late" in space.factors_of(result.found.point)


def test_a_path_that_was_shorter_for_a_time_has_its_own_delay_afterwards() -> None:
    point = {"rate": 10.0, "rtt": 40.0, "buffer": 1.0, "dip.size": 5.0, "dip.at": 2.0, "dip.length": 100.0}
    base = space.base(("cubic", "cubic"), {}, 30.0, pulses=False)
    steps = base.replace(space.row(point)).form.links[0].impairments
    assert steps is not None
    assert [(step.at_ps, step.delay_ps) for step in steps.delay_steps] == [
        (2 * 10**12, 10 * 10**9), (2_100 * 10**9, 15 * 10**9)
    ]  # fmt: skip


def test_a_stall_of_bbr_is_found_where_cubic_has_none(tmp_path: Path) -> None:
    """A route that becomes longer, while the connection's smallest RTT is that of the shorter one."""
    result = search("bbr:linux", "stall", against="cubic", most_runs=2000)
    assert result.found is not None
    assert [flow.name for flow in result.found.scenario.flow] == ["first"]
    assert space.factors_of(result.found.point) == ["route"]
    assert result.found.point["route.at"] <= 5
    assert result.found.baseline is not None
    assert result.found.baseline < 0.5
    late = result.found.scenario.replace({"flow[0].start": f"{result.found.point['route.at'] + 1:g} s"})
    assert metrics.goodput_mbps(run(late, store=Store(tmp_path)))["first"] > 0.8 * result.found.point["rate"], (
        "it never knew the shorter route"
    )


def test_pulses_leave_most_of_the_smallest_rate() -> None:
    point = {"rate": 10.0, "rtt": 40.0, "buffer": 1.0, "slower.share": 0.1, "slower.at": 5.0,
             "pulses.share": 0.3, "pulses.peak": 0.5, "pulses.period": 1000.0}  # fmt: skip
    sent = space.row(point)["flow[2].datagrams"]
    assert sent == {"rate": "0.5 Mbit/s", "on": "600 ms", "off": "400 ms"}


def test_a_search_that_finds_nothing_says_what_it_covered() -> None:
    result = search("cubic", "harm", over=["rate=5..10", "pulses=none"], most_runs=60, by="random")
    document = result.to_json()
    assert document["found"] is None
    assert result.runs >= 60
    assert "rate 5 to 10 Mbit/s" in document["space"]
    assert "pulses" not in document["space"]
    assert "safe" not in str(document)


def test_a_search_repeats() -> None:
    first, second = (search("vegas", "underuse", over=SHORT, most_runs=300).to_json() for _ in range(2))
    first["found"].pop("after_s"), second["found"].pop("after_s")
    first.pop("wall_seconds"), second.pop("wall_seconds")
    assert first == second


def test_a_point_is_simplified_as_long_as_it_fails() -> None:
    asked = 0

    def fails(points: Sequence[Point]) -> list[bool]:
        nonlocal asked
        asked += len(points)
        return [point["rate"] >= 8 and point.get("route.longer", 0.0) > 30 for point in points]

    every = space.space().point([0.9] * space.space().size)
    found = shrunk(every, space.space(), fails)
    assert space.factors_of(found) == ["route"]
    assert found["rate"] == 10
    assert found["route.longer"] == 100
    assert asked < 300


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 1.0])
def test_every_point_is_a_scenario(share: float) -> None:
    whole = space.space()
    for pulses in (False, True):
        switches = [1.0 if pulses or factor != "pulses" else 0.0 for factor in whole.factors]
        point = whole.point([*switches, *[share] * len(whole.dimensions)])
        base = space.base(("cubic", "cubic"), {}, 30.0, pulses=pulses)
        assert base.replace(space.row(point)).form.duration_ps == 30 * 10**12


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_proposes_points_of_the_cube_and_finds_the_better_half(name: str) -> None:
    made = optimizer(name, 3, 1)
    best = -math.inf
    for _ in range(12):
        points = made.ask()
        assert all(len(point) == 3 and all(0 <= x <= 1 for x in point) for point in points)
        severities = [-sum((x - 0.7) ** 2 for x in point) for point in points]
        made.tell(points, severities)
        best = max(best, *severities)
    assert best > -0.05


@pytest.fixture(scope="module")
def found() -> Search:
    return search("vegas", "underuse", over=(*SHORT, "loss=none"), most_runs=1000)


def test_what_is_found_is_kept_as_a_scenario(found: Search, tmp_path: Path) -> None:
    file = keeping.save(found, tmp_path / "found")
    assert found.found is not None
    loaded = Scenario.load(file)
    assert loaded == found.found.scenario
    value = Judge.of(found, "vegas").values([found.found.point])[0]
    assert value == found.found.value


def test_what_is_found_becomes_a_criterion(found: Search, tmp_path: Path) -> None:
    keeping.add_to_suite(found, tmp_path / "mine")
    other = search("bbr", "collapse", most_runs=1000)
    keeping.add_to_suite(other, tmp_path / "mine")
    suite = suites.load(tmp_path / "mine")
    assert [row.id for row in suite.table.criterion] == [keeping.name_of(found), keeping.name_of(other)]
    with pytest.raises(ScenarioError, match="already"):
        keeping.add_to_suite(found, tmp_path / "mine")


def test_every_goal_becomes_a_criterion(found: Search, tmp_path: Path) -> None:
    assert found.found is not None
    for name in ("harm", "starvation", "delay", "stall"):
        other = Search("reno", goal(name), found.space, "cma", 1, found.found)
        keeping.add_to_suite(other, tmp_path / "mine")
    assert len(suites.load(tmp_path / "mine").table.criterion) == 4


def test_a_search_against_another_algorithm_leaves_out_its_failures() -> None:
    result = search("reno", "delay", over=["buffer=8..16", "rtt=10..50"], against="cubic", most_runs=60, by="random")
    assert result.found is None
    assert result.worst is not None
    assert result.worst[1] > result.goal.limit


def test_a_run_without_a_result_counts_as_refused() -> None:
    judge = Judge("cubic", goal("delay"), space.space())
    values = judge.values([{"rate": 5.0, "rtt": 10.0, "buffer": 0.1}])
    assert math.isnan(values[0])
    assert (judge.runs, judge.refused) == (0, 1)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("rat=3", "over: 'rat' is not a dimension; did you mean 'rtt'?"),
        ("rate", "over: 'rate' is not a range; write for example rate=10..50"),
        ("rate=x", "over: 'rate=x' is not a range of numbers in Mbit/s; write for example rate=5..100"),
        ("rate=9..3", "over: 'rate=9..3' is an empty range"),
        ("rate=none", "over: every path has 'rate'; 'none' leaves out a factor: loss, late, far, jitter"),
        ("pulse=none", "over: 'pulse' is not a factor; did you mean 'pulses'?"),
    ],
)
def test_a_wrong_range_is_one_line(over: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        search("cubic", "harm", over=[over])
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("against", "message"),
    [
        ("cubik", "against: 'cubik' is not an algorithm; did you mean 'cubic'?"),
        ("cubic:2025", "against: 'cubic:2025' is not a preset of cubic; did you mean 'cubic:2005'?"),
    ],
)
def test_a_wrong_algorithm_for_comparison_is_named(against: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        search("vegas", "underuse", against=against)
    assert message in str(raised.value)


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cmaes", None)
    with pytest.raises(ScenarioError, match="pip install 'elephan\\[design\\]'"):
        search("cubic", "harm")
    assert searching.search("cubic", "harm", by="random", most_runs=1).runs > 0
