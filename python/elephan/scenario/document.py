"""The canonical form as a JSON document, and its conversion to and from typed objects (:mod:`elephan.scenario.form`).

A document omits an optional field that has its default, so a field that is added to the canonical form does not change
the hashes of earlier scenarios. A reader of the document uses the default of an omitted field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, TypeVar

import msgspec

from elephan.scenario.form import (
    ClockSpec,
    EventsSpec,
    FlowSpec,
    Form,
    LinkSpec,
    ProgramSpec,
    QueueSpec,
    SourceSpec,
    Spec,
    StackSpec,
)
from elephan.scenario.long_json import Rows

_ALWAYS: dict[type[Form], tuple[str, ...]] = {
    Spec: ("format", "seed", "start_jitter_ps", "send_jitter_ps"),
    LinkSpec: ("loss", "record"),
    QueueSpec: ("limit_packets", "limit_bytes", "parameters"),
    FlowSpec: ("parameters", "size_segments", "stop_ps"),
    StackSpec: ("initial_ssthresh", "max_burst", "receive_window"),
    ClockSpec: ("drift_ppb", "offset_ps", "resolution_ps"),
    EventsSpec: ("from_ps", "to_ps"),
    ProgramSpec: ("environment", "ready", "server", "server_of"),
}
"""Fields that a document states even if they have their defaults, as it always did; hashes would change otherwise."""

S = TypeVar("S", bound=Form)

_PLAIN = frozenset((int, float, str, bool, type(None)))
_QUEUE_FIELDS = frozenset(QueueSpec.__struct_fields__) - {"parameters"}


class FormError(ValueError):
    """A document is not a canonical form; the message has the place and the reason."""


def read(document: Mapping[str, Any]) -> Spec:
    """The typed form of a JSON document; an absent field has its default.

    Raises:
        FormError: the document is not a canonical form.
    """
    try:
        return msgspec.convert(_with_nested_queues(document), Spec)
    except msgspec.ValidationError as error:
        raise FormError(str(error)) from None


def write(form: Spec) -> dict[str, Any]:
    """The JSON document of a typed form."""
    document = _written(form)
    assert isinstance(document, dict)
    return document


def changed_fields(form: Form) -> set[str]:
    """Names of the optional fields that do not have their defaults."""
    return {name for name, default in _defaults(type(form)).items() if getattr(form, name) != default}


def _with_nested_queues(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the parameters of each queue in a separate table, as in :class:`QueueSpec`."""
    links = document.get("links")
    if not isinstance(links, list | tuple):
        return dict(document)
    return {**document, "links": [_with_nested_queue(link) for link in links]}


def _with_nested_queue(link: Any) -> Any:
    queue = link.get("queue") if isinstance(link, dict) else None
    if not isinstance(queue, dict):
        return link
    nested: dict[str, Any] = {name: value for name, value in queue.items() if name in _QUEUE_FIELDS}
    nested["parameters"] = {name: value for name, value in queue.items() if name not in _QUEUE_FIELDS}
    return {**link, "queue": nested}


class Steps(tuple[S, ...]):
    """Forms of whole numbers that several scenarios share, such as the 100,000 steps of a recording."""

    @cached_property
    def document(self) -> Rows:
        """The forms as they are in a document."""
        return Rows(msgspec.to_builtins(list(self)))


def _written(value: object) -> Any:
    if isinstance(value, Form):
        return _table(value)
    if isinstance(value, Steps):
        return value.document
    if isinstance(value, tuple):
        # Lists of numbers may have millions of elements.
        return [_written(item) for item in value] if value and isinstance(value[0], Form) else list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _table(form: Form) -> dict[str, Any]:
    kind = type(form)
    table = msgspec.structs.asdict(form)
    for name, default in _omitted(kind):
        if table[name] == default:
            del table[name]
    for name, value in table.items():
        if type(value) not in _PLAIN:
            table[name] = _written(value)
    if kind is QueueSpec:
        table |= table.pop("parameters")
    elif isinstance(form, SourceSpec) and form.flow.size_segments is None:
        # The flow represents all transfers of the source, each with its own size.
        del table["flow"]["size_segments"]
    tag = form.__struct_config__.tag
    return table if tag is None else {"kind": tag, **table}


@cache
def _omitted(kind: type[Form]) -> tuple[tuple[str, Any], ...]:
    """The fields that a document omits if they have their defaults, with these defaults."""
    always = _ALWAYS.get(kind, ())
    return tuple((name, default) for name, default in _defaults(kind).items() if name not in always)


@cache
def _defaults(kind: type[Form]) -> dict[str, Any]:
    """Defaults of the optional fields of a class."""
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(kind)
        if not field.required
    }
