"""Review of a candidate in Rust: arithmetic, with what ``elephan-cc``, ``libm`` and some modules of ``std`` have.

The compiler forbids ``unsafe``. The review rejects, with the line, what would let a candidate read a clock or a file,
while it runs or while it is compiled, or share state between flows.
"""

from __future__ import annotations

from elephan.design.reviewed import ReviewError
from elephan.scenario.rust_files import CRATES, RustFile, words

MODULES = (
    "array", "borrow", "boxed", "clone", "cmp", "collections", "convert", "default", "error", "f32", "f64", "fmt",
    "hash", "i32", "i64", "iter", "marker", "mem", "num", "ops", "option", "primitive", "rc", "result", "slice", "str",
    "string", "u32", "u64", "vec",
)  # fmt: skip
"""Modules of ``std``, ``core`` and ``alloc`` that a candidate may use."""
_STANDARD = ("std", "core", "alloc")
_WORDS = {
    "unsafe": "is unsafe",
    "static": "has a static, which flows would share; keep state in the algorithm",
    "thread_local": "has thread-local state, which flows would share; keep state in the algorithm",
    "extern": "links other code",
    "macro_rules": "defines a macro; write a function",
    "asm": "has assembly",
    "global_asm": "has assembly",
    "include": "reads a file",
    "include_str": "reads a file",
    "include_bytes": "reads a file",
    "env": "reads the environment",
    "option_env": "reads the environment",
    "print": "prints", "println": "prints", "eprint": "prints", "eprintln": "prints", "dbg": "prints",
    "RandomState": "draws without a seed; draw from elephan_cc::draws, seeded by Start::seed",
    "HashMap": "has an order that is not seeded; use BTreeMap",
    "HashSet": "has an order that is not seeded; use BTreeSet",
}  # fmt: skip
_CALLED = ("thread_local", "macro_rules", "asm", "global_asm", "include", "include_str", "include_bytes", "env",
           "option_env", "print", "println", "eprint", "eprintln", "dbg")  # fmt: skip
"""Those that are macros, and otherwise ordinary names."""
_ATTRIBUTES = ("path", "link", "no_mangle", "export_name", "link_section", "global_allocator", "feature", "macro_use")


def review(file: RustFile) -> None:
    """Reject what an algorithm has no use for.

    Raises:
        ReviewError: the text has something of this kind.
    """
    for name, text in file.texts.items():
        where = f"{name}, " if len(file.texts) > 1 else ""
        _review(list(words(text)), where, single=len(file.texts) == 1)


def _review(found: list[tuple[int, str]], where: str, *, single: bool) -> None:
    plain = [word for _, word in found] + [""] * 3
    for i, (line, word) in enumerate(found):
        following = plain[i + 1 : i + 4]
        if word in _WORDS and (word not in _CALLED or following[0] == "!"):
            raise ReviewError(f"{where}line {line}: {_WORDS[word]}")
        if word in _STANDARD and (following[0] in ("::", "as") or plain[i - 1] == "use"):
            _check_standard(plain, i, f"{where}line {line}")
        if word == "#" and "[" in following[:2]:
            _check_attribute(plain, i + 1 + following.index("["), f"{where}line {line}")
        if single and word == "mod" and following[1] == ";":
            message = f"has its module {following[0]} in another file; score the crate's folder"
            raise ReviewError(f"{where}line {line}: {message}")


def _check_standard(plain: list[str], i: int, where: str) -> None:
    """Reject all but some modules of the standard library, also in ``use std::{...}``."""
    if plain[i + 1] != "::":
        raise ReviewError(f"{where}: uses {plain[i]} as a whole; name what is used, such as std::collections::BTreeMap")
    for name in [plain[i + 2]] if plain[i + 2] != "{" else _first_names(plain, i + 3):
        if name not in MODULES:
            message = f"uses {plain[i]}::{name}; a candidate is arithmetic and may use {', '.join(MODULES)}"
            raise ReviewError(f"{where}: {message}")


def _first_names(plain: list[str], start: int) -> list[str]:
    """First names of the paths in a group of ``use``."""
    depth, names, is_first = 1, [], True
    for word in plain[start:]:
        depth += {"{": 1, "}": -1}.get(word, 0)
        if depth == 0 or not word:
            break
        if depth == 1 and word == ",":
            is_first = True
        elif is_first:
            names.append(word)
            is_first = False
    return names


def _check_attribute(plain: list[str], bracket: int, where: str) -> None:
    for word in plain[bracket + 1 :]:
        if word == "]":
            return
        if word in _ATTRIBUTES:
            raise ReviewError(f"{where}: has the attribute {word}, for which a candidate has no use")


__all__ = ["CRATES", "MODULES", "review"]
