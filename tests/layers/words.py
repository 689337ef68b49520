"""The words of plain technical English that the project's prose keeps to, and the beginnings of its comments.

A :class:`Word` is an expression of ours whose meaning a reader has to guess, with the term of the field. Names in code
count too: they appear in documentation and in error lines.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Word:
    """An expression that is not to be used.

    Attributes:
        pattern: regular expression; matched without regard to case, and across one line break.
        instead: the term to write.
        allowed: files in which it is a term of the field or of an old file format, as glob patterns of their paths.
    """

    pattern: str
    instead: str
    allowed: tuple[str, ...] = ()


_OF = r"the (?:window|bandwidth|capacity|goodput|BDP|rate|target|excess|segments|draws|way to)"

WORDS = (
    Word(r"\bhabitats?\b", "backend", ("python/elephan/runs/*.py", "python/elephan/cli/main.py",
         "tests/runs/*", "tests/backends/test_backends_by_name.py")),
    Word(r"\b(?:smallest |largest |a |this |what |which )?part of " + _OF + r"\b", "fraction, share or component"),
    Word(r"\bin parts of\b|\bas a part of\b", "as a fraction of"),
    Word(r"\blate[- _]?comers?(?![a-z]|'?s? advantage)", "late-starting flow",
         ("python/elephan/metrics/throughput.py", "python/elephan/web/lessons.toml")),
    Word(r"\b(?:our|other|another|either|all|which|what|this) readings?\b", "variant or interpretation"),
    Word(r"\bway back\b", "reverse path"),
    Word(r"\bthe other way\b", "on the reverse path, or in the opposite direction"),
    Word(r"\b(?:hang|hangs|hanging|hung) (?:little |much )?on\b", "depend on"),
    Word(r"(?<!contain )(?<!contains )\bin the mean\b", "on average"),
    Word(r"\bdistance of samples\b", "sampling interval"),
    Word(r"\bon[ _]the[ _]spot\b", "evaluated inline"),
    Word(r"\bplain sailing\b|\bwith care\b", "fast path, slow path"),
    Word(r"\bhas a place\b|\bhave a place\b", "slot"),
    Word(r"\b(?:attend|attends|attended|attending)\b", "name the concept after what it is"),
    Word(r"\b(?:lane|passage)s?\b", "name the concept after what it is",
         ("ARCHITECTURE.md", "crates/sim/src/*.rs")),
    Word(r"\bthe house\b|\bthis house\b|\bhouse rules?\b", "crate, package, module"),
    Word(r"\bbegins? of\b|\btells? of\b", "start, loss event; report"),
    Word(r"\bbelievable\b", "valid, and the check that failed",
         ("python/elephan/runs/saved.py", "python/elephan/backends/kernel/calibration.py",
          "tests/runs/test_formats.py", "tests/kernel/test_calibration.py")),
    Word(r"\bno findings?\b|\bfindings?\.toml\b|\[\[finding\]\]", "explanation of a difference"),
    Word(r"\b(?:gets?|got) hurt\b", "harm to other flows"),
    Word(r"\bwho(?:so)?ever\b", "the noun: the caller, the flow, the process"),
)  # fmt: skip

OPENINGS = re.compile(r"(?:What|Where|Whether|Of|As|Who|Whose|Whoever)\b")
"""First words of a comment or a docstring that stand in place of a noun."""

_COMMENT = re.compile(r"\s*(?://[/!]?|/\*\*?|\*)\s+(?P<text>.*)$")
_MARK = re.compile(r"^\s*(?://[/!]?|/\*\*?|\*|#+)?\s*")

_BREAK = re.compile(r"\n\s*(?://[/!]?|/\*\*?|\*|#+)?\s*")


def found(path: str, text: str, words: Iterable[Word] = WORDS) -> Iterator[str]:
    """Lines of a file with an expression of the table, and the term to write."""
    words, lines = tuple(words), text.splitlines()
    any_of = re.compile("|".join(word.pattern for word in words), re.IGNORECASE)
    if not any_of.search(_BREAK.sub(" ", text)):
        return
    for number, line in enumerate(lines, 1):
        after = _MARK.sub("", lines[number]) if number < len(lines) else ""
        both = f"{line} {after}"
        for word in words if any_of.search(both) else ():
            match = re.search(word.pattern, both, re.IGNORECASE)
            if match and match.start() < len(line) and not any(fnmatchcase(path, each) for each in word.allowed):
                yield f"{path}:{number}: '{match.group()}'; write {word.instead}"


def openings(path: str, text: str) -> Iterator[str]:
    """Lines of a file at which a comment or a docstring begins with a word that stands in place of a noun."""
    begun = _begun_in_python(text) if path.endswith(".py") else _begun_elsewhere(text)
    for number, comment in begun:
        if OPENINGS.match(comment):
            yield f"{path}:{number}: '{comment.splitlines()[0][:60]}'; begin with a noun phrase or a verb"


def _begun_in_python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()
    before = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != before + 1:
                yield token.start[0], token.string.lstrip("#! ")
            before = token.start[0]


def _begun_elsewhere(text: str) -> Iterator[tuple[int, str]]:
    """Comments of Rust, C and TypeScript; a paragraph of one counts as another."""
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        match = _COMMENT.match(line)
        if match and not goes_on:
            yield number, match["text"]
        goes_on = match is not None
