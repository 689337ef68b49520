"""Evolution of formulas: the grammar, random changes, the lineage, and what is exported."""

from __future__ import annotations

import ctypes
import json
import math
import random
import shutil
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from elephan.cli.main import main
from elephan.design import score
from elephan.design.evolution import evolve, export, formulas
from elephan.design.evolution.formulas import VARIABLES, Node, changed, grown, read, size, value, write
from elephan.scenario import ScenarioError
from elephan.scenario.catalog import check_parameters

ROOT = Path(__file__).resolve().parents[2]
FOUND = {"growth": "1.5 + cbrt(w) * min(t, rtt / rtt_min) - 1 / (w_max - -2)", "kept": "max(0.3, rtt_min / rtt)"}


def drawn(count: int) -> list[Node]:
    draw = random.Random(1)
    found, node = [], read("1")
    for _ in range(count):
        node = changed(node if draw.random() < 0.9 else grown(draw, 3), draw)
        found.append(node)
    return found


def numbers(draw: random.Random) -> dict[str, float]:
    return {name: math.exp(draw.gauss(0, 2)) for name in VARIABLES}


def same(ours: float, theirs: float) -> bool:
    return ours == theirs or (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=1e-9)


def test_a_changed_formula_is_one_and_is_read_as_it_was_written() -> None:
    draw = random.Random(2)
    for node in drawn(300):
        assert size(node) <= formulas.MOST_NODES
        check_parameters("expression", {"growth": write(node)})  # the engine reads it too
        again = read(write(node))
        for _ in range(5):
            variables = numbers(draw)
            assert same(value(again, variables), value(node, variables)), write(node)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w +", "'w +' is not a formula; write for example 0.5 * w"),
        ("open('f')", "'open('f')' is not part of a formula; variables: w, w_max, t, rtt, rtt_min; functions: min"),
        ("w ** 2", "'w ** 2' is not part of a formula"),
        ("min(w)", "'min(w)' is not part of a formula"),
        ("True", "'True' is not part of a formula"),
    ],
)
def test_what_is_no_formula_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(text)
    assert message in str(error.value)


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def objective(parameters: Mapping[str, str]) -> float:
    """Larger the closer the growth is to the root of the window, and the fraction to 0.8."""
    tries = [{**dict.fromkeys(VARIABLES, 0.05), "w": w} for w in (4.0, 25.0, 100.0)]
    growth, kept = read(parameters["growth"]), read(parameters["kept"])
    missed = [abs(value(growth, each) - math.sqrt(each["w"])) + abs(value(kept, each) - 0.8) for each in tries]
    return -sum(missed) if all(map(math.isfinite, missed)) else -1e6


def test_an_evolution_repeats_and_gets_better() -> None:
    first, second = evolve(400, objective=objective), evolve(400, objective=objective)
    assert first.to_json() == second.to_json()
    assert first.to_json() != evolve(400, seed=2, objective=objective).to_json()
    texts = [tuple(each.parameters.values()) for each in first.individuals]
    assert texts[0] == ("1", "0.5")
    assert len(set(texts)) == 400
    assert first.best.score > 0.5 * first.individuals[0].score
    line = first.ancestry(first.best)
    assert (line[0].number, line[-1]) == (0, first.best)
    assert all(after.parents[0] == before.number for before, after in pairwise(line))


def test_the_page_has_the_lineage_that_was_found() -> None:
    page = (ROOT / "docs/evolution.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / "docs/evolution.json").read_text(encoding="utf-8"))
    for each in found["ancestry"]:
        row = f"| {each['number']:,} | `{each['growth']}` | `{each['kept']}` | {each['score']:+.3f} |"
        assert row in page
    parts = found["full"]["parts"]
    for part in ("training", "held_out", "start", "delay", "goodput", "worst_paths"):
        assert f"{parts[part]:+.3f}" in page
    for part in ("training", "held_out", "start", "delay", "goodput"):
        assert f"{found['reno']['parts'][part]:+.3f}" in page
    assert f"{found['candidates']:,} candidates in {found['wall_s'] // 60} minutes" in page


def test_an_evolution_with_the_score_of_the_engine_ends_when_it_is_told() -> None:
    seen: list[float] = []
    lineage = evolve(100, told=lambda each: seen.append(each.score), enough=lambda: len(seen) == 2)
    assert len(lineage.individuals) == 2
    reno = score("reno", seeds=1)
    assert seen[0] == pytest.approx(reno.combined_score, abs=0.2)


def test_the_c_of_formulas_gives_their_values(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    (header,) = export(FOUND, "c", tmp_path / "mine", "mine")
    (tmp_path / "mine.c").write_text(
        f'#include "{header}"\n'
        "double growth(struct mine_variables v) { return mine_growth(&v); }\n"
        "double kept(struct mine_variables v) { return mine_kept(&v); }\n"
        "double life(void) {\n"
        "    struct mine s;\n    mine_start(&s, 0.0, 10.0);\n"
        "    for (int i = 0; i < 90; i++) mine_ack(&s, 0.01 * i, 1.0, 0.05, 0.04);\n"
        "    mine_loss(&s, 1.0, 0.05, 0.04);\n"
        "    for (int i = 0; i < 80; i++) mine_ack(&s, 1.0 + 0.001 * i, 1.0, 0.05, 0.04);\n"
        "    return s.w;\n}\n",
        encoding="utf-8",
    )
    library = tmp_path / "mine.so"
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, tmp_path / "mine.c", "-lm"], check=True)

    class Variables(ctypes.Structure):
        _fields_ = [(name, ctypes.c_double) for name in VARIABLES]

    loaded, draw = ctypes.CDLL(str(library)), random.Random(3)
    for name, text in FOUND.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = ctypes.c_double, [Variables]
        for _ in range(200):
            variables = numbers(draw)
            assert same(function(Variables(**variables)), value(read(text), variables))
    loaded.life.restype = ctypes.c_double
    w = 100.0
    w, w_max = 0.8 * w, w
    for i in range(80):
        variables = {"w": w, "w_max": w_max, "t": 0.001 * i, "rtt": 0.05, "rtt_min": 0.04}
        w += min(value(read(FOUND["growth"]), variables), w) / w
    assert loaded.life() == pytest.approx(w, rel=1e-9)


def test_a_crate_of_formulas_has_its_source_and_a_test(tmp_path: Path) -> None:
    written = export(FOUND, "rust", tmp_path / "mine", "mine_own")
    assert [path.relative_to(tmp_path / "mine").as_posix() for path in written] == [
        "Cargo.toml", "src/lib.rs", "tests/same.rs",
    ]  # fmt: skip
    source = written[1].read_text(encoding="utf-8")
    assert "pub struct MineOwn" in source
    assert "1.5 + libm::cbrt(v.w) * f64::min(v.t, v.rtt / v.rtt_min) - 1.0 / (v.w_max - (-2.0))" in source
    assert "@" not in source.replace("Elephan", "")


@pytest.mark.large
def test_the_crate_answers_as_the_interpreter(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    export(FOUND, "rust", tmp_path / "mine", "mine")
    subprocess.run(["cargo", "test", "--quiet", "--offline"], cwd=tmp_path / "mine", check=True)


def test_export_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [part for name, text in FOUND.items() for part in ("--set", f"{name}={text}")]
    assert run("export", "expression", *sets, "--to", "c", "--out", str(tmp_path / "my-own")) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "my-own" / "my_own.h")
    assert run("export", "expression", "--set", "growth=1", "--to", "rust", "--out", str(tmp_path / "one")) == 0
    assert run("export", "expression", "--set", "growth=w +", "--to", "c", "--out", str(tmp_path / "n")) != 0
    assert run("export", "./mine.py:Mine", "--to", "c") != 0
    assert "only 'expression' can be written in C" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "language", "name", "message"),
    [
        ({"growth": "w"}, "go", "mine", "--to: 'go' is not a language"),
        ({"growth": "w"}, "c", "Mine", "'Mine' is not a name of small letters"),
        ({"beta": 1}, "c", "mine", "parameters.beta: is not exported, only formulas are"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    tmp_path: Path, parameters: dict[str, object], language: str, name: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        export(parameters, language, tmp_path / "x", name)
    assert message in str(error.value)
