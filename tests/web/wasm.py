"""The engine for the browser, under Node: its tables as data frames."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "python" / "elephan" / "web" / "built" / "engine.wasm"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(
    NODE is None or not ENGINE.exists(),
    reason="needs Node.js" if NODE is None else "the engine for the browser is not built: make web",
)

_SACKS = {f"sack_{i}_{end}" for i in (1, 2, 3) for end in ("first", "past")}
_OPTIONAL = {"user", "segment", "in_flight", "ee0b", "eceb", "ee1b", *_SACKS}
"""Columns of small whole numbers, which the answer has as floats, NaN where there is none."""


class RefusedError(Exception):
    """The engine's line."""


class Engine:
    """One instance of the module."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def run(self, canonical: str) -> dict[str, Any]:
        """Runs the engine as Python would: the tables, and the summary as JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(canonical.encode() + b"\n")
        self._process.stdin.flush()
        (length,) = struct.unpack("<i", self._process.stdout.read(4))
        answer = self._process.stdout.read(abs(length))
        if length < 0:
            raise RefusedError(answer.decode())
        return _tables(answer)


@contextmanager
def engine() -> Iterator[Engine]:
    """An instance, for as long as it is needed."""
    assert NODE is not None
    command = [NODE, str(ROOT / "web" / "node.mjs"), str(ENGINE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Engine(process)


def _tables(answer: bytes) -> dict[str, Any]:
    (head_bytes,) = struct.unpack_from("<I", answer)
    head = json.loads(answer[4 : 4 + head_bytes])
    data = answer[4 + head_bytes :]
    tables: dict[str, Any] = {
        table["name"]: pl.DataFrame([_column(column, data) for column in table["columns"]]) for table in head["tables"]
    }
    return tables | {"summary": json.dumps(head["summary"])}


def _column(column: dict[str, Any], data: bytes) -> pl.Series:
    name, form, length = column["name"], column["form"], column["length"]
    if form == "Text":
        # By way of Arrow, as the native engine's: the digest is of memory, where texts may stand in several ways.
        return pl.Series(name, pa.array(column["words"], pa.string()))
    types = {"Float64": "<f8", "BigUint64": "<u8", "Uint16": "<u2", "Uint8": "?", "Int32": "<i4"}
    values = np.frombuffer(data, types[form], length, column["offset"])
    if form == "Int32":
        keys = pa.array(values, pa.int32(), mask=values < 0)
        return pl.Series(name, pa.DictionaryArray.from_arrays(keys, pa.array(column["words"], pa.string())))
    series = pl.Series(name, values)
    if form != "Float64":
        return series
    # Without a value there are zeros in memory, as the native engine has them; the digest is of the memory.
    dtype = pl.UInt32 if name in _OPTIONAL else pl.Float64
    known = ~np.isnan(values)
    filled = pl.Series(name, np.where(known, values, 0.0)).cast(dtype)
    if known.all():
        return filled
    return pl.select(pl.when(pl.Series(known)).then(filled).alias(name)).to_series()
