"""The files of a crate skeleton, generated from a Python class, with ``todo!`` in place of the class's arithmetic."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan import _engine
from elephan.algorithm import Algorithm
from elephan.export.recording import record
from elephan.scenario import own
from elephan.scenario.catalog import algorithms
from elephan.scenario.errors import ScenarioError
from elephan.version import __version__
from elephan.writing import whole_file

_HERE = Path(__file__).resolve().parent
_RUST_WORDS = frozenset(
    (
        "as",
        "box",
        "const",
        "crate",
        "dyn",
        "enum",
        "extern",
        "fn",
        "impl",
        "let",
        "loop",
        "match",
        "mod",
        "move",
        "mut",
        "pub",
        "ref",
        "self",
        "static",
        "struct",
        "super",
        "trait",
        "type",
        "unsafe",
        "use",
        "where",
        "abstract",
        "become",
        "do",
        "final",
        "gen",
        "macro",
        "override",
        "priv",
        "try",
        "typeof",
        "unsized",
        "virtual",
    )
)
_CRATES = frozenset(("alloc", "core", "elephan-cc", "libm", "proc-macro", "std", "test"))
_TAKEN = frozenset(
    (
        "Ack", "Algorithm", "Ecn", "Event", "Lost", "Needs", "Observe", "Observer", "Parameters", "Restart", "Sent",
        "Signal", "Start",
    )
)  # fmt: skip
_EVENTS = {callback: (pattern, details) for callback, pattern, details in _engine.events()}
"""The pattern of each event and its details, by the name of its callback."""
_ARGUMENTS = {
    "on_ack": [("ack", "Ack")],
    **{callback: details for callback, (_, details) in _EVENTS.items()},
    "recovery_floor": [],
    "takes_reduction": [],
}
_OF_THE_TRAIT = {"on_ack": "", "recovery_floor": " -> f64", "takes_reduction": " -> bool"}
_INHERITED = {
    "on_start": "self.window = start.initial_window.max(1.0);\nself.ssthresh = start.initial_ssthresh.max(2.0);",
    "on_timeout": "if !signal.repeated {\n    self.ssthresh = (self.window / 2.0).max(2.0);\n}\nself.window = 1.0;",
    "moderate": "if window < self.window {\n    self.window = window.max(1.0);\n}",
}
_NEEDS = {"accurate_ecn": ("ecn", "Ecn::Accurate"), "l4s": ("ecn", "Ecn::L4s")}


@dataclass(frozen=True)
class Crate:
    """Rust crate of a class: the crate's name, the class, its parameters and the recording."""

    spec: str
    name: str
    made: Algorithm
    parameters: Mapping[str, float | str]
    lines: list[str]

    @property
    def class_name(self) -> str:
        """The type in Rust: the Python class's name."""
        return type(self.made).__name__


def crate_of(spec: str, given: Mapping[str, Any]) -> Crate:
    """Load an algorithm, and record it.

    Args:
        spec: ``./mine.py:Mine``, or an entry point of an installed package.
        given: parameters without a default, or different from the default.

    Raises:
        ScenarioError: there is no such class, the algorithm is built in, or a parameter has an unsupported type.
        AlgorithmError: the class raised an exception during the recording.
    """
    if spec.partition(":")[0] in algorithms():
        raise ScenarioError(f"'{spec}' is built in, and is in Rust already: the crate elephan-cc has it")
    pinned = own.pin(spec)
    if not own.pinned(pinned):
        raise ScenarioError(f"'{spec}' is not a user-defined algorithm; write for example ./mine.py:Mine")
    if own.in_rust(pinned):
        raise ScenarioError(f"'{spec}' is in Rust already")
    own.check_parameters(pinned, given)
    declared = {p["name"]: p.get("default") for p in own.describe(spec)["parameters"]}
    parameters = {name: _checked(name, value) for name, value in (declared | dict(given)).items()}
    made = own.make(pinned, given)
    if type(made).__name__ in _TAKEN:
        raise ScenarioError(f"'{type(made).__name__}' is a type of elephan-cc too: give the class another name")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(made).__name__).replace("_", "-").strip("-").lower()
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or name in _RUST_WORDS | _CRATES:
        raise ScenarioError(f"'{type(made).__name__}' cannot be the name of a crate: give the class another name")
    return Crate(spec, name, made, parameters, record(spec, given))


def _checked(name: str, value: Any) -> float | str:
    if name in _RUST_WORDS or not name.isascii():
        raise ScenarioError("is a word of Rust, or not in ASCII; give the parameter another name", path=name)
    if not isinstance(value, bool | int | float | str):
        raise ScenarioError(f"is {value!r}; a crate's parameters are numbers, words, and yes or no", path=name)
    return value


def write(crate: Crate, folder: Path) -> list[Path]:
    """Write the skeleton into a new or empty folder.

    Raises:
        ScenarioError: the folder is not empty.
        OSError: a file cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(
            f"'{folder}' is there already, and is left alone; choose --out, or --recording to renew its recording only"
        )
    texts = {
        "Cargo.toml": _manifest(crate),
        "src/lib.rs": _source(crate),
        "tests/twin.rs": _twin(crate),
        "tests/sequence.txt": _sequence(crate),
    }
    return [_put(folder / name, text) for name, text in texts.items()]


def write_recording(crate: Crate, folder: Path) -> list[Path]:
    """Replace the recording of an exported crate.

    Raises:
        ScenarioError: the folder has no exported crate.
        OSError: a file cannot be written.
    """
    if not (folder / "tests/twin.rs").is_file():
        raise ScenarioError(
            f"'{folder}' is no exported crate: it has no tests/twin.rs; leave --recording out to write one"
        )
    return [_put(folder / "tests/sequence.txt", _sequence(crate))]


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path


def _sequence(crate: Crate) -> str:
    return "\n".join(crate.lines) + "\n"


def _manifest(crate: Crate) -> str:
    checkout = _HERE.parents[3] / "crates/cc"
    version = f'version = "{__version__.partition("+")[0]}"'
    where = f'{version}, path = "{checkout}"' if (checkout / "Cargo.toml").is_file() else version
    return (
        f'[package]\nname = "{crate.name}"\nversion = "0.1.0"\nedition = "2024"\npublish = false\n\n'
        f"[dependencies]\nelephan-cc = {{ {where} }}\n\n[workspace]\n"
    )


def _twin(crate: Crate) -> str:
    text = (_HERE / "twin.rs.txt").read_text(encoding="utf-8")
    module = crate.name.replace("-", "_")
    known = {"SPEC": crate.spec, "MODULE": module, "CLASS": crate.class_name, "EVENTS": _read_events()}
    for word, value in known.items():
        text = text.replace(f"@{word}@", value)
    return text


def _source(crate: Crate) -> str:
    doc = inspect.getdoc(type(crate.made)) or f"{crate.class_name}, an algorithm of one's own."
    parts = [
        *(f"//! {line}".rstrip() for line in doc.splitlines()),
        "//!",
        f"//! Written by `elephan export {crate.spec} --to rust`: fill in the arithmetic of the Python class.",
        "",
        "#![allow(dead_code, unused_imports)] // until nothing is left to do",
        "",
        "use elephan_cc::linux::{self, Restart};",
        "use elephan_cc::{Ack, Algorithm, Ecn, Event, Lost, Needs, Observe, Observer, Sent, Signal, Start};",
        "",
        _parameters(crate),
        _state(crate),
        _observe(crate),
        _algorithm(crate),
    ]
    return "\n".join(parts)


def _parameters(crate: Crate) -> str:
    fields = "".join(
        f"    /// The Python class's `{n}`.\n    pub {n}: {_type(v)},\n" for n, v in crate.parameters.items()
    )
    values = "".join(f"            {n}: {_value(v)},\n" for n, v in crate.parameters.items())
    body = f"{{\n{fields}}}" if fields else "{}"
    made = f"Self {{\n{values}        }}" if values else "Self {}"
    return (
        f"/// What can be set.\n#[derive(Clone, Debug)]\npub struct Parameters {body}\n\n"
        f"impl Default for Parameters {{\n    fn default() -> Self {{\n        {made}\n    }}\n}}\n"
    )


def _state(crate: Crate) -> str:
    fields, values = [], []
    for name, value in _attributes(crate).items():
        if isinstance(value, bool | int | float | str) and name not in _RUST_WORDS and name.isascii():
            fields.append(f"    {name}: {_type(value)},\n")
            values.append(f"            {name}: {_value(value)},\n")
        else:
            fields.append(f"    // {name}: {type(value).__name__} in Python\n")
    return (
        f"/// The controller of one connection.\n#[derive(Clone, Debug)]\npub struct {crate.class_name} {{\n"
        "    parameters: Parameters,\n    /// Congestion window, segments.\n    window: f64,\n"
        "    /// Slow start threshold, segments.\n    ssthresh: f64,\n"
        f"    /// Segments per second, where it paces.\n    pacing_rate: Option<f64>,\n{''.join(fields)}}}\n\n"
        f"impl {crate.class_name} {{\n    /// A controller that has heard of nothing yet.\n    #[must_use]\n"
        "    pub fn new(parameters: Parameters) -> Self {\n        Self {\n            parameters,\n"
        "            window: 1.0,\n            ssthresh: f64::INFINITY,\n            pacing_rate: None,\n"
        f"{''.join(values)}        }}\n    }}\n}}\n\n"
        f"impl Default for {crate.class_name} {{\n    fn default() -> Self {{\n"
        "        Self::new(Parameters::default())\n    }\n}\n"
    )


def _attributes(crate: Crate) -> dict[str, Any]:
    """Attributes of the object other than its parameters and the attributes that the endpoint reads."""
    known = {"window", "ssthresh", "pacing_rate", "recovery_floor", "needs", *crate.parameters}
    return {name: value for name, value in vars(crate.made).items() if name not in known}


def _observe(crate: Crate) -> str:
    names = re.findall(r"observe\.(\S+?)=", crate.lines[0])
    if not names:
        return f"impl Observe for {crate.class_name} {{}}\n"
    body = "\n".join(f'        observer("{name}", todo!("observe: {name}"));' for name in names)
    return (
        f"impl Observe for {crate.class_name} {{\n    fn observe(&self, observer: &mut Observer<'_>) {{\n"
        f"{body}\n    }}\n}}\n"
    )


def _algorithm(crate: Crate) -> str:
    methods = {name: text for name in _ARGUMENTS if (text := _method(crate, name))}
    of_events = {name: text for name, text in methods.items() if name in _EVENTS}
    own_type = crate.class_name
    answers = [
        _on_event(tuple(of_events)),
        "    fn window(&self) -> f64 {\n        self.window\n    }\n",
        "    fn ssthresh(&self) -> f64 {\n        self.ssthresh\n    }\n",
        "    fn pacing_rate(&self) -> Option<f64> {\n        self.pacing_rate\n    }\n",
        f"    fn needs(&self) -> Needs {{\n        {_needs(crate)}\n    }}\n",
        "    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {\n"
        "        Some(Box::new(self.clone()))\n    }\n",
    ]
    of_the_trait = [methods[name] for name in _OF_THE_TRAIT if name in methods]
    return (
        f"impl {own_type} {{\n" + "\n".join(of_events.values()) + "}\n\n"
        f"impl Algorithm for {own_type} {{\n" + "\n".join([*of_the_trait, *answers]) + "}\n"
    )


def _is_structure(details: list[tuple[str, str]]) -> bool:
    return details[0][1][0].isupper()


def _event(callback: str, texts: Iterable[str]) -> str:
    """An event in Rust, as a pattern or as an expression, with the texts of its details."""
    head, details = _EVENTS[callback]
    body = f"({', '.join(texts)})" if _is_structure(details) else f" {{ {', '.join(texts)} }}"
    return head + body + ")" * head.count("(")


def _on_event(names: tuple[str, ...]) -> str:
    """Text of `on_event`, which calls the methods of `names`."""
    arms = []
    for name in names:
        ref = "ref " if _is_structure(_EVENTS[name][1]) else ""
        pattern = _event(name, (ref + detail for detail, _ in _EVENTS[name][1]))
        if name == "moderate" and "keep" not in names:
            pattern += " | Event::Keep { window }"
        arguments = ", ".join(detail for detail, _ in _EVENTS[name][1])
        arms.append(f"            {pattern} => self.{name}({arguments}),\n")
    return (
        "    fn on_event(&mut self, event: &Event) {\n        match *event {\n"
        f"{''.join(arms)}            _ => {{}}\n        }}\n    }}\n"
    )


def _read_events() -> str:
    """The cases of the twin test that read an event of each callback from a recording's words."""

    def value(name: str, kind: str) -> str:
        if kind[0].isupper():
            return f"{kind.lower()}(w)"
        return f'{name}: w.number("{name}")' + ("" if kind == "f64" else f" as {kind}")

    texts = {callback: [value(*detail) for detail in details] for callback, (_, details) in _EVENTS.items()}
    return "".join(f'        "{callback}" => {_event(callback, texts[callback])},\n' for callback in texts)


def _method(crate: Crate, name: str) -> str:
    """Text of a callback: the base class's arithmetic if it is inherited, otherwise the Python text and a note on the
    missing code."""
    details = _ARGUMENTS[name]
    arguments = "".join(f", {detail}: {'&' if kind[0].isupper() else ''}{kind}" for detail, kind in details)
    receiver = "&self" if name == "recovery_floor" else "&mut self"
    head = f"    fn {name}({receiver}{arguments}){_OF_THE_TRAIT.get(name, '')} {{\n"
    if getattr(type(crate.made), name) is getattr(Algorithm, name):
        text = _INHERITED.get(name)
        return f"{head}{textwrap.indent(text, ' ' * 8)}\n    }}\n" if text else ""
    shown = "".join(f"{', ' if i else ': '}{{{detail}:?}}" for i, (detail, _) in enumerate(details))
    python = "".join(f"        // {line}".rstrip() + "\n" for line in _python(type(crate.made), name).splitlines())
    return f'{head}{python}        todo!("{name}{shown}")\n    }}\n'


def _python(cls: type, name: str) -> str:
    found = inspect.getattr_static(cls, name)
    try:
        function: Any = found.fget if isinstance(found, property) else found
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _needs(crate: Crate) -> str:
    fields = [(_NEEDS.get(word, (word, "true"))) for word in crate.made._needs()]
    if not fields:
        return "Needs::default()"
    return f"Needs {{ {', '.join(f'{name}: {value}' for name, value in fields)}, ..Needs::default() }}"


def _type(value: object) -> str:
    return {bool: "bool", str: "String"}.get(type(value), "f64")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in value)
        return f'"{escaped}".to_owned()'
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return "f64::NAN"
    if math.isinf(number):
        return "f64::INFINITY" if number > 0 else "f64::NEG_INFINITY"
    return repr(number)
