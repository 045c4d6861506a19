"""What a saved network computes for the rows of X, each different row once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.record import LoadedTable, Record
from gia_science.errors import TableError, listed
from gia_science.estimators.given import (
    Given,
    as_records,
    bad_rows_error,
    require_column,
    take,
    text_columns,
)
from gia_science.prediction.outcomes import Outcome

FloatArray = npt.NDArray[np.floating[Any]]
NAN_HINT = "on_error='nan' gives NaN for such rows"


def compute_rows(
    X: Any,
    *,
    input: str,
    numbers: Sequence[str],
    width: int,
    outcomes: Callable[[LoadedTable], Iterable[Outcome]],
    on_error: str,
    named: str | None = None,
) -> FloatArray:
    """Output of every row, ``(n, width)``.

    Parameters
    ----------
    X : list, tuple, array, Series or DataFrame
    input, numbers
        Columns that the network was trained on.
    width : int
        Length of an output.
    outcomes : callable
        Outcome of each record of a table with these columns.
    on_error : {"raise", "nan"}
        What becomes of rows that cannot be used.
    named : str, optional
        Input column of X as the user says it, where it is called otherwise than in training.

    Raises
    ------
    TableError
        When columns are missing, or X is no list of inputs.
    UnreadableInputError
        When rows cannot be used and `on_error` is ``"raise"``: one error for all of them.
    """
    given = take(X)
    column = fitted_column(given, input=input, numbers=numbers, named=named)
    table = as_records(given, input=column, numbers=numbers, names=(input, *numbers))
    distinct, places = distinct_records(table)
    found = list(outcomes(distinct))
    bad = [(row, found[place].reason) for row, place in enumerate(places) if found[place].output is None]
    if bad and on_error == "raise":
        raise bad_rows_error(given, bad, input=column, hint=NAN_HINT)
    missing = np.full(width, np.nan, dtype=np.float32)
    return np.stack([missing if outcome.output is None else outcome.output for outcome in found])[places]


def fitted_column(given: Given, *, input: str, numbers: Sequence[str], named: str | None = None) -> str:
    """Column of X that is the input; the numeric columns are there, or `TableError` names the missing one."""
    if numbers and len(given.columns) == 1:
        raise TableError(
            "X lacks columns that the model was fitted with",
            got=f"one column, {listed(list(given.columns))}",
            expected=f"a DataFrame with {listed([input, *numbers])}",
        )
    for name in numbers:
        require_column(given, name)
    if named is not None and len(given.columns) > 1:
        require_column(given, named)
        return named
    if input in given.columns:
        return input
    left = [name for name in given.columns if name not in numbers]
    texts = [name for name in text_columns(given) if name not in numbers]
    # One column is the input whatever it is called: lists, arrays and Series often have another name or none.
    candidates = left if len(left) == 1 else texts
    if len(candidates) != 1:
        require_column(given, input)
    return candidates[0]


def distinct_records(table: LoadedTable) -> tuple[LoadedTable, npt.NDArray[np.int64]]:
    """The different records of a table, and the place among them of each of its n records, ``(n,)``."""
    first: dict[tuple[str, ...], int] = {}
    distinct: list[Record] = []
    places = []
    for record in table.records:
        key = (record.problem or "", *record.cells)
        if key not in first:
            first[key] = len(distinct)
            distinct.append(record)
        places.append(first[key])
    return replace(table, records=tuple(distinct)), np.array(places, dtype=np.int64)
