"""What every reader hands on: a record with its place and its cells as text, and the table around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gia_science.catalog import suggestion
from gia_science.data.objects import object_text
from gia_science.errors import TableError, Where, listed

Format = Literal["csv", "tsv", "fasta", "smi", "sdf", "cif", "parquet", "memory"]


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table, or one record of a FASTA, SMILES, SDF or CIF file.

    Parameters
    ----------
    file : str
        Name of the source as the user gave it.
    line : int
        Line on which the record starts, counted from 1 with the header as line 1; for FASTA the line of
        ``>``, for SDF and CIF the first line of the record. Parquet files and data frames have no lines: there
        it is the row number plus one, as if the header stood on line 1. In a list of texts it is the position,
        counted from 1.
    id : str or None
        First word of a FASTA header, name in a SMILES, SDF or CIF file, cell of the id column, label of a data
        frame's index; None without one.
    cells : tuple of str
        Text of each column, in the order of the table's columns and just as it was read.
    problem : str or None
        Why the record as such is not sound. The cells then hold what could be read: missing cells are empty,
        surplus ones stand in the last cell, and a row that could not be cut into cells stands whole in the
        first.
    """

    file: str
    line: int
    id: str | None
    cells: tuple[str, ...]
    problem: str | None = None

    @property
    def where(self) -> Where:
        """The place of the record, for error messages."""
        return Where(file=self.file, line=self.line, record=self.id)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and records of one source.

    Parameters
    ----------
    columns : tuple of str
        Distinct names, stripped; a column without a name is called ``column_3`` after its position.
    records : iterable of Record
        Read while iterated. A file can be iterated again, standard input cannot.
    source : str
        Name as the user gave it; ``<stdin>`` for standard input.
    format : {"csv", "tsv", "fasta", "smi", "sdf", "cif", "parquet", "memory"}
        How it was read.
    header : tuple of str
        The names as they were written, to be written again.
    notes : tuple of str
        What was recognised on the way, in words for the user.
    """

    columns: tuple[str, ...]
    records: Iterable[Record]
    source: str
    format: Format
    header: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def position(self, column: str) -> int:
        """Position of a column among the cells.

        Raises
        ------
        TableError
            When there is no such column; the message says which there are.
        """
        if column in self.columns:
            return self.columns.index(column)
        there = f"there are: {listed(self.columns)}"
        if len(self.columns) == 1 and self.format == "csv":
            there += "; the delimiters comma, semicolon, tab and | are recognised"
        near = suggestion(column, self.columns)
        raise TableError(
            f"no column {column!r}",
            hint=f"{near} {there}" if near else there,
            where=Where(file=self.source),
        )


@dataclass(frozen=True, slots=True)
class LoadedTable(Table):
    """A table whose records are all in memory."""

    records: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.records)

    def column(self, name: str) -> list[str]:
        """Cells of one column, one for each record; `TableError` when there is no such column."""
        position = self.position(name)
        return [record.cells[position] for record in self.records]


def name_columns(header: Sequence[str], *, source: str, line: int = 1) -> tuple[str, ...]:
    """Distinct names for the columns of a header.

    Raises
    ------
    TableError
        When a name stands twice, or no column has a name.
    """
    names = [name.strip() for name in header]
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    where = Where(file=source, line=line)
    if twice:
        raise TableError(
            "column names stand more than once",
            got=listed(list(map(repr, twice))),
            hint="rename all but one",
            where=where,
        )
    if not any(names):
        raise TableError("the header names no column", where=where)
    taken = set(names)
    for index, name in enumerate(names):
        if not name:
            names[index] = free_name(f"column_{index + 1}", taken)
            taken.add(names[index])
    return tuple(names)


def free_name(name: str, taken: Iterable[str]) -> str:
    """`name` if it is free, else the first of ``name_2``, ``name_3``, ... that is."""
    others = set(taken)
    candidate, number = name, 2
    while candidate in others:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def id_position(columns: Sequence[str], id_column: str | None, *, source: str) -> int | None:
    """Position of the column of identifiers: the one asked for, else the one called ``id`` in any case.

    Raises
    ------
    TableError
        When the column asked for is not there.
    """
    if id_column is None:
        return next((index for index, name in enumerate(columns) if name.lower() == "id"), None)
    return Table(tuple(columns), (), source, "memory", ()).position(id_column)


def is_missing_value(value: object) -> bool:
    """Whether a value of a list or a data frame is None, NaN, NA or NaT."""
    # pandas.NA and NaT are known by name: importing pandas only for them would slow every command down.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def cell_text(value: object) -> str:
    """A value as text: floats in the shortest form that reads back equal, missing values as empty text.

    Molecules, sequences, compositions and structures are written as `object_text` does; one that cannot be
    written is an empty cell.
    """
    if is_missing_value(value):
        return ""
    if isinstance(value, str | float):
        return str(value)
    known = object_text(value)
    return str(value) if known is None else known.text
