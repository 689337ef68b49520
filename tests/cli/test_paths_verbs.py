"""``elephan paths`` lists, shows and imports, and a comparison takes what it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elephan.cli.main import run_command
from elephan.comparison import paths
from elephan.scenario import ScenarioError, named


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(named.ENVIRONMENT, str(tmp_path / "imported"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "traces"
    place.mkdir()
    (place / "bw_3.txt").write_text("".join(f"{ms}\n" for ms in range(1, 1001)), encoding="utf-8")
    (place / "delay_3.txt").write_text("20\n30\n" * 50, encoding="utf-8")
    return place


def answer(args: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert run_command([*args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_import_is_listed_and_shown_with_its_statistics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["paths", "import", "traces", "--prefix", "home"], capsys)["imported"] == ["home-3"]
    listed = answer(["paths"], capsys)
    assert [row["name"] for row in listed["paths"]] == [*named.shipped(), "home-3"]
    assert {one["name"] for one in listed["sources"]} >= {"LeoReplayer", "CellReplay", "Mahimahi", "ERRANT"}
    shown = answer(["paths", "show", "home-3", "--out", "home.svg"], capsys)
    assert shown["duration_s"] == 1.0
    down = shown["statistics"]["down"]
    assert down["rate_mean_mbps"] == pytest.approx(12.0)
    assert (down["delay_min_ms"], down["delay_max_ms"]) == (20.0, 30.0)
    assert Path("home.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert [name for name, _ in shown["files"]] == ["bw_3.txt", "delay_3.txt"]


@pytest.mark.parametrize("name", sorted(named.shipped()))
def test_a_model_is_shown_over_a_minute(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["paths", "show", name]) == 0
    said = capsys.readouterr().out
    assert f"fitted to: {named.shipped()[name].fitted}" in said
    assert "over 60 s" in said


def test_outages_and_quantiles_are_those_of_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(["paths", "show", "leo", "--duration", "150 s"], capsys)["statistics"]["down"]
    assert shown["outage_longest_s"] == pytest.approx(0.1)
    assert shown["outage_fraction"] == pytest.approx(10 * 0.1 / 150)
    assert 100 <= shown["rate_p5_mbps"] <= shown["rate_p50_mbps"] <= shown["rate_p95_mbps"] <= 200


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["show", "leoo"], "'leoo' is not a path; did you mean 'leo'"),
        (["show", "leo", "--out", "x.txt"], "--out: 'x.txt' does not end in"),
        (["show", "leo", "--duration", "5"], "--duration: "),
        (["import", "nowhere"], "paths import: 'nowhere' is not a folder"),
        (["import", "traces", "--prefix", "a/b"], "'a/b' is not the beginning of a name"),
        (["leo"], "to show that path: elephan paths show leo"),
    ],
)
def test_wrong_input_is_one_line(args: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["paths", *args]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert says in err


def test_a_comparison_has_a_named_path_and_changes_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["paths", "import", "traces"])
    capsys.readouterr()
    path = paths.from_options(
        paths.Options(None, None, "50 packets", path="3", loss="1%", flows=2, background="20%", ecn=True)
    )
    assert path.rate_bps == 12_000_000
    assert path.rtt_s == pytest.approx(0.04)
    links = {link.name: link for link in path.form.links}
    assert links["forward"].queue.limit_packets == 50
    assert path.has_background
    with pytest.raises(ScenarioError, match="rate: the path has it"):
        paths.from_options(paths.Options("1 Mbit/s", None, None, path="leo"))
    with pytest.raises(ScenarioError, match="path: 'leoo' is not a path"):
        paths.from_options(paths.Options(None, None, None, path="leoo"))


def test_a_trace_of_a_comparison_may_be_a_model_or_a_table(folder: Path) -> None:
    model = (
        '{"RepeatedBwPatternConfig": {"pattern": [{"StaticBwConfig": {"bw": "6Mbps", "duration": "1s"}}], "count": 0}}'
    )
    Path("a.json").write_text(model, encoding="utf-8")
    Path("b.csv").write_text("time_s,rate_mbps\n0,10\n1,20\n", encoding="utf-8")
    path = paths.from_options(paths.Options(None, "40 ms", "100 packets", trace=["a.json", "b.csv"]))
    rates = {link.name: link.rate_bps for link in path.form.links}
    assert rates == {"forward": 6_000_000, "reverse": 15_000_000}
