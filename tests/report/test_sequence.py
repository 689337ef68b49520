"""The time-sequence diagram of a report: what was sent, lost, sent again and acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

import elephan
from elephan.report.run import run_report
from elephan.report.sequence import MOST_DOTS, time_sequence

SCENARIO = {
    "duration": "8 s",
    "dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "20 packets"},
    "flow": [{"name": "one", "algorithm": "cubic"}, {"name": "two", "algorithm": "reno"}],
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> elephan.Run:
    monkeypatch.chdir(tmp_path)
    return elephan.run(elephan.Scenario.from_dict(SCENARIO | {"events": {"from": "0 s", "to": "4 s"}}))


def test_each_flow_has_its_segments_losses_and_acknowledgements(run: elephan.Run) -> None:
    (chart,) = time_sequence(run)
    assert [panel.title for panel in chart.panels] == ["one", "two"]
    for panel in chart.panels:
        found = {series.name: series for series in panel.series}
        assert set(found) == {"sent", "acknowledged", "sent again", "dropped or lost"}
        assert all(len(series.x) == len(series.y) <= MOST_DOTS for series in panel.series)
        acknowledged = [value for value in found["acknowledged"].y if value is not None]
        assert acknowledged == sorted(acknowledged), "cumulative acknowledgements"
        assert found["sent"].y[0] == 0
        assert found["sent again"].x[0] > found["dropped or lost"].x[0], "a loss comes before its repair"
    events = run.events
    again = events.filter((events["kind"] == "sent") & events["retransmit"] & (events["flow"] == "one"))
    (one,) = [series for series in chart.panels[0].series if series.name == "sent again"]
    assert len(one.x) == len(again)


def test_a_report_has_it_only_with_an_event_log(run: elephan.Run, tmp_path: Path) -> None:
    assert "Time and sequence" in run_report(run, tmp_path / "with").read_text("utf-8")
    without = elephan.run(elephan.Scenario.from_dict(SCENARIO))
    assert time_sequence(without) == []
    assert "Time and sequence" not in run_report(without, tmp_path / "without").read_text("utf-8")
