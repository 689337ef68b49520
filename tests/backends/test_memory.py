"""The default limit on the memory of runs: the host's free memory, a container's limit, the process's address space."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import elephan
from elephan import backends
from elephan.backends import memory, quic
from elephan.scenario import ScenarioError

MIB = 2**20


def cgroup(folder: Path, limit: str, used: int, cached: int, version: int) -> None:
    names = ("memory.max", "memory.current", "inactive_file") if version == 2 else (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cached}\n")


@pytest.mark.parametrize(
    ("version", "line", "mounted"),
    [
        (2, "0::{}", "sys/fs/cgroup"),
        (1, "4:memory:{}", "sys/fs/cgroup/memory"),
        (1, "9:cpu,memory:{}", "sys/fs/cgroup/memory"),
    ],
)
def test_the_limits_of_all_enclosing_cgroups_are_read(version: int, line: str, mounted: str, tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"1:name=systemd:/\n{line.format('/a/b')}\n")
    assert list(memory._left_in_cgroups(tmp_path)) == [], "the cgroup is not mounted"
    cgroup(tmp_path / mounted, "max" if version == 2 else str(2**63 - 4096), 70 * MIB, 0, version)
    cgroup(tmp_path / mounted / "a", str(500 * MIB), 300 * MIB, 50 * MIB, version)
    cgroup(tmp_path / mounted / "a/b", str(400 * MIB), 100 * MIB, 0, version)
    assert min(memory._left_in_cgroups(tmp_path)) == 250 * MIB
    # A container whose path is that of the host: its own cgroup is at the root of the mount.
    (tmp_path / "proc/self/cgroup").write_text(f"{line.format('/docker/0123')}\n")
    cgroup(tmp_path / mounted, str(90 * MIB), 70 * MIB, 0, version)
    assert list(memory._left_in_cgroups(tmp_path)) == [20 * MIB]


def test_another_system_has_no_cgroups(tmp_path: Path) -> None:
    assert list(memory._left_in_cgroups(tmp_path)) == []


def limited(mib: int) -> list[str]:
    """Beginning of a command with a limited address space; a function between fork and exec may wait for a lock of
    another thread for ever."""
    return ["sh", "-c", f'ulimit -v {mib * 1024}; exec "$@"', "sh"]


def test_the_address_space_limits_the_memory() -> None:
    code = "import elephan.backends.memory as m; print(m.free_bytes())"
    made = subprocess.run([*limited(1000), sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(made.stdout) < 1000 * MIB


SCENARIO = """
duration = "{duration}"
internals = true
sample_period = "10 ms"
[dumbbell]
rate = "1 Gbit/s"
rtt = "40 ms"
buffer = "1 BDP"
[[flow]]
algorithm = "cubic"
count = {count}
"""


@pytest.mark.parametrize(
    "limit", [[], pytest.param(["--memory", "50 GB"], marks=pytest.mark.large)], ids=["default", "stated"]
)
def test_a_run_beyond_the_address_space_ends_in_one_line(limit: list[str], tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(SCENARIO.format(duration="5 s", count=30_000))
    command = [*limited(1500), sys.executable, "-m", "elephan", "run", "many.toml", *limit]
    made = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (made.returncode, made.stdout) == (2, ""), made.stderr
    lines = [line for line in made.stderr.splitlines() if "passed" not in line]
    assert len(lines) == 1, made.stderr
    assert lines[0].startswith("elephan: ")
    assert "memory" in lines[0]


OVERSHOOT = """
duration = "20 s"
[stack]
divide_acks = 1000
count_acks = true
hide_losses = true
[dumbbell]
rate = "200 kbit/s"
rtt = "15 ms"
buffer = "20 packets"
access_rate = "2 Mbit/s"
channel = { model = "sprout", seed = 1 }
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "fixed"
[[flow]]
algorithm = "hybla"
"""


def test_a_run_takes_about_the_memory_of_its_limit(tmp_path: Path) -> None:
    (tmp_path / "grows.toml").write_text(OVERSHOOT)
    code = (
        "import resource, sys, elephan\n"
        "from elephan.backends.memory import RunMemoryError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: elephan.run(elephan.Scenario.load('grows.toml'), memory=200_000_000)\n"
        "except RunMemoryError: pass\n"
        "else: sys.exit('the run ended')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    grown = int(made.stdout) * 1024
    assert grown < 400_000_000, f"{grown / 1e6:.0f} MB"


def test_a_connection_that_sends_without_end_ends_at_the_limit() -> None:
    if quic.program() is None:
        pytest.skip("elephan-quic is not built")
    flow = {"algorithm": "eefast:anticipated", "parameters": {"alpha": 4e8}}
    scenario = elephan.Scenario.dumbbell([flow], rate="1 Mbit/s", rtt="10 ms", buffer="40 packets", duration="2 s")
    with pytest.raises(backends.RunMemoryError, match=r"quinn's records of them outgrew it.*the limit is 190 MiB"):
        backends.get("quic", backends.MemoryPool(200_000_000)).run(scenario)


def test_a_limit_has_a_unit_or_is_in_bytes() -> None:
    assert [memory.MemoryPool(limit).limit for limit in (None, "2 GiB", 3 * 10**9, 1_000)] == [
        None,
        2**31,
        3 * 10**9,
        1000,
    ]
    with pytest.raises(ScenarioError, match=r"^memory: '3 apples': 'apples' is not a unit of size"):
        memory.MemoryPool("3 apples")
