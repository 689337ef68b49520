"""The path of a capture, its check, and what other algorithms would have done on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.explanation.conftest import Make
from tests.report.browsing import read

import elephan
from elephan.cli.main import run_command
from elephan.explanation import Explanation, wording
from elephan.explanation.predicting import predict
from elephan.explanation.reporting import explanation_report


@pytest.fixture(scope="module")
def bulk(make: Make) -> Explanation:
    return elephan.explain(make())


def test_the_simulated_path_has_the_numbers_of_the_capture(bulk: Explanation) -> None:
    assert not bulk.check.is_poor
    assert bulk.check.distance < 0.1
    form = bulk.scenario.form
    assert max(link.rate_bps for link in form.links if link.record) == pytest.approx(10e6, rel=0.05)


def test_the_scenario_of_a_capture_is_one_of_any_backend(bulk: Explanation) -> None:
    assert elephan.Scenario.from_toml(bulk.scenario.to_toml()).hash == bulk.scenario.hash


def test_a_receive_window_limits_the_simulated_flow_too(make: Make) -> None:
    found = elephan.explain(make(stack={"base": "linux", "receive_window": "20 KB"}))
    assert found.check.distance < 0.15
    (other,) = found.what_if(["bbr3"])
    assert other.means["goodput_mbps"] == pytest.approx(found.goodput_bps / 1e6, rel=0.15)


def test_the_rate_of_an_application_is_not_that_of_the_path(make: Make) -> None:
    found = elephan.explain(make(application={"rate": "3 Mbit/s"}))
    assert not found.path.by_name["rate"].identifiable
    assert not found.algorithm.ranking
    assert found.check.distance < 0.1


def test_only_the_first_of_many_segments_are_replayed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elephan.explanation.connection.MOST_REPLAYED", 3000)
    found = elephan.explain(make())
    assert found.events.segments <= 3000
    assert any("first 3000 of" in note for note in found.notes)
    assert found.check.distance < 0.05


def test_what_if_changes_the_path(bulk: Explanation) -> None:
    (short,) = bulk.what_if(["cubic"], buffer="5 packets")
    (long,) = bulk.what_if(["cubic"], buffer="2 BDP")
    assert short.means["rtt_mean_ms"] < long.means["rtt_mean_ms"]
    assert short.low["goodput_mbps"] <= short.means["goodput_mbps"] <= short.high["goodput_mbps"]
    (managed,) = bulk.what_if(["cubic"], queue="fq_codel")
    assert managed.means["rtt_mean_ms"] < long.means["rtt_mean_ms"]


def test_a_prediction_on_paths_that_disagree_is_not_identifiable(bulk: Explanation) -> None:
    fit = bulk.simulated_path
    slow, usual = replace(fit.best, rate_bps=fit.best.rate_bps / 3), replace(fit, draws=(fit.best,))
    (known,) = predict(usual, ["cubic"], bulk.connection, bulk.limits)
    (open_,) = predict(replace(fit, draws=(slow,)), ["cubic"], bulk.connection, bulk.limits)
    assert known.hidden == ()
    assert wording.prediction_words([known]) == []
    assert "goodput_mbps" in open_.hidden
    (sentence,) = wording.prediction_words([open_])
    assert sentence.startswith("The goodput of cubic is not identifiable from this capture")
    assert wording.prediction_rows([open_])[0][1].startswith("not identifiable (")


def test_wrong_names_and_quantities_are_one_line(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(make())
    for arguments in (
        ["--what-if", "cubik"], ["--what-if", "cubic", "--buffer", "much"], ["--buffer", "1 BDP"],
        ["--what-if", " , "], ["--limits", "--what-if", "cubic"],
    ):  # fmt: skip
        assert run_command(["explain", path, *arguments, "--json"]) == 2, arguments
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1, arguments


def test_the_command_prints_one_document_without_hosts(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make()
    assert run_command(["explain", str(path), "--json", "--what-if", "bbr", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    document = json.loads(text)
    assert document["path"]["quantities"][0]["name"] == "rate"
    assert document["what_if"][0]["algorithm"] == "bbr"
    hosts = [address for address, _ in elephan.explain(path).connection.flow.hosts]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not any(address in text + page for address in hosts)


def test_a_comparison_takes_the_path_of_a_capture(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["cubic", "--capture", str(make()), "--seeds", "1", "--duration", "14 s", "--budget", "20s", "--json"]
    assert run_command(["compare", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["answer"]
    assert run_command(["compare", "cubic", "--capture", "x.pcap", "--scenario", "y.toml"]) == 2


def test_the_page_draws_the_simulation_over_the_capture(bulk: Explanation, tmp_path: Path) -> None:
    page = explanation_report(bulk, tmp_path, fit=bulk.path, algorithm=bulk.algorithm, check=bulk.check)
    assert "simulated on the fitted path" in read(page)
