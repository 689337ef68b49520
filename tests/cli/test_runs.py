"""``elephan runs`` and ``show`` on saved runs: names, lists, differences, verification and removal."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import synthetic

from elephan.cli.main import run_command
from elephan.cli.runs import size_text
from elephan.runs import Store
from elephan.runs.difference import difference
from elephan.runs.index import by_algorithms, listing

SCENARIO = """
title = "{title}"
duration = "10 s"

[dumbbell]
rate = "{rate}"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "{algorithm}"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three runs in its store; ``late`` was made last."""
    folder = tmp_path_factory.mktemp("made")
    values = {"early": ("10 Mbit/s", "reno"), "late": ("20 Mbit/s", "cubic"), "middle": ("10000 kbit/s", "cubic")}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("ELEPHAN_STORE", raising=False)
        for title in ("early", "middle", "late"):
            rate, algorithm = values[title]
            (folder / f"{title}.toml").write_text(SCENARIO.format(title=title, rate=rate, algorithm=algorithm))
            assert run_command(["run", f"{title}.toml", "--json"]) == 0
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    return made


def answer(args: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> Any:
    """The one document that a verb prints with ``--json``."""
    found = run_command([*args, "--json"])
    out, err = capsys.readouterr()
    assert found == status, err
    return json.loads(out)


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a wrong command gets."""
    status = run_command(args)
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1), (out, err)
    return err.strip()


def ids(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {row["title"]: row["id"] for row in answer(["runs"], capsys)}


def test_runs_are_listed_the_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(["runs"], capsys)
    assert [row["title"] for row in rows] == ["late", "middle", "early"]
    assert rows == answer(["runs", "list"], capsys)
    assert [row["algorithms"] for row in rows] == [["cubic"], ["cubic"], ["reno"]]
    saved = {
        path.name: sum(file.stat().st_size for file in path.iterdir() if file.name != "report.html")
        for path in Store().entries()
    }
    assert {row["id"]: row["bytes"] for row in rows} == saved
    assert [row["title"] for row in answer(["runs", "--algorithm", "cubic"], capsys)] == ["late", "middle"]
    assert [row["title"] for row in answer(["runs", "--limit", "1"], capsys)] == ["late"]
    assert len(answer(["runs", "--since", "1h"], capsys)) == 3
    assert answer(["runs", "--since", "2099-01-01"], capsys) == []
    assert run_command(["runs", "--limit", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 of 3 runs in" in out
    assert "--limit 3 shows all" in out


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (["LATE"], ["late"]),
        (["reno"], ["early"]),
        (["cubic", "middle"], ["middle"]),
        (["sim"], ["late", "middle", "early"]),
        (["20"], ["late", "middle", "early"]),
        (["nothing", "like", "it"], []),
    ],
)
def test_runs_are_found_by_any_of_their_words(
    text: list[str], titles: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [row["title"] for row in answer(["runs", "find", *text], capsys)] == titles


def test_runs_are_found_by_date_and_by_id(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = answer(["runs"], capsys)[0]
    assert row["id"] in [found["id"] for found in answer(["runs", "find", row["created"][:10]], capsys)]
    assert [found["id"] for found in answer(["runs", "find", row["id"][:9]], capsys)] == [row["id"]]


def test_a_run_has_several_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = ids(capsys)["late"]
    for name in ("last", late, late[:9], f".elephan/runs/{late}", str(folder / ".elephan" / "runs" / late)):
        assert answer(["show", name], capsys)["id"] == late, name
    assert answer(["show", "last~2"], capsys)["title"] == "early"
    assert "'last~3' is before the first run; there are 3" in complaint(["show", "last~3"], capsys)


def test_a_wrong_name_has_one_line_with_the_nearest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = ids(capsys)["late"]
    wrong = late[:5] + ("0" if late[5] != "0" else "1") + late[6:]
    for args in (["runs", "diff", wrong, "last"], ["runs", "verify", wrong], ["show", wrong], ["show", "last", wrong]):
        assert f"did you mean '{late}'?" in complaint(args, capsys)
    assert "did you mean 'last'?" in complaint(["runs", "diff", "lats", "last"], capsys)
    assert "begins 3 runs" in complaint(["show", "sim", "--store", str(same_beginning(folder))], capsys)
    assert "there is no saved run in" in complaint(["show", "last", "--store", "empty"], capsys)
    assert "did you mean 'diff'?" in complaint(["runs", "dif"], capsys)
    assert "'cubik' is not an algorithm; did you mean 'cubic'?" in complaint(["runs", "--algorithm", "cubik"], capsys)
    assert "'soon' is not a date" in complaint(["runs", "--since", "soon"], capsys)
    assert complaint(["runs", "diff", "last"], capsys).endswith("B is missing; see elephan runs diff --help")


def same_beginning(folder: Path) -> Path:
    store = folder / "same"
    for i in range(3):
        (store / f"sim{i}").mkdir(parents=True, exist_ok=True)
        (store / f"sim{i}" / "manifest.json").write_text("{}")
    return store


def test_diff_has_fields_by_meaning_and_results_with_ratios(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ids(capsys)
    found = answer(["runs", "diff", names["middle"], "last"], capsys)
    assert (found["a"], found["b"], found["equal"]) == (names["middle"], names["late"], False)
    assert found["scenario"] == [{"field": "dumbbell.rate", "a": "10 Mbit/s", "b": "20 Mbit/s"}]
    goodput = next(row for row in found["results"] if row["name"] == "flow cubic-1: goodput_mbps")
    assert goodput["ratio"] == pytest.approx(goodput["b"] / goodput["a"])
    assert 1.8 < goodput["ratio"] < 2.1
    # 10000 kbit/s is 10 Mbit/s: the algorithm is all that differs.
    found = answer(["runs", "diff", names["early"], names["middle"]], capsys)
    assert [row["field"] for row in found["scenario"]] == ["flow[0].algorithm"]
    assert "flow 1: cwnd_mean" in [row["name"] for row in found["results"]]
    assert run_command(["runs", "diff", names["early"], names["middle"]]) == 0
    assert ["flow[0].algorithm", "reno", "cubic"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_equal_runs_are_equal(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = answer(["run", "late.toml", "--store", str(tmp_path), "--set", "title=another title"], capsys)
    found = answer(["runs", "diff", "last", other["dir"]], capsys)
    assert (found["equal"], found["same_tables"], found["scenario"], found["results"]) == (True, True, [], [])
    assert run_command(["runs", "diff", "last", other["dir"]]) == 0
    assert "the runs are equal" in capsys.readouterr().out


def test_a_default_that_is_written_out_is_no_difference(folder: Path, tmp_path: Path) -> None:
    import elephan

    path = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "duration": "4 s"}
    store = Store(tmp_path)
    plain = elephan.run(elephan.Scenario.dumbbell(["reno"], **path), store=store)
    stated = elephan.run(
        elephan.Scenario.dumbbell(["reno"], **path, sample_period="50 ms", send_jitter="0 s"), store=store
    )
    assert [row.name for row in difference(plain, stated).scenario] == ["sample_period"]
    assert [row.name for row in difference(plain, elephan.run(plain.scenario.with_seed(2), store=store)).scenario] == [
        "seed"
    ]


def test_verify_names_each_damaged_run_and_makes_none_again(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    dirs = [Path(answer(["run", f"{name}.toml", "--store", store], capsys)["dir"]) for name in ("early", "late")]
    assert answer(["runs", "verify", "--store", store], capsys) == {"checked": 2, "damaged": []}
    file = dirs[0] / "samples.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"x" + content[101:])
    found = answer(["runs", "verify", "--store", store], capsys, status=1)
    assert [row["id"] for row in found["damaged"]] == [dirs[0].name]
    assert run_command(["runs", "verify", "--store", store]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2
    assert "samples.parquet: altered since it was saved" in out[0]
    assert out[1] == "1 of 2 runs are as they were saved"
    assert file.read_bytes() != content
    assert answer(["runs", "verify", dirs[1].name, "--store", store], capsys)["checked"] == 1
    (dirs[1] / "manifest.json").write_text("{")
    assert run_command(["runs", "--store", store]) == 0
    assert "its manifest cannot be read" in capsys.readouterr().err


def dated(store: Path, count: int) -> list[str]:
    return [synthetic.manifest_only(store, i, ["cubic"], title=f"number {i}").name for i in range(count)]


def test_prune_lists_first_and_removes_with_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = dated(tmp_path / "store", 4)  # made on 1 November 2020, from 0 h to 3 h
    new = synthetic.manifest_only(tmp_path / "store", 4, ["cubic"])
    text = (new / "manifest.json").read_text()
    created = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    (new / "manifest.json").write_text(text.replace("2020-11-01T04:00:00+00:00", created))
    arguments = ["runs", "prune", "--older-than", "1h", "--store", str(tmp_path / "store")]
    would = answer(arguments, capsys)
    assert [row["id"] for row in would["would_remove"]] == names
    assert would["removed"] == []
    assert would["bytes"] > 4 * 123_000
    assert run_command(arguments) == 0
    assert "nothing was removed: add --yes" in capsys.readouterr().out
    assert len(Store(tmp_path / "store").ids()) == 5
    assert [row["id"] for row in answer([*arguments, "--yes"], capsys)["removed"]] == names
    assert Store(tmp_path / "store").ids() == [new.name]
    assert answer([*arguments, "--yes"], capsys)["removed"] == []


def test_prune_keeps_what_a_report_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = dated(tmp_path / "store", 3)
    (tmp_path / "reports" / "one").mkdir(parents=True)
    (tmp_path / "reports" / "one" / "report.html").write_text(f"<code>{names[0]}</code>")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "rows.csv").write_text(f"run,value\n{names[1].partition('-')[0]},1\n")
    arguments = ["runs", "prune", "--unused", "--store", "store"]
    assert [row["id"] for row in answer(arguments, capsys)["would_remove"]] == names[1:]
    both = [*arguments, "--reports", "reports", "--reports", "other", "--yes"]
    assert [row["id"] for row in answer(both, capsys)["removed"]] == names[2:]
    assert "no runs are selected" in complaint(["runs", "prune"], capsys)
    assert "is not a folder" in complaint(["runs", "prune", "--unused", "--reports", "nowhere"], capsys)
    assert "not a span of time" in complaint(["runs", "prune", "--older-than", "long"], capsys)
    assert "write --unused too" in complaint(["runs", "prune", "--older-than", "1d", "--reports", "other"], capsys)


def test_prune_leaves_what_another_process_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # where no report names a run
    names = dated(tmp_path, 2)
    claim = Store(tmp_path).claim(names[0])
    assert claim is not None
    try:
        found = answer(["runs", "prune", "--unused", "--yes", "--store", str(tmp_path)], capsys)
        assert found["busy"] == [names[0]]
        assert [row["id"] for row in found["removed"]] == [names[1]]
        assert Store(tmp_path).ids() == [names[0]]
    finally:
        claim.release()


def test_size_is_that_of_the_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["runs", "size"], capsys)
    files = [file for run in Store().entries() for file in run.iterdir()]
    assert found["bytes"] == sum(file.stat().st_size for file in files if file.name != "report.html")
    assert {row["algorithms"]: row["runs"] for row in found["by_algorithms"]} == {"cubic": 2, "reno": 1}
    assert [size_text(number) for number in (0, 999, 1000, 123_456, 99_960_000_000)] == [
        "0 B", "999 B", "1 kB", "123 kB", "100 GB",
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "said"), [(0, "0 runs, "), (1, "1 run, "), (2, "2 runs, ")])
def test_one_run_is_counted_as_one(count: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dated(tmp_path, count)
    for verb in (["size"], ["prune", "--older-than", "1d"]):
        assert run_command(["runs", *verb, "--store", str(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_the_algorithms_with_the_most_bytes_come_first(folder: Path) -> None:
    late, middle, early = listing(Store()).entries
    found = by_algorithms([late, middle, replace(early, size_bytes=10 * late.size_bytes)])
    assert [(name, runs) for name, (runs, _) in found.items()] == [("reno", 1), ("cubic", 2)]


def test_runs_are_shown_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ids(capsys)
    assert [row["id"] for row in answer(["show", "last", names["early"]], capsys)["runs"]] == [
        names["late"], names["early"],
    ]  # fmt: skip
    assert run_command(["show", "last", names["early"]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"A: {names['late']}")
    row = next(line.split() for line in lines if line.startswith("utilization"))
    assert len(row) == 3
    assert "options are for one run" in complaint(["show", "last", "last", "--metric", "jain"], capsys)


def test_a_folder_with_the_manifest_of_another_run_is_not_listed_or_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = dated(tmp_path, 1)
    other = tmp_path / "ffffffffffffffff-sim-s1"
    other.mkdir()
    (other / "manifest.json").write_bytes((tmp_path / name / "manifest.json").read_bytes())
    assert [row["id"] for row in answer(["runs", "--store", str(tmp_path)], capsys)] == [name]
    found = answer(["runs", "prune", "--older-than", "1d", "--yes", "--store", str(tmp_path)], capsys)
    assert [row["id"] for row in found["removed"]] == [name]
    assert other.is_dir()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "null", '{"id": 1}', '{"id": "x", "scenario": 3}', "\ud800", '{"created": "soon"}', "[" * 100_000],
)
def test_a_manifest_of_any_content_is_no_reason_to_fail(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = dated(tmp_path, 1)
    (tmp_path / name / "manifest.json").write_bytes(text.encode(errors="surrogatepass"))
    for verb in (["runs"], ["runs", "size"], ["runs", "find", "x"], ["runs", "prune", "--unused"]):
        assert run_command([*verb, "--store", str(tmp_path)]) == 0
    assert run_command(["runs", "verify", "--store", str(tmp_path)]) == 1
    assert run_command(["show", name, "--store", str(tmp_path)]) == 1
    capsys.readouterr()


def test_nothing_but_manifests_is_read_for_a_list(tmp_path: Path) -> None:
    names = dated(tmp_path, 30)
    (tmp_path / "a file").write_text("")
    (tmp_path / ".claims").mkdir()
    found = listing(Store(tmp_path))
    assert {entry.id for entry in found.entries} == set(names)
    assert [entry.created for entry in found.entries] == sorted((e.created for e in found.entries), reverse=True)
    assert found.damaged == []
