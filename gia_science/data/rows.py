"""From records of a table to readings, numbers and targets; what cannot be used comes back with its reason."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.record import Record, Table
from gia_science.data.targets import Targets, is_missing, named_number
from gia_science.errors import GiaError, TableError, UnreadableInputError, Where
from gia_science.tokens.stream import Reading

FloatArray = npt.NDArray[np.float64]


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
    if targets.kind != "per_token":
        return targets.parse(cells)
    sequence = record.cells[columns.input].strip()
    if is_missing(cells[0]):
        return np.full(len(sequence), np.nan)
    labels = targets.parse_tokens(cells[0])
    if len(labels) != len(sequence):
        raise UnreadableInputError(
            "labels and residues differ in number", got=f"{len(labels)} labels", expected=f"{len(sequence)}"
        )
    return labels


@dataclass(frozen=True)
class Duplicates:
    """Rows that are the same thing.

    Parameters
    ----------
    rows : int
        Rows beyond the first of each identity.
    conflicts : tuple of tuple of int
        Lines of each identity whose rows have different targets.
    """

    rows: int
    conflicts: tuple[tuple[int, ...], ...]


def find_duplicates(rows: Sequence[Row]) -> Duplicates:
    """Count rows of one identity (and one set of numbers), and find those whose targets contradict each other."""
    groups: dict[tuple[str, bytes], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.reading.identity, row.numbers.tobytes()].append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    conflicts = [
        tuple(row.line for row in group) for group in repeated if _contradict([row.target for row in group])
    ]
    return Duplicates(rows=sum(len(group) - 1 for group in repeated), conflicts=tuple(conflicts))


def _contradict(targets: Sequence[FloatArray]) -> bool:
    if len({target.shape for target in targets}) > 1:
        return True
    stacked = np.stack(targets)
    known = ~np.isnan(stacked)
    low = np.where(known, stacked, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, stacked, -np.inf).max(axis=0, initial=-np.inf)
    return bool((high > low).any())


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
