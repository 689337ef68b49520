"""The schema, Python's types and the engine agree on the canonical form, and a document survives a round trip."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
import pytest
from tests import scripts
from tests.fuzz import generator
from tests.scenario import known

from elephan.scenario import Scenario, ScenarioError, catalog, document, lookups
from elephan.scenario.form import BernoulliLoss, ClockSpec, LossSpec, NoneLoss, QueueSpec, StackSpec
from elephan.scenario.groups import without_groups

WRITER = scripts.load("scripts/form.py")
SEEDS = range(160)
"""About 100 of them are accepted."""


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(WRITER.SCHEMA.read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    found = [scenario.canonical() for _, scenario in known.scenarios(tmp_path_factory.mktemp("page"))]
    return found + [scenario.canonical() for scenario in random()]


@cache
def random() -> list[Scenario]:
    found = []
    for seed in SEEDS:
        with suppress(ScenarioError):
            found.append(Scenario.from_dict(generator.tables(seed)))
    return found


def minimal() -> dict[str, Any]:
    """A document with nothing in it that has a default."""
    full = Scenario.dumbbell(["cubic"], rate="10 Mbit/s", rtt="20 ms", buffer="20 packets").canonical()
    needed = [field.name for field in msgspec.structs.fields(StackSpec) if field.required]
    stack = {key: full["flows"][0]["stack"][key] for key in needed}
    flow = {key: full["flows"][0][key] for key in ("name", "algorithm", "start_ps", "path", "reverse_path")}
    return {
        "duration_ps": full["duration_ps"],
        "sample_period_ps": full["sample_period_ps"],
        "measure": full["measure"],
        "links": [{key: link[key] for key in ("name", "rate_bps", "delay_ps", "queue")} for link in full["links"]],
        "flows": [flow | {"stack": stack}],
    }


def test_the_files_are_what_would_be_written_now(schema: dict[str, Any]) -> None:
    made = WRITER
    assert made.SCHEMA.read_text(encoding="utf-8") == made.schema_text(), "run make form"
    assert made.TYPES.read_text(encoding="utf-8") == made.types_text(schema), "run make form"


def test_a_document_survives_the_way_through_the_types(documents: list[dict[str, Any]]) -> None:
    assert len(documents) > 200
    for given in documents:
        again = document.write(document.read(given))
        assert again == given
        assert json.dumps(again, sort_keys=True) == json.dumps(given, sort_keys=True)  # 1 is not 1.0 here


def test_what_is_read_is_what_was_written() -> None:
    for scenario in random():
        assert without_groups(document.read(json.loads(scenario.canonical_json()))) == scenario.form


def test_every_document_is_valid_by_the_schema(schema: dict[str, Any], documents: list[dict[str, Any]]) -> None:
    for given in documents:
        assert list(problems(given, schema, schema, "$")) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seed": "1"}, "$.seed is not integer"),
        ({"sed": 1}, "$.sed is not in the schema"),
        ({"measure": {"from_ps": 0}}, "$.measure.to_ps is missing"),
        ({"seed": -1}, "$.seed is below 0"),
    ],
)
def test_the_check_of_the_schema_finds_what_is_wrong(schema: dict[str, Any], change: Any, problem: str) -> None:
    assert list(problems(minimal() | change, schema, schema, "$")) == [problem]


def test_what_is_absent_has_the_default_of_the_engine() -> None:
    short = minimal()
    catalog.engine().check(json.dumps(short))
    form = document.read(short)
    assert (form.format, form.seed, form.traffic, form.events) == (1, 0, (), None)
    assert (form.flows[0].stop_ps, form.flows[0].sender_clock) == (None, ClockSpec())
    assert {link.loss for link in form.links} == {NoneLoss()}
    assert all(document.changed_fields(flow.stack) == set() for flow in form.flows)


def test_the_engine_runs_a_document_with_every_default_written_out() -> None:
    form = document.read(minimal())
    once, again = (catalog.engine().run(json.dumps(given)) for given in (minimal(), document.write(form)))
    timeless = [{k: v for k, v in json.loads(out["summary"]).items() if "wall" not in k} for out in (once, again)]
    assert timeless[0] == timeless[1]


def test_a_form_cannot_be_changed() -> None:
    form = document.read(minimal())
    with pytest.raises(AttributeError):
        form.seed = 2  # type: ignore[misc]


def test_a_union_is_matched_by_its_classes() -> None:
    def probability(loss: LossSpec) -> float:
        match loss:
            case NoneLoss():
                return 0.0
            case BernoulliLoss(p=p):
                return p
            case _:
                raise AssertionError(loss.kind)

    lossy = minimal()
    lossy["links"][0]["loss"] = {"kind": "bernoulli", "p": 0.25}
    assert [probability(link.loss) for link in document.read(lossy).links][:2] == [0.25, 0.0]


def test_a_parameter_of_a_queue_has_the_type_that_is_asked_for() -> None:
    queue = QueueSpec(kind="red", parameters={"max_p": 0.1, "gentle": True, "mark_bytes": None})
    assert lookups.queue_number(queue, "max_p") == 0.1
    assert lookups.queue_switch(queue, "gentle")
    for name in ("gentle", "mark_bytes"):
        with pytest.raises(TypeError, match=f"{name} of red is"):
            lookups.queue_number(queue, name)
    with pytest.raises(TypeError, match=r"^max_p of red is 0\.1 and no switch"):
        lookups.queue_switch(queue, "max_p")


def test_lookups_follow_the_path() -> None:
    form = document.read(minimal())
    (flow,) = form.flows
    assert lookups.base_rtt_ps(form, flow) == 20 * 10**9
    assert lookups.slowest_bps(form, flow) == lookups.link_named(form, "bottleneck").rate_bps == 10**7
    with pytest.raises(KeyError, match="nowhere"):
        lookups.link_named(form, "nowhere")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"duration_ps": "long"}, "$.duration_ps"),
        ({"links": 3}, "$.links"),
        ({"links": [3]}, "$.links[0]"),
        ({"links": [{"name": "a", "rate_bps": 8, "delay_ps": 1, "queue": "droptail"}]}, "$.links[0].queue"),
        ({"flows": [{}]}, "$.flows[0]"),
        ({"measure": None}, "$.measure"),
    ],
)
def test_what_is_no_canonical_form_is_refused_with_the_place(change: dict[str, Any], where: str) -> None:
    with pytest.raises(document.FormError) as caught:
        document.read(minimal() | change)
    assert str(caught.value).endswith(f"at `{where}`")


def test_an_unknown_kind_is_refused_with_the_place() -> None:
    wrong = minimal()
    wrong["links"][0]["loss"] = {"kind": "cosmic"}
    with pytest.raises(document.FormError, match=r"Invalid value 'cosmic' - at `\$\.links\[0\]\.loss\.kind`"):
        document.read(wrong)


def test_the_engine_refuses_a_later_format() -> None:
    with pytest.raises(ValueError, match=r"^format: must be 1"):
        catalog.engine().check(json.dumps(minimal() | {"format": 2}))


# ---- a validator for as much of JSON Schema as the schema of the canonical form uses ----

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip
_NOTES = {"$schema", "$defs", "title", "description", "default", "format"}
_KEYWORDS = {"type", "properties", "required", "items", "prefixItems", "minItems", "maxItems", "oneOf", "anyOf"}
_KEYWORDS |= {"const", "minimum", "maximum", "additionalProperties", "$ref"}


def problems(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    assert set(schema) <= _NOTES | _KEYWORDS, set(schema) - _NOTES - _KEYWORDS
    if "$ref" in schema:
        yield from problems(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
    for word in ("oneOf", "anyOf"):
        fitting = [list(problems(value, member, root, where)) for member in schema.get(word, [])]
        if word in schema and [] not in fitting:
            yield from min(fitting, key=len)
    kinds = schema.get("type", [])
    if kinds and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{where} is not {kinds}"
    elif value is not None:
        yield from _content(value, schema, root, where)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _content(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    if "const" in schema and value != schema["const"]:
        yield f"{where} is not {schema['const']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where} is below {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{where} is above {schema['maximum']}"
    if isinstance(value, list):
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
        if not least <= len(value) <= most:
            yield f"{where} has {len(value)} items"
        inner = schema.get("prefixItems") or [schema["items"]] * len(value)
        for i, (item, of_item) in enumerate(zip(value, inner, strict=False)):
            yield from problems(item, of_item, root, f"{where}[{i}]")
    if isinstance(value, dict) and schema.get("type") == "object":
        properties, further = schema.get("properties", {}), schema.get("additionalProperties")
        yield from (f"{where}.{name} is missing" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            if name in properties or further:
                yield from problems(item, properties.get(name, further), root, f"{where}.{name}")
            else:
                yield f"{where}.{name} is not in the schema"
