"""Builds of kernels in the user's cache, from Debian's source package or a source tree, with ARCH=um."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from elephan.backends.linux.adapt import RULES, BuildError, set_clock, set_draws, set_hz, set_netem, set_registers
from elephan.backends.linux.kernels import BINARY, BUILDING, CONFIG, RECORD, SEEDED, TREE, Kernel, cache, kernels
from elephan.scenario import ScenarioError
from elephan.scenario.errors import one_line

VERSION = "6.12"
HZ = (100, 250, 300, 1000)
MINUTES = "about six minutes on two cores of its own"

_HERE = Path(__file__).parent
_TOOLS = {
    "flex": "flex", "bison": "bison", "bc": "bc", "gcc": "gcc", "make": "make", "xz": "xz-utils", "tar": "tar",
}  # fmt: skip
_HEADERS = {"libelf.h": "libelf-dev"}
_DIGITS = 16
_TELL_S = 15.0
_FREE_BYTES = 4 << 30
_TREE = (
    "Makefile",
    "arch/um",
    "arch/x86",
    "block",
    "drivers/net",
    "fs",
    "include",
    "init",
    "kernel",
    "lib",
    "mm",
    "net",
)
# Folders of a tree that are kept completely after a build, and the kinds of files that are removed from all other
# folders.
_KEPT = frozenset(("include", "net", "scripts"))
_KEPT_BELOW = ("arch/um/", "arch/x86/")
_SOURCES = frozenset((
    ".c", ".h", ".S", ".dts", ".dtsi", ".dtso", ".rst", ".txt", ".json", ".yaml", ".svg", ".py", ".rs", ".pl", ".sh",
    ".po", ".gif", ".bin", ".inc", ".asm", ".tbl",
))  # fmt: skip
# Lines of the configuration for what kernels after Debian's 6.12 have, by the file that shows it.
_LATER = {"net/sched/sch_dualpi2.c": "CONFIG_NET_SCH_DUALPI2=y"}
_DEPENDENCY = re.compile(r"[\w./+-]+\.[chS]\b")

Tell = Callable[[str], None]
Explain = Callable[[str], Exception | None]


@dataclass(frozen=True)
class Source:
    """A kernel's source.

    Attributes:
        name: the package's file or the folder.
        version: version of the package or the Makefile.
        sha256: digest of the package, or of the relevant files of a tree.
        archive: the package, or ``None``.
        tree: the folder, or ``None``.
    """

    name: str
    version: str
    sha256: str
    archive: Path | None = None
    tree: Path | None = None


def missing(*, debian: bool) -> list[str]:
    """The packages that a build needs and this host lacks."""
    found = [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]
    found += [package for header, package in _HEADERS.items() if not (Path("/usr/include") / header).exists()]
    if debian:
        found += [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    return found


def build(version: str, hz: int, tree: Path | None, tell: Tell) -> tuple[Kernel, bool]:
    """The kernel of a source and an HZ, from the cache or built now. The second value is true if the kernel was built
    now.

    Raises:
        ScenarioError: the kernel cannot be built here; the message has the command that helps.
        BuildError: the build failed.
    """
    if lacking := missing(debian=tree is None):
        raise ScenarioError(
            f"a kernel cannot be built without {', '.join(lacking)}: apt-get install {' '.join(lacking)}"
        )
    cache().mkdir(parents=True, exist_ok=True)
    with alone(tell):
        remove_abandoned()
        work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=cache()))
        try:
            source = _of_tree(tree) if tree is not None else _of_debian(version, work, tell)
            digest = _digest(source, hz)
            for kernel in kernels():
                if kernel.digest == digest and kernel.tree.is_dir():
                    return kernel, False
            return _make(source, digest, hz, work, tell), True
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def alone(tell: Tell) -> Iterator[None]:
    """Hold the lock that allows one build at a time. The kernel releases the lock even if the process is killed."""
    with (cache() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def idle() -> Iterator[bool]:
    """Hold the lock within this context if no build is under way; gives false otherwise."""
    with (cache() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def remove_abandoned() -> None:
    """Remove the folders of builds that were killed; no build may be under way."""
    for folder in cache().glob(f"{BUILDING}*"):
        shutil.rmtree(folder, ignore_errors=True)


# ---- sources ----


def _of_debian(version: str, work: Path, tell: Tell) -> Source:
    package = f"linux-source-{version}"
    tell(f"fetching {package} by apt-get download (150 MB)")
    lists = work / "apt"
    private = [f"-oDir::State::Lists={lists}", f"-oDir::Cache={lists}", "-oDebug::NoLocking=1"]
    done = _apt(["download", package], work)
    if done.returncode:
        (lists / "partial").mkdir(parents=True)
        (lists / "archives" / "partial").mkdir(parents=True)
        update = _apt([*private, "update"], work)
        if update.returncode == 0:
            done = _apt([*private, "download", package], work)
    found = sorted(work.glob(f"{package}_*.deb"))
    if done.returncode or not found:
        raise BuildError(
            f"{package} could not be fetched: {_last(done.stderr)}; give the folder of another source with --source DIR"
        )
    with found[0].open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Source(found[0].name, found[0].name.split("_")[1], sha256, archive=found[0])


def _apt(words: list[str], work: Path) -> subprocess.CompletedProcess[str]:
    # apt's own user cannot read an ordinary user's folder; apt only warns about this.
    return subprocess.run(["apt-get", "-qq", *words], cwd=work, capture_output=True, text=True, check=False)


def _of_tree(tree: Path) -> Source:
    makefile = tree / "Makefile"
    if not (tree / "arch" / "um" / "Kconfig").is_file() or not makefile.is_file():
        raise ScenarioError(f"{tree} is not a source tree of Linux: it has no arch/um/Kconfig", path="--source")
    numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", makefile.read_text(encoding="utf-8"), re.M))
    sha = hashlib.sha256()
    for part in _TREE:
        files = sorted(path for path in (tree / part).rglob("*") if path.suffix in (".c", ".h", ".S", "")) or [makefile]
        for path in files:
            if path.is_file() and not path.is_symlink():
                sha.update(f"{path.relative_to(tree)}\0".encode())
                sha.update(path.read_bytes())
    version = ".".join(numbers.get(name, "0") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    return Source(str(tree.resolve()), version, sha.hexdigest(), tree=tree)


def _digest(source: Source, hz: int) -> str:
    parts = [source.sha256, str(hz), str(RULES), *(_text(name) for name in ("kernel.config", "seeded.c"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]


def _config(tree: Path) -> str:
    """The configuration of a tree: that of all kernels, and what only later ones have."""
    later = [line for path, line in _LATER.items() if (tree / path).exists()]
    return "\n".join([_text("kernel.config").rstrip("\n"), *later, ""])


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


# ---- the build ----


def _make(source: Source, digest: str, hz: int, work: Path, tell: Tell) -> Kernel:
    """Build a kernel in a temporary folder, and move it to its place when it is complete."""
    if shutil.disk_usage(work).free < _FREE_BYTES:
        raise BuildError(f"a build needs {_FREE_BYTES >> 30} GB in {cache()}, and there is less")
    began = time.monotonic()
    tell(f"building Linux {source.version} with HZ={hz}: {MINUTES}")
    tree = _unpacked(source, work)
    set_hz(tree, hz)
    set_clock(tree)
    set_draws(tree)
    set_netem(tree)
    set_registers(tree)
    config = work / "kernel.config"
    config.write_text(_config(tree), encoding="utf-8")
    # The kernel is compiled inside its source tree, so that the tree contains no absolute path and can be copied.
    _run(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={config}", "allnoconfig"], tree, tell)
    _check_config(config, tree / ".config")
    compile_tree(tree, tell)
    whole = work / "whole"
    whole.mkdir()
    _run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(whole / SEEDED), str(_HERE / "seeded.c")], work, tell)
    keep_compiled(tree)
    tree.rename(whole / TREE)
    return placed(whole, whole / TREE, Kernel(digest, source.version, hz, 0.0, 0.0, "", source.name), began)


def compile_tree(tree: Path, tell: Tell, explain: Explain | None = None) -> None:
    """Compile the files that are new or have changed."""
    _run(["nice", "-n", "10", "make", "ARCH=um", f"-j{_cores()}", "vmlinux"], tree, tell, explain)


def placed(whole: Path, tree: Path, made: Kernel, began: float) -> Kernel:
    """Move the complete kernel of a compiled tree to its place in the cache."""
    _run(["strip", "-o", str(whole / BINARY), "vmlinux"], tree, lambda _: None)
    shutil.copy(tree / ".config", whole / CONFIG)
    sha256 = hashlib.sha256((whole / BINARY).read_bytes()).hexdigest()
    kernel = replace(made, built=time.time(), seconds=time.monotonic() - began, sha256=sha256)
    (whole / RECORD).write_text(json.dumps(asdict(kernel), indent=1), encoding="utf-8")
    shutil.rmtree(kernel.folder, ignore_errors=True)
    whole.rename(kernel.folder)
    return kernel


def keep_compiled(tree: Path) -> None:
    """Remove the source files that were not compiled, which are most of a compiled tree's size.

    The function keeps the folders that a patch may change, and all headers that a C file may include.
    """
    used = set[str]()
    for record in tree.rglob(".*.cmd"):
        used.update(_DEPENDENCY.findall(record.read_text(encoding="utf-8", errors="replace")))
    for folder in tree.iterdir():
        if not folder.is_dir() or folder.is_symlink() or folder.name in _KEPT:
            continue
        for path in folder.rglob("*"):
            name = str(path.relative_to(tree))
            if path.suffix in _SOURCES and not name.startswith(_KEPT_BELOW) and name not in used and path.is_file():
                path.unlink()


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _unpacked(source: Source, work: Path) -> Path:
    tree = work / "tree"
    if source.tree is not None:
        shutil.copytree(source.tree, tree, symlinks=True, ignore=_left_out(source.tree))
        return tree
    _run(["dpkg-deb", "-x", str(source.archive), str(work / "package")], work, lambda _: None)
    [packed] = (work / "package" / "usr" / "src").glob("linux-source-*.tar.xz")
    tree.mkdir()
    _run(["tar", "-xJf", str(packed), "-C", str(tree), "--strip-components=1"], work, lambda _: None)
    return tree


def _left_out(tree: Path) -> Callable[[str, list[str]], list[str]]:
    """The names in each folder of a tree that a build does not need: of the documentation only Kconfig, which the
    configuration reads."""
    documentation = str(tree / "Documentation")

    def left_out(folder: str, names: list[str]) -> list[str]:
        if folder == documentation:
            return [name for name in names if name != "Kconfig"]
        return [name for name in names if name == ".git"]

    return left_out


def _check_config(wanted: Path, made: Path) -> None:
    """Reject a configuration line that the kernel's source does not support, since the build would ignore the line
    silently."""
    have = set(made.read_text(encoding="utf-8").splitlines())
    lines = [line for line in wanted.read_text(encoding="utf-8").splitlines() if line.startswith("CONFIG_")]
    lost = [line for line in lines if not line.endswith("=n") and line not in have]
    if lost:
        raise BuildError(f"this source does not have {', '.join(lost)}")


def _run(words: list[str], folder: Path, tell: Tell, explain: Explain | None = None) -> None:
    """Run a step of the build, and report its progress at intervals; ``explain`` converts the output of a failed step
    to an error."""
    environment = os.environ | {
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "elephan", "KBUILD_BUILD_HOST": "elephan",
        "LC_ALL": "C",
    }  # fmt: skip
    log = folder / ".elephan-build.log"
    with log.open("w", encoding="utf-8") as file:
        step = subprocess.Popen(words, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            while True:
                try:
                    status = step.wait(_TELL_S)
                    break
                except subprocess.TimeoutExpired:
                    tell(f"{_compiled(log)} files compiled")
        finally:
            if step.poll() is None:
                step.terminate()
                step.wait()
    if status:
        text = log.read_text(encoding="utf-8", errors="replace")
        if explain is not None and (error := explain(text)) is not None:
            raise error
        errors = [line for line in text.splitlines() if "error" in line.lower()]
        raise BuildError(f"'{' '.join(words[:4])}' failed: {_last(errors[0] if errors else text)}")


def _compiled(log: Path) -> int:
    return log.read_text(encoding="utf-8", errors="replace").count("  CC ")


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return one_line(lines[-1]) if lines else "no message"
