"""Programs judged by a suite: their commands in its scenarios, the permission, comparisons of two builds, and files.

A stand-in runs each program as a simulated flow of the algorithm that the program's file names, since a guest is slow.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.backends import Backend, ProgramError, Progress, RawResult
from elephan.cli.main import run_command
from elephan.runs import Store
from elephan.suites import evaluate, load
from elephan.suites.programs import subjects
from elephan.suites.words import paragraph

WORDS = "serve {address}:{port} {bytes}"
FEW = ("fill", "late", "short", "after-loss")


class StandIn(Backend):
    """The simulator, with a flow for each program."""

    name = "linux"
    title = "a stand-in for a guest"

    def version(self) -> str:
        return "1"

    def check(self, scenario: Scenario) -> None:
        pass

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        tables = scenario.to_dict()
        for flow in tables["flow"]:
            program = flow.pop("program", None)
            flow.pop("backend", None)
            if program is not None:
                if "fails" in Path(program["client"][0]).read_text():
                    raise ProgramError(f"program '{flow['name']}': its client ended with exit status 1: timed out")
                flow |= {"algorithm": Path(program["client"][0]).read_text().split()[1], "size": program["bytes"]}
        return backends.get("sim").run(Scenario.from_dict(tables), seed, progress)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends._BUILT_IN, "linux", f"{__name__}:StandIn")


def program(folder: Path, algorithm: str, name: str = "mine") -> dict[str, Any]:
    """A program whose file names an algorithm."""
    file = folder / name
    file.write_text(f"# {algorithm}\n")
    file.chmod(0o755)
    return {"name": name, "server": f"{file} {WORDS}", "client": f"{file} {WORDS}"}


def told(folder: Path, *arguments: str) -> int:
    one = program(folder, "cubic")
    options = ["--server", one["server"], "--client", one["client"], "--store", str(folder / "store")]
    return run_command(["evaluate", *options, "--quick", "--seeds", "2", "--only", "late", *arguments])


def test_the_judged_program_is_in_each_place_with_a_port_of_its_own(tmp_path: Path) -> None:
    suite = load("transport")
    (subject,) = subjects([program(tmp_path, "cubic") | {"port": 7000}])
    (cell,) = suite.cells("second", quick=True)
    first, second = suite.scenario("second", cell, subject).flow
    assert first.program is not None
    assert second.program is not None
    assert (first.program.port, second.program.port) == (7000, 7001)
    assert first.program.client == second.program.client == (str(tmp_path / "mine"), *WORDS.split())
    assert first.program.bytes == 15_000_000
    assert second.start == 4 * 10**12


def test_a_server_can_have_all_bytes_as_one_file() -> None:
    suite = load("transport")
    (probe,) = subjects([{"server": f"sh {WORDS}", "client": f"sh {WORDS}"}])
    for experiment in suite.experiments:
        for cell in suite.cells(experiment, quick=False):
            made = suite.scenario(experiment, cell, probe)
            programs = [flow.program for flow in made.flow if flow.program is not None]
            assert all(program.bytes < 64 << 20 for program in programs), "the largest file in a guest"
            seconds = made.form.duration_ps / 1e12
            if experiment == "alone":
                assert programs[0].bytes * 8 > made.form.links[0].rate_bps * seconds, "it sends until the end"


def test_quick_cells_are_short_enough_for_ten_minutes() -> None:
    suite = load("transport")
    (probe,) = subjects([{"server": f"sh {WORDS}", "client": f"sh {WORDS}"}])
    used = dict.fromkeys(criterion.experiment for criterion in suite.table.criterion)
    made = [suite.scenario(one, cell, probe) for one in used for cell in suite.cells(one, quick=True)]
    bytes_sent = sum(
        min(one.form.duration_ps * min(link.rate_bps for link in one.form.links) / 8e12, one.flow[0].program.bytes)
        for one in made
        if one.flow[0].program is not None
    )
    # Eight seeds of two builds with packets of 1400 B at 0.4 ms of a processor each, on two cores.
    assert 8 * 2 * bytes_sent / 1400 * 0.4e-3 / 2 < 600
    assert all(one.form.duration_ps <= 16 * 10**12 for one in made)


def test_two_builds_are_compared_by_seed_and_one_with_itself_is_the_same(tmp_path: Path) -> None:
    good, bad = program(tmp_path, "cubic", "good"), program(tmp_path, "fixed", "bad")
    store = Store(tmp_path / "store")
    options: dict[str, Any] = {"quick": True, "only": FEW, "store": store, "allow_programs": True, "seeds": 4}
    (found,) = evaluate([bad], against=good, **options)
    assert (found.on, found.suite.id, found.name) == ("linux", "transport", "bad on linux")
    assert found.outcome("overshoot").comparison == "worse"
    assert "against" in found.outcome("overshoot").compared
    (found,) = evaluate([good], against=program(tmp_path, "cubic", "again"), **options)
    assert {outcome.comparison for outcome in found.outcomes} == {"same"}
    (found,) = evaluate([good], against=good, **options)
    assert "good and good (baseline) have the same commands and files, so their runs are the same" in found.notes


def test_another_build_is_another_run(tmp_path: Path) -> None:
    before, store = program(tmp_path, "cubic"), Store(tmp_path / "store")
    options: dict[str, Any] = {
        "quick": True,
        "only": ["after-loss"],
        "store": store,
        "allow_programs": True,
        "seeds": 1,
    }
    (first,), (again,) = (evaluate([before], **options) for _ in range(2))
    assert first.outcome("after-loss").runs == again.outcome("after-loss").runs
    (other,) = evaluate([program(tmp_path, "reno")], **options)
    assert first.outcome("after-loss").runs != other.outcome("after-loss").runs


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"client": "no-such-program {port} {bytes}"}, "client: 'no-such-program' is in none of"),
        ({"client": None}, "client: missing"),
        ({"server": None}, "server: missing"),
        ({"server": "sh -c true", "client": "sh {port}"}, "client: the commands have no {bytes}"),
        ({"server": "sh -c true", "client": "sh {bytes}"}, "client: the commands have no {port}"),
        ({"bytes": "1 MB"}, "'bytes' is not a field of a judged program"),
        ({"sender": "middle"}, "sender: "),
    ],
)  # fmt: skip
def test_a_wrong_program_is_one_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        evaluate([program(tmp_path, "cubic") | changed], allow_programs=True)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_algorithms_and_programs_have_suites_of_their_own(tmp_path: Path) -> None:
    one = program(tmp_path, "cubic")
    with pytest.raises(ScenarioError, match="the suite judges no programs"):
        evaluate([one], "rfc9743", allow_programs=True)
    with pytest.raises(ScenarioError, match="the suite judges programs; write a server and a client"):
        evaluate(["cubic"], "transport")
    with pytest.raises(ScenarioError, match="parameter: a program has no parameters"):
        evaluate([one], parameters={"beta": 0.5}, allow_programs=True)


def test_nothing_runs_without_permission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(tmp_path) == 2
    file = tmp_path / "mine"
    assert capsys.readouterr().err == (
        f"elephan: evaluate: would run '{file} {WORDS}'; if you trust them, type --allow-programs "
        "(in Python: allow_programs=True)\n"
    )
    assert not (tmp_path / "store").exists()


def test_the_command_line_names_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in [
        (["--against-client", "no-such {port} {bytes}"], "--against-client: 'no-such' is in none of"),
        (["--program", "port"], "--program: 'port' has no value; write FIELD=VALUE"),
        (["--program", "prot=1"], "evaluate: 'prot' is not a field of a judged program"),
        (["--fail-on", "worse"], "--fail-on: 'worse' is in comparison with another one; write --against-client"),
        (["cubic"], "evaluate: an algorithm and a program are judged by different suites; write one"),
    ]:
        assert told(tmp_path, "--allow-programs", *arguments) == 2
        assert said in capsys.readouterr().err
    assert run_command(["evaluate"]) == 2
    assert "write an algorithm, or --server and --client of a program" in capsys.readouterr().err


def test_files_for_a_pull_request_name_both_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = program(tmp_path, "reno", "before")
    files = {name: tmp_path / name for name in ("m.md", "j.xml")}
    arguments = ["--allow-programs", "--name", "change", "--against-name", "main", "--program", "port=7000"]
    arguments += ["--against-server", before["server"], "--against-client", before["client"], "--out", str(tmp_path)]
    assert told(tmp_path, *arguments, "--markdown", str(files["m.md"]), "--junit", str(files["j.xml"])) == 0
    text = files["m.md"].read_text()
    assert "| criterion | against main | by how much |" in text
    assert f"- change: `{tmp_path / 'mine'} {WORDS}` and `{tmp_path / 'mine'} {WORDS}`, files " in text
    assert f"- main: `{tmp_path / 'before'} {WORDS}`" in text
    suite = ElementTree.parse(files["j.xml"]).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "1"
    assert "program main" in (tmp_path / "report.html").read_text()
    capsys.readouterr()
    assert told(tmp_path, "--allow-programs", "--json") == 0
    (document,) = [json.loads(capsys.readouterr().out)]
    assert [one["name"] for one in document["programs"]] == ["mine"]


def test_a_program_that_fails_fails_its_criteria_and_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = program(tmp_path, "cubic", "good"), program(tmp_path, "fails", "bad")
    options: dict[str, Any] = {
        "quick": True,
        "only": ["after-loss", "late"],
        "store": Store(tmp_path / "store"),
        "seeds": 2,
    }
    (found,) = evaluate([bad], against=good, allow_programs=True, **options)
    assert [(one.criterion.id, one.verdict, one.comparison) for one in found.outcomes] == [
        ("late", "concern", "worse"),
        ("after-loss", "fail", "worse"),
    ]
    said = "seed 1: program 'program': its client ended with exit status 1: timed out"
    assert found.outcome("after-loss").why == said
    assert f"Fails: after-loss ({said})." in paragraph(found)
    assert found.reaches("worse")
    (found,) = evaluate([good], against=bad, allow_programs=True, **options)
    assert {one.comparison for one in found.outcomes} == {"better"}
    (found,) = evaluate([bad], against=bad, allow_programs=True, **options)
    assert {one.comparison for one in found.outcomes} == {"not_settled"}
    arguments = ["evaluate", "--server", bad["server"], "--client", bad["client"], "--only", "after-loss", "--quick"]
    arguments += ["--allow-programs", "--store", str(tmp_path / "store"), "--out", str(tmp_path), "--fail-on", "fail"]
    assert run_command([*arguments, "--seeds", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["criteria"][0]["why"] == said
