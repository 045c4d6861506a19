"""Embeddings out: one vector for each row, or for each of its units, beside columns of text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self

import numpy as np

from gia_science.data.npz import NpzWriter
from gia_science.data.parquet import pyarrow_module
from gia_science.data.record import cell_text, name_columns
from gia_science.data.writer import (
    OutputFormat,
    TableWriter,
    atomic_file,
    check_place,
    output_columns,
    output_format,
)
from gia_science.errors import TableError, Where
from gia_science.tokens.stream import FloatArray, IntArray

TOKEN_COLUMNS = ("row", "id", "unit", "token")
"""First columns of a table of vectors of units: position and name of the row, place and letter of the unit in it."""
EmbeddingFormat = OutputFormat | Literal["npz"]
_INTEGERS = frozenset({"row", "unit"})
_NUMBERS_PER_GROUP = 2**22
_ROWS_PER_GROUP = 10_000
WIDTH_NOTE = b"gia_science.width"
"""Under which the schema of a Parquet file says how many numbers a vector has."""


class _Sink(Protocol):
    def write(self, cells: Sequence[str], vector: FloatArray | None) -> None: ...


class _VectorFile:
    """Where and how vectors are written, and what is to be closed at the end."""

    def __init__(
        self,
        target: str | Path,
        columns: Sequence[str],
        *,
        width: int,
        stdout: BinaryIO | None = None,
        staging: Path | None = None,
    ) -> None:
        self._target = target
        self._staging = staging
        self._columns = tuple(columns)
        self._width = width
        self._stdout = stdout
        self._stack = ExitStack()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


class EmbeddingWriter(_VectorFile):
    """Writes vectors and the rows they belong to, row by row, as a context manager; the file appears when it is whole.

    - ``.csv``, ``.tsv`` (also ``.gz``) and ``-``: after the columns of text ``e0``, ``e1``, ..., each number
      in the shortest form that reads back equal; empty where there is no vector.
    - ``.parquet``: after the columns of text one column ``embedding``, a list of d single-precision numbers;
      null where there is no vector.
    - ``.npz``: ``vectors`` (n, d), with NaN where there is none, ``columns`` (the names), and the texts as
      ``text_0``, ``text_1``, ..., all plain arrays that `numpy.load` reads without pickle.

    Memory does not grow with the number of rows, and equal rows give equal bytes.

    Parameters
    ----------
    target : str or Path
        Where to write.
    columns : sequence of str
        Names of the columns of text.
    width : int
        Number of dimensions d.
    stdout : binary file, optional
        What stands for standard output; by default the process's own.
    staging : Path, optional
        As in `atomic_file`.

    Raises
    ------
    TableError
        When the suffix is not known or the place cannot be written to.
    """

    _sink: _Sink | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if is_npz(self._target):
                writer = _npz_writer(self._target, stack, staging=self._staging)
                self._sink = _NpzSink(writer, self._columns, self._width)
            else:
                self._sink = _table_sink(
                    self._target,
                    self._columns,
                    self._width,
                    stack,
                    stdout=self._stdout,
                    staging=self._staging,
                )
            self._stack = stack.pop_all()
        return self

    def write_row(self, cells: Sequence[str], vector: FloatArray | None) -> None:
        """Write one row: a cell for each column of text, and its vector ``(d,)``, if it has one."""
        assert self._sink is not None, "use the writer in a with statement"
        assert len(cells) == len(self._columns), "one cell for each column"
        self._sink.write(cells, vector)


class TokenEmbeddingWriter(_VectorFile):
    """Writes the vectors of the units of rows, row by row; as `EmbeddingWriter`, but for what a file holds.

    - CSV, TSV and Parquet: `TOKEN_COLUMNS`, then the columns of text, then the vector; one line per unit. A row
      without units has one line, with an empty unit and no vector, so that it does not disappear.
    - NPZ: ``vectors`` (T, d) of the T units of all n rows, ``offsets`` (n + 1,) of which two say where a row's vectors
      begin and end, ``units`` (T,) and ``tokens`` (T,), and by row the id and the columns of text.

    Parameters
    ----------
    target, width, stdout, staging
        As of `EmbeddingWriter`.
    columns : sequence of str
        Names of further columns of text of a row.
    """

    _npz: _TokenNpzSink | None = None
    _table: _Sink | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if is_npz(self._target):
                writer = _npz_writer(self._target, stack, staging=self._staging)
                self._npz = _TokenNpzSink(writer, ("id", *self._columns), self._width)
            else:
                self._table = _table_sink(
                    self._target,
                    (*TOKEN_COLUMNS, *self._columns),
                    self._width,
                    stack,
                    integers=_INTEGERS,
                    stdout=self._stdout,
                    staging=self._staging,
                )
            self._stack = stack.pop_all()
        return self

    def write_row(
        self,
        cells: Sequence[str],
        vectors: FloatArray,
        *,
        row: int,
        id: str | None,
        units: IntArray,
        tokens: Sequence[str],
    ) -> None:
        """Write one row.

        Parameters
        ----------
        cells : sequence of str
            One for each further column of text.
        vectors : (L, d) float32
        row : int
            Position of the row, from 1.
        id : str or None
        units : (L,) int64
            Place of each unit, from 1.
        tokens : sequence of L str
            Letter or symbol of each unit.
        """
        assert len(vectors) == len(units) == len(tokens)
        assert len(cells) == len(self._columns), "one cell for each column"
        if self._npz is not None:
            self._npz.write((id or "", *cells), vectors, units, tokens)
            return
        assert self._table is not None, "use the writer in a with statement"
        for vector, unit, token in zip(vectors, units.tolist(), tokens, strict=True):
            self._table.write((str(row), id or "", str(unit), token, *cells), vector)
        if not len(vectors):
            self._table.write((str(row), id or "", "", "", *cells), None)


def embedding_format(target: str | Path) -> EmbeddingFormat:
    """Format of a file of embeddings by its name; raises `TableError` when the suffix is not known."""
    if is_npz(target):
        return "npz"
    try:
        kind, _ = output_format(target)
    except TableError as error:
        error.expected = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet or .npz"
        raise
    return kind


def check_embedding_target(target: str | Path) -> None:
    """Refuse a place where embeddings could not be written, before there is anything to write.

    Raises
    ------
    TableError
        When the suffix is not known, the target is a folder, or its folder is missing.
    """
    embedding_format(target)
    if str(target) != "-":
        check_place(target)


def is_npz(target: str | Path) -> bool:
    """Whether a file of embeddings is to be an NPZ archive, by its name."""
    return Path(target).suffix.lower() == ".npz"


def _npz_writer(target: str | Path, stack: ExitStack, *, staging: Path | None) -> NpzWriter:
    stream = stack.enter_context(atomic_file(target, staging=staging))
    final = check_place(target)
    # Beside the file there is room for it; beside a device, or where the system has files in memory, not always.
    folder = None if final.exists() and not final.is_file() else final.parent
    return stack.enter_context(NpzWriter(stream, folder=folder))


def _table_sink(
    target: str | Path,
    columns: Sequence[str],
    width: int,
    stack: ExitStack,
    *,
    integers: frozenset[str] = frozenset(),
    stdout: BinaryIO | None,
    staging: Path | None,
) -> _Sink:
    kind, _ = output_format(target)
    if kind == "parquet":
        stream = stack.enter_context(atomic_file(target, staging=staging))
        sink = _ParquetSink(stream, columns, width, integers=integers, name=str(target))
        stack.push(sink.close)
        return sink
    header = output_columns(columns, [f"e{index}" for index in range(width)])
    writer = TableWriter(target, header, stdout=stdout, staging=staging)
    return _TextSink(stack.enter_context(writer), width)


class _TextSink:
    def __init__(self, writer: TableWriter, width: int) -> None:
        self._writer = writer
        self._none = [""] * width

    def write(self, cells: Sequence[str], vector: FloatArray | None) -> None:
        numbers = self._none if vector is None else map(cell_text, vector.astype(np.float32, copy=False))
        self._writer.write_row([*cells, *numbers])


class _ParquetSink:
    def __init__(
        self, stream: BinaryIO, columns: Sequence[str], width: int, *, integers: frozenset[str], name: str
    ) -> None:
        self._arrow, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
        names = name_columns(output_columns(columns, ["embedding"]), source=name)
        text, integer = self._arrow.string(), self._arrow.int64()
        types = [integer if column in integers else text for column in columns]
        # Lists of fixed size cannot be missing in Parquet before pyarrow 24: their width is noted instead.
        vector = self._arrow.list_(self._arrow.float32())
        fields = [self._arrow.field(*named) for named in zip(names, [*types, vector], strict=True)]
        fields[-1] = fields[-1].with_metadata({WIDTH_NOTE: str(width)})
        self._schema = self._arrow.schema(fields)
        self._writer = parquet.ParquetWriter(stream, self._schema)
        self._where = Where(file=name)
        self._limit = max(1, min(_ROWS_PER_GROUP, _NUMBERS_PER_GROUP // max(1, width)))
        self._rows: list[tuple[Sequence[str], FloatArray | None]] = []

    def write(self, cells: Sequence[str], vector: FloatArray | None) -> None:
        # A copy: the vector may be a view that keeps a whole batch in memory.
        self._rows.append((tuple(cells), None if vector is None else np.array(vector, dtype=np.float32)))
        if len(self._rows) == self._limit:
            self._write_group()

    def close(self, kind: type[BaseException] | None, *rest: object) -> None:
        del rest
        try:
            if self._rows and kind is None:
                self._write_group()
        finally:
            self._writer.close()

    def _write_group(self) -> None:
        rows, self._rows = self._rows, []
        columns = [
            self._column(index, [cells[index] for cells, _ in rows]) for index in range(len(self._schema) - 1)
        ]
        vectors = [np.zeros(0, dtype=np.float32) if vector is None else vector for _, vector in rows]
        offsets = np.cumsum([0, *map(len, vectors)], dtype=np.int32)
        missing = self._arrow.array([vector is None for _, vector in rows])
        lists = self._arrow.ListArray.from_arrays(
            self._arrow.array(offsets), self._arrow.array(np.concatenate(vectors)), mask=missing
        )
        self._writer.write_table(self._arrow.table([*columns, lists], schema=self._schema))

    def _column(self, index: int, cells: list[str]) -> Any:
        kind = self._schema.field(index).type
        values = cells if kind == self._arrow.string() else [int(cell) if cell else None for cell in cells]
        try:
            return self._arrow.array(values, type=kind)
        except UnicodeEncodeError as error:
            raise TableError(
                "a cell cannot be written as UTF-8", got=error.reason, where=self._where
            ) from error


class _NpzSink:
    # Names of columns are data and the keys become names inside an archive: the keys are numbered instead.
    def __init__(self, writer: NpzWriter, columns: Sequence[str], width: int) -> None:
        names = writer.texts("columns")
        for name in columns:
            names.append(name)
        self._vectors = writer.numbers("vectors", dtype=np.float32, width=width)
        self._texts = [writer.texts(f"text_{index}") for index in range(len(columns))]
        self._none = np.full((1, width), np.nan, dtype=np.float32)

    def write(self, cells: Sequence[str], vector: FloatArray | None) -> None:
        self.append(cells, self._none if vector is None else vector[None])

    def append(self, cells: Sequence[str], vectors: FloatArray) -> None:
        """One row of text, and any number of vectors ``(k, d)``."""
        self._vectors.append(vectors)
        for column, cell in zip(self._texts, cells, strict=True):
            column.append(cell)


class _TokenNpzSink:
    def __init__(self, writer: NpzWriter, columns: Sequence[str], width: int) -> None:
        self._rows = _NpzSink(writer, columns, width)
        self._offsets = writer.numbers("offsets", dtype=np.int64)
        self._units = writer.numbers("units", dtype=np.int64)
        self._tokens = writer.texts("tokens")
        self._total = 0
        self._offsets.append([0])

    def write(
        self, cells: Sequence[str], vectors: FloatArray, units: IntArray, tokens: Sequence[str]
    ) -> None:
        self._rows.append(cells, vectors)
        self._total += len(vectors)
        self._offsets.append([self._total])
        self._units.append(units)
        for token in tokens:
            self._tokens.append(token)
