"""What users pass as X: lists, arrays, Series and frames, as named columns of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from gia_science.data.objects import READABLE, object_text
from gia_science.data.record import LoadedTable, Record, cell_text, free_name, is_missing_value
from gia_science.errors import TableError, UnreadableInputError, listed
from gia_science.tokens.domain import guess_column

SOURCE = "X"
_SHOWN = 3
_WIDTH = 60


@dataclass(frozen=True)
class Given:
    """Columns of X.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values of each column, n each.
    labels : sequence or None
        Labels of a pandas index, which messages name beside the position; None where there is none.
    """

    columns: Mapping[str, Sequence[object]]
    labels: Sequence[object] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def where(self, position: int) -> str:
        """A row as messages name it: its position from 0, and its label where it has another one."""
        if self.labels is None or self.labels[position] == position:
            return f"position {position}"
        return f"position {position} (index {self.labels[position]!r})"


def take(X: Any) -> Given:
    """Columns of whatever a user passes as X.

    Parameters
    ----------
    X : list, tuple, array, Series or DataFrame
        Texts or objects of RDKit, Biopython or pymatgen; several columns in a DataFrame or a two-dimensional array.

    Raises
    ------
    TableError
        For a single text or object, no rows, or what has no rows and columns.
    """
    if X is None or isinstance(X, str | bytes | Mapping) or object_text(X) is not None:
        shown = "None" if X is None else f"a single {type(X).__name__}, {X!r:.{_WIDTH}}"
        raise TableError(
            "X is not a list of inputs", got=shown, hint="a single input goes in a list: [input]"
        )
    given = _columns(X)
    if not given.columns or not len(given):
        raise TableError("X is empty: 0 sample(s)", expected="one row or more")
    return given


def _columns(X: Any) -> Given:
    if isinstance(X, pd.Series | pd.Index):
        name = "input" if X.name is None else str(X.name)
        return Given({name: list(X)}, list(X.index) if isinstance(X, pd.Series) else None)
    if isinstance(X, pd.DataFrame):
        return Given(
            _named([str(name) for name in X.columns], [list(X.iloc[:, i]) for i in range(X.shape[1])]),
            list(X.index),
        )
    if hasattr(X, "columns") and hasattr(X, "to_dict"):  # polars, which need not be installed
        return Given({str(name): list(X[name]) for name in X.columns})
    if not isinstance(X, Iterable):
        raise TableError(
            "X is not a list of inputs", got=type(X).__name__, expected="a list, array, Series or DataFrame"
        )
    if isinstance(X, np.ndarray) and X.ndim not in (1, 2):
        raise TableError(
            "X is not a list of inputs", got=f"an array of {X.ndim} dimensions", expected="1 or 2"
        )
    rows = list(X)
    if not rows or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return Given({"input": rows})
    if len({len(row) for row in rows}) > 1:
        raise TableError("rows of X differ in length", got=listed(sorted({str(len(row)) for row in rows})))
    return Given(_numbered([list(column) for column in zip(*rows, strict=True)]))


def _numbered(columns: Sequence[Sequence[object]]) -> dict[str, Sequence[object]]:
    if len(columns) == 1:
        return {"input": columns[0]}
    return {f"column_{number}": column for number, column in enumerate(columns, start=1)}


def _named(names: Sequence[str], columns: Sequence[Sequence[object]]) -> dict[str, Sequence[object]]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError("column names of X stand more than once", got=listed(twice))
    return dict(zip(names, columns, strict=True))


def is_number(value: object) -> bool:
    """Whether a value is a number and no text."""
    return isinstance(value, Number | np.number | np.bool_)


def text_columns(given: Given) -> list[str]:
    """Names of the columns that hold anything but numbers and missing values."""
    return [
        name
        for name, values in given.columns.items()
        if not all(is_number(value) or is_missing_value(value) for value in values)
    ]


def choose_columns(
    given: Given, *, input: str | None, columns: Sequence[str] | None
) -> tuple[str, tuple[str, ...]]:
    """Input column and numeric columns.

    Parameters
    ----------
    given : Given
    input : str, optional
        Column of sequences, SMILES or formulas; by default the only column of text.
    columns : sequence of str, optional
        Numeric columns; by default all of them.

    Raises
    ------
    TableError
        When a column is missing, or there is not one column of text.
    """
    if isinstance(columns, str):
        raise TableError("columns is not a list of names", got=repr(columns), hint=f"columns=[{columns!r}]")
    for name in (*([] if input is None else [input]), *(columns or ())):
        require_column(given, name)
    chosen = _input(given) if input is None else input
    if columns is not None:
        return chosen, tuple(columns)
    texts = text_columns(given)
    return chosen, tuple(name for name in given.columns if name != chosen and name not in texts)


def _input(given: Given) -> str:
    if len(given.columns) == 1:
        return next(iter(given.columns))
    texts = text_columns(given)
    if len(texts) == 1:
        return texts[0]
    if not texts:
        raise TableError("X has no column of text", got=listed(list(given.columns)))
    guessed = guess_column(texts)
    raise TableError(
        f"X has {len(texts)} columns of text",
        got=listed(texts),
        hint=f"say which is the input, as in input={(texts[0] if guessed is None else guessed[0])!r}",
    )


def require_column(given: Given, name: str) -> None:
    """Raise `TableError`, with the nearest name, where X has no such column."""
    names = tuple(given.columns)
    LoadedTable(names, (), SOURCE, "memory", names).position(name)


def as_records(given: Given, *, input: str, numbers: Sequence[str], names: Sequence[str]) -> LoadedTable:
    """The chosen columns as a table; a value that is no input comes with its problem.

    Parameters
    ----------
    given : Given
    input : str
    numbers : sequence of str
    names : sequence of str
        What the columns are called in the table, the input first.
    """
    texts = [input_text(value) for value in given.columns[input]]
    cells = [[cell_text(value) for value in given.columns[name]] for name in numbers]
    records = tuple(
        Record(SOURCE, position, None, (text, *(column[position] for column in cells)), problem)
        for position, (text, problem) in enumerate(texts)
    )
    return LoadedTable(tuple(names), records, SOURCE, "memory", tuple(names))


def input_text(value: object) -> tuple[str, str | None]:
    """Text of one input, or the reason why it has none."""
    if isinstance(value, str):
        return str(value), None
    if is_missing_value(value):
        return "", "missing value"
    known = object_text(value)
    if known is not None:
        return known.text, known.problem
    shown = f"a {type(value).__name__}"
    return "", UnreadableInputError("not an input", got=shown, expected=READABLE).reason


def bad_rows_error(
    given: Given, bad: Sequence[tuple[int, str]], *, input: str, hint: str | None = None
) -> UnreadableInputError:
    """One error for all rows that cannot be used: how many, and of the first their place, value and reason.

    Parameters
    ----------
    given : Given
    bad : sequence of (int, str)
        Position and reason of each.
    input : str
    hint : str, optional
    """
    values = given.columns[input]
    told = [f"{given.where(place)}, {_shown(values[place])}: {reason}" for place, reason in bad[:_SHOWN]]
    more = f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return UnreadableInputError(
        f"{len(bad)} of {len(given)} rows of X cannot be used: {'; '.join(told)}{more}", hint=hint
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def target_names(y: Any, count: int, *, taken: Iterable[str]) -> tuple[str, ...]:
    """Names of the targets: those of a Series or a frame, else ``y``; none of them that of a column of X."""
    names = [str(name) for name in y.columns] if isinstance(y, pd.DataFrame) else []
    if isinstance(y, pd.Series) and y.name is not None:
        names = [str(y.name)]
    if len(names) != count or len(set(names)) < count:
        names = ["y"] if count == 1 else [f"y{number}" for number in range(count)]
    used, free = set(taken), []
    for name in names:
        free.append(free_name(name, used))
        used.add(free[-1])
    return tuple(free)
