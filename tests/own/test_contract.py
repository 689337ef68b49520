"""The classes that an algorithm is told with are what their stub says, and every need is one that the engine knows."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

import elephan
from elephan import _engine, backends
from elephan.algorithm import NEEDS
from elephan.scenario import Scenario

STUB = Path(elephan.__file__).parent / "_engine.pyi"
TOLD = ("Start", "Ack", "Signal", "Sent", "Lost", "Delivery")


def stub() -> dict[str, ast.ClassDef]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", TOLD)
def test_the_stub_names_every_field_and_its_default(name: str) -> None:
    methods = {node.name: node for node in stub()[name].body if isinstance(node, ast.FunctionDef)}
    made = getattr(_engine, name)()
    assert {field for field in dir(made) if not field.startswith("_")} == set(methods) - {"__init__"}
    keywords = methods["__init__"].args
    for argument, default in zip(keywords.kwonlyargs, keywords.kw_defaults, strict=True):
        assert default is not None
        told = getattr(made, argument.arg)
        expected = eval(ast.unparse(default), {"math": math})
        assert (told, type(told)) == (expected, type(expected)), argument.arg


@pytest.mark.parametrize("name", TOLD)
def test_every_field_has_a_line_of_explanation(name: str) -> None:
    cls = getattr(_engine, name)
    assert cls.__doc__
    assert all(getattr(cls, field).__doc__ for field in dir(cls) if not field.startswith("_"))


@pytest.mark.parametrize("need", NEEDS)
def test_the_engine_knows_every_need(need: str) -> None:
    class Needy(elephan.Algorithm):
        needs = (need,)

        def on_ack(self, ack: elephan.Ack) -> None:
            pass

        def on_congestion(self, told: elephan.Signal) -> None:
            pass

    path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "30 packets", "duration": "1 s"}
    made = backends.get("sim").run(Scenario.dumbbell([Needy], **path))
    assert made.summary["segments_delivered"] > 100
