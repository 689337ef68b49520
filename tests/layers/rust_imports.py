"""Reader of the imports among the files of a Rust crate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tests.layers.graph import Imports

ModulePath = tuple[str, ...]
"""Names from the crate's root to a module; empty for the root."""

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | //[^\n]* )
    | (?P<literal>
        [bc]?r(?P<hashes>\#*)".*?"(?P=hashes)   # a raw string
        | [bc]?"(?:\\.|[^"\\])*"
        | b?'(?:\\.[^']*|[^'\\])'               # a character, before the lifetimes
        | '\w+
    )
    | (?P<token> (?:r\#)?\w+ | :: | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ITEMS = {
    "async", "const", "enum", "extern", "fn", "impl", "macro_rules", "mod", "static", "struct", "trait", "type",
    "union", "unsafe", "use",
}  # fmt: skip


@dataclass(frozen=True)
class Token:
    """A word or a sign, outside of comments and literals."""

    text: str
    line: int

    @property
    def is_word(self) -> bool:
        """True for names, keywords and numbers."""
        return self.text[0].isalnum() or self.text[0] == "_"


@dataclass(frozen=True)
class Named:
    """A path as the source has it: a use of something, or one name of a ``use`` declaration.

    Attributes:
        path: its segments.
        line: the line where it is.
        name: the name that a ``use`` declaration gives it; empty for a glob and outside of declarations.
        exported: the declaration is a ``pub use``.
    """

    path: tuple[str, ...]
    line: int
    name: str = ""
    exported: bool = False


@dataclass
class Module:
    """A module, of a file or within one.

    Attributes:
        file: relative to the source folder.
        paths: everything that it names.
        words: the words outside of ``use`` declarations.
        tests: its submodules in files of their own that are compiled for tests only.
    """

    file: str
    paths: list[Named] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    tests: list[str] = field(default_factory=list)

    @cached_property
    def names(self) -> dict[str, Named]:
        """The paths that ``use`` declarations give a name here; for when the module is read."""
        return {named.name: named for named in self.paths if named.name}

    def imports(self, named: Named) -> bool:
        """False for a name that this module only re-exports."""
        return not (named.exported and named.name) or named.name in self.words


def read_imports(source: Path) -> Imports:
    """Reads each file of a crate's source folder, without comments, literals, attributes and tests.

    A file imports the files of the items that it names: in ``use`` declarations and in paths that begin with ``crate``,
    ``self``, ``super``, a submodule or an imported name. A re-exported name counts as the file that defines it; a name
    behind a glob, as the file with the glob. Neither ``mod x;`` nor ``pub use x::Y;`` is an import, unless the file
    itself uses the name.

    Raises:
        ValueError: the source has something that is not understood.
    """
    modules: dict[ModulePath, Module] = {}
    for path in sorted(source.rglob("*.rs")):
        file = path.relative_to(source)
        place = _place(file)
        if place in modules:
            raise ValueError(f"{file} and {modules[place].file} are the same module")
        _Reader(file.as_posix(), tokens(path.read_text(encoding="utf-8")), modules).read(place)
    tests = [(*place, name) for place, module in modules.items() for name in module.tests]
    modules = {place: module for place, module in modules.items() if not any(_below(place, test) for test in tests)}
    imports: Imports = {module.file: {} for module in modules.values()}
    for place, module in modules.items():
        for named in filter(module.imports, module.paths):
            found = _target(modules, place, named.path)
            if found is not None and modules[found[0]].file != module.file:
                imports[module.file].setdefault(modules[found[0]].file, named.line)
    return imports


def _place(file: Path) -> ModulePath:
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _below(place: ModulePath, other: ModulePath) -> bool:
    return place[: len(other)] == other


def tokens(text: str) -> list[Token]:
    """The words and signs of a file, without comments and literals; ``::`` is one sign."""
    found = []
    at, line = 0, 1
    while at < len(text):
        if text.startswith("/*", at):
            end = _past_comment(text, at)
        else:
            match = _TOKEN.match(text, at)
            assert match is not None, "the last alternative matches anything"
            end = match.end()
            if match["token"]:
                found.append(Token(match["token"].removeprefix("r#"), line))
        line += text.count("\n", at, end)
        at = end
    return found


def _past_comment(text: str, at: int) -> int:
    """The end of a block comment; they nest."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    return len(text)


class _Reader:
    """Reads the tokens of one file into modules."""

    def __init__(self, file: str, found: Sequence[Token], modules: dict[ModulePath, Module]) -> None:
        self._file = file
        self._tokens = found
        self._modules = modules

    def read(self, place: ModulePath, at: int = 0, end: int | None = None) -> None:
        """Read a module between two tokens."""
        module = self._modules.setdefault(place, Module(self._file))
        end = len(self._tokens) if end is None else end
        while at < end:
            at = self._step(place, module, at)

    def _text(self, at: int) -> str:
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _step(self, place: ModulePath, module: Module, at: int) -> int:
        """Read what begins at a token; the token after it."""
        text = self._text(at)
        if text == "#" and self._text(at + 1) == "[":
            return self._attribute(module, at)
        if text == "pub":
            after = self._past_visibility(at)
            if self._text(after) != "use":
                return after
            found, after = self._use(after + 1, ())
            module.paths += [replace(named, exported=True) for named in found]
            return after
        if text == "mod" and self._text(at + 2) == ";":
            return at + 3
        if text == "mod" and self._text(at + 2) == "{":
            after = self._past_group(at + 2)
            self.read((*place, self._text(at + 1)), at + 3, after - 1)
            return after
        if text == "use" and self._text(at + 1) != "<":
            found, after = self._use(at + 1, ())
            module.paths += found
            return after
        if self._tokens[at].is_word:
            return self._path(module, at)
        return at + 1

    def _past_visibility(self, at: int) -> int:
        """The token after ``pub``, ``pub(crate)`` or ``pub(in …)``; a field may be ``pub (crate::A, B)``."""
        restricted = self._text(at + 2) == "in" or self._text(at + 3) == ")"
        return self._past_group(at + 1) if self._text(at + 1) == "(" and restricted else at + 1

    def _past_group(self, at: int) -> int:
        """The token after the bracket that closes the one at ``at``."""
        closing = [_CLOSING[self._text(at)]]
        while closing:
            at += 1
            text = self._text(at)
            if text in _CLOSING:
                closing.append(_CLOSING[text])
            elif text == closing[-1]:
                closing.pop()
            elif text in ("", *_CLOSING.values()):
                raise ValueError(f"{self._file}: brackets do not match near line {self._tokens[at - 1].line}")
        return at + 1

    def _attribute(self, module: Module, at: int) -> int:
        """Skip an attribute, and with ``cfg(test)`` the item that has it."""
        after = self._past_group(at + 1)
        words = [token.text for token in self._tokens[at + 2 : after - 1]]
        if words[:3] not in (["cfg", "(", "test"], ["cfg", "(", "all"]) or "test" not in words or "not" in words:
            return after
        while self._text(after) == "#":
            after = self._past_group(after + 1)
        if self._text(after) == "pub":
            after = self._past_visibility(after)
        if self._text(after) not in _ITEMS:
            raise ValueError(f"{self._file}:{self._tokens[at].line}: cfg(test) of something that is not an item")
        if self._text(after) == "mod" and self._text(after + 2) == ";":
            module.tests.append(self._text(after + 1))
        while self._text(after) not in (";", "{", ""):
            after = self._past_group(after) if self._text(after) in _CLOSING else after + 1
        return self._past_group(after) if self._text(after) == "{" else after + 1

    def _use(self, at: int, prefix: tuple[str, ...]) -> tuple[list[Named], int]:
        """The names of a ``use`` tree, and the token after it."""
        path = prefix
        while True:
            text = self._text(at)
            if text == "{":
                found: list[Named] = []
                while self._text(at) != "}":
                    at += 1  # the opening bracket, then the commas
                    if self._text(at) != "}":
                        more, at = self._use(at, path)
                        found += more
                return found, at + 1
            if text == "*":
                return [Named(path, self._tokens[at].line)], at + 1
            if text not in ("$", "::"):
                path = (*path, text)
                if self._text(at + 1) != "::":
                    break
            at += 1
        line, at = self._tokens[at].line, at + 1
        path = path[:-1] if path[-1] == "self" and len(path) > 1 else path
        if self._text(at) == "as":
            return [Named(path, line, self._text(at + 1))], at + 2
        return [Named(path, line, path[-1])], at

    def _path(self, module: Module, at: int) -> int:
        """Read a word, and the path that begins with it; the token after it."""
        inner = at > 0 and self._text(at - 1) in (".", "::")
        path, line = [self._text(at)], self._tokens[at].line
        at += 1
        while self._text(at) == "::" and at + 1 < len(self._tokens) and self._tokens[at + 1].is_word:
            path.append(self._text(at + 1))
            at += 2
        if not inner:
            module.words.add(path[0])
        if len(path) > 1 and not inner:
            module.paths.append(Named(tuple(path), line))
        return at


def _target(
    modules: dict[ModulePath, Module],
    place: ModulePath,
    path: tuple[str, ...],
    seen: frozenset[tuple[ModulePath, str]] = frozenset(),
) -> tuple[ModulePath, bool] | None:
    """The module that a path leads to, or that defines the item there; and true for a module itself.

    ``None`` for a path out of the crate.
    """
    if path[0] == "crate":
        return _walk(modules, (), path[1:], seen)
    if path[0] in ("self", "super"):
        above = 0
        while path and path[0] in ("self", "super"):
            above += path[0] == "super"
            path = path[1:]
        return _walk(modules, place[: len(place) - above], path, seen)
    if (*place, path[0]) in modules or (path[0] in modules[place].names and (place, path[0]) not in seen):
        return _walk(modules, place, path, seen)
    return None


def _walk(
    modules: dict[ModulePath, Module],
    place: ModulePath,
    path: Sequence[str],
    seen: frozenset[tuple[ModulePath, str]],
) -> tuple[ModulePath, bool] | None:
    for name in path:
        if (*place, name) in modules:
            place = (*place, name)
            continue
        named = modules[place].names.get(name)
        if named is None or (place, name) in seen:
            return place, False
        found = _target(modules, place, named.path, seen | {(place, name)})
        if found is None:  # out of the crate; a single name is a macro of this module, which only `use` makes a path
            return (place, False) if len(named.path) == 1 else None
        place, is_module = found
        if not is_module:
            return found
    return place, True
