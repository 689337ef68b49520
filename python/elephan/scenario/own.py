"""User-defined algorithms: their names in a scenario, their sources and their descriptions.

A user gives ``./mine.py:Mine``, the name of an entry point of the group ``elephan.algorithms``, the class itself,
``./mine.rs`` or a crate's folder, or ``./tcp_mine.c``, a file in C for the backend ``linux``. A scenario stores the
*pinned* name, ``/home/me/mine.py:Mine@`` with the SHA-256 of the source. A pinned class never changes: a loaded class
is used until the process ends, and a file that has changed since it was pinned is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from elephan import algorithm as contract
from elephan.algorithm import NEEDS, Algorithm
from elephan.scenario import c_files, catalog, reading, rust_files
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fingerprint import UnknownValueError, Walk, installed
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from elephan._engine import Ack, Signal

GROUP = "elephan.algorithms"
_PINNED = re.compile(r"(?P<name>.+)@(?P<digest>[0-9a-f]{64})(?:#\d+)?", re.DOTALL)
_FILE = re.compile(r"(?P<path>.+\.py):(?P<name>[^\W\d]\w*)", re.DOTALL)
_C_FILE = re.compile(r".+\.c", re.DOTALL)
_INDIRECT = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.<>]+)")
_MOST_BYTES = 16_000_000

Maker = Callable[..., Algorithm]


@dataclass(frozen=True)
class Loaded:
    """A class (or a function that creates objects) with the digest of its source.

    ``current`` returns the digest of the present content of the class; the digest of a class in a notebook changes with
    the objects that it refers to. ``library`` is the file of an algorithm in Rust.
    """

    maker: Maker
    digest: str
    current: Callable[[], str] | None = None
    library: str | None = None


_live: dict[str, Loaded] = {}
_lock = threading.RLock()


def pinned(spec: str) -> bool:
    """True if a flow's algorithm is user-defined."""
    return _PINNED.fullmatch(spec) is not None


def digest(spec: str) -> str:
    """The digest of a pinned name."""
    return _split(spec)[1]


def label(spec: str) -> str:
    """An algorithm's name in tables and messages, such as ``mine.py:Mine``, ``Mine``, ``mine.rs``, ``tcp_mine.c``, or
    the entry point's name; built-in names are unchanged."""
    if not pinned(spec):
        return spec
    name = _split(spec)[0]
    if in_c(spec):
        return Path(name).name
    if in_rust(spec):
        return rust_files.label(Path(name))
    file = _FILE.fullmatch(name)
    if file is not None:
        return f"{Path(file['path']).name}:{file['name']}"
    return name.rpartition(":")[2].rpartition(".")[2] if ":" in name else name


def short_label(spec: str) -> str:
    """The name of the class, or of the file in C or Rust without suffix, for the names of flows."""
    if in_c(spec) or in_rust(spec):
        return Path(_split(spec)[0]).stem
    return label(spec).rpartition(":")[2] if pinned(spec) else spec


def in_c(spec: str) -> bool:
    """True if a flow's algorithm is a file in C."""
    # A class may be named c, so the path is checked too: a file's pinned path is absolute.
    return pinned(spec) and _C_FILE.fullmatch(name := _split(spec)[0]) is not None and Path(name).is_absolute()


def in_rust(spec: str) -> bool:
    """True if a flow's algorithm is Rust: a file, a crate's folder or a library."""
    if not pinned(spec) or in_c(spec):
        return False
    name = _split(spec)[0]
    return _FILE.fullmatch(name) is None and Path(name).is_absolute()


def c_file(spec: str) -> c_files.CFile:
    """The file of a pinned algorithm in C.

    Raises:
        ScenarioError: the algorithm is missing, or has changed.
    """
    name, wanted = _split(spec)
    return c_files.unchanged(Path(name), wanted)


def names_file(spec: str) -> bool:
    """True if the name has the form of a file: a Python file with a class, a Rust file, a crate's folder, or a C file.

    A name that begins with a built-in algorithm and a colon is a preset of that algorithm, even if the name is
    misspelt, such as ``lp:linux-2.c``.
    """
    if pinned(spec) or spec.partition(":")[0] in catalog.algorithms():
        return False
    return _FILE.fullmatch(spec) is not None or "/" in spec or spec.endswith((".py", ".c", ".rs", ".so"))


def anchored(spec: Any, folder: Path) -> Any:
    """A file's name with its class, made relative to a folder; any other name is unchanged."""
    if not isinstance(spec, str) or not names_file(spec):
        return spec
    if _C_FILE.fullmatch(spec) or rust_files.names(str(folder / spec)):
        return str(folder / spec)
    match = _FILE.fullmatch(spec)
    return f"{folder / match['path']}:{match['name']}" if match else spec


def pin(value: Any) -> Any:
    """A class, a function, a file or an entry point as a pinned name; any other value unchanged.

    Raises:
        ScenarioError: the file or the class is missing, cannot be loaded, or is not an algorithm.
    """
    if isinstance(value, str):
        if pinned(value):
            return value
        if names_file(value):
            return _pin_file(value)
        if value.partition(":")[0] not in catalog.algorithms() and value in points():
            return _remember(value, _from_entry_point(value))
        return value
    if isinstance(value, Algorithm):
        raise ScenarioError(
            f"{type(value).__name__} is given as one object; give the class, or a function that makes a new one, "
            "since each flow of each run needs its own"
        )
    if isinstance(value, type) or callable(value):
        return _pin_object(value)
    return value


def make(spec: str, parameters: Mapping[str, Any]) -> Algorithm:
    """A new object of a pinned algorithm.

    Raises:
        ScenarioError: the algorithm is missing, has changed, or rejects the parameters.
    """
    return maker(spec, parameters)()


def maker(spec: str, parameters: Mapping[str, Any]) -> Callable[[], Algorithm]:
    """A function that makes new objects of a pinned algorithm.

    Raises:
        ScenarioError: the algorithm is missing or has changed.
    """
    if in_c(spec):
        raise ScenarioError(
            f"{label(spec)} is C for a Linux kernel; only the backend 'linux' runs it: write --on linux"
        )
    found = _find(spec)
    if found.current is not None and found.current() != found.digest:
        raise ScenarioError(
            f"{label(spec)}, or something that it uses, has changed since the scenario was built; "
            "build the scenario again"
        )
    return partial(_new, found.maker, label(spec), parameters)


def library(spec: str) -> str | None:
    """The library of a pinned algorithm in Rust; ``None`` for one in another language.

    Raises:
        ScenarioError: the algorithm is missing, or has changed.
    """
    return _find(spec).library if in_rust(spec) else None


def check_parameters(spec: str, parameters: Mapping[str, Any]) -> None:
    """Reject parameters that the class does not accept; a pinned class that is not loaded is not checked.

    Raises:
        ScenarioError: the class does not accept the parameters; ``path`` is the parameter's name if the error is about
            one parameter.
    """
    if in_c(spec):
        found = c_file(spec) if parameters else None
        for parameter, value in parameters.items():
            if found is not None:
                found.check_parameter(parameter, value)
        return
    if spec not in _live:
        return
    maker, name = _live[spec].maker, label(spec)
    taken = _signature(maker)
    if taken is not None:
        words = [p.name for p in taken.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            for parameter in parameters:
                if parameter not in words:
                    raise ScenarioError(f"not a parameter of {name}; {_hint(parameter, words)}", path=parameter)
        for parameter, value in parameters.items():
            _check_kind(taken.get(parameter), parameter, value)
        for parameter in words:
            if taken[parameter].default is inspect.Parameter.empty and parameter not in parameters:
                raise ScenarioError(f"missing; {name} needs it", path=parameter)
    _new(maker, name, parameters)


def _check_kind(taken: inspect.Parameter | None, parameter: str, value: Any) -> None:
    """Reject a word for a number and a number for a switch, which would fail within the class, at its first ACK."""
    if taken is None:
        return
    default, stated = taken.default, str(taken.annotation).removeprefix("<class '").removesuffix("'>")
    switch = isinstance(default, bool) or stated == "bool"
    number = not switch and (isinstance(default, int | float) or stated in ("int", "float"))
    shown = "" if default is taken.empty else f"; its default is {default!r}"
    if number and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ScenarioError(f"{value!r} is not a number{shown}", path=parameter)
    if switch and not isinstance(value, bool):
        raise ScenarioError(f"{value!r} is neither true nor false{shown}", path=parameter)


def _hint(word: str, known: list[str]) -> str:
    return hint(word, known) if known else "it has none"


def _signature(maker: Maker) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return None


def _new(maker: Maker, name: str, parameters: Mapping[str, Any]) -> Algorithm:
    with _own_code(f"{name} cannot be made: "):
        made = maker(**parameters)
    if not isinstance(made, Algorithm):
        raise ScenarioError(
            f"{name} is not an algorithm: it makes a {type(made).__name__}; derive from elephan.Algorithm"
        )
    with _own_code(f"{name}.needs: "):
        needs: object = made.needs
    if isinstance(needs, str):
        raise ScenarioError(f"{name}.needs: '{needs}' is a word alone; write needs = (\"{needs}\",)")
    if not isinstance(needs, list | tuple | set | frozenset):
        raise ScenarioError(f'{name}.needs: {needs!r} is not a tuple of words; write for example needs = ("pacing",)')
    wrong = [str(word) for word in needs if not isinstance(word, str) or word not in NEEDS]
    if wrong:
        raise ScenarioError(f"{name}.needs: '{wrong[0]}' is not a need; {hint(wrong[0], NEEDS)}")
    return made


@contextlib.contextmanager
def _own_code(what: str, path: Path | None = None) -> Iterator[None]:
    """Runs user code; an exception in that code, including ``sys.exit()``, becomes an error message that begins with
    ``what``.

    Ctrl-C and SIGTERM are passed on.

    Raises:
        ScenarioError: the code raised.
    """
    try:
        yield
    except (KeyboardInterrupt, ScenarioError):
        raise
    except BaseException as error:
        # SystemExit is caught too: it would end this program, silently if its code is 0.
        raise ScenarioError(f"{what}{_told(error, path)}") from error


def _split(spec: str) -> tuple[str, str]:
    match = _PINNED.fullmatch(spec)
    if match is None:
        raise ScenarioError(f"'{spec}' is not pinned")
    return match["name"], match["digest"]


def _remember(name: str, loaded: Loaded, *, numbered: bool = False) -> str:
    """Keep the loaded object, and pin its name. Functions and objects get a number, since two functions with equal code
    may still refer to different objects."""
    spec = f"{name}@{loaded.digest}"
    with _lock:
        if numbered:
            same = [known for known in _live if known.startswith(f"{spec}#")]
            found = next((known for known in same if _live[known].maker is loaded.maker), None)
            spec = found or f"{spec}#{len(same) + 1}"
        _live.setdefault(spec, loaded)
    return spec


def _find(spec: str) -> Loaded:
    """Finds the class of a pinned name, in this process or in its file.

    Raises:
        ScenarioError: the algorithm is missing, or has changed.
    """
    if spec in _live:
        return _live[spec]
    name, wanted = _split(spec)
    shown = label(spec)
    if _FILE.fullmatch(name) or in_rust(spec):
        now = _pin_file(name)
    elif name in points():
        now = _remember(name, _from_entry_point(name))
    else:
        now = _pin_imported(name, shown)
    if digest(now) != wanted:
        raise ScenarioError(f"{shown} has changed since it was pinned: '{name}' is another algorithm now")
    return _live[now]


# ---- files ----------------------------------------------------------------------------------------------------------


def _pin_file(spec: str) -> str:
    if _C_FILE.fullmatch(spec):
        read = c_files.read(Path(spec))
        return f"{read.path}@{read.digest}"
    match = _FILE.fullmatch(spec)
    if match is None and rust_files.names(spec):
        return _pin_rust(rust_files.read(Path(spec)))
    if match is None:
        file = spec if spec.endswith(".py") else spec.partition(":")[0]
        if not file.endswith(".py"):
            raise ScenarioError(
                f"'{file}' is not a Python file; write for example ./mine.py:Mine, ./mine.rs, or ./tcp_mine.c for Linux"
            )
        found = [f"{file}:{name}" for name in _algorithms_in(_load_file(Path(file))[0])] or [f"{file}:Mine"]
        raise ScenarioError(f"'{spec}' names no class; write {' or '.join(found)}")
    path, name = Path(match["path"]), match["name"]
    module, text_digest = _load_file(path)
    maker = getattr(module, name, None)
    if maker is None:
        inside = _algorithms_in(module)
        raise ScenarioError(
            f"{path}: there is no '{name}' in it; {hint(name, inside) if inside else 'it has no algorithm'}"
        )
    _check_maker(maker, f"{path}:{name}")
    return _remember(f"{path.absolute()}:{name}", Loaded(maker, text_digest))


def known_library(path: Path) -> str:
    """The pinned name of a library that another process loads; this one only states scenarios with it.

    Raises:
        ScenarioError: there is no such file.
    """
    file = rust_files.read(path)

    def unchecked(**values: Any) -> Algorithm:
        return _InRust(str(path), values)

    return _remember(str(file.path), Loaded(unchecked, file.digest, library=str(path)))


def _pin_rust(file: rust_files.RustFile) -> str:
    spec = f"{file.path}@{file.digest}"
    if spec in _live:
        return spec
    built = str(rust_files.library(file))
    try:
        parameters = json.loads(catalog.engine().library_parameters(built))
    except ValueError as error:
        raise ScenarioError(f"{file.path}: {error}") from None

    def checked(**values: Any) -> Algorithm:
        try:
            catalog.engine().check_library(built, values)
        except ValueError as error:
            why, *parameter = error.args
            raise ScenarioError(why, path=next(iter(parameter), "")) from None
        return _InRust(built, values)

    if not any(parameter["required"] for parameter in parameters):
        checked()  # a panic is said before any run
    return _remember(str(file.path), Loaded(checked, file.digest, library=built))


class _InRust(Algorithm):
    """An algorithm of a library, by which the engine replaces it, with the values of its parameters."""

    def __init__(self, library: str, values: Mapping[str, Any]) -> None:
        self._library, self._parameters = library, dict(values)

    def on_ack(self, ack: Ack) -> None:
        """Rejects a call by anything but the engine."""
        raise TypeError("an algorithm in Rust is called by the engine")

    def on_congestion(self, signal: Signal) -> None:
        """Rejects a call by anything but the engine."""
        raise TypeError("an algorithm in Rust is called by the engine")


def _algorithms_in(module: ModuleType) -> list[str]:
    own = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Algorithm) and v is not Algorithm]
    return sorted({cls.__name__ for cls in own if cls.__module__ == module.__name__})


@cache
def _contract_text() -> bytes:
    """The text of the base class, which is part of the source because algorithms inherit from it."""
    return Path(contract.__file__).read_bytes()


def _load_file(path: Path) -> tuple[ModuleType, str]:
    """Run a file as a separate module, once for each version of its text; returns the module and the digest.

    Raises:
        ScenarioError: the file does not exist, or cannot be run.
    """
    try:
        text = reading.read_bytes(path, _MOST_BYTES)
    except FileNotFoundError:
        raise ScenarioError(reading.missing(path, "*.py")) from None
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error.message}") from None
    key = hashlib.sha256(str(path.absolute()).encode() + b"\0" + text).hexdigest()
    name = f"elephan_own_{key[:16]}"
    with _lock:
        if name not in sys.modules:
            sys.modules[name] = module = ModuleType(name)
            module.__file__ = str(path.absolute())
            try:
                with _own_code(f"{path}: ", path):
                    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
                    module.__dict__["__elephan_digest__"] = _digest_of_file(text, module)
            except BaseException:
                del sys.modules[name]
                raise
        module = sys.modules[name]
    return module, str(module.__dict__["__elephan_digest__"])


def _digest_of_file(text: bytes, module: ModuleType) -> str:
    """Digest of the file's text and of its external inputs: values, and code that is not installed."""
    walk = Walk([module.__name__], lenient=True)
    walk.text(_contract_text(), text)
    walk.add({name: value for name, value in vars(module).items() if not name.startswith("__")})
    return walk.hexdigest()


def _told(error: BaseException, path: Path | None = None) -> str:
    """A short description of an exception, with the line of the user's file that raised it."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    lines = [
        f.lineno for f in traceback.extract_tb(error.__traceback__) if path is not None and f.filename == str(path)
    ]
    where = f"line {lines[-1]}: " if lines else ""
    if isinstance(error, SystemExit):
        return f"{where}calls sys.exit({'' if error.code is None else repr(error.code)}); it must not end the program"
    help_ = "; a file is run alone: include the code that it needs, or install it" if _is_missing_module(error) else ""
    return f"{where}{type(error).__name__}: {error}{help_}"


def _is_missing_module(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError)


# ---- classes and functions ------------------------------------------------------------------------------------------


def _check_maker(maker: Any, name: str) -> None:
    if isinstance(maker, type):
        if not issubclass(maker, Algorithm):
            raise ScenarioError(f"{name} is not an algorithm; write class {maker.__name__}(elephan.Algorithm)")
        left = sorted(getattr(maker, "__abstractmethods__", ()))
        if left:
            raise ScenarioError(f"{name} is not finished: it has no {' and no '.join(left)}")
    elif not callable(maker):
        raise ScenarioError(f"{name} is not an algorithm but of type {type(maker).__name__}")


def _pin_object(maker: Any) -> str:
    name = getattr(maker, "__qualname__", type(maker).__name__)
    if isinstance(maker, partial):
        name = getattr(maker.func, "__qualname__", "partial")
    _check_maker(maker, name)

    def current() -> str:
        return _digest_of_object(maker, name)

    home = getattr(maker.func if isinstance(maker, partial) else maker, "__module__", None) or "__main__"
    return _remember(f"{home}:{name}", Loaded(maker, current(), current), numbered=True)


def _digest_of_object(maker: Any, name: str) -> str:
    """Digest of the code and the values that the class refers to; for an installed package, the digest of the text of
    the class's module."""
    walk = Walk()
    walk.text(_contract_text())
    home = str(getattr(maker, "__module__", "") or "")
    if installed(home):
        file = getattr(sys.modules.get(home), "__file__", None)
        walk.text(Path(file).read_bytes() if file else b"")
    try:
        walk.add(maker)
    except UnknownValueError as error:
        raise ScenarioError(
            f"{name} cannot be distinguished from others: it uses {error}; "
            "make it in on_start, or put the class into a file"
        ) from None
    return walk.hexdigest()


def _pin_imported(name: str, shown: str) -> str:
    """Import a class that another process pinned from its module.

    Raises:
        ScenarioError: the class was defined in a notebook or a program, or is missing.
    """
    match = _INDIRECT.fullmatch(name)
    home = match["module"] if match else ""
    gone = ScenarioError(
        f"{shown} was a class of a program or a notebook that has ended; give the class again, or put it into a file"
    )
    if match is None or home == "__main__" or home.startswith("elephan_own_") or "<" in match["name"]:
        raise gone
    try:
        found: Any = import_module(home)
        for part in match["name"].split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise gone from None
    return _pin_object(found)


# ---- entry points ---------------------------------------------------------------------------------------------------


@cache
def points() -> dict[str, EntryPoint]:
    """The algorithms of installed packages, by name; built-in names take precedence."""
    from importlib.metadata import entry_points  # slow: a tenth of the time of a command with a saved result

    built_in = catalog.algorithms()
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in built_in}


def _from_entry_point(name: str) -> Loaded:
    with _own_code(f"'{name}' of {package(name)} cannot be loaded: "):
        maker = points()[name].load()
    _check_maker(maker, f"'{name}' of {package(name)}")

    def current() -> str:
        walk = Walk()
        walk.text(package(name), _digest_of_object(maker, name))
        return walk.hexdigest()

    return Loaded(maker, current(), current)


def package(name: str) -> str:
    """The package of an entry point, with its version."""
    found = points()[name].dist
    return f"{found.name} {found.version}" if found is not None else points()[name].value


def describe(spec: str) -> dict[str, Any]:
    """The description of a user-defined algorithm in the same form as for built-in algorithms: title, text and
    parameters from the class.

    Raises:
        ScenarioError: the errors of :func:`pin`.
    """
    name = pin(spec)
    if in_c(name):
        return _described_in_c(name)
    if in_rust(name):
        return _described_in_rust(name)
    maker = _find(name).maker
    text = inspect.getdoc(maker) or ""
    source = package(spec) if spec in points() else str(_split(name)[0].rpartition(":")[0])
    parameters = [
        {"name": p.name, "doc": "", "source": ""} | ({} if p.default is p.empty else {"default": p.default})
        for p in (_signature(maker) or {}).values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    return {
        "name": spec,
        "title": text.partition("\n")[0].rstrip(".") or label(name),
        "kind": "python",
        "source": source,
        "doc": text,
        "presets": [],
        "parameters": parameters,
    }


def _described_in_c(spec: str) -> dict[str, Any]:
    found = c_file(spec)
    return {
        "name": found.label,
        "title": f"'{found.name}' for a Linux kernel, which the backend 'linux' compiles",
        "kind": "c",
        "source": str(found.path),
        "doc": "",
        "presets": [],
        "parameters": [{"name": name, "doc": kind, "source": ""} for name, kind in found.parameters.items()],
    }


def _described_in_rust(spec: str) -> dict[str, Any]:
    return {
        "name": label(spec),
        "title": f"'{short_label(spec)}', which is compiled against elephan-cc",
        "kind": "rust",
        "source": _split(spec)[0],
        "doc": "",
        "presets": [],
        "parameters": json.loads(catalog.engine().library_parameters(library(spec))),
    }


def listing() -> list[dict[str, Any]]:
    """The description of every entry point; if an entry point cannot be loaded, its title has the reason."""
    rows = []
    for name in sorted(points()):
        try:
            rows.append(describe(name))
        except ScenarioError as error:
            row = {"name": name, "title": error.message, "kind": "python", "source": package(name), "doc": ""}
            rows.append(row | {"presets": [], "parameters": []})
    return rows
