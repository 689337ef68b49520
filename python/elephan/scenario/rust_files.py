"""Algorithms in Rust, of files that a scenario names: ``./mine.rs``, a crate's folder ``./mine``, or a library ``.so``.

A file or a crate is compiled against ``elephan-cc`` of this source tree into a library, which is kept in the user's
cache, and the engine loads it. Nothing of the crate's own build is used: a crate needs ``elephan-cc`` and ``libm``
alone, and its ``Cargo.toml`` is only read to say so. ``unsafe`` is forbidden.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elephan.scenario import catalog, reading
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

SUFFIX = ".rs"
LIBRARY = ".dylib" if sys.platform == "darwin" else ".so"
CRATES = ("elephan-cc", "libm")
"""Crates that an algorithm may use."""
_ROOT = "src/lib.rs"
_MOST_BYTES = 1_000_000
_MOST_LIBRARY_BYTES = 100_000_000
_KEPT = 64
"""Number of compiled libraries that stay in the cache."""
_BASE_S, _BUILD_S = 600.0, 120.0
"""Time for compiling ``elephan-cc``, once, and an algorithm, s."""
_WORD = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/
    | [bc]?r(\#*)".*?"\1 | [bc]?"(?:\\.|[^"\\])*" | b?'(?:\\.[^']*|[^'\\])'
    | '?\w+ | :: | \S
    """,
    re.DOTALL | re.VERBOSE,
)
_TRAITS = ("Algorithm", "LossBased")
_WITH_PARAMETERS = "Tunable"


@dataclass(frozen=True)
class RustFile:
    """An algorithm in Rust.

    Attributes:
        path: the file, the crate's folder, or the library.
        texts: content of the source files by name; of a library, none.
        digest: SHA-256 of the sources, or of the library.
    """

    path: Path
    texts: Mapping[str, str]
    digest: str

    @property
    def label(self) -> str:
        """The name in tables and messages."""
        return label(self.path)


def label(path: Path) -> str:
    """The file's name without its folder; of a crate, ``mine/src/lib.rs``."""
    return path.name if path.suffix in (SUFFIX, LIBRARY) else f"{path.name}/{_ROOT}"


def names(spec: str) -> bool:
    """True if a name is that of a Rust file, of a crate's folder or of a library."""
    if spec.endswith((SUFFIX, LIBRARY)):
        return True
    try:
        return "/" in spec and (Path(spec) / "Cargo.toml").is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def read(path: Path) -> RustFile:
    """Read a file, a crate or a library.

    Raises:
        ScenarioError: there is none, it is too large, or a crate needs other crates or a build script.
    """
    path = path.absolute()
    if path.suffix == LIBRARY:
        content = _read(path, _MOST_LIBRARY_BYTES)
        return RustFile(path, {}, hashlib.sha256(content).hexdigest())
    if path.suffix == SUFFIX:
        texts = {path.name: _read(path, _MOST_BYTES)}
    else:
        _check_crate(path)
        files = sorted((path / "src").rglob(f"*{SUFFIX}"))
        texts = {file.relative_to(path).as_posix(): _read(file, _MOST_BYTES) for file in files}
        if _ROOT not in texts:
            raise ScenarioError(f"{path}: a crate with an algorithm has a {_ROOT}")
    digest = hashlib.sha256()
    for name, text in texts.items():
        # The name of a single file plays no part.
        digest.update(f"{name if len(texts) > 1 else ''}\0{len(text)}\0".encode() + text)
    decoded = {name: text.decode("utf-8", "replace") for name, text in texts.items()}
    return RustFile(path, decoded, digest.hexdigest())


def _read(path: Path, limit_bytes: int) -> bytes:
    try:
        return reading.read_bytes(path, limit_bytes)
    except FileNotFoundError:
        near = [str(entry) for entry in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        raise ScenarioError(f"{path}: no such file" + (f"; {hint(str(path), near)}" if near else "")) from None
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error.message}") from None


def _check_crate(path: Path) -> None:
    file = path / "Cargo.toml"
    try:
        stated = tomllib.loads(_read(file, _MOST_BYTES).decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{file}: {error}") from None
    others = [name for name in stated.get("dependencies", {}) if name not in CRATES]
    if others:
        raise ScenarioError(f"{file}: needs {others[0]}; an algorithm in a crate may use {' and '.join(CRATES)} alone")
    if (path / "build.rs").exists() or "build" in stated.get("package", {}):
        raise ScenarioError(f"{file}: has a build script, which is not run; an algorithm is compiled from src alone")


def words(text: str) -> Iterator[tuple[int, str]]:
    """The words and marks of a text in Rust, without comments, and each literal as ``"``, with their lines."""
    line, end = 1, 0
    for match in _WORD.finditer(text):
        line += text.count("\n", end, match.start())
        end, word = match.start(), match[0]
        if word.startswith(("//", "/*")):
            continue
        is_literal = word.endswith(('"', "'")) and len(word) > 1
        yield line, '"' if is_literal else word


def algorithm(file: RustFile) -> str:
    """Name of the type with the algorithm: the last of the root for which ``Algorithm`` or ``LossBased`` is there.

    Raises:
        ScenarioError: there is none.
    """
    found = _with_traits(file, _TRAITS)
    if not found:
        raise ScenarioError(f"{file.path}: it has no algorithm; write impl elephan_cc::Algorithm for Mine")
    return found[-1]


def _with_traits(file: RustFile, traits: Sequence[str]) -> list[str]:
    """Types of the root for which one of the traits is there."""
    text = file.texts[_ROOT] if _ROOT in file.texts else next(iter(file.texts.values()))
    plain = [word for _, word in words(text)]
    return [
        plain[i + 2] for i, word in enumerate(plain[:-2])
        if word in traits and plain[i + 1] == "for" and plain[i + 2].isidentifier()
    ]  # fmt: skip


def library(file: RustFile) -> Path:
    """The library of an algorithm, compiled if it is not in the cache.

    Raises:
        ScenarioError: the text is wrong, or there is no compiler or no source tree.
    """
    if not file.texts:
        return file.path
    name = algorithm(file)
    with _locked() as folder:
        parts = _base(folder)
        key = hashlib.sha256(f"{catalog.engine().built_from()}\0{file.digest}".encode()).hexdigest()[:32]
        target = folder / "algorithms" / f"{key}{LIBRARY}"
        if not target.is_file():
            target.parent.mkdir(exist_ok=True)
            _compile(file, name, parts, target)
            for old in sorted(target.parent.iterdir(), key=lambda entry: -entry.stat().st_mtime)[_KEPT:]:
                old.unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _locked() -> Iterator[Path]:
    """The folder in the user's cache for this source tree, for one process at a time."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    cache = (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "elephan" / "rust"
    folder = cache / hashlib.sha256(str(_sources()).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _sources() -> Path:
    """The source tree of this installation.

    Raises:
        ScenarioError: it has none.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / "crates/native/Cargo.toml").is_file():
        raise ScenarioError(
            "an algorithm in Rust is compiled against the source tree of Elephan, and this installation has none; "
            "install it from a checkout with 'make setup'"
        )
    return root


def _base(folder: Path) -> dict[str, Path]:
    """The compiled crates that an algorithm uses, by name."""
    built_from = catalog.engine().built_from()
    record = folder / "crates.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        known = json.loads(record.read_text(encoding="utf-8"))
        parts = {name: Path(path) for name, path in known["crates"].items()}
        if known["built_from"] == built_from and all(path.is_file() for path in parts.values()):
            return parts
    build = [
        _tool("cargo"), "build", "--release", "--locked", "--quiet", "--message-format=json", "--package",
        "elephan-native", "--manifest-path", str(_sources() / "Cargo.toml"), "--target-dir", str(folder / "target"),
    ]  # fmt: skip
    output = _run(build, Path("/"), _BASE_S)
    if output.returncode != 0:
        raise ScenarioError(f"cargo cannot build elephan-cc: {_first_error(output.stderr)}")
    parts = {}
    for line in output.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact":
            for path in message["filenames"]:
                if path.endswith(".rlib"):
                    parts[message["target"]["name"]] = Path(path)
    record.write_text(
        json.dumps({"built_from": built_from, "crates": {name: str(path) for name, path in parts.items()}}),
        encoding="utf-8",
    )
    return parts


def _compile(file: RustFile, name: str, parts: Mapping[str, Path], target: Path) -> None:
    """Compile a crate in which nothing is unsafe, and the library around it."""
    rustc = _tool("rustc")
    given = [f"--extern={crate}={parts[crate]}" for crate in ("elephan_cc", "libm") if crate in parts]
    common = [rustc, "--edition=2024", "--error-format=short", "-Copt-level=3", "-Awarnings"]
    deps = sorted({str(path.parent) for path in parts.values()})
    common += [f"-Ldependency={deep}" for path in deps for deep in (path, f"{path}/deps")]
    folder, root = (file.path, _ROOT) if _ROOT in file.texts else (file.path.parent, file.path.name)
    with tempfile.TemporaryDirectory(prefix="elephan-rust-") as place:
        inner, outer = Path(place) / "libcandidate.rlib", Path(place) / f"libalgorithm{LIBRARY}"
        crate = [*common, *given, "--crate-type=rlib", "--crate-name=candidate", "-Funsafe_code", "-o", str(inner)]
        _check(_run([*crate, root], folder, _BUILD_S), file)
        shim = Path(place) / "algorithm.rs"
        is_tunable = name in _with_traits(file, [_WITH_PARAMETERS])
        kind = "tunable" if is_tunable else "of"
        shim.write_text(f"elephan_native::export!(candidate::{name}, {kind});\n", encoding="utf-8")
        around = [
            *common, *given, f"--extern=elephan_native={parts['elephan_native']}", f"--extern=candidate={inner}",
            "--crate-type=cdylib", "-Cstrip=symbols", "-o", str(outer), str(shim),
        ]  # fmt: skip
        done = _run(around, folder, _BUILD_S)
        if done.returncode != 0:
            needed = f"Algorithm, Clone, Send and {_WITH_PARAMETERS if is_tunable else 'Default'}"
            why = _first_error(done.stderr).replace(str(shim), "the library around it")
            raise ScenarioError(f"{file.label}: {why}; {name} is a public type with {needed}")
        # A process that has the old file open keeps it.
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copyfile(outer, partial)
        partial.replace(target)


def _check(done: subprocess.CompletedProcess[str], file: RustFile) -> None:
    if done.returncode != 0:
        raise ScenarioError(f"{file.label}: {_first_error(done.stderr)}")


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ScenarioError(f"an algorithm in Rust needs {name}; install Rust from https://rustup.rs")
    return found


def _run(command: Sequence[str], folder: Path, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Run a compiler, and end it with its children after a time."""
    child = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise ScenarioError(f"{Path(command[0]).name} took more than {limit_s:g} s, and was ended") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
    return subprocess.CompletedProcess(command, child.returncode, output, errors)


def _first_error(text: str) -> str:
    lines = text.splitlines() or ["it failed without a message"]
    return next((line for line in lines if "error" in line), lines[0]).strip()[:300]
