"""From records of a table to readings, numbers and targets; what cannot be used comes back with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.cells import is_missing, named_number
from gia_science.data.record import Record, Table
from gia_science.data.targets import Targets
from gia_science.errors import GiaError, TableError, UnreadableInputError, Where
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.stream import Reading
from gia_science.tokens.tokenizer import DomainTokenizer

FloatArray = npt.NDArray[np.float64]
MAX_LENGTH = 1024
"""Longest input, in residues, atoms or elements, of a model that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, and why."""

    line: int
    id: str | None
    reason: str

    def __str__(self) -> str:
        name = f" ({self.id})" if self.id else ""
        return f"line {self.line}{name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was read.

    Parameters
    ----------
    line : int
        Line in its file.
    id : str or None
    reading : Reading
    numbers : (C,) float64
        The user's numeric columns; NaN where empty.
    target : (T,) or (L,) float64
        Values, label indices, or one label index per residue; NaN where missing. Empty where no target was read.
    """

    line: int
    id: str | None
    reading: Reading[Any]
    numbers: FloatArray
    target: FloatArray


@dataclass(frozen=True)
class Columns:
    """Places of the columns that are read.

    Parameters
    ----------
    input : int
    numbers, targets : tuple of int
    number_names : tuple of str
        Names of the numeric columns, for messages.
    """

    input: int
    numbers: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    number_names: tuple[str, ...] = ()

    @classmethod
    def find(
        cls, table: Table, *, input: str, numbers: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> Columns:
        """Look columns up by name; raises `TableError` for a missing one, with a suggestion."""
        return cls(
            input=table.position(input),
            numbers=tuple(table.position(name) for name in numbers),
            targets=tuple(table.position(name) for name in targets),
            number_names=tuple(numbers),
        )


def read_row(
    record: Record, *, columns: Columns, read: Callable[[str], Reading[Any]], targets: Targets | None = None
) -> Row | BadRow:
    """Read one record.

    Parameters
    ----------
    record : Record
    columns : Columns
    read : callable
        Reads the text of the input column; raises `UnreadableInputError`.
    targets : Targets, optional
        Reads the target cells; without it no targets are read.
    """
    if record.problem is not None:
        return BadRow(record.line, record.id, record.problem)
    try:
        reading = read(record.cells[columns.input])
        numbers = _read_numbers(record, columns=columns)
        target = np.zeros(0) if targets is None else _read_targets(record, columns=columns, targets=targets)
    except UnreadableInputError as error:
        return BadRow(record.line, record.id, str(error))
    return Row(record.line, record.id, reading, numbers, target)


def read_rows(
    records: Iterable[Record],
    *,
    columns: Columns,
    read: Callable[[str], Reading[Any]],
    targets: Targets | None = None,
) -> tuple[list[Row], list[BadRow]]:
    """Read records; the good rows and the bad ones, each in the order of the file."""
    results = [read_row(record, columns=columns, read=read, targets=targets) for record in records]
    return [row for row in results if isinstance(row, Row)], [
        row for row in results if isinstance(row, BadRow)
    ]


def _read_numbers(record: Record, *, columns: Columns) -> FloatArray:
    named = zip_longest(columns.numbers, columns.number_names)
    return np.array(
        [named_number(record.cells[index], column=name) for index, name in named], dtype=np.float64
    )


def _read_targets(record: Record, *, columns: Columns, targets: Targets) -> FloatArray:
    cells = [record.cells[index] for index in columns.targets]
    return read_targets(cells, targets=targets, length=len(record.cells[columns.input].strip()))


def read_targets(cells: Sequence[str], *, targets: Targets, length: int) -> FloatArray:
    """Target cells of one row as numbers.

    Parameters
    ----------
    cells : sequence of str
        One cell for each target.
    targets : Targets
    length : int
        Characters of the input, blanks around it stripped: so many labels of residues there must be.

    Returns
    -------
    (T,) or (L,) float64
        As `Row` has it.

    Raises
    ------
    UnreadableInputError
        For a cell that is neither a number nor a known label.
    """
    if targets.kind != "per_token":
        return targets.parse(cells)
    if is_missing(cells[0]):
        return np.full(length, np.nan)
    labels = targets.parse_tokens(cells[0])
    if len(labels) != length:
        raise UnreadableInputError(
            "labels and residues differ in number", got=f"{len(labels)} labels", expected=f"{length}"
        )
    return labels


def training_reader(
    tokenizer: DomainTokenizer[Any], *, max_length: int, watch: Callable[[int], None] | None = None
) -> Callable[[str], Reading[Any]]:
    """How training reads an input: as its domain does, and not longer than the model allows.

    Parameters
    ----------
    tokenizer : DomainTokenizer
    max_length : int
        In residues, atoms or elements.
    watch : callable, optional
        Told the length of every input that can be read.
    """
    noun = DOMAINS[tokenizer.domain].noun

    def read(text: str) -> Reading[Any]:
        reading = tokenizer.read(text)
        if watch is not None:
            watch(reading.length)
        if reading.length > max_length:
            raise UnreadableInputError(
                "longer than the model allows",
                got=f"{reading.length} {noun}",
                expected=f"at most {max_length}",
                hint=f"the setting network.max_length={reading.length} allows it",
            )
        return reading

    return read


def refuse_bad_rows(bad: Sequence[BadRow], *, total: int, source: str) -> GiaError:
    """The error over the rows that cannot be used for training; all of them are listed before it."""
    if len(bad) == total:
        hint = "are these the right columns, and the right --domain?"
    else:
        hint = "all are listed above; --bad-rows drop, in Python bad_rows='drop', trains on the others"
    return TableError(
        f"{len(bad)} of {total} rows cannot be used, the first: {bad[0]}", hint=hint, where=Where(file=source)
    )


def identity_hash(identity: str) -> str:
    """Short hash of an identity: enough to recognise a row again without storing it."""
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
