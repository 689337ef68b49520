"""Calibration of a host, and the warning that comes of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from elephan.backends.base import Backend, Progress, RawResult
from elephan.backends.kernel import calibration
from elephan.backends.kernel.calibration import Calibration, Result
from elephan.scenario import Scenario


def result(rate: int, part: float = 0.999, *, valid: bool = True, algorithm: str = "cubic") -> Result:
    return Result(algorithm, rate, 40, part, 10.0, 60.0, 0.5, 0.0, valid)


def test_a_rate_is_honest_where_every_run_at_it_and_below_was() -> None:
    made = Calibration("h", "d", [result(100), result(400), result(622), result(400, 0.989, algorithm="reno")])
    assert made.honest_mbps == 100
    assert Calibration("h", "d", [result(100), result(400, valid=False), result(622)]).honest_mbps == 100
    assert Calibration("h", "d", [result(100), result(400)]).honest_mbps == 400
    assert Calibration("h", "d", [result(100, 0.5)]).honest_mbps == 0


def test_a_run_beyond_it_is_warned_of_on_this_host_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert calibration.warning(10**9) is None
    Calibration(calibration.host_name(), "2026-11-21T20:00:00+00:00", [result(100), result(400, 0.9)]).save()
    assert calibration.warning(100_000_000) is None
    assert calibration.warning(622_000_000) == (
        "this host carried up to 100 Mbit/s honestly in its calibration, and this path has 622 Mbit/s"
    )
    Calibration("another host", "2026-11-21T20:00:00+00:00", [result(100)]).save()
    assert calibration.load() is None


def test_the_scenarios_are_what_is_promised() -> None:
    wanted = calibration.scenarios()
    assert {(rate, rtt) for _, rate, rtt, _ in wanted} == {(r, t) for r in (100, 400, 622, 1000) for t in (40, 100)}
    assert {algorithm for algorithm, *_ in wanted} == {"cubic", "reno"}
    assert [rate for _, rate, _, _ in wanted] == sorted(rate for _, rate, _, _ in wanted)


class Carrying(Backend):
    """Carries every path at 99 % of the payload's share of its rate."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        form = scenario.canonical()
        stack = form["flows"][0]["stack"]
        payload_fraction = stack["payload_bytes"] / (stack["payload_bytes"] + stack["header_bytes"])
        bottleneck_bps = min(link["rate_bps"] for link in form["links"])
        assert progress is not None
        assert progress(0.5)
        facts = {
            "lateness": {"p50_us": 12.0, "p99_us": 70.0},
            "processor_s": {"link": 10.0},
            "processor": {"steal": 0.01},
            "valid": True,
        }
        flows = pl.DataFrame({"goodput_mbps": [0.99 * payload_fraction * bottleneck_bps / 1e6]})
        return RawResult({"flows": flows}, {"kernel": facts})

    def version(self) -> str:
        return "0"


def test_each_path_is_run_once_and_its_goodput_compared_with_the_ideal() -> None:
    wanted = calibration.scenarios(("cubic",), (100, 400), (40,))
    told: list[tuple[float, float, int, int]] = []
    made = calibration.calibrate(wanted, Carrying(), lambda *state: told.append(state))
    assert told == [(10.0, 40.0, 0, 2), (30.0, 40.0, 1, 2)]
    assert [(row.rate_mbps, row.late_p99_us, row.link_processor, row.stolen_part) for row in made.results] == [
        (100, 70.0, 0.5, 0.01), (400, 70.0, 0.5, 0.01),
    ]  # fmt: skip
    assert [row.goodput_part for row in made.results] == pytest.approx([0.99, 0.99])
    assert made.host == calibration.host_name()


def test_a_calibration_of_an_earlier_version_is_read() -> None:
    made = Calibration(calibration.host_name(), "2026-11-22", [result(100), result(400, valid=False)])
    path = made.save()
    path.write_text(path.read_text(encoding="utf-8").replace('"valid"', '"believable"'), encoding="utf-8")
    assert calibration.load() == made
