"""A digest of the behavior of Python code: the code, and the values that it refers to.

Two classes with the same digest behave identically, so a result of one class is also a result of the other class. Code
of the standard library, of installed packages and of this package is represented by its name. All other code is
included, through globals, closures, base classes and modules. Line numbers, comments and docstrings have no effect; the
interpreter's bytecode has an effect.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_NOT_BEHAVIOR = frozenset(
    f"__{name}__"
    for name in (
        "module", "qualname", "doc", "dict", "weakref", "annotations", "annotate", "annotate_func", "annotations_cache",
        "firstlineno", "slotnames", "static_attributes", "abstractmethods", "parameters",
    )
) | {"_abc_impl"}  # fmt: skip


class UnknownValueError(Exception):
    """An object whose value cannot be digested: an open file, a lock, a running generator."""


class Walk:
    """Computation of one digest.

    Args:
        written: modules whose functions and classes are digested as text; the caller adds the text.
        lenient: skip objects that cannot be digested, since the text contains their construction.
    """

    def __init__(self, written: Iterable[str] = (), *, lenient: bool = False) -> None:
        self._written = frozenset(written)
        self._lenient = lenient
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        self._hash = hashlib.sha256()

    def hexdigest(self) -> str:
        """Digest of everything added so far."""
        return self._hash.hexdigest()

    def text(self, *parts: object) -> None:
        """Add words, each with its length, so that different sequences of words differ."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def add(self, value: Any) -> None:
        """Add a value and everything on which its behavior depends.

        Raises:
            UnknownValueError: the behavior of an object cannot be digested.
        """
        if isinstance(value, _PLAIN):
            self.text(type(value).__name__, repr(value))
            return
        if id(value) in self._seen:
            self.text("again", self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)  # the reference keeps the object alive, so that no other object gets its id
        for kind, follow in _KINDS:
            if isinstance(value, kind):
                follow(self, value)
                return
        self._object(value)

    def _by_name(self, value: Any) -> bool:
        """Add the name of a function or class if its name represents it; false if the object must be added by its
        content."""
        home, name = str(value.__module__ or ""), value.__qualname__
        if home in self._written:
            self.text("written", name)
            return True
        if not installed(home) or _found(home, name) is not value:
            return False
        self.text("named", home, name)
        return True

    def _function(self, function: FunctionType) -> None:
        if self._by_name(function):
            return
        self.text("function", function.__name__)
        self._code(function.__code__)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.text("empty cell")
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self.text("global", name)
                self.add(function.__globals__[name])
        self.add(vars(function))

    def _code(self, code: CodeType) -> None:
        self.text("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.text(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        consts = code.co_consts
        # A docstring is the first constant of a function that has one.
        for const in consts[1:] if consts and isinstance(consts[0], str) else consts:
            if isinstance(const, CodeType):
                self._code(const)
            else:
                self.add(const)
        if consts and isinstance(consts[0], str):
            self.text(_used_docstring(code))

    def _class(self, cls: type) -> None:
        if self._by_name(cls):
            return
        self.text("class", cls.__name__)
        self.add(type(cls))
        for base in cls.__bases__:
            self.add(base)
        self._namespace({name: value for name, value in vars(cls).items() if name not in _NOT_BEHAVIOR})

    def _module(self, module: ModuleType) -> None:
        self.text("module", module.__name__, getattr(module, "__version__", ""))
        if module.__name__ not in self._written and not installed(module.__name__):
            self.namespace_of(module)

    def namespace_of(self, module: ModuleType) -> None:
        """Add the content of a module.

        Raises:
            UnknownValueError: an object in the module cannot be digested.
        """
        self._namespace({name: value for name, value in vars(module).items() if not name.startswith("__")})

    def _namespace(self, items: dict[str, Any]) -> None:
        for name in sorted(items):
            self.text("name", name)
            try:
                self.add(items[name])
            except UnknownValueError as error:
                if not self._lenient:
                    raise UnknownValueError(f"'{name}', {error}") from None
                self.text("untold")

    def _unordered(self, values: Iterable[Any]) -> None:
        digests = []
        for value in values:
            inner = Walk(self._written, lenient=self._lenient)
            inner.add(value)
            digests.append(inner.hexdigest())
        self.text("set", *sorted(digests))

    def _sequence(self, values: tuple[Any, ...] | list[Any]) -> None:
        self.text(type(values).__name__, len(values))
        if type(values) not in (tuple, list):
            self.add(type(values))
        for value in values:
            self.add(value)

    def _dict(self, values: Mapping[Any, Any]) -> None:
        self.text(type(values).__name__, len(values))
        if type(values) not in (dict, MappingProxyType):
            self.add(type(values))
        for key, value in values.items():
            self.add(key)
            self.add(value)

    def _object(self, value: Any) -> None:
        """Add any other object by the data from which pickle would rebuild it."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            self.text("wrapper", type(value).__qualname__)
            self.add(wrapped)
            return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001  (for any reason why it cannot be copied)
            raise UnknownValueError(f"a {type(value).__qualname__}") from None
        self.text("object", type(value).__module__, type(value).__qualname__)
        if isinstance(reduced, str):
            self.text(reduced)
            return
        for part in reduced:
            self.add(list(part) if hasattr(part, "__next__") else part)


def _found(module: str, name: str) -> Any:
    """The object that a module holds under a name. For a class created by a call, or a wrapper, only the presence of
    the object counts."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _used_docstring(code: CodeType) -> str:
    """The first constant of a function if the code reads this constant, otherwise "".

    A docstring is the first constant of its function, and no code reads it.
    """
    import dis

    read = any(i.opname == "LOAD_CONST" and i.arg == 0 for i in dis.get_instructions(code))
    return str(code.co_consts[0]) if read else ""


def _names(code: CodeType) -> set[str]:
    """Global names that a function and the functions in it may look up; the set may also have names of attributes,
    which do no harm."""
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found |= _names(const)
    return found


def _add_property(walk: Walk, value: property) -> None:
    walk.text("property")
    for accessor in (value.fget, value.fset, value.fdel):
        walk.add(accessor)


def _add_method(walk: Walk, value: staticmethod[..., Any] | classmethod[Any, ..., Any] | MethodType) -> None:
    walk.text(type(value).__name__)
    walk.add(value.__func__)
    if isinstance(value, MethodType):
        walk.add(value.__self__)


def _add_partial(walk: Walk, value: partial[Any]) -> None:
    walk.text("partial")
    for part in (value.func, value.args, value.keywords):
        walk.add(part)


def _add_builtin(walk: Walk, value: BuiltinFunctionType) -> None:
    walk.text("builtin", value.__module__, value.__qualname__)
    if value.__self__ is not None and not isinstance(value.__self__, ModuleType):
        walk.add(value.__self__)


_KINDS: list[tuple[Any, Callable[[Walk, Any], None]]] = [
    (FunctionType, Walk._function),
    (type, Walk._class),
    (ModuleType, Walk._module),
    (CodeType, Walk._code),
    (property, _add_property),
    ((staticmethod, classmethod, MethodType), _add_method),
    (partial, _add_partial),
    (BuiltinFunctionType, _add_builtin),
    ((tuple, list), Walk._sequence),
    ((set, frozenset), Walk._unordered),
    ((dict, MappingProxyType), Walk._dict),
]


@cache
def _library_folders() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({Path(sysconfig.get_paths()[name]).resolve() for name in names})


def installed(module: str) -> bool:
    """True if a module belongs to the interpreter, to an installed package, or to this program."""
    top = module.partition(".")[0]
    if top in ("elephan", "__main__"):
        return top == "elephan"  # otherwise it is a user's program, however it was started
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        # Namespace packages have no content of their own.
        return top in sys.builtin_module_names or top in sys.stdlib_module_names or hasattr(loaded, "__path__")
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _library_folders())
