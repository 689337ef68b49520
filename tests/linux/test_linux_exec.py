"""``elephan lab linux exec``: a command on a host of a path, in virtual time."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.linux.test_linux_programs import guest

from elephan.backends.linux import execute as executing
from elephan.scenario import Scenario, ScenarioError

SCENARIO = """
duration = "5 s"
[dumbbell]
rate = "20 Mbit/s"
rtt = "40 ms"
buffer = "1 BDP"
[[flow]]
algorithm = "cubic"
"""
PING = """
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
packet = struct.pack("!BBHHH", 8, 0, 0, 7, 1)
total = sum(struct.unpack("!4H", packet))
packet = packet[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + packet[4:]
begun = time.monotonic()
s.sendto(packet, (sys.argv[1], 0))
s.recv(100)
print(round(1e3 * (time.monotonic() - begun), 1))
"""


def execute(folder: Path, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "scenario.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "elephan", "lab", "linux", "exec", str(folder / "scenario.toml"), *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)


@guest
def test_a_command_passes_on_its_output_and_its_exit_status(tmp_path: Path) -> None:
    done = execute(tmp_path, "--", "sh", "-c", "echo to you; echo no good >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "to you\n", "no good\n")
    assert execute(tmp_path, "--", "sh", "-c", "kill -9 $$").returncode == 137


@guest
@pytest.mark.skipif(shutil.which("ss") is None, reason="ss is not installed (iproute2)")
def test_the_sockets_of_a_flow_are_seen_while_it_runs(tmp_path: Path) -> None:
    early, late = (execute(tmp_path, "--at", at, "--", "ss", "-tin").stdout for at in ("10 ms", "2 s"))
    assert "cubic" in late
    assert "bytes_acked" in late
    assert "bytes_acked" not in early


@guest
def test_a_command_takes_virtual_time_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "ping.py").write_text(PING)
    for host in ("sender", "receiver"):
        done = execute(tmp_path, "--host", host, "--", "/usr/bin/python3", str(tmp_path / "ping.py"), "{address}")
        # The queue of the flow is still empty when both start.
        assert 40 <= float(done.stdout) < 41.5, done.stderr


@guest
def test_a_shell_reads_its_commands(tmp_path: Path) -> None:
    done = execute(tmp_path, text="date +%s; sleep 1\ndate +%s; exit 3\n")
    first, second = map(int, done.stdout.split())
    assert (second - first, done.returncode) == (1, 3)


@guest
def test_a_scenario_that_ends_first_is_one_line(tmp_path: Path) -> None:
    done = execute(tmp_path, "--", "sleep", "60")
    assert done.returncode == 1
    assert done.stderr == "elephan: the scenario ended after 5 s, before the command; write --set 'duration=…'\n"


def test_a_name_that_is_taken_is_one_line() -> None:
    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic", "name": "exec"}], rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="5 s"
    )
    with pytest.raises(ScenarioError, match="'exec' is the name of the command; rename the flow"):
        executing.with_command(scenario, ["true"], "sender", "0 s")


@guest
def test_time_stands_still_between_the_lines_of_a_terminal(tmp_path: Path) -> None:
    lines = [
        "echo one; sleep 1",
        "for i in 1 2",
        "do echo $i; done",
        "sleep 60",
        "x=$(date +%s)",
        "sleep 2",
        "echo $(($(date +%s)-x))",
    ]
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "elephan", "lab", "linux", "exec", str(tmp_path / "scenario.toml")]
    terminal, ours = pty.openpty()
    attributes = termios.tcgetattr(ours)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(ours, termios.TCSANOW, attributes)
    with subprocess.Popen(command, stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.write(terminal, "".join(f"{line}\n" for line in [*lines, "exit 5"]).encode())
        output, errors = process.communicate(timeout=300)
    os.close(terminal)
    os.close(ours)
    assert process.returncode == 5, errors
    assert [word for word in output.split() if word.isdigit()] == ["1", "2", "2"]
    assert output.count("one") == 1
    assert errors.count("the scenario ended after 5 s") == 1
