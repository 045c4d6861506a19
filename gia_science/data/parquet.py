"""Parquet in, through pyarrow, which is an optional dependency."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gia_science.data.compression import ByteSource
from gia_science.data.record import Record, Table, cell_text, id_position, name_columns
from gia_science.errors import TableError, Where

MAGIC = b"PAR1"
_BATCH_ROWS = 4096


def pyarrow_module(name: str) -> Any:
    """The module ``pyarrow`` or one below it.

    Raises
    ------
    TableError
        When pyarrow is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise TableError(
            "Parquet files need pyarrow, which is not installed", hint="pip install 'gia-science[parquet]'"
        ) from error


def read_parquet(source: ByteSource, *, id_column: str | None = None) -> Table:
    """Table of a Parquet file; every value becomes text.

    Floats are written in the shortest form that reads back equal, nulls and NaN become empty text, and nested
    values are written as Python writes them. A date beyond the year 9999 is its number with the type of the column.
    A compressed file or a stream is held in memory as a whole.

    Raises
    ------
    TableError
        When pyarrow is missing or the file is not whole Parquet.
    """
    where = Where(file=source.name)
    if not source.head.startswith(MAGIC):
        raise TableError(
            "not a Parquet file", got=f"a file that begins with {source.head[:4]!r}", where=where
        )
    content = None
    if source.plain_path is None:
        with source.open() as stream:
            content = stream.read()
    records = _ParquetRecords(source, content, id_column)
    header = records.header()
    return Table(name_columns(header, source=source.name), records, source.name, "parquet", header)


@dataclass(frozen=True, slots=True)
class _ParquetRecords:
    source: ByteSource
    content: bytes | None
    id_column: str | None

    def header(self) -> tuple[str, ...]:
        with ExitStack() as stack:
            return tuple(map(str, self._open(stack).schema_arrow.names))

    def __iter__(self) -> Iterator[Record]:
        arrow = pyarrow_module("pyarrow")
        name = self.source.name
        row = 0
        with ExitStack() as stack:
            parquet = self._open(stack)
            columns = name_columns(parquet.schema_arrow.names, source=name)
            position = id_position(columns, self.id_column, source=name)
            batches = parquet.iter_batches(batch_size=_BATCH_ROWS)
            while True:
                try:
                    batch = next(batches, None)
                    if batch is None:
                        return
                    rows = list(zip(*map(column_texts, batch.columns), strict=True))
                except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
                    raise TableError(
                        "the Parquet file is damaged", got=str(error), where=Where(file=name, line=row + 2)
                    ) from error
                for cells in rows:
                    row += 1
                    yield Record(name, row + 1, cells[position] if position is not None else None, cells)

    def _open(self, stack: ExitStack) -> Any:
        arrow, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
        path = self.source.plain_path
        stream = io.BytesIO(self.content or b"") if path is None else stack.enter_context(path.open("rb"))
        try:
            return parquet.ParquetFile(stream)
        except (arrow.ArrowException, OSError, ValueError) as error:
            raise TableError(
                "the Parquet file is cut off or damaged", got=str(error), where=Where(file=self.source.name)
            ) from error


def column_texts(array: Any) -> list[str]:
    """Values of an Arrow array as `read_parquet` writes them."""
    # As Python floats, single precision would be written with digits that it does not have.
    narrow = str(array.type) in {"float", "halffloat"}
    values = array.to_numpy(zero_copy_only=False) if narrow else map(_value, array)
    return [cell_text(value) for value in values]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    # Python has no dates after the year 9999; the column of dates may not even be one that is used.
    except OverflowError:
        if not pyarrow_module("pyarrow.types").is_temporal(scalar.type):
            raise
        return f"{scalar.value} ({scalar.type})"
