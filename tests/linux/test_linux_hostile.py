"""Programs that would break out, fill what they can, or never end: each run ends within its limits with one line, and
leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from tests.linux.test_linux_programs import guest, run, scenario
from tests.linux.test_linux_runs import large

from elephan import Store
from elephan.backends.linux import guest as guests
from elephan.backends.linux import kernels
from elephan.backends.linux.guest import GuestError

SETPRIV = shutil.which("setpriv")


def shell(folder: Path, script: str, **more: object) -> dict[str, object]:
    """A client that is a script, in a file of its own, since messages name commands."""
    (folder / "client.sh").write_text(script)
    return {"client": ["/bin/sh", str(folder / "client.sh")], **more}


def told(folder: Path, script: str) -> str:
    """The output and the errors of a script."""
    made = run(scenario(folder, shell(folder, script + "\nexit 0")), folder / "store")
    outputs = made.manifest["engine_summary"]["programs"][0]["outputs"]
    return str(outputs.get("client.out", "")) + str(outputs.get("client.err", ""))


@guest
def test_a_program_cannot_leave_its_view(tmp_path: Path) -> None:
    """It cannot mount the host's files, change the kernel's settings, look into the first process or become root."""
    found = told(
        tmp_path,
        """
        mkdir /tmp/h && mount -t hostfs none /tmp/h -o / && echo mounted
        ls /tmp/h | grep . && echo seen
        ls /proc/1/root/ >/dev/null 2>&1 && echo first process
        (echo x > /proc/sys/kernel/core_pattern) 2>/dev/null && echo setting
        mknod /tmp/m c 1 1 2>/dev/null && echo memory
        /usr/bin/python3 -c 'import os; os.chroot("/tmp")' 2>/dev/null && echo chroot
        /usr/bin/python3 -c 'import os; os.setuid(0)' 2>/dev/null && echo root
        kill -9 1 2>/dev/null && echo killed
        grep -E 'NoNewPrivs|CapEff' /proc/self/status; id -u
        """,
    )
    kept = [line for line in found.splitlines() if not line.startswith("mount:") and "dmesg" not in line]
    # NET_ADMIN, NET_RAW, NET_BIND_SERVICE, DAC_READ_SEARCH.
    assert kept == ["CapEff:\t0000000000003404", "NoNewPrivs:\t1", "65534"]


@guest
@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(
            "exec head -c 1000000000 /dev/zero",
            "exit status 1: head: error writing 'standard output': File too large",
            id="prints a gigabyte",
        ),
        pytest.param(
            "exec /usr/bin/python3 -c 'x = [bytearray(1 << 24) for _ in range(10000)]'",
            "MemoryError|signal 9",
            id="takes all memory",
            marks=large,
        ),
        pytest.param("kill -9 -1; sleep 1", r"its (server|client) ended with signal 9", id="kills all"),
    ],
)
def test_a_program_that_takes_too_much_fails_with_one_line(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(GuestError, match=said) as raised:
        run(scenario(tmp_path, shell(tmp_path, script)), tmp_path / "store")
    assert "\n" not in str(raised.value)


@guest
@large
def test_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    script = """
    for i in 1 2 3 4 5; do head -c 60000000 /dev/zero > /tmp/$i; done 2>/dev/null
    for i in 1 2 3 4 5 6 7 8; do truncate -s 64M hole$i; done
    i=0; while [ $i -lt 100 ]; do echo > /var/tmp/$i || break; i=$((i + 1)); done 2>/dev/null
    exit 0
    """
    made = run(scenario(tmp_path, shell(tmp_path, script)), tmp_path / "store")
    files = made.manifest["engine_summary"]["programs"][0]["files"]
    assert sum(file["bytes"] for file in files.values()) <= 256 << 20


ENDLESS = {
    "computes": "while :; do :; done",
    "forks": "exec /usr/bin/python3 -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'",
}


@guest
@pytest.mark.parametrize("does", [pytest.param(does, marks=large) for does in ENDLESS])
def test_a_program_without_end_is_ended(tmp_path: Path, does: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "HUNG_S", 3.0)
    before = set(psutil.pids())
    with pytest.raises(GuestError, match=r"the guest hung at .* no progress in 3 s of processor time"):
        run(scenario(tmp_path, shell(tmp_path, ENDLESS[does])), tmp_path / "store")
    assert none_is_left(before)


def none_is_left(before: set[int]) -> bool:
    """True if no guest is alive that was not there before."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        own = [one for one in psutil.process_iter() if one.pid not in before and is_of_a_guest(one)]
        if not own:
            return True
        time.sleep(0.1)
    return False


def is_of_a_guest(one: psutil.Process) -> bool:
    try:
        return str(FOLDER[0]) in one.cwd() and one.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def in_shared_memory() -> set[str]:
    """Names in shared memory, without the semaphores of Python's multiprocessing: Elephan has none, other tests do."""
    return {path.name for path in Path("/dev/shm").iterdir() if not path.name.startswith("sem.mp-")}


def nothing_is_left_in_memory(before: set[str], seconds: float = 10) -> bool:
    """True once new names are gone: a guest of another test has its file for a moment, and what was there stays."""
    new, until = in_shared_memory() - before, time.monotonic() + seconds
    while new and time.monotonic() < until:
        time.sleep(0.1)
        new &= in_shared_memory()
    return not new


FOLDER: list[Path] = [Path("/nowhere")]
"""The folder of the guests of a test."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own with the host's kernel, so that the guests of other tests are not seen."""
    root = tmp_path_factory.mktemp("cache")
    FOLDER[0] = root / "elephan" / "linux"
    FOLDER[0].mkdir(parents=True)
    for kernel in kernels.kernels():
        if not kernel.base:
            (FOLDER[0] / kernel.digest).symlink_to(kernel.folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))


@guest
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda by: by.name)
def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path, by: signal.Signals) -> None:
    """The client ignores signals, and the run would take long: it computes until it is ended."""
    made = scenario(tmp_path, shell(tmp_path, "trap '' TERM INT HUP; (while :; do :; done) & while :; do :; done"))
    (tmp_path / "own.toml").write_text(made.to_toml())
    shared, before = in_shared_memory(), set(psutil.pids())
    command = [sys.executable, "-m", "elephan", "run", str(tmp_path / "own.toml"), "--on", "linux", "--allow-programs"]
    process = subprocess.Popen(
        [*command, "--store", str(tmp_path / "store")], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    until = time.monotonic() + 60
    while not list((FOLDER[0] / "guests").glob("*/root/programs/0/client")) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(by)
    _, said = process.communicate(timeout=30)
    assert none_is_left(before)
    assert nothing_is_left_in_memory(shared)
    if by != signal.SIGKILL:
        assert process.returncode == 128 + by
        assert len(said.strip().splitlines()) == 1
        assert not [path for path in (FOLDER[0] / "guests").iterdir() if path.is_dir()]
        return
    # The next run removes the folder of one that was killed.
    run(scenario(tmp_path), tmp_path / "store")
    assert not [path for path in (FOLDER[0] / "guests").iterdir() if path.is_dir()]


@guest
@pytest.mark.skipif(os.geteuid() != 0 or SETPRIV is None, reason="only root can become another user")
def test_an_ordinary_user_runs_programs() -> None:
    """The user may read what root may, since the interpreter may be in root's home, and nothing else."""
    home = Path(tempfile.mkdtemp(prefix="elephan-"))
    try:
        home.chmod(0o755)
        made = scenario(home)
        (home / "own.toml").write_text(made.to_toml())
        (home / "cache" / "elephan" / "linux").mkdir(parents=True)
        for kernel in kernels.kernels():
            if not kernel.base:
                (home / "cache" / "elephan" / "linux" / kernel.digest).symlink_to(kernel.folder.resolve())
        for path in (home, *home.rglob("*")):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        done = as_nobody(home)
        assert done.returncode == 0, done.stderr
        assert "was made twice, with equal results" in done.stdout + done.stderr
        assert len(list(Store(home / "store"))) == 1
    finally:
        shutil.rmtree(home)


def as_nobody(home: Path) -> subprocess.CompletedProcess[str]:
    reads = "-all,+dac_read_search"
    user = [SETPRIV, "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={reads}",
            f"--ambient-caps={reads}", f"--bounding-set={reads}"]  # fmt: skip
    command = [sys.executable, "-B", "-m", "elephan", "run", str(home / "own.toml"), "--on", "linux",
               "--allow-programs", "--check-repeat", "--store", str(home / "store")]  # fmt: skip
    environment = os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.run(
        [*map(str, user), *command], cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
