"""Wrong input: one line that names the file, the field, the value, what is allowed and the nearest right word."""

from __future__ import annotations

import string
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from elephan.scenario import Scenario, ScenarioError, catalog, own, units
from elephan.scenario.overrides import apply_overrides, parse_assignment
from elephan.scenario.schema import TABLES, ScenarioTable, field_names
from elephan.scenario.stacks import STACKS
from elephan.scenario.words import nearest

BASE = """
duration = "500 s"

[stack]
base = "ns2"

[measure]
from = "250 s"
to = "500 s"

[dumbbell]
rate = "622 Mbit/s"
rtt = "100 ms"
buffer = "1555 packets"

[[flow]]
algorithm = "cubic"
name = "first"

[[flow]]
algorithm = "bic"
start = "50 s"
stop = "400 s"
"""

ROW = """
duration = "10 s"

[parking_lot]
hops = 2
rate = "10 Mbit/s"
rtt = "40 ms"
buffer = "20 packets"

[[flow]]
algorithm = "reno"
hops = 1
"""

GRAPH = """
duration = "10 s"

[[link]]
name = "west"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"

[[link]]
name = "east"
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "10 ms"
duplex = false

[[link]]
name = "home"
from = "c"
to = "a"
rate = "10 Mbit/s"
delay = "10 ms"
duplex = false

[[flow]]
algorithm = "reno"
path = ["west", "east"]
reverse_path = ["home"]
"""

TRAFFIC = """
[[traffic]]
algorithm = "reno"
load = "5%"
"""

DOCUMENTS = {"dumbbell": BASE, "row": ROW, "graph": GRAPH}

WRONG: list[tuple[str, str, Any]] = [
    ("dumbbell", "flow[1].algorithm", "cubik"),
    ("dumbbell", "flow[1].algorithm", "cubic:2004"),
    ("dumbbell", "flow[1].algorithm", "reno:rfc5861"),
    ("dumbbell", "flow[1].algorithm", "tcp"),
    ("dumbbell", "flow[1].algorithm", 7),
    ("dumbbell", "flow[1].algorithm", {"name": "cubic", "beta": 0.8}),
    ("dumbbell", "dumbbell.queue", {"kind": "codel"}),
    ("dumbbell", "flow[1].algoritm", "bic"),
    ("dumbbell", "flow[1].parameters", {"betta": 0.8}),
    ("dumbbell", "flow[1].parameters", {"beta": "high"}),
    ("dumbbell", "flow[1].parameters", {"beta": 7.0}),
    ("dumbbell", "flow[1].parameters", {"beta": float("nan")}),
    ("dumbbell", "flow[1].parameters", "beta"),
    ("dumbbell", "flow[1].start", "500 s"),
    ("dumbbell", "flow[1].start", "-1 s"),
    ("dumbbell", "flow[1].stop", "50 s"),
    ("dumbbell", "flow[1].size", "0 segments"),
    ("dumbbell", "flow[1].name", "first"),
    ("dumbbell", "flow[1].name", ""),
    ("dumbbell", "flow[1].rtt", "50 ms"),
    ("dumbbell", "flow[1].direction", "up"),
    ("dumbbell", "flow[1].hops", 1),
    ("dumbbell", "flow[1].path", ["bottleneck"]),
    ("dumbbell", "flow[1].stack", "linx"),
    ("dumbbell", "flow[1].stack", {"receive_window": "10 B"}),
    ("dumbbell", "flow[1].stack", 3),
    ("dumbbell", "flow", []),
    ("dumbbell", "flow", "cubic"),
    ("dumbbell", "dumbbell.rate", 622),
    ("dumbbell", "dumbbell.rate", "622 MB/s"),
    ("dumbbell", "dumbbell.rate", "0 Mbit/s"),
    ("dumbbell", "dumbbell.rate", "fast"),
    ("dumbbell", "dumbbell.rtt", "0 ms"),
    ("dumbbell", "dumbbell.rtt", "100 packets"),
    ("dumbbell", "dumbbell.rtt", "3 ps"),
    ("dumbbell", "dumbbell.access_delay", "26 ms"),
    ("dumbbell", "dumbbell.buffer", "0 packets"),
    ("dumbbell", "dumbbell.buffer", "100 B"),
    ("dumbbell", "dumbbell.buffer", "20 percent"),
    ("dumbbell", "dumbbell.buffer", "0.001% BDP"),
    ("dumbbell", "dumbbell.queue", "dropptail"),
    ("dumbbell", "dumbbell.loss", 1.5),
    ("dumbbell", "dumbbell.loss", {"packets": [3, 2]}),
    ("dumbbell", "dumbbell", "622 Mbit/s"),
    ("dumbbell", "dumbell", {"rate": "622 Mbit/s"}),
    ("dumbbell", "parking_lot", {"hops": 2, "rate": "1 Mbit/s", "rtt": "1 ms", "buffer": "9 packets"}),
    ("dumbbell", "measure.from", "600 s"),
    ("dumbbell", "measure.to", "501 s"),
    ("dumbbell", "measure.to", "250 s"),
    ("dumbbell", "duration", "0 s"),
    ("dumbbell", "duration", "1 year"),
    ("dumbbell", "sample_period", "501 s"),
    ("dumbbell", "sample_period", "1 ns"),
    ("dumbbell", "seed", -1),
    ("dumbbell", "seed", 1.5),
    ("dumbbell", "stack.base", "ns3"),
    ("dumbbell", "stack.inital_window", "3 segments"),
    ("dumbbell", "stack.initial_window", 3),
    ("dumbbell", "stack.payload", "0 B"),
    ("dumbbell", "stack.payload", "70 kB"),
    ("dumbbell", "stack.detection", "rak"),
    ("dumbbell", "stack.limited_transmit", "yes"),
    ("dumbbell", "stack.min_rto", "300 s"),
    ("dumbbell", "stack.ack_every", 0),
    ("dumbbell", "stack.ack_every", 2),
    ("row", "flow[0].hops", 3),
    ("row", "flow[0].hops", [2, 1]),
    ("row", "parking_lot.hops", 0),
    ("row", "flow[0].rtt", "10 ms"),
    ("graph", "flow[0].path", ["west", "est"]),
    ("graph", "flow[0].path", ["east", "west"]),
    ("graph", "flow[0].path", ["west", "west"]),
    ("graph", "flow[0].path", []),
    ("graph", "flow[0].reverse_path", ["east"]),
    ("graph", "link[1].name", "west"),
    ("graph", "link[1].name", "west/reverse"),
    ("graph", "link[1].to", "b"),
    ("graph", "link[1].rate", "0 bit/s"),
    ("graph", "link[1].duplex", "no"),
    ("graph", "link[1].buffer", "1 B"),
]


def refusal(text: str, overrides: dict[str, Any]) -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(text, source="scenario.toml", overrides=overrides)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith("scenario.toml: ")
    return line


def test_every_kind_of_wrong_value_has_its_line(snapshot: SnapshotAssertion) -> None:
    lines = [refusal(DOCUMENTS[document], {field: value}) for document, field, value in WRONG]
    assert "\n".join(lines) == snapshot


def test_what_is_missing_has_its_line(snapshot: SnapshotAssertion) -> None:
    lines = []
    for document in DOCUMENTS.values():
        for line in document.strip().splitlines():
            if " = " in line:
                shorter = document.replace(line, "", 1)
                try:
                    Scenario.from_toml(shorter, source="scenario.toml")
                except ScenarioError as error:
                    lines.append(str(error))
    assert "\n".join(lines) == snapshot


def test_text_that_is_not_toml_has_its_line(snapshot: SnapshotAssertion) -> None:
    lines = [
        refusal(text, {})
        for text in (
            "duration = ",
            "duration",
            "[flow",
            "a = 1\na = 2",
            "",
            '[[flow]]\nname = "a"',
            "duration = 500 s",
            "algorithm = bic:linux  # its preset\n",
            'duration = "500 s\n',
            "[[flow]]\n[flow]\n",
            "[dumbbell.loss]\n[dumbbell.loss]\n",
            "a = 1\na = 2\n",
        )
    ]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", ["absent.toml", "lat.toml", "", "folder"])
def test_a_file_that_is_not_there_has_its_line(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.toml").write_text(BASE)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(name or ".")
    assert str(caught.value) == snapshot


def test_overrides_that_lead_nowhere_have_their_line(snapshot: SnapshotAssertion) -> None:
    keys = [
        "flow[2].start",
        "flow.start",
        "flow[x].start",
        "duration.seconds",
        "measure[0].from",
        "",
        "a..b",
        "flow[*]",
        "link[0].rate",
    ]
    lines = [refusal(BASE, {key: "1 s"}) for key in keys]
    assert "\n".join(lines) == snapshot


def test_an_assignment_without_a_key_or_a_sign_is_refused() -> None:
    for text in ("duration", "=5", "  = x"):
        with pytest.raises(ScenarioError, match="KEY=VALUE"):
            parse_assignment(text)
    assert parse_assignment("dumbbell.buffer=40 packets") == ("dumbbell.buffer", "40 packets")
    assert parse_assignment('flow[0].path=["a", "b"]') == ("flow[0].path", ["a", "b"])
    assert parse_assignment("seed=3") == ("seed", 3)


# One typing mistake: a letter left out, doubled, replaced, or two neighbors swapped.
@st.composite
def typo(draw: st.DrawFn, word: str) -> str:
    position = draw(st.integers(0, len(word) - 1))
    letter = draw(st.sampled_from(string.ascii_lowercase))
    before, here, after = word[:position], word[position], word[position + 1 :]
    return draw(
        st.sampled_from(
            [
                before + after,
                before + here + here + after,
                before + letter + after,
                before + after[:1] + here + after[1:],
            ]
        )
    )


def written_fields() -> list[tuple[str, str]]:
    """Every table's fields with a document that has the table."""
    rows = [("", name) for name in field_names(ScenarioTable)]
    rows += [(table, name) for table, model in TABLES.items() for name in field_names(model)]
    return rows


NAMED = """
duration = "10 s"
path = { name = "leo" }

[[flow]]
algorithm = "cubic"
"""


@given(st.data())
def test_a_typing_mistake_in_any_field_gets_the_nearest_field(data: st.DataObject) -> None:
    table, name = data.draw(st.sampled_from(written_fields()))
    known = field_names(TABLES[table]) if table else field_names(ScenarioTable)
    wrong = data.draw(typo(name).filter(lambda word: word not in known and word.isidentifier()))
    document = {"link": GRAPH, "parking_lot": ROW, "path": NAMED}.get(table, BASE)
    places = {"": "", "flow": "flow[0].", "link": "link[0]."} | {
        t: f"flow[0].{t}." for t in ("application", "datagrams", "program")
    } | {t: f"dumbbell.{t}." for t in ("jitter", "reorder", "aggregation", "retransmission")} | {
        t: f"dumbbell.{t}[0]." for t in ("rate_steps", "delay_steps")
    }  # fmt: skip
    places |= {"traffic": "traffic[0].", "sizes": "traffic[0].sizes."}
    if table in ("traffic", "sizes"):
        document += TRAFFIC
    where = places.get(table, f"{table}.") + wrong
    listed = {f"dumbbell.{table}": [{wrong: "1 s"}]} if table.endswith("_steps") else {where: "1 s"}
    line = refusal(document, listed)
    assert line.startswith(f"scenario.toml: {where}: not a field of ")
    assert "did you mean '" in line or "allowed: " in line or "; there are " in line
    meant = nearest(wrong, known)
    assert meant is not None or len(wrong) < 3
    if meant:
        assert f"did you mean '{meant}'?" in line


@given(st.data())
def test_a_typing_mistake_in_an_algorithm_gets_the_nearest_algorithm(data: st.DataObject) -> None:
    names = catalog.spellings(catalog.algorithms())
    name = data.draw(st.sampled_from(names))
    # With a slash or the ending of a file, a name is a file's, and the message says that there is no such file.
    wrong = data.draw(
        typo(name).filter(lambda word: word not in names and bool(word.strip()) and not own.names_file(word))
    )
    line = refusal(BASE, {"flow[1].algorithm": wrong})
    assert line.startswith(f"scenario.toml: flow[1].algorithm: '{wrong}'")
    assert "did you mean '" in line or "allowed: " in line or "has no presets" in line or "'elephan list " in line


def test_a_misspelt_preset_with_the_ending_of_a_file_is_no_file() -> None:
    line = refusal(BASE, {"flow[1].algorithm": "lp:linux-2.c"})
    assert line.startswith("scenario.toml: flow[1].algorithm: 'lp:linux-2.c'")
    assert "did you mean 'lp:linux-2.6'?" in line


@given(st.data())
def test_a_typing_mistake_in_a_unit_gets_the_nearest_unit(data: st.DataObject) -> None:
    field, number, table = data.draw(
        st.sampled_from(
            [
                ("dumbbell.rate", "622", units.RATE_UNITS | units.RATE_ALIASES),
                ("dumbbell.rtt", "100", units.TIME_UNITS | units.TIME_ALIASES),
                ("stack.payload", "1000", units.SIZE_UNITS | units.SIZE_ALIASES),
            ]
        )
    )
    unit = data.draw(st.sampled_from(sorted(table)))
    wrong = data.draw(typo(unit).filter(lambda word: word not in table and bool(word.strip())))
    line = refusal(BASE, {field: f"{number} {wrong}"})
    assert line.startswith(f"scenario.toml: {field}: '{number} {wrong}'")
    assert "did you mean '" in line or "allowed: " in line or "write '" in line


@given(st.data())
def test_a_typing_mistake_in_a_stack_gets_the_nearest_stack(data: st.DataObject) -> None:
    wrong = data.draw(
        st.sampled_from(sorted(STACKS)).flatmap(typo).filter(lambda word: word not in STACKS and bool(word))
    )
    line = refusal(BASE, {"stack": wrong})
    assert line.startswith(f"scenario.toml: stack: '{wrong}' is not a stack; ")


JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1 s", "9 packets", "reno"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["base", "rate", "path", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@given(st.data())
def test_any_value_in_any_field_is_accepted_or_refused_in_one_line(data: st.DataObject) -> None:
    document = tomllib.loads(data.draw(st.sampled_from(sorted(DOCUMENTS.values()))))
    table, name = data.draw(st.sampled_from(written_fields()))
    value = data.draw(JSON_LIKE)
    where = name if not table else f"{table}[0].{name}" if isinstance(document.get(table), list) else f"{table}.{name}"
    assert refused_in_one_line(document, where, value) in (None, True)


def refused_in_one_line(document: dict[str, Any], where: str, value: Any) -> bool | None:
    try:
        Scenario.from_dict(apply_overrides(document, {where: value}))
    except ScenarioError as error:
        return bool(str(error)) and "\n" not in str(error)
    return None
