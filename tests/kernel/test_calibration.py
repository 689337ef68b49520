"""What a host carried, and the warning that comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.backends.kernel import calibration
from elephan.backends.kernel.calibration import Calibration, Result


def result(rate: int, part: float = 0.999, *, believable: bool = True, algorithm: str = "cubic") -> Result:
    return Result(algorithm, rate, 40, part, 10.0, 60.0, 0.5, 0.0, believable)


def test_a_rate_is_honest_where_every_run_at_it_and_below_was() -> None:
    made = Calibration("h", "d", [result(100), result(400), result(622), result(400, 0.989, algorithm="reno")])
    assert made.honest_mbps == 100
    assert Calibration("h", "d", [result(100), result(400, believable=False), result(622)]).honest_mbps == 100
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
