"""How commands end: signals, a stdout that takes nothing, targets that cannot be written, fields that are set twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elephan.cli import main, signals
from elephan.cli.main import run_command
from elephan.runs.store import Store

SCENARIO = """
duration = "2 s"
[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"
[[flow]]
algorithm = "reno"
[[flow]]
algorithm = "cubic"
"""
LONG = ["--set", "duration=40000 s", "--set", "dumbbell.rate=1 Gbit/s", "--set", "sample_period=10 s"]
GRID = ["--grid", "seed=1,2,3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "file").write_text("")
    return tmp_path


def elephan(*args: str, stdout: int | None = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "elephan", *args], stdout=stdout, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGTERM, 143, "ended by SIGTERM"), (signal.SIGINT, 130, "interrupted")],
    ids=["SIGTERM", "SIGINT"],
)
@pytest.mark.parametrize(
    "command",
    [
        ["run", "two.toml", *LONG],
        ["run", "two.toml", *LONG, "--on", "model"],
        ["sweep", "two.toml", *LONG, *GRID, "--jobs", "2"],
    ],
    ids=["run", "model", "sweep"],
)
def test_a_signal_ends_a_command_in_order(
    number: signal.Signals, status: int, word: str, command: list[str], folder: Path
) -> None:
    process = elephan(*command)
    claims = folder / ".elephan" / "runs" / ".claims"
    begun_s = time.monotonic()
    while not (claims.is_dir() and any(claims.iterdir())):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - begun_s < 60
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (status, "")
    kept = "finished runs are kept, and the same command goes on from there"
    assert err.strip() == f"elephan: {word}; {kept}"
    # On a busy host the process may end before it has removed its files; the next that writes does.
    Store().prepare()
    left = [path for path in (folder / ".elephan" / "runs").iterdir() if path.name != ".claims"]
    assert (left, list(claims.iterdir())) == ([], [])


def test_only_verbs_that_save_their_runs_say_that_they_go_on() -> None:
    assert set(main.KEEPING) < set(main.VERBS)
    assert main._last_words(["tune", "cubic"], signal.SIGINT) == "interrupted; nothing was saved"
    assert main._last_words(["sweep", "a.toml"], signal.SIGTERM).startswith("ended by SIGTERM; finished runs are kept")


@pytest.mark.parametrize("module", ["elephan/version.py", "click.py"])
def test_ctrl_c_while_a_command_begins_is_quiet(module: str, folder: Path) -> None:
    # A module that the command imports, and that is interrupted, stands for the first milliseconds of a command.
    interrupted = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    place = folder / "shadow"
    if module == "click.py":
        place.mkdir()
        (place / module).write_text(interrupted)
    else:
        shutil.copytree(
            Path(signals.__file__).parents[1], place / "elephan", ignore=shutil.ignore_patterns("*.so", "bin")
        )
        (place / module).write_text(interrupted)
    process = subprocess.run(
        [sys.executable, "-m", "elephan", "--help"], env=os.environ | {"PYTHONPATH": str(place)},
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (process.returncode, process.stdout, process.stderr) == (130, "", "")


def test_a_program_that_imports_the_package_keeps_its_ctrl_c() -> None:
    code = "import signal, elephan; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert made.stdout == "True\n"


def test_sigterm_is_raised_once_and_only_for_a_time() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals.terminable():
        with pytest.raises(signals.Terminated):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # would end the cleaning up
        assert signals.terminated()
    assert signal.getsignal(signal.SIGTERM) is before
    with signals.terminable():
        assert not signals.terminated()


def test_a_sigterm_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals.terminable():
            signal.raise_signal(signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "args", [["--help"], ["list", "backends"], ["list", "--json"], ["run", "two.toml"], ["run", "two.toml", "--json"]]
)
def test_a_full_stdout_is_named(args: list[str], folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = elephan(*args, stdout=full.fileno())
        _, err = process.communicate()
    assert (process.returncode, err) == (1, "elephan: stdout: no space left on device\n")


@pytest.mark.parametrize("args", [["list", "algorithms"], ["list", "--json"]])
def test_a_reader_that_has_seen_enough_is_no_failure(args: list[str], folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = elephan(*args, stdout=writing)
    os.close(writing)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


def test_a_closed_stdout_is_said_before_anything_is_run(folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m elephan run two.toml >&-"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("elephan: stdout is closed")
    assert not (folder / ".elephan").exists()


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    status = run_command(args)
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1), (args, status, out, err)
    return err.removeprefix("elephan: ").strip()


TARGETS = [
    (["run", "two.toml", "--store", "file"], "--store: 'file' is not a folder"),
    (["sweep", "two.toml", *GRID, "--store", "file/x"], "--store: 'file/x': '"),
    (["compare", "reno", "--rate", "x", "--rtt", "x", "--buffer", "x", "--store", "file"], "--store: 'file' is not"),
    (["run", "two.toml", "--out", "file"], "--out: 'file' is not a folder"),
    (["run", "two.toml", "--out", ""], "--out: '' is not a folder's name"),
    (["paper", "weigle2006", "--out", "file"], "--out: 'file' is not a folder"),
    (["papers", "--out", "file"], "--out: 'file' is not a folder"),
    (["compare-backends", "two.toml", "--out", "file"], "--out: 'file' is not a folder"),
    (["show", "x", "--out", "file"], "--out: 'file' is not a folder"),
    (["show", "x", "--csv", "file"], "--csv: 'file' is not a folder"),
    (["show", "x", "--parquet", "file"], "--parquet: 'file' is not a folder"),
    (["show", "x", "--pcapng", "."], "--pcapng: '.' is a folder; write the name of a file"),
    (["show", "x", "--qlog", "absent/x"], "--qlog: 'absent/x': there is no folder 'absent'"),
    (["lab", "shell", "--rate", "x", "--rtt", "x", "--buffer", "x", "--out", "file"], "--out: 'file' is not a folder"),
]


@pytest.mark.parametrize(
    ("args", "said"), TARGETS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_target_that_cannot_be_written_is_refused_before_anything_is_run(
    args: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(args, capsys).startswith(said)
    assert not (folder / ".elephan").exists()


def test_the_store_of_the_environment_is_checked_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELEPHAN_STORE", "file")
    assert complaint(["run", "two.toml"], capsys).startswith("$ELEPHAN_STORE: 'file' is not a folder")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named_by_the_file_and_leaves_no_half_of_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", "two.toml", "--out", "copy"]) == 0
    run = next((folder / "copy").iterdir())
    assert (run / "manifest.json").is_file()
    capsys.readouterr()
    (folder / "csv").mkdir()
    (folder / "csv" / "flows.csv").symlink_to("/dev/full")
    for args, name in (
        (["show", str(run), "--csv", "csv"], "csv/flows.csv"),
        (["show", str(run), "--pcapng", "/dev/full"], "/dev/full"),
        (["show", str(run), "--qlog", "/dev/full"], "/dev/full"),
    ):
        assert run_command(args) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"elephan: {name}: no space left on device")
    assert [path.name for path in folder.rglob(".*") if path.name != ".elephan" and path.name != ".claims"] == []


SET_TWICE = [
    (["--grid", "flow[0].algorithm=reno,bic", "--set", "seed=1", "--set", "seed=2"], "--set: 'seed' is set twice"),
    (["--grid", "seed=1,2", "--set", "seed=3"], "--grid seed: 'seed' is set by --set seed=3 too"),
    (
        ["--grid", "flow[*].algorithm=reno,bic", "--set", "flow[0].algorithm=vegas"],
        "--grid flow[*].algorithm: 'flow[0]",
    ),
    (["--grid", "flow[*].start=0 s,1 s", "--grid", "flow[0].start=1 s"], "--grid flow[*].start: 'flow[0].start' is an"),
    (["--grid", "flow[0].algorithm=cubic,cubic"], "--grid flow[0].algorithm: 'cubic' is there twice"),
    (["--grid", "seed=1,2,1.0"], "--grid seed: 1.0 is there twice"),
]


@pytest.mark.parametrize(("args", "said"), SET_TWICE)
def test_a_field_has_one_value(args: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(["sweep", "two.toml", *args], capsys).startswith(said)


def test_a_grid_may_change_a_part_of_what_is_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--set", "flow[*].algorithm=bic", "--grid", "flow[0].algorithm=reno,vegas"]
    assert run_command(["sweep", "two.toml", *args]) == 0


OPTIONS = [
    (["run"], "--set", "flow[1].algorithm=cubik", "'cubik' is not an algorithm; did you mean 'cubic'?"),
    (["run"], "--set", "flow[*].algorithm=cubik", "flow[0].algorithm: 'cubik' is not an algorithm"),
    (["run"], "--set", "flow[7].start=1 s", "flow[7] is not there; there are 2: flow[0] and flow[1]"),
    (["run"], "--set", "dumbbell.bufer=3", "not a field of dumbbell; did you mean 'buffer'?"),
    (["run"], "--set", "flow[x].y=3", "not a field; write for example"),
    (["sweep"], "--grid", "flow[1].algorithm=cubik", "'cubik' is not an algorithm"),
    (["compare-backends"], "--set", "dumbbell.rate=10 MB/s", "'10 MB/s': 'MB/s' is not a unit of rate"),
]


@pytest.mark.parametrize(("verb", "option", "text", "said"), OPTIONS)
def test_an_error_of_an_option_names_the_option(
    verb: list[str], option: str, text: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint([*verb, "two.toml", option, text], capsys).startswith(f"{option} {text}: {said}")


def test_an_error_of_the_file_names_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint(["run", "two.toml", "--set", "seed=2", "--set", "duration=1 s", "--set", "measure.to=9 s"], capsys)
    assert line.startswith("--set measure.to=9 s: ")
    (folder / "bad.toml").write_text(SCENARIO.replace("reno", "rino"))
    assert complaint(["run", "bad.toml", "--set", "seed=2"], capsys).startswith("bad.toml: flow[0].algorithm: 'rino'")


COMPARE = ["compare", "reno", "--rate", "10 Mbit/s", "--rtt", "20 ms", "--buffer", "20 packets"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([*COMPARE, "--duration", "5s"], "--duration: '5s' is too short; "),
        ([*COMPARE, "--duration", "13.9 s"], "--duration: '13.9 s' is too short; "),
        ([*COMPARE, "--duration", "soon"], "--duration: 'soon' is not a time"),
        ([*COMPARE, "--background", "120%"], "--background: '120%' is at least the rate of the bottleneck"),
        ([*COMPARE, "--background", "10 Mbit/s"], "--background: '10 Mbit/s' is at least the rate of the bottleneck"),
        ([*COMPARE, "--background", "nan%"], "--background: 'nan%' is not"),
        ([*COMPARE, "--rate", "10 MB/s"], "--rate: '10 MB/s': 'MB/s' is not a unit of rate; rates are in bits"),
        ([*COMPARE, "--buffer", "20%"], "--buffer: '20%': '%' is not a unit of buffer; did you mean '20% BDP'?"),
        ([*COMPARE, "--loss", "100%"], "--loss: '100%' is not a probability of loss"),
        ([*COMPARE, "--stack", "linx"], "--stack: 'linx' is not a stack"),
        ([*COMPARE, "cubik"], "compare: 'cubik' is not an algorithm; did you mean 'cubic'?"),
    ],
)
def test_compare_refuses_before_anything_is_run(
    args: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(args, capsys).startswith(said)
    assert not (folder / ".elephan").exists()


def test_the_shortest_comparison_has_an_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*COMPARE, "--duration", "14 s", "--json"]) == 0
