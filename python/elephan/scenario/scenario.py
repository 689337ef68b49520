"""`Scenario`: the description of one experiment."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from elephan.algorithm import Algorithm
from elephan.scenario import commands, document, named, own, perturbation, reading, traces
from elephan.scenario.canonical import canonical_form, canonical_json, flow_name, form_hash, source_name
from elephan.scenario.cautions import cautions, randomness
from elephan.scenario.check import check_scenario, check_with_engine
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.fields import parse_seed
from elephan.scenario.form import Spec
from elephan.scenario.graph import Graph, build_graph
from elephan.scenario.groups import member_name, member_start_ps, without_groups
from elephan.scenario.impairments import OVER_TIME
from elephan.scenario.overrides import MOST_PARTS, apply_overrides, check_depth
from elephan.scenario.schema import HOSTS, TABLES, ScenarioTable, field_names
from elephan.scenario.table import Table
from elephan.scenario.timed import TimedTable, toml
from elephan.scenario.toml import Inline, write_toml
from elephan.scenario.units import format_time
from elephan.scenario.words import hint, nearest

REQUIRED = ""
"""Default of required arguments, so that an error names a misspelled argument and not the missing argument."""


class Scenario(ScenarioTable):
    """A path, the flows on it, and the measurements. A scenario is immutable.

    Build a scenario with :meth:`load` (a TOML file), :meth:`dumbbell` (in three lines of Python) or :meth:`from_dict`.
    Fields have the names of the TOML file; their values are exact integers (bit/s, ps, bytes).

    Raises:
        ScenarioError: the scenario has an error; the message is one line that names the field.
    """

    def __init__(self, **tables: Any) -> None:
        self._state(tables)
        check_with_engine(self.canonical_json(), self, self.graph)

    def __dir__(self) -> list[str]:
        """The names of a scenario without those of pydantic's models."""
        return sorted(set(super().__dir__()) - set(dir(BaseModel)))

    def _state(self, tables: Mapping[str, Any]) -> None:
        _refuse_huge(tables)
        try:
            super().__init__(**named.expand(tables))
        except ValidationError as error:
            raise _in_user_fields(_first_problem(error), tables) from None
        try:
            check_scenario(self, self.graph)
        except ScenarioError as error:
            raise _in_user_fields(error, tables) from None

    @classmethod
    def for_engine(cls, tables: Mapping[str, Any]) -> Scenario:
        """A scenario like that of :meth:`from_dict`, but without the checks that the engine makes at the beginning of a
        run, for a caller who hands the form to the engine.

        Raises:
            ScenarioError: the scenario is wrong.
        """
        made = cls.__new__(cls)
        made._state(tables)
        return made

    @classmethod
    def load(cls, path: str | FilePath, overrides: Mapping[str, Any] | None = None) -> Scenario:
        """Read a scenario file; ``overrides`` are as in :meth:`with_overrides`.

        Raises:
            ScenarioError: the file is missing, or not a valid scenario in TOML; the line begins with the file's name.
        """
        path = FilePath(path)
        return cls.from_toml(_read(path), source=str(path), overrides=overrides, folder=path.parent)

    @classmethod
    def from_toml(
        cls,
        text: str,
        source: str = "<string>",
        overrides: Mapping[str, Any] | None = None,
        folder: FilePath | None = None,
    ) -> Scenario:
        """Read a scenario from TOML text; errors name ``source``.

        Files that the text names are relative to ``folder``, by default the working directory; files that ``overrides``
        name are always relative to the working directory.

        Raises:
            ScenarioError: the errors of :meth:`load`.
        """
        if (deep := _DEEP_KEY.search(text)) is not None:
            line = text.count("\n", 0, deep.start()) + 1
            raise ScenarioError(f"line {line}: a key with more than {MOST_PARTS} parts is no field", source=source)
        try:
            raw = tomllib.loads(text.removeprefix("\ufeff"))
            check_depth(raw)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(_toml_problem(text, str(error)), source=source) from None
        except ScenarioError as error:
            raise error.located(source=source) from None
        except RecursionError:
            raise ScenarioError("not a scenario: its brackets are nested too deeply", source=source) from None
        except ValueError:  # raised by int(), which rejects thousands of digits
            raise ScenarioError("a whole number has more digits than any field allows", source=source) from None
        if folder is not None:
            _anchor(raw, folder)
        try:
            return cls(**apply_overrides(raw, overrides or {}))
        except ScenarioError as error:
            raise error.located(source=source) from None

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Scenario:
        """Build a scenario from the tables that a TOML file would hold.

        Raises:
            ScenarioError: the scenario is wrong.
        """
        return cls(**dict(tables))

    @classmethod
    def dumbbell(
        cls,
        flows: Sequence[str | Mapping[str, Any] | Callable[..., Algorithm]] = ("cubic",),
        *,
        rate: str = REQUIRED,
        rtt: str = REQUIRED,
        buffer: str = REQUIRED,
        starts: Sequence[str] | None = None,
        duration: str = "500 s",
        **more: Any,
    ) -> Scenario:
        """Flows over one shared bottleneck.

        Args:
            flows: names of algorithms, user-defined classes, or tables with a flow's fields.
            rate: rate of the bottleneck, each way, ``622 Mbit/s``; required.
            rtt: two-way propagation delay from end to end, ``100 ms``; required.
            buffer: buffer of the bottleneck, ``1555 packets``, ``2 MB``, ``20% BDP`` or ``unlimited``; required.
            starts: start of each flow; all at 0 s by default.
            duration: simulated time.
            **more: any other field of ``[dumbbell]`` (``queue``, ``loss``, ``access_rate``, ``access_delay``) or of the
                scenario itself (``stack``, ``measure``, ``seed``, ...).

        Raises:
            ScenarioError: a field is unknown or missing, or the scenario is wrong.
        """
        own = _dumbbell_fields(more)
        if isinstance(flows, str):
            raise ScenarioError(f"{flows!r} is one name; write a list, [{flows!r}]", path="flows")
        rows = [dict(flow) if isinstance(flow, Mapping) else {"algorithm": flow} for flow in flows]
        if starts is not None:
            if len(starts) != len(rows):
                raise ScenarioError(f"{len(starts)} starts for {len(rows)} flows; write one for each", path="starts")
            for row, start in zip(rows, starts, strict=True):
                row["start"] = start
        path = {"rate": rate, "rtt": rtt, "buffer": buffer}
        for name, value in path.items():
            if value is REQUIRED:
                raise ScenarioError(f"missing; {_example(TABLES['dumbbell'], name)}", path=name, source="dumbbell")
        table = path | {k: v for k, v in more.items() if k in own}
        rest = {k: v for k, v in more.items() if k not in own}
        return cls(**{"duration": duration, "dumbbell": table, "flow": rows, **rest})

    def replace(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> Scenario:
        """A copy with changed fields; the scenario itself is immutable.

        Fields of the scenario itself may be keywords: ``scenario.replace(seed=2, duration="100 s")``. Fields inside
        tables are named by path: ``scenario.replace({"flow[0].algorithm": "bic", "measure.from": "10 s"})``;
        ``flow[*].start`` is the field of every flow.

        Raises:
            ScenarioError: there is no such field, or the scenario is wrong.
        """
        return Scenario(**self.changed({**(changes or {}), **fields}))

    __replace__ = replace

    def with_overrides(self, overrides: Mapping[str, Any]) -> Scenario:
        """:meth:`replace` with a table of changes.

        Raises:
            ScenarioError: there is no such field, or the scenario is wrong.
        """
        return self.replace(overrides)

    def without_groups(self) -> Scenario:
        """The same experiment with each flow of a group written out, for backends that support only single flows."""
        if all(flow.count == 1 for flow in self.flow):
            return self
        tables = self.to_dict()
        graph = self.graph
        rows = []
        for i, (flow, table) in enumerate(zip(self.flow, tables["flow"], strict=True)):
            table = {key: value for key, value in table.items() if key not in ("count", "start_spread", "rtts")}
            links = [graph.links[link] for link in (*graph.routes[i].forward, *graph.routes[i].backward)]
            for k in range(flow.count):
                name = flow_name(flow, i) if flow.count == 1 else member_name(flow_name(flow, i), k)
                start = format_time(member_start_ps(flow.start, flow.start_spread, k, flow.count))
                row = table | {"name": name, "start": start}
                if flow.rtts is not None:
                    delays = (link.delays_ps[k] if link.delays_ps else link.delay_ps for link in links)
                    row["rtt"] = format_time(sum(delays))
                rows.append(row)
        return Scenario(**(tables | {"flow": rows}))

    def with_seed(self, seed: int) -> Scenario:
        """The same experiment with other random draws.

        Raises:
            ScenarioError: this is not a seed.
        """
        try:
            wanted = parse_seed(seed)
        except ScenarioError as error:
            raise error.located(path="seed") from None
        # The copy has the values that this scenario has computed, of which the forms have the seed.
        made = self.model_copy(update={"seed": wanted})
        for cached in ("form", "_unchanged"):
            made.__dict__.pop(cached, None)
        made.__dict__["_compact"] = msgspec.structs.replace(self._compact, seed=wanted)
        made.__dict__["_document"] = self._document | {"seed": wanted}
        return made

    def to_dict(self) -> dict[str, Any]:
        """The tables of the TOML file, with quantities as texts with units; only fields that were set."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The tables of the TOML file with changed fields. Tables over time are as they were read, unless a field in
        one is changed: a recording has 100,000 rows to write and to read. Another named path replaces that of the
        scenario.

        Raises:
            ScenarioError: a path is malformed, or a list position does not exist.
        """
        within = any(_WITHIN_A_TABLE.search(key) for key in changes)
        tables: Mapping[str, Any] = self.to_dict() if within else self._unchanged
        if changes.get(named.FIELD) is not None:
            tables = named.withdraw(tables)
        return apply_overrides(tables, changes)

    @cached_property
    def _unchanged(self) -> dict[str, Any]:
        return self._tables()

    def _tables(self, shown: Callable[[str, TimedTable], Any] = lambda _, table: table) -> dict[str, Any]:
        """:meth:`to_dict` with tables over time as ``shown`` says, by default as they are: a recording has 100,000 rows
        to write and to read."""
        left_out = set(OVER_TIME)
        tables = self.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude_none=True,
            exclude={"dumbbell_": left_out, "parking_lot": left_out, "link": {"__all__": left_out}},
        )  # fmt: skip
        rows: list[tuple[Any, Any]] = [
            (self.dumbbell_, tables.get("dumbbell")),
            (self.parking_lot, tables.get("parking_lot")),
        ]
        rows += zip(self.link, tables.get("link", ()), strict=True) if self.link else ()
        for given, table in rows:
            if given is not None and table is not None:
                stated = ((name, getattr(given, name)) for name in OVER_TIME)
                table.update((name, shown(name, value)) for name, value in stated if value is not None)
        return tables

    def to_toml(self) -> str:
        """The scenario as a TOML file that loads to the same hash."""
        return write_toml(self._tables(lambda field, table: Inline(toml(field.removesuffix("_table"), table))))

    @cached_property
    def graph(self) -> Graph:
        """Directed links, and the route and the stack of each flow."""
        return build_graph(self)

    @cached_property
    def form(self) -> Spec:
        """The canonical form that the engine runs: defaults written out, units resolved, groups as single flows."""
        return without_groups(self._compact)

    @cached_property
    def _compact(self) -> Spec:
        return canonical_form(self, self.graph)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return document.write(self._compact)

    @property
    def compact_form(self) -> Spec:
        """The canonical form with groups as they are stated."""
        return self._compact

    def canonical(self) -> dict[str, Any]:
        """The canonical form as a JSON document, without fields that were added later and have their defaults."""
        return dict(self._document)

    def canonical_json(self) -> str:
        """The unique serialization of the canonical form."""
        return canonical_json(self._document)

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits that name the experiment; the title and the seed do not change the digits."""
        return form_hash(self._document)

    @property
    def flow_names(self) -> list[str]:
        """Names of all flows, in order; the name of each flow of a group is listed. :attr:`flow` has the tables."""
        return [flow.name for flow in self.form.flows]

    @property
    def sources(self) -> list[str]:
        """Names of the sources of transfers, in order."""
        return [source_name(source, i) for i, source in enumerate(self.traffic)]

    @property
    def is_random(self) -> bool:
        """True if the scenario has random events.

        The seed also decides the phase of the timer interrupts of hosts with the stack ``linux``. The phase alone is no
        reason for replicates, since most results do not depend on it.
        """
        return randomness(self, self.graph)

    @property
    def perturbation(self) -> str:
        """The jitter of starts and packets in words; empty if there is no jitter."""
        return perturbation.sentence(self, self.graph)

    @property
    def perturbation_of_hosts(self) -> str:
        """The :attr:`perturbation` of the :meth:`perturbed` scenario, which need not be made for it."""
        return perturbation.sentence(self if self.perturb else self.model_copy(update={"perturb": HOSTS}), self.graph)

    def perturbed(self) -> Scenario:
        """The scenario with the perturbations of real hosts, ``perturb = "hosts"``; unchanged if the scenario sets
        ``perturb``."""
        return self if self.perturb is not None else self.with_overrides({"perturb": HOSTS})

    def replicates(self, count: int) -> list[Scenario]:
        """The scenario with ``count`` seeds, beginning with the scenario's own seed; with several seeds, each scenario
        is :meth:`perturbed`.

        Each replicate equals a single run of the same scenario with ``perturb = "hosts"`` and its seed.

        Raises:
            ScenarioError: the number is below one, or the scenario is deterministic, so that all replicates would be
                equal.
        """
        if count < 1:
            raise ScenarioError(f"{count} is not a number of seeds; it is at least 1")
        if count == 1:
            return [self]
        moved = self.perturbed()
        if not moved.is_random:
            raise ScenarioError(
                f"{count} seeds would give {count} equal runs, since nothing here is random; "
                f'write perturb = "{HOSTS}", or set start_jitter (for example "10 ms"), send_jitter or a loss'
            )
        return [moved.with_seed(self.seed + i) for i in range(count)]

    def warnings(self) -> list[str]:
        """Warnings about settings that are allowed but would mislead a reader of the results; one sentence each."""
        return cautions(self, self.graph)

    def __hash__(self) -> int:
        return hash((self.hash, self.seed))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.form == other.form

    def __repr__(self) -> str:
        groups = ((flow_name(flow, i), flow.count) for i, flow in enumerate(self.flow))
        senders = [f"{name} x {count}" if count > 1 else name for name, count in groups] + self.sources
        return f"<Scenario {self.title or self.hash}: {', '.join(senders)}, seed {self.seed}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from elephan.scenario.notebook import show

        facts = [f"seed {self.seed}", f"hash {self.hash}"]
        return show(self._compact, self.title or "Scenario", facts, self.warnings())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Scenario.from_dict, (self.to_dict(),))


def _dumbbell_fields(more: Mapping[str, Any]) -> frozenset[str]:
    """The fields of ``[dumbbell]``.

    Raises:
        ScenarioError: one of ``more`` is a field of neither ``[dumbbell]`` nor the scenario; the message names the most
            similar field.
    """
    own, whole = frozenset(field_names(TABLES["dumbbell"])), frozenset(field_names(ScenarioTable))
    instead = {"flow": "flows=[...]", "dumbbell": "rate, rtt, buffer and so on"}
    for name in more:
        if name in instead:
            raise ScenarioError(f"not an argument; write {instead[name]}", path=name, source="dumbbell")
        if name not in own | whole:
            known = (own | whole | {"flows", "starts"}) - set(instead)
            raise ScenarioError(f"not a field of a dumbbell; {hint(name, known)}", path=name, source="dumbbell")
    return own


def _in_user_fields(error: ScenarioError, tables: Mapping[str, Any]) -> ScenarioError:
    return commands.in_user_fields(named.in_user_fields(error, tables), tables)


def _anchor(raw: dict[str, Any], folder: FilePath) -> None:
    """Make the file names in flows, sources and links relative to a folder."""
    links = raw.get("link")
    for table in [raw.get("dumbbell"), raw.get("parking_lot"), *(links if isinstance(links, list) else [])]:
        if not isinstance(table, dict):
            continue
        places: list[tuple[Any, str]] = [(table, "rate_trace"), (table.get("jitter"), "samples")]
        places.append((table.get("loss"), "intervals"))
        for field in ("rate_table", "delay_table"):
            places += [(table, field), (table.get(field), "file")]
        for holder, field in places:
            if isinstance(holder, dict) and field in holder:
                holder[field] = traces.anchored(holder[field], folder)
    flows = raw.get("flow")
    for flow in flows if isinstance(flows, list) else []:
        if isinstance(flow, dict) and "algorithm" in flow:
            flow["algorithm"] = own.anchored(flow["algorithm"], folder)
        if isinstance(flow, dict) and isinstance(flow.get(commands.PROGRAM), dict):
            commands.anchored(flow[commands.PROGRAM], folder)
        application = flow.get("application") if isinstance(flow, dict) else None
        if isinstance(application, dict) and "writes" in application:
            application["writes"] = traces.anchored(application["writes"], folder)
    own_programs = raw.get(commands.PROGRAM)
    for program in own_programs if isinstance(own_programs, list) else []:
        if isinstance(program, dict):
            commands.anchored(program, folder)
    sources = raw.get("traffic")
    for source in sources if isinstance(sources, list) else []:
        if isinstance(source, dict) and "algorithm" in source:
            source["algorithm"] = own.anchored(source["algorithm"], folder)
        for field in ("file", "rtts"):
            named = source.get(field) if isinstance(source, dict) else None
            if isinstance(named, str) and FilePath(named).suffix in (".csv", ".parquet"):
                source[field] = str((folder / named).absolute())


def _refuse_huge(value: Any, *place: str | int) -> None:
    """Reject integers that are too large for any field, since printing them or converting them to a float raises an
    exception.

    Raises:
        ScenarioError: an integer is too large; the message has the field.
    """
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise ScenarioError("a whole number has more digits than any field allows", path=join_path(*place))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_huge(item, *place, key)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            # Traces with millions of small integers are skipped.
            if not isinstance(item, float | str) and (not isinstance(item, int) or item.bit_length() > _MOST_BITS):
                _refuse_huge(item, *place, i)


_WITHIN_A_TABLE = re.compile(rf"\b(?:{'|'.join(OVER_TIME)})[.\[]")
_DEEP_KEY = re.compile(rf"^[ \t\[]*(?:[\w\"'-]+[ \t]*\.[ \t]*){{{MOST_PARTS}}}", re.MULTILINE)
_MOST_BITS = 256
_MOST_BYTES = 64_000_000


def _read(path: FilePath) -> str:
    if path.suffix == ".py":
        raise ScenarioError(
            "a Python file and not a scenario; name the class in a scenario, as in "
            f"--set flow[0].algorithm=./{path.name}:NameOfTheClass",
            source=str(path),
        )
    try:
        return reading.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        folder = path.parent if path.parent.is_dir() else FilePath()
        names = [entry.name for entry in folder.glob("*.toml")]
        near = f"{path.name}.toml" if f"{path.name}.toml" in names else nearest(path.name, names)
        raise ScenarioError(
            "no such file" + (f"; did you mean '{folder / near}'?" if near else ""), source=str(path)
        ) from None
    except ScenarioError as error:
        raise error.located(source=str(path)) from None


_UNQUOTED = re.compile(r"\s*[\w-]+\s*=\s*(?P<quantity>[\d.]+\s*[A-Za-z%µ][^#]*?)\s*(#.*)?")
_UNQUOTED_WORD = re.compile(r"\s*[\w-]+\s*=\s*(?P<word>[A-Za-z][\w:+.-]*)\s*(#.*)?")
_TWICE = re.compile(r"Cannot declare \((?P<keys>.*)\) twice")


def _toml_problem(text: str, problem: str) -> str:
    """The parser's message, and the most frequent cause: missing quotes, or a duplicate table."""
    at = re.search(r"at line (\d+)", problem)
    lines = text.splitlines()
    line = lines[int(at[1]) - 1] if at and int(at[1]) <= len(lines) else ""
    advice = ""
    if match := _UNQUOTED.fullmatch(line):
        advice = f'; write quantities in quotes: "{match["quantity"]}"'
    elif problem.startswith("Invalid value") and (match := _UNQUOTED_WORD.fullmatch(line)):
        advice = f'; write words in quotes: "{match["word"]}"'
    elif problem.startswith("Illegal character '\\n'"):
        advice = "; close the quotes on the same line"
    elif problem.startswith("Cannot overwrite a value"):
        advice = "; state each key once"
    elif match := _TWICE.match(problem):
        table = ".".join(re.findall(r"'([^']*)'", match["keys"]))
        advice = f"; state [{table}] once, or write [[{table}]] for each of a list"
    return f"not TOML: {problem[:1].lower()}{problem[1:]}{advice}"


_PARAMETERS = {"algorithm": "parameters", "queue": "queue_parameters"}
"""Fields that name an algorithm or a queue, each with the field that has its parameters."""

_ORDER = {"extra_forbidden": 0, "elephan": 1}


def _first_problem(error: ValidationError) -> ScenarioError:
    """The most informative of pydantic's errors as a ScenarioError: a misspelled field explains a missing field, so the
    misspelled field has priority."""
    problems = error.errors(include_url=False)
    return _problem(min(problems, key=lambda problem: _ORDER.get(problem["type"], 2)))


def _problem(details: ErrorDetails) -> ScenarioError:
    place = [step for step in details["loc"] if step != "[key]"]
    path, kind, value = join_path(*place), details["type"], details["input"]
    table = _table_of(place[:-1])
    if kind == "extra_forbidden":
        return ScenarioError(f"not a field{_of(place)}; {hint(str(place[-1]), field_names(table))}", path=path)
    if kind == "missing":
        return ScenarioError(f"missing; {_example(table, str(place[-1]))}", path=path)
    if kind == "elephan" and isinstance(value, dict) and place[-1] in _PARAMETERS:
        message = f"{value!r} is a table; write a name in quotes, and its parameters in '{_PARAMETERS[str(place[-1])]}'"
        return ScenarioError(message, path=path)
    if kind == "elephan":
        return ScenarioError(details["msg"], path=path)
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return ScenarioError(f"{value!r} is not a table; write [{path}] and its fields below", path=path)
    if kind in ("tuple_type", "list_type"):
        inside = f"[[{path}]] for each" if path in TABLES else "a list, [ ... ]"
        return ScenarioError(f"{value!r} is not a list; write {inside}", path=path)
    message = details["msg"]
    return ScenarioError(f"{value!r}: {message[:1].lower()}{message[1:]}", path=path)


def _table_of(place: Iterable[str | int]) -> type[Table]:
    """The class of the table that contains a field; the tables' field names are unique."""
    names = [step for step in place if isinstance(step, str) and step in TABLES]
    return TABLES[names[-1]] if names else ScenarioTable


def _of(place: Sequence[str | int]) -> str:
    names = [step for step in place[:-1] if isinstance(step, str)]
    return f" of {names[-1]}" if names else " of a scenario"


def _example(table: type[Table], name: str) -> str:
    for field_name, field in table.model_fields.items():
        if (field.alias or field_name) == name and field.examples:
            example = field.examples[0]
            return (
                f'write for example {name} = "{example}"'
                if isinstance(example, str)
                else f"write for example {name} = {example}"
            )
    return "it must be written"
