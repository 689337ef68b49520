"""The tables of a run: their required columns, their files, and the digest that distinguishes two results."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.runs import files
from elephan.runs.columns import ALWAYS, TABLES
from elephan.runs.errors import DamagedRunError, shown
from elephan.scenario.catalog import engine
from elephan.writing import whole_file

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {name: TABLES[name].required for name in ALWAYS}
"""Columns that the tables of every backend have; a backend may add others."""

EVENTS = "events"
EXTRA = {name: table.required for name, table in TABLES.items() if name not in ALWAYS}
"""Tables that only some runs have, with the columns that every backend must provide."""


_FORMULA = r"^[=+\-@\t\r]"
"""First characters of texts that spreadsheets evaluate as formulas."""


class TableError(ValueError):
    """A table or a column that every run has is missing from a backend's output."""


def checked(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a run, each of which Arrow's PyCapsule interface can read.

    Raises:
        TableError: a table or a column is missing.
    """
    found: dict[str, Any] = {}
    for name, columns in (COLUMNS | {name: columns for name, columns in EXTRA.items() if name in tables}).items():
        if name not in tables:
            raise TableError(f"the backend gave no table '{name}'")
        table = tables[name] if columns_of(tables[name]) is not None else to_polars(tables[name])
        present = frozenset(columns_of(table) or ())
        missing = [column for column in columns if column not in present]
        if missing:
            raise TableError(f"the backend's table '{name}' has no column {', '.join(missing)}")
        found[name] = table
    return found


def columns_of(table: Any) -> list[str] | None:
    """Names of a table's columns: of a data frame, or of a table of the engine or of Arrow; ``None`` for other
    objects."""
    names = getattr(table, "column_names", None)
    return list(names if names is not None else table.columns) if names is not None or is_frame(table) else None


def is_frame(table: Any) -> bool:
    """True for a data frame of Polars. Tables of the engine are turned into data frames when a caller wants these."""
    return type(table).__module__.startswith("polars.")


def to_polars(table: Any) -> pl.DataFrame:
    """A table as a data frame."""
    import polars as pl

    return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)


def all_to_polars(tables: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a run as data frames.

    Raises:
        TableError: a table or a column is missing.
    """
    return {name: to_polars(table) for name, table in checked(tables).items()}


def for_engine(table: Any) -> Any:
    """A table that the engine can read: Arrow's interface does not transport a column without a type, which a column
    without any value may be."""
    if not is_frame(table):
        return table
    import polars as pl

    return table.with_columns(pl.col(pl.Null).cast(pl.Float64))


_CONTENTS = "contents:"
"""Prefix of digests of contents; those of earlier runs are of the bytes in which Polars serializes the tables."""


def contents_digest(tables: Mapping[str, Any]) -> str:
    """SHA-256 of the contents of tables, whatever their representation: equal before and after they are saved."""
    return _CONTENTS + str(engine().digest([(name, for_engine(table)) for name, table in tables.items()]))


def same_contents(one: str, other: str, digests: Sequence[Callable[[], str]]) -> bool:
    """True if two runs with these digests have equal tables. ``digests`` compute the digests of their contents, which
    decide if only one of the runs is of an earlier version."""
    if one.startswith(_CONTENTS) == other.startswith(_CONTENTS):
        return one == other
    computed = [
        digest if digest.startswith(_CONTENTS) else make() for digest, make in zip((one, other), digests, strict=True)
    ]
    return computed[0] == computed[1]


def digest(frames: Mapping[str, pl.DataFrame]) -> str:
    """SHA-256 of tables from a backend as Polars serializes them, in hexadecimal, as in manifests of earlier versions;
    two digests are equal if and only if all values are equal.

    Tables that were read from files have a different digest; see :func:`was_digest`.
    """
    import polars as pl
    import polars.selectors as cs

    total = hashlib.sha256()
    for name in sorted(frames):
        # The encoding of a column of names is not part of the result.
        plain = frames[name].with_columns(cs.by_dtype(pl.Categorical).cast(pl.String)).rechunk()
        buffer = io.BytesIO()
        plain.write_ipc(buffer, compression="uncompressed")
        total.update(f"{name}:{len(buffer.getbuffer())}:".encode())
        total.update(buffer.getbuffer())
    return total.hexdigest()


def was_digest(frames: Mapping[str, pl.DataFrame], digest_before: str) -> bool:
    """Return true if tables that were read from files had the digest ``digest`` when a backend returned them.

    The digest covers bytes in memory, and files do not preserve the bytes of missing values. In tables of the engine,
    the bytes of missing values are zeros. In tables of the backends in Python, columns without any value have unused
    bits that are ones.
    """
    return any(
        digest({name: _rebuilt(frame, spare_bits) for name, frame in frames.items()}) == digest_before
        for spare_bits in (False, True)
    )


def _rebuilt(frame: pl.DataFrame, spare_bits: bool) -> pl.DataFrame:
    import polars as pl

    columns = []
    for column in frame.iter_columns():
        if column.dtype == pl.String or (spare_bits and column.null_count() == len(column) > 0):
            columns.append(pl.Series(column.name, column.to_list(), dtype=column.dtype))
        elif column.null_count() and (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            zeros = column.fill_null(False if column.dtype == pl.Boolean else 0)
            columns.append(pl.select(pl.when(column.is_not_null()).then(zeros).alias(column.name)).to_series())
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def write(frames: Mapping[str, Any], folder: Path) -> dict[str, files.Entry]:
    """Write one Parquet file for each table, and return the files' entries by their names.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    names = {f"{name}.parquet": frame for name, frame in frames.items()}
    return {
        name: files.write_bytes(folder / name, engine().parquet(for_engine(frame))) for name, frame in names.items()
    }


def write_csv(frames: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write one CSV file for each table: a header, one row per line, an empty field for a missing value; numbers have
    full precision.

    A name that a spreadsheet would read as a formula has an apostrophe before it (OWASP, CSV injection).

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    for name, frame in frames.items():
        write_one(frame, folder / f"{name}.csv")


def write_one(frame: pl.DataFrame, path: Path) -> None:
    """Write a table atomically, in the format of the file's suffix, ``.csv`` or ``.parquet``.

    Raises:
        OSError: the disk is full, or the file cannot be written.
    """
    import polars as pl
    import polars.selectors as cs

    if path.suffix == ".parquet":
        content = io.BytesIO()
        frame.write_parquet(content, compression="zstd", statistics=True)
        with whole_file(path) as file:
            file.write_bytes(content.getbuffer())
        return
    text = (cs.string() | cs.categorical()).cast(pl.String)
    plain = frame.with_columns(
        pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text).name.keep()
    )
    with whole_file(path) as file:
        plain.write_csv(file)


def read(folder: Path, name: str) -> pl.DataFrame:
    """A table from its Parquet file.

    Raises:
        DamagedRunError: the file is not a Parquet file.
    """
    import polars as pl

    path = folder / f"{name}.parquet"
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DamagedRunError(path, f"not a table ({shown(error)})") from None
