"""Links that are not steady: what a scenario may say of them, what the engine is told, and what comes out."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from elephan import Run, run
from elephan.metrics.throughput import utilization
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

MS = 10**9
BASE: dict[str, Any] = {
    "duration": "20 s",
    "start_jitter": "0 s",
    "measure": {"from": "5 s"},
    "dumbbell": {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"},
    "flow": [{"algorithm": "cubic"}],
}
FULL: dict[str, Any] = {
    "loss": {"to_bad": "0.1%", "to_good": 0.2, "in_bad": "50%"},
    "jitter": {"normal": "1 ms", "deviation": "0.2 ms"},
    "reorder": {"share": "1%", "delay": "5 ms"},
    "duplicate": "0.5%",
    "rate_steps": [{"at": "2 s", "rate": "0 bit/s"}, {"at": "3 s", "rate": "5 Mbit/s"}],
    "delay_steps": [{"at": "4 s", "change": "-3 ms"}, {"at": "5 s", "change": "10 ms"}],
}


def with_path(**fields: Any) -> Scenario:
    return Scenario.from_dict(BASE | {"dumbbell": BASE["dumbbell"] | fields})


def bottlenecks(scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    there, back = [row for row in scenario.canonical()["links"] if row["name"].startswith("bottleneck")]
    return there, back


def refused(**fields: Any) -> str:
    with pytest.raises(ScenarioError) as error:
        with_path(**fields)
    return str(error.value)


def made(scenario: Scenario, folder: Path) -> Run:
    return run(scenario, store=Store(folder))


def test_what_is_written_is_what_the_engine_is_told() -> None:
    there, back = bottlenecks(with_path(**FULL))
    assert there["loss"] == {"kind": "gilbert_elliott", "to_bad": 0.001, "to_good": 0.2, "in_good": 0.0, "in_bad": 0.5}
    assert there["impairments"] == {
        "jitter": {"kind": "normal", "mean_ps": MS, "deviation_ps": MS // 5},
        "reorder": {"p": 0.01, "delay_ps": 5 * MS},
        "duplicate": 0.005,
        "rate_steps": [
            {"at_ps": 2000 * MS, "rate_bps": 0},
            {"at_ps": 3000 * MS, "rate_bps": 5_000_000},
        ],
        "delay_steps": [{"at_ps": 4000 * MS, "delay_ps": 17 * MS}, {"at_ps": 5000 * MS, "delay_ps": 30 * MS}],
    }
    assert back["loss"] == {"kind": "none"}
    assert "impairments" not in back


def test_a_steady_link_says_nothing_of_it() -> None:
    scenario = with_path(rate_steps=[], duplicate=0)
    assert "impairments" not in bottlenecks(scenario)[0]
    assert scenario.hash == Scenario.from_dict(BASE).hash


@pytest.mark.parametrize(
    "fields", [FULL, {"rate_trace": [1, 1, 9]}, {"jitter": {"samples": ["1 ms", "30 us"]}}], ids=str
)
def test_a_scenario_survives_toml_and_pickle(fields: dict[str, Any]) -> None:
    scenario = with_path(**fields)
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash
    assert pickle.loads(pickle.dumps(scenario)).hash == scenario.hash


def test_files_are_relative_to_the_scenario_and_their_content_is_kept(tmp_path: Path) -> None:
    (tmp_path / "down.trace").write_text("1\n4\n4\n10\n")
    (tmp_path / "delays.txt").write_text("0.1 ms\n2 ms\n")
    (tmp_path / "s.toml").write_text(
        'duration = "5 s"\n[[link]]\nname = "l"\nfrom = "a"\nto = "b"\nrate = "1 Mbit/s"\ndelay = "5 ms"\n'
        'rate_trace = "down.trace"\njitter = { samples = "delays.txt" }\n'
        '[[flow]]\nalgorithm = "reno"\npath = ["l"]\n'
    )
    scenario = Scenario.load(tmp_path / "s.toml")
    impairments = scenario.canonical()["links"][0]["impairments"]
    assert impairments["rate_trace_ms"] == [1, 4, 4, 10]
    assert impairments["jitter"] == {"kind": "samples", "samples_ps": [MS // 10, 2 * MS]}
    (tmp_path / "down.trace").unlink()
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash


def test_only_what_draws_makes_seeds_differ() -> None:
    random = {"loss", "jitter", "reorder", "duplicate"}
    for field, value in FULL.items():
        assert with_path(**{field: value}).is_random == (field in random), field


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"loss": {"to_bad": 0.1}}, "dumbbell.loss: to_good: missing"),
        ({"loss": {"to_bad": 0, "to_good": 0.1}}, "dumbbell.loss: to_bad: 0 leaves the link in one state"),
        ({"loss": {"to_bad": 2, "to_good": 0.1}}, "dumbbell.loss: to_bad: 2 is not a share; it is from 0 to 1"),
        ({"loss": {"to_bad": 1, "to_good": 1, "in_good": 1}}, "dumbbell.loss: in_good: 1 lets no packet through"),
        ({"loss": {"to_bad": 1, "too_good": 1}}, "dumbbell.loss: too_good: not a part of bursts"),
        ({"jitter": {}}, "dumbbell.jitter: write one distribution"),
        ({"jitter": {"uniform": "1 ms", "exponential": "1 ms"}}, "dumbbell.jitter: write one distribution"),
        ({"jitter": {"normal": "1 ms"}}, "dumbbell.jitter: a normal jitter has its mean"),
        ({"jitter": {"samples": []}}, "dumbbell.jitter.samples: there is nothing in it"),
        ({"jitter": {"samples": ["1"]}}, "dumbbell.jitter.samples: '1' has no unit"),
        ({"reorder": {"share": "1%"}}, "dumbbell.reorder.delay: missing"),
        ({"duplicate": "101%"}, "dumbbell.duplicate: '101%' is not a share"),
        ({"rate_steps": [{"at": "1 s", "rate": "0 bit/s"}]}, "dumbbell.rate_steps[0].rate: '0 bit/s' would last"),
        (
            {"rate_steps": [{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "2 s", "rate": "2 Mbit/s"}]},
            "dumbbell.rate_steps[1].at: '2 s' is not after the step before, 2 s",
        ),
        ({"rate_steps": [{"at": "1 s", "rate": "1 bit/s"}]}, "at least 8 bit/s"),
        ({"delay_steps": [{"at": "1 s", "change": "-21 ms"}]}, "dumbbell.delay_steps[0].change: '-21 ms' is more than"),
        ({"rate_trace": [3, 2]}, "dumbbell.rate_trace: 2 follows 3; times do not go back"),
        ({"rate_trace": [0]}, "dumbbell.rate_trace: the trace must last longer than 0 ms"),
        ({"rate_trace": [1.5]}, "dumbbell.rate_trace: 1.5 is not a time"),
        ({"rate_trace": "none.trace"}, "dumbbell.rate_trace: 'none.trace': no such file"),
        (
            {"rate_trace": [1], "rate_steps": [{"at": "1 s", "rate": "1 Mbit/s"}]},
            "dumbbell.rate_trace: there are rate_steps too",
        ),
        ({"rate_trace": [1], "access_delay": "10 ms"}, "dumbbell.rate_trace: needs a link with a delay"),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(fields: dict[str, Any], line: str) -> None:
    message = refused(**fields)
    assert line in message
    assert "\n" not in message


def test_a_wrong_line_of_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    file.write_text("1\n\n3\n")
    assert f"dumbbell.rate_trace: {file}, line 2: '' is not a time" in refused(rate_trace=str(file))


def test_a_base_rtt_error_leaves_something_of_the_round_trip() -> None:
    flow = {"algorithm": "fast", "base_rtt_error": "-40 ms"}
    with pytest.raises(
        ScenarioError, match=r"flow\[0\].base_rtt_error: '-40 ms' leaves nothing of the round trip, 40 ms"
    ):
        Scenario.from_dict(BASE | {"flow": [flow]})
    form = Scenario.from_dict(BASE | {"flow": [flow | {"base_rtt_error": "-5 ms"}]}).canonical()
    assert form["flows"][0]["base_rtt_error_ps"] == -5 * MS


def test_a_reader_is_told_which_values_are_those_of_the_beginning() -> None:
    def about_the_link(**fields: Any) -> list[str]:
        return [line for line in with_path(**fields).warnings() if line.startswith("bottleneck")]

    assert about_the_link() == []
    assert about_the_link(rate_steps=FULL["rate_steps"]) == [
        "bottleneck: its BDP is that of its rate at the beginning, 10 Mbit/s"
    ]
    assert "those of its delay at the beginning, 20 ms" in about_the_link(delay_steps=FULL["delay_steps"])[0]
    assert about_the_link(rate_trace=[1, 2, 3, 4, 5, 6]) == [
        "bottleneck: its BDP is that of its rate, 10 Mbit/s; its trace has 12 Mbit/s on average"
    ]
    assert about_the_link(rate="12 Mbit/s", rate_trace=[1, 2, 3, 4, 5, 6]) == []


def test_utilization_follows_the_rate(tmp_path: Path) -> None:
    steps = [{"at": "8 s", "rate": "2 Mbit/s"}, {"at": "12 s", "rate": "20 Mbit/s"}]
    scenario = with_path(rate_steps=steps, access_rate="100 Mbit/s").with_overrides(
        {"flow[0].algorithm": "fixed", "flow[0].parameters": {"window": 90}, "dumbbell.buffer": "200 packets"}
    )
    found = made(scenario, tmp_path)
    for window in ((5.0, 7.0), (7.0, 9.0), (9.0, 11.0), (11.0, 13.0)):
        assert utilization(found, window) == pytest.approx(1.0, abs=0.003), window


def test_utilization_of_a_trace_is_of_its_opportunities(tmp_path: Path) -> None:
    scenario = with_path(rate_trace=[0, 2, 2, 3, 7], access_rate="100 Mbit/s").with_overrides(
        {"flow[0].algorithm": "fixed", "flow[0].parameters": {"window": 90}, "dumbbell.buffer": "200 packets"}
    )
    found = made(scenario, tmp_path)
    for window in ((5.0, 7.0), (7.1, 7.2), (9.0, 19.0)):
        assert utilization(found, window) == pytest.approx(1.0, abs=1e-9), window


def test_duplicates_and_late_packets_are_in_the_books(tmp_path: Path) -> None:
    found = made(with_path(duplicate="5%", reorder={"share": "2%", "delay": "3 ms"}), tmp_path)
    books = found.manifest["conservation"]
    assert books["duplicated"] > 100
    assert books["sent"] + books["duplicated"] == books["received"] + books["dropped"] + books["under_way"]


def test_what_a_link_puts_out_of_order_and_doubles_is_counted_over_time(tmp_path: Path) -> None:
    path: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duplicate": "2%"}
    path["reorder"] = {"share": "5%", "delay": "5 ms"}
    stated = Scenario.dumbbell(["cubic"], **path, duration="10 s")
    result = run(stated, store=Store(tmp_path))
    rows = result.links.filter(result.links["link"].cast(str) == "bottleneck")
    (totals,) = (link for link in result.manifest["engine_summary"]["links"] if link["name"] == "bottleneck")
    for column, share, total in (("reordered_packets", 0.05, "reordered"), ("duplicated_packets", 0.02, "duplicated")):
        counts = rows[column].to_list()
        assert counts == sorted(counts)
        assert counts[-1] == totals[total]
        n = int(rows["delivered_packets"].to_list()[-1])
        assert abs(counts[-1] - share * n) < 5 * (share * n) ** 0.5 + 5


def test_a_base_rtt_error_leaves_something_of_the_shortest_round_trip() -> None:
    steps = [{"at": "1 s", "change": "-10 ms"}]
    group = {"algorithm": "fast", "base_rtt_error": "-50 ms", "count": 2, "rtts": "aikat"}
    shorter = {"dumbbell": BASE["dumbbell"] | {"delay_steps": steps}}
    with pytest.raises(ScenarioError, match=r"'-30 ms' leaves nothing of the round trip, 30 ms"):
        Scenario.from_dict(BASE | shorter | {"flow": [{"algorithm": "fast", "base_rtt_error": "-30 ms"}]})
    with pytest.raises(ScenarioError, match=r"'-50 ms' leaves nothing of the round trip, 40 ms"):
        Scenario.from_dict(BASE | {"flow": [group]})
