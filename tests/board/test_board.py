"""The board: rows, cells, runs made again, and the site."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from tests import scripts

from elephan.board import Board, BoardError, Row, again, collect, site
from elephan.board.rows import rows
from elephan.cli.main import cli, run_command
from elephan.runs import Store

ROOT = Path(__file__).resolve().parents[2]
board_facts = scripts.load("benches/board_facts.py")
SUITE = """
id = "tiny"
title = "a tiny suite"
citation = "none"

[sections]
"1" = "use"

[[experiment]]
id = "alone"
title = "alone"

[experiment.scenario]
duration = "2 s"
dumbbell = { rate = "5 Mbit/s", rtt = "20 ms", buffer = "1 BDP" }
flow = [{ name = "subject", algorithm = "{algorithm}" }]

[[criterion]]
id = "use"
section = "1"
force = "must"
text = "It uses the <b>link</b>."
experiment = "alone"
metric = "utilization"
relation = ">="
limit = 0.7
reason = "ours"
"""
ROW = """
title = "Half <script>alert(1)</script>"
algorithm = "half.py:Half"
source = "nobody wrote about it"
statement = "A row of a test, which is not on any board."
license = "MIT"
contact = "nobody"
"""
CODE = """
import elephan


class Half(elephan.Algorithm):
    def on_ack(self, ack: elephan.Ack) -> None:
        self.window = 4.0

    def on_congestion(self, signal: elephan.Signal) -> None:
        pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with one algorithm and one row, by a suite of one criterion."""
    above = tmp_path_factory.mktemp("board")
    suite, row = above / "tiny", above / "board" / "rows" / "half"
    for place, name, text in ((suite, "suite.toml", SUITE), (row, "row.toml", ROW), (row, "half.py", CODE)):
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    board = collect.at(above / "board")
    store = Store(above / "store")
    board = collect.collect(board, str(suite), ["reno"], quick=True, store=store)
    board = collect.collect(board, str(suite), [], [Row(row)], quick=True, store=store)
    board.write()
    return above / "board"


def test_a_verdict_names_the_runs_behind_it(folder: Path) -> None:
    board = Board.read(folder)
    assert board.verdicts.select("subject", "verdict").rows() == [("half", "fail"), ("reno", "pass")]
    assert len(board.runs) == 16
    assert set(board.verdicts["runs"].explode(empty_as_null=True)) == set(board.runs["id"])
    assert str(folder) not in "".join(board.scenarios["toml"])


def test_runs_are_equal_when_they_are_made_again_in_another_place(folder: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "board"))
    board = Board.read(moved)
    found = again.reproduce(board, [*again.named(board, "tiny/half/use"), *again.drawn(board, 3, seed=7)])
    assert len(found) >= 8
    assert all(one.equal for one in found)


def test_a_run_that_differs_is_told_and_ends_with_status_1(folder: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(folder, tmp_path / "board"))
    board = Board.read(moved)
    first = board.runs["id"][0]
    changed = board.runs.with_columns(
        tables_sha256=pl.when(pl.col("id") == first).then(pl.lit("contents:0")).otherwise("tables_sha256")
    )
    replace(board, runs=changed).write()
    done = CliRunner().invoke(cli, ["reproduce", first, "--board", str(moved)])
    assert done.exit_code == 1
    assert "0 of 1 equal" in done.output
    assert "differs" in done.output


def test_a_scenario_that_is_read_in_another_way_is_not_made(folder: Path) -> None:
    board = Board.read(folder)
    other = replace(board, scenarios=board.scenarios.with_columns(pl.col("toml").str.replace("2 s", "3 s")))
    (found,) = again.reproduce(other, [board.runs["id"][0]])
    assert not found.equal
    assert "reads the scenario as" in found.why


def test_cells_that_are_not_there_are_one_line(folder: Path, tmp_path: Path) -> None:
    board = Board.read(folder)
    with pytest.raises(BoardError, match="no cell 'tiny/reno/harm'"):
        again.named(board, "tiny/reno/harm")
    with pytest.raises(BoardError, match="16 runs, fewer than 17"):
        again.drawn(board, 17, seed=1)
    with pytest.raises(BoardError, match=r"verdicts\.parquet is missing"):
        Board.read(tmp_path)
    (tmp_path / "verdicts.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BoardError, match="not readable"):
        Board.read(tmp_path)


def test_the_site_leads_from_each_cell_to_its_runs_and_needs_no_network(folder: Path, tmp_path: Path) -> None:
    board = Board.read(folder)
    before = board.verdicts.with_columns(verdict=pl.lit("fail"))
    front = site.write(board, tmp_path, site.Around(before, rows=rows(folder)))
    text = front.read_text()
    assert 'href="tiny/reno.html"' in text
    assert "tiny/reno.html#use" in text, "the verdict changed"
    page = (tmp_path / "tiny" / "reno.html").read_text()
    assert "elephan reproduce tiny/reno/use" in page
    assert all(name in page for name in board.verdicts.filter(pl.col("subject") == "reno")["runs"][0])
    everything = "".join(file.read_text() for file in tmp_path.rglob("*.html"))
    assert "<script>alert" not in everything
    assert "<b>link" not in everything
    assert not re.findall(r'(?:src|href)="https?:', everything)
    for link in re.findall(r'href="([^"#]+)', text):
        assert link == "data:," or (tmp_path / link).is_file(), link


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("half.py:Half", "../half.py:Half"), "must be a file of the row's folder"),
        (('license = "MIT"', 'license = "GPL-3.0"'), "license: 'GPL-3.0' is not a license of a row"),
        (('contact = "nobody"', ""), "contact: missing; it must be written"),
        (("half.py:Half", "cubik"), "did you mean 'cubic'"),
        (("half.py:Half", "half.py:Whole"), "Whole"),
        (("title = ", "title : "), "not TOML"),
        (('contact = "nobody"', 'contact = "nobody"\nrank = 1'), "rank: not a field"),
    ],
)
def test_a_wrong_row_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    row = tmp_path / "rows" / "half"
    row.mkdir(parents=True)
    (row / "half.py").write_text(CODE)
    (row / "row.toml").write_text(ROW.replace(*change))
    with pytest.raises(BoardError) as found:
        Row(row).check()
    assert said in str(found.value)
    assert "\n" not in str(found.value)


def test_a_row_has_plain_and_small_files_only(tmp_path: Path) -> None:
    row = tmp_path / "rows" / "half"
    row.mkdir(parents=True)
    (row / "row.toml").write_text(ROW)
    (row / "half.py").symlink_to("/etc/passwd")
    with pytest.raises(BoardError, match="not a plain file"):
        Row(row)
    (row / "half.py").unlink()
    (row / "half.py").write_bytes(b"#" * 200_000)
    with pytest.raises(BoardError, match="more than 100 kB"):
        Row(row)


def test_the_rows_of_the_project_are_right() -> None:
    found = rows(ROOT / "board")
    assert found
    for row in found:
        row.check()


def test_the_facts_are_those_that_are_stored() -> None:
    stored = json.loads((ROOT / "board" / "facts.json").read_text(encoding="utf-8"))
    assert stored == board_facts.facts(), "run: python benches/board_facts.py"
    assert {one["name"] for one in stored["algorithms"]} >= {"reno", "cubic", "bbr3"}
    assert [one["id"] for one in stored["papers"]] == ["weigle2006", "hcc2011", "leith2008", "katto2008", "ha2006"]


def test_the_front_page_has_agreement_speed_and_papers(folder: Path, tmp_path: Path) -> None:
    front = site.write(Board.read(folder), tmp_path, site.Around(facts=board_facts.facts()))
    text = front.read_text(encoding="utf-8")
    assert '<th scope="row">katto2008</th><td class="num">107</td>' in text
    assert re.search(r'<th scope="row">cubic</th><td class="num">\d+ of \d+</td><td>\d+ same, \d+ open', text)


def test_the_front_page_says_what_was_not_run(folder: Path, tmp_path: Path) -> None:
    text = site.write(Board.read(folder), tmp_path, site.Around()).read_text(encoding="utf-8")
    assert "rfc9743 (not run)" in text
    assert re.search(r"\d+ cells are <em>not run</em>", text)
    assert "not on this board: rfc7928" in text


def test_reproduce_outside_a_source_tree_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["reproduce", "--sample", "2"]) == 2
    assert capsys.readouterr().err == (
        "elephan: reproduce: there is no folder 'board': the board is a folder of Elephan's source tree; go there, "
        "or name it with --board DIR\n"
    )
    assert run_command(["reproduce", "--sample", "2", "--board", "."]) == 2
    assert "the folder '.' is no board: verdicts.parquet is missing" in capsys.readouterr().err
