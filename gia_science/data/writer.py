"""Tables and vectors out: written beside the final name and moved there when whole."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self, cast

from gia_science.data.delimited import DELIMITERS
from gia_science.data.parquet import pyarrow_module
from gia_science.data.record import free_name, name_columns
from gia_science.errors import TableError, Where

OutputFormat = Literal["csv", "tsv", "parquet"]
_SUFFIXES: dict[str, OutputFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_ROWS_PER_GROUP = 10_000
# At the start of a file these are marks of FASTA, web pages, JSON, Parquet, comments, byte order and the like.
_UNLIKE_A_NAME = re.compile(r"\s*[^\w\s]|PAR1|BZh91AY")


def output_columns(columns: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Columns of an output table: those of the input unchanged, then `new` under names that are still free.

    A name that is taken becomes ``name_2``, ``name_3``, ...; names are compared without white space around
    them.
    """
    names = list(columns)
    taken = {name.strip() for name in columns}
    for name in new:
        names.append(free_name(name, taken))
        taken.add(names[-1])
    return tuple(names)


def refuse_overwrite(target: str | Path, inputs: Iterable[str | Path]) -> None:
    """Raise `TableError` when `target` is one of the input files, be it by another name or through a link."""
    if str(target) == "-" or not Path(target).exists():
        return
    for source in inputs:
        if str(source) != "-" and Path(source).exists() and Path(source).samefile(target):
            raise TableError(
                "the output would overwrite the input",
                hint="choose another name",
                where=Where(file=str(target)),
            )


def check_place(target: str | Path) -> Path:
    """Path that a file will be written to; raises `TableError` when it is a folder, or its folder is missing."""
    where = Where(file=str(target))
    # A link stays a link: what it points to is replaced.
    final = Path(os.path.realpath(target))
    if final.is_dir():
        raise TableError("a folder, not a file", where=where)
    if not final.parent.is_dir():
        raise TableError("no such folder", got=str(final.parent), where=where)
    return final


@contextmanager
def atomic_file(target: str | Path, *, staging: Path | None = None) -> Iterator[BinaryIO]:
    """Binary file that gets its name only when it is whole.

    It is written under another name in the same folder, and moved on success; after an exception nothing is
    left, and a file that had the name before is still there. Devices and pipes are written as they are.

    Parameters
    ----------
    target : str or Path
    staging : Path, optional
        Folder of the same file system in which it is written; by default the target's own.

    Raises
    ------
    TableError
        When the folder is missing or cannot be written to, or the target is a folder.
    """
    where = Where(file=str(target))
    final = check_place(target)
    if final.exists() and not final.is_file():
        with final.open("wb") as stream:
            yield stream
        return
    unfinished = (staging or final.parent) / f".{secrets.token_hex(8)}.part"
    try:
        stream = unfinished.open("xb")
    except OSError as error:
        raise TableError(
            "the file cannot be written", got=error.strerror or str(error), where=where
        ) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def output_stream(
    target: str | Path, *, stdout: BinaryIO | None = None, staging: Path | None = None
) -> Iterator[BinaryIO]:
    """Binary stream to a file of `atomic_file`, compressed where its name says so, or to standard output.

    Parameters
    ----------
    target : str or Path
        ``-`` for standard output.
    stdout : binary file, optional
        What stands for standard output; by default the process's own. It stays open.
    staging : Path, optional
        As in `atomic_file`.
    """
    _, zipped = output_format(target)
    if str(target) == "-":
        yield stdout if stdout is not None else sys.stdout.buffer
        return
    with atomic_file(target, staging=staging) as stream:
        if not zipped:
            yield stream
            return
        # Without name and time in its header, equal tables give equal files.
        packed = gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0, compresslevel=6)
        # Buffered, a flush of what is written does not reach the compressor, where it would change the bytes.
        with packed, io.BufferedWriter(cast(io.RawIOBase, packed)) as buffered:
            yield buffered


class _RowSink(Protocol):
    def write_row(self, cells: Sequence[str]) -> None: ...


class TableWriter:
    """Writes a table row by row, as a context manager.

    Parameters
    ----------
    target : str or Path
        ``.csv``, ``.tsv`` or ``.parquet``, the first two also with ``.gz``; ``-`` for standard output, which
        is CSV and, unlike a file, keeps what was written before an error.
    columns : sequence of str
        The header, written as it is; in Parquet blank names become ``column_3`` after their position.
    numbers : collection of str
        Columns stored as numbers in Parquet, an empty cell as null. Text formats have no use for it.
    stdout : binary file, optional
        What stands for standard output; by default the process's own.
    staging : Path, optional
        As in `atomic_file`.

    Raises
    ------
    TableError
        When the suffix is not known, the place cannot be written to, or a cell holds what a text file cannot.
    """

    def __init__(
        self,
        target: str | Path,
        columns: Sequence[str],
        *,
        numbers: Iterable[str] = (),
        stdout: BinaryIO | None = None,
        staging: Path | None = None,
    ) -> None:
        self._target = target
        self._columns = tuple(columns)
        self._numbers = frozenset(numbers)
        self._stdout = stdout
        self._staging = staging
        self._stack = ExitStack()
        self._sink: _RowSink | None = None

    def __enter__(self) -> Self:
        kind, _ = output_format(self._target)
        name = str(self._target)
        with ExitStack() as stack:
            stream = stack.enter_context(
                output_stream(self._target, stdout=self._stdout, staging=self._staging)
            )
            if kind == "parquet":
                parquet = _ParquetSink(stream, self._columns, self._numbers, name)
                stack.callback(parquet.close)
                self._sink = parquet
            else:
                text = _TextSink(stream, "\t" if kind == "tsv" else ",", name)
                stack.callback(text.close)
                text.write_header(self._columns)
                self._sink = text
            self._stack = stack.pop_all()
        return self

    def write_row(self, cells: Sequence[str]) -> None:
        """Write one row with a cell for each column."""
        assert self._sink is not None, "use the writer in a with statement"
        assert len(cells) == len(self._columns), "one cell for each column"
        self._sink.write_row(cells)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The sink is closed first: when that fails, the file below it does not get its final name.
        self._stack.__exit__(kind, error, trace)


def output_format(target: str | Path) -> tuple[OutputFormat, bool]:
    """Format, and whether it is compressed."""
    if str(target) == "-":
        return "csv", False
    path = Path(str(target).lower())
    zipped = path.suffix == ".gz"
    suffix = path.with_suffix("").suffix if zipped else path.suffix
    kind = _SUFFIXES.get(suffix)
    if kind is None or (zipped and kind == "parquet"):
        raise TableError(
            "the type of the output file is not known",
            got=repr("".join(path.suffixes[-2:]) or path.name),
            expected=".csv, .tsv, .csv.gz, .tsv.gz or .parquet",
            where=Where(file=str(target)),
        )
    return kind, zipped


def refuse_nul(cells: Iterable[str], *, where: Where) -> None:
    """Raise `TableError` when a cell holds a NUL character, which no text file can hold."""
    if any("\0" in cell for cell in cells):
        raise TableError("a cell holds a NUL character", hint="a text file cannot hold it", where=where)


class _LineFeeds:
    """Takes rows that end in CRLF and ends them in LF.

    With CRLF as its line end the csv module quotes cells that hold CR or LF; with LF alone it leaves CR bare.
    """

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def write(self, row: str) -> int:
        return self._text.write(row.removesuffix("\r\n") + "\n")


class _TextSink:
    def __init__(self, stream: BinaryIO, delimiter: str, name: str) -> None:
        self._where = Where(file=name)
        self._delimiter = delimiter
        self._text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        self._csv = self._writer(csv.QUOTE_MINIMAL)

    def _writer(self, quoting: Literal[0, 1]) -> Any:
        lines = _LineFeeds(self._text)
        return csv.writer(lines, delimiter=self._delimiter, lineterminator="\r\n", quoting=quoting)

    def write_header(self, columns: Sequence[str]) -> None:
        # A name with another delimiter in it, left bare, could be taken for two names.
        ambiguous = any(mark in column for column in columns for mark in DELIMITERS) or (
            bool(columns) and _UNLIKE_A_NAME.match(columns[0]) is not None
        )
        self._write(self._writer(csv.QUOTE_ALL if ambiguous else csv.QUOTE_MINIMAL), columns)

    def write_row(self, cells: Sequence[str]) -> None:
        self._write(self._csv, cells)

    def _write(self, writer: Any, cells: Sequence[str]) -> None:
        refuse_nul(cells, where=self._where)
        try:
            writer.writerow(cells)
        except UnicodeEncodeError as error:
            raise TableError(
                "a cell cannot be written as UTF-8", got=error.reason, where=self._where
            ) from error

    def close(self) -> None:
        self._text.flush()
        # Detached, since what is below is closed by who opened it; standard output stays open.
        self._text.detach()


class _ParquetSink:
    def __init__(self, stream: BinaryIO, columns: Sequence[str], numbers: frozenset[str], name: str) -> None:
        arrow, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
        self._arrow = arrow
        self._where = Where(file=name)
        self._numeric = [column in numbers for column in columns]
        names = name_columns(columns, source=name)
        types = [arrow.float64() if numeric else arrow.string() for numeric in self._numeric]
        self._schema = arrow.schema(list(zip(names, types, strict=True)))
        self._writer = parquet.ParquetWriter(stream, self._schema)
        self._rows: list[Sequence[str]] = []

    def write_row(self, cells: Sequence[str]) -> None:
        self._rows.append(tuple(cells))
        if len(self._rows) == _ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        try:
            if self._rows:
                self._write_group()
        finally:
            self._writer.close()

    def _write_group(self) -> None:
        columns = list(zip(*self._rows, strict=True))
        self._rows.clear()
        values = [
            [float(cell) if cell else None for cell in column] if numeric else list(column)
            for numeric, column in zip(self._numeric, columns, strict=True)
        ]
        try:
            arrays = [
                self._arrow.array(column, type=field.type)
                for column, field in zip(values, self._schema, strict=True)
            ]
        except UnicodeEncodeError as error:
            raise TableError(
                "a cell cannot be written as UTF-8", got=error.reason, where=self._where
            ) from error
        self._writer.write_table(
            self._arrow.table(arrays, schema=self._schema), row_group_size=_ROWS_PER_GROUP
        )
        self._rows.clear()
