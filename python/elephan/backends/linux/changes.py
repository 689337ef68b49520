"""Changed kernels: a patch of the source, or congestion controls in C, compiled into a copy of a built tree."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elephan.backends.linux import build
from elephan.backends.linux.adapt import BuildError
from elephan.backends.linux.kernels import BUILDING, SEEDED, TREE, Kernel, cache, kernels
from elephan.scenario import ScenarioError, reading
from elephan.scenario.c_files import CFile
from elephan.scenario.errors import one_line
from elephan.unhurried import unhurried

WORD_DIGITS = 12
_DIGITS = 16
_MOST_BYTES = 4_000_000
_FOLDER = "patches"
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 1 << 30
_ALLOWED = ("net/", "include/")
_CHANGED = re.compile(r"^(?:---|\+\+\+) (?:[^/\s]+/)?(\S+)", re.MULTILINE)
_ERROR = re.compile(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_UNDEFINED = re.compile(
    r"^(?:\S*ld: )?(\S+?)(?:\.o)?:.*?(undefined reference to .*|multiple definition of [^;]*)", re.MULTILINE
)
_FAILED = re.compile(r"^Hunk #(\d+) FAILED at (\d+)", re.MULTILINE)
_FILE = re.compile(r"^(?:checking|patching) file '?([^'\n]*)'?$|^can't find file to patch", re.MULTILINE)
# Version of the rules for changed kernels. The version is part of a kernel's digest, so a new version gives a new
# kernel.
_RULES = 1


@dataclass(frozen=True)
class Patch:
    """A change of the kernel's source, in the form of ``git diff`` or ``diff -u``.

    Attributes:
        name: the file's name.
        text: content of the file.
        digest: SHA-256 of the content.
    """

    name: str
    text: bytes
    digest: str

    @property
    def word(self) -> str:
        """The first digits of the digest, as in the name of the backend ``linux+WORD``."""
        return self.digest[:WORD_DIGITS]


def read_patch(path: Path) -> Patch:
    """Read a patch, and keep a copy in the cache, for runs in other processes.

    Raises:
        ScenarioError: the file does not exist, or it changes something other than the network code.
    """
    try:
        text = reading.read_bytes(path, _MOST_BYTES)
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file", source="--patch") from None
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error.message}", source="--patch") from None
    named = _CHANGED.findall(text.decode("utf-8", errors="replace"))
    # A new file has no old name, and a removed file no new one: /dev/null, or the name alone in some tools.
    touched = [name for name in named if name not in ("/dev/null", "null")]
    if not touched:
        raise ScenarioError(f"{path}: not a patch; write it with 'git diff' or 'diff -u'", source="--patch")
    for name in touched:
        if not name.startswith(_ALLOWED) or ".." in Path(name).parts:
            raise ScenarioError(
                f"{path}: changes {name}; a patch changes files of {' and '.join(_ALLOWED)} in the kernel's source",
                source="--patch",
            )
    patch = Patch(path.name, text, hashlib.sha256(text).hexdigest())
    folder = cache() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{patch.word}-{os.getpid()}"
    draft.write_bytes(text)
    draft.rename(folder / f"{patch.word}-{path.name}")
    return patch


def kept_patch(word: str) -> Patch:
    """The patch in the name of a backend; ``word`` is the first digits of the patch's digest.

    Raises:
        ScenarioError: the patch is not in the cache.
    """
    for path in sorted((cache() / _FOLDER).glob(f"{word}-*")) if word.isalnum() else ():
        text = path.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        if digest[:WORD_DIGITS] == word:
            return Patch(path.name.removeprefix(f"{word}-"), text, digest)
    raise ScenarioError(f"no patch '{word}' is in the cache; write --on linux --patch FILE")


def changed(base: Kernel, files: Sequence[CFile], patch: Patch | None, tell: build.Tell) -> Kernel:
    """The kernel with a patch and with congestion controls in C, from the cache or compiled now.

    Raises:
        ScenarioError: the patch does not apply, or a file does not compile; the message names file and line.
        BuildError: the build failed.
    """
    if not files and patch is None:
        return base
    files = sorted(files, key=lambda file: file.unit)
    digest = _digest(base, files, patch)
    with build.idle() as free:
        if free:
            _remove_leftovers()
    if found := _built(digest):
        return found
    if not base.tree.is_dir():
        raise ScenarioError(
            f"the kernel {base.digest} was built without its tree, which a change needs; type 'elephan lab linux build'"
        )
    # A signal ends the compilation at once; the process waits until the tree, a quarter of a gigabyte, is removed.
    with build.alone(tell), unhurried():
        if found := _built(digest):
            return found
        began = time.monotonic()
        tell(f"compiling {', '.join([patch.name] if patch else []) or files[0].label} into Linux {base.version}")
        work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=cache()))
        try:
            tree = _workshop(work) / TREE
            _copy(base.tree, tree)
            if patch is not None:
                _apply(patch, tree, base)
            _add(files, tree)
            build.compile_tree(tree, tell, lambda text: _explained(text, files, patch))
            whole = work / "whole"
            whole.mkdir()
            shutil.copy(base.folder / SEEDED, whole / SEEDED)
            names = tuple(f"{one.name if isinstance(one, Patch) else one.label} {one.digest[:WORD_DIGITS]}"
                          for one in ([patch] if patch else []) + list(files))  # fmt: skip
            made = Kernel(digest, base.version, base.hz, 0.0, 0.0, "", base.source, base.digest, names)
            return build.placed(whole, tree, made, began)
        finally:
            shutil.rmtree(work, ignore_errors=True)
            _remove_workshops()


def _remove_leftovers() -> None:
    """Remove what killed builds have left in the cache and in memory."""
    build.remove_abandoned()
    _remove_workshops()


def _workshop(work: Path) -> Path:
    """The folder of the copied tree. The folder is in memory if there is room, since memory is several times faster
    than a disk."""
    _remove_workshops()
    with contextlib.suppress(OSError):
        space = os.statvfs(_MEMORY)
        if space.f_bavail * space.f_frsize >= _ROOM_BYTES and not space.f_flag & os.ST_NOEXEC:
            return Path(tempfile.mkdtemp(prefix=_workshops(), dir=_MEMORY))
    return work


def _remove_workshops() -> None:
    """Remove the copied trees in memory, also those of killed processes. The cache's lock guarantees that no other
    build uses these trees."""
    for folder in _MEMORY.glob(f"{_workshops()}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _workshops() -> str:
    """Common prefix of the names of this cache's folders in memory."""
    return f"elephan-{hashlib.sha256(str(cache()).encode()).hexdigest()[:_DIGITS]}-"


def _built(digest: str) -> Kernel | None:
    return next((kernel for kernel in kernels() if kernel.digest == digest), None)


def _digest(base: Kernel, files: Sequence[CFile], patch: Patch | None) -> str:
    parts = [base.digest, str(_RULES), patch.digest if patch else "", *(f"{one.unit} {one.digest}" for one in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]


def _copy(tree: Path, to: Path) -> None:
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", str(tree), str(to)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"the tree could not be copied: {one_line(done.stderr)}")


def _apply(patch: Patch, tree: Path, base: Kernel) -> None:
    """Apply a patch. The patched lines may have moved in the source, but a line that differs from the patch is an
    error."""
    if shutil.which("patch") is None:
        raise ScenarioError("a patch cannot be applied without patch: apt-get install patch", source="--patch")
    done = subprocess.run(
        ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch", "--reject-file=-"],
        cwd=tree, input=patch.text, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return
    text = done.stdout.decode("utf-8", errors="replace")
    where = ""
    if failed := _FAILED.search(text):
        names = [name for name in _FILE.findall(text[: failed.start()]) if name]
        where = f"{names[-1] if names else 'a file'}, hunk {failed[1]} at line {failed[2]}, is not as in the source"
    elif "Reversed (or previously applied)" in text:
        where = "the source has this change already"
    else:
        where = one_line(text.strip().splitlines()[-1]) if text.strip() else "no message"
    raise ScenarioError(f"{patch.name} does not apply to Linux {base.version}: {where}", source="--patch")


def _add(files: Sequence[CFile], tree: Path) -> None:
    folder = tree / "net" / "ipv4"
    if not files:
        return
    with (folder / "Makefile").open("a", encoding="utf-8") as makefile:
        for file in files:
            (folder / f"{file.unit}.c").write_bytes(file.text)
            makefile.write(f"\nobj-y += {file.unit}.o\n")


def _explained(text: str, files: Sequence[CFile], patch: Patch | None) -> Exception | None:
    """The compiler's first error, with the name of the user's file in place of the name of its copy."""
    own = {f"net/ipv4/{file.unit}": file.path for file in files}
    if found := _ERROR.search(text):
        name, line, what = found.groups()
        mine = own.get(name.removesuffix(".c"))
        shown = str(_near(mine)) if mine else name
        why = f" (with {patch.name})" if patch and not mine else ""
        return ScenarioError(f"{shown}:{line}: {one_line(what)}{why}")
    if found := _UNDEFINED.search(text):
        mine = own.get(found[1])
        return ScenarioError(f"{_near(mine) if mine else found[1]}: {one_line(found[2])}")
    return None


def _near(path: Path) -> Path:
    """The shorter of a path's absolute form and its form relative to the working directory."""
    with contextlib.suppress(ValueError):
        return path.relative_to(Path.cwd())
    return path
