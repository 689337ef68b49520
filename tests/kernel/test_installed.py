"""``elephan lab install``: an algorithm for the whole host, and the host as it was after it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elephan.backends.kernel import bpf, installed
from elephan.cli.main import run_command

NAME = "el_test_installd"[:15]


def state() -> list[str]:
    return [path.read_text() for path in (bpf.AVAILABLE, installed.ALLOWED, installed.DEFAULT)]


@pytest.fixture
def host() -> Iterator[None]:
    """The host's words about congestion control are the same afterwards, whatever happens."""
    if reason := bpf.missing():
        pytest.skip(reason)
    if not installed.ALLOWED.exists():
        pytest.skip("this network namespace has no tcp_allowed_congestion_control")
    mounted = any(line.split()[1] == str(installed.BPFFS) for line in Path("/proc/mounts").read_text().splitlines())
    before = state()
    try:
        yield
    finally:
        installed.DEFAULT.write_text(before[2])
        if any(record.name == NAME for record in installed.everything()):
            installed.uninstall(NAME)
        if not mounted:
            subprocess.run(["umount", installed.BPFFS], capture_output=True, check=False)
    assert state() == before


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    status = run_command(["lab", *words, "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out) if out else err


def install_or_skip(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    status, answer = told(capsys, "install", "stcp", "--as", NAME, *words)
    if status and "Linux 6.4" in answer:
        pytest.skip("the kernel has no links for struct_ops (Linux 6.4)")
    assert status == 0, answer
    return answer


@pytest.mark.usefixtures("host")
def test_it_stays_until_it_is_uninstalled(capsys: pytest.CaptureFixture[str]) -> None:
    before = state()
    answer = install_or_skip(capsys, "--allow", "--set", "increase=0.02")
    assert answer["allowed"]
    assert not answer["default"]
    assert answer["parameters"] == {"increase": 0.02}
    assert NAME in installed.ALLOWED.read_text().split()
    assert installed.DEFAULT.read_text() == before[2]
    told(capsys, "clean")
    used = subprocess.run(
        [sys.executable, "-c", f"import socket; socket.socket().setsockopt(6, 13, b'{NAME}')"], check=False
    )
    assert used.returncode == 0
    assert [record["name"] for record in told(capsys, "status")[1]["installed"]] == [NAME]
    assert told(capsys, "uninstall", NAME) == (0, {"uninstalled": NAME})
    assert state() == before
    assert told(capsys, "status")[1] == {"installed": []}


@pytest.mark.usefixtures("host")
def test_what_would_hurt_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    before = state()
    install_or_skip(capsys, "--default")
    assert installed.default() == NAME
    status, line = told(capsys, "uninstall", NAME)
    other = before[2].strip()
    wanted = f"'{NAME}' is this host's default; choose another first: sysctl net.ipv4.tcp_congestion_control={other}"
    assert (status, line) == (2, f"elephan: {wanted}\n")
    installed.DEFAULT.write_text(before[2])
    status, line = told(capsys, "install", "hcc", "--as", NAME)
    assert status == 2
    assert line.startswith(f"elephan: '{NAME}' is taken")

    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, 13, NAME.encode())
        client.connect(server.getsockname())
        status, line = told(capsys, "uninstall", NAME)
        assert status == 2
        assert line.startswith(f"elephan: '{NAME}' is in use by the connection 127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["install", "reno"], "there is no kernel object for 'reno'; there is one for "),
        (["install", "stcp", "--as", "no name"], "'no name' is no name for the kernel"),
        (["install", "stcp", "--set", "increese=1"], "parameters.increese: not a parameter of stcp"),
        (["uninstall", "hcc"], "'hcc' is not installed; nothing is\n"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], words: list[str], line: str) -> None:
    status, err = told(capsys, *words)
    assert status == 2
    assert err.startswith(f"elephan: {line}")
    assert err.count("\n") == 1


def test_the_unit_says_the_same_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "install", "stcp", "--allow", "--set", "increase=0.02", "--print-unit"]) == 0
    unit = capsys.readouterr().out
    assert '"lab" "install" "stcp" "--set" "increase=0.02" "--allow"' in unit
    assert "[Install]\nWantedBy=" in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    for name, program in (("sound", [sys.executable, "-m", "elephan", "100 % $HOME \\"]), ("broken", ["python3/no"])):
        written = tmp_path / f"elephan-{name}.service"
        written.write_text(installed.unit(program, "hcc"))
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", written], capture_output=True, text=True, check=False
        )
        assert (checked.returncode == 0) == (name == "sound"), checked.stderr
