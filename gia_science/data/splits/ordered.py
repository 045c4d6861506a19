"""Splits along a column: the newest inputs, or those of extreme values, are tested on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from gia_science.data.cells import is_number
from gia_science.data.splits.base import (
    USUAL,
    Fractions,
    Split,
    distinct_groups,
    fraction_words,
    held_out,
    split_of_groups,
)
from gia_science.errors import RecipeError, counted
from gia_science.tokens.stream import IntArray

FloatArray = npt.NDArray[np.float64]
Ends = Literal["both", "high", "low"]
_SHOWN = 5


def time_split(
    moments: FloatArray, identities: Sequence[str], *, fractions: Fractions = USUAL, column: str = "time"
) -> Split:
    """Train on the oldest inputs, validate on the next, test on the newest.

    Parameters
    ----------
    moments : (n,) float64
        When each row was measured, see `read_moments`. An input that stands in several rows counts as of the oldest.
    identities : sequence of str
        Canonical identity of each row.
    fractions : (train, validation, test)
        Fractions of the distinct inputs.
    column : str
        Name of the column, for the description.

    Raises
    ------
    RecipeError
        When the fractions are not valid, or there are too few inputs.
    """
    distinct, _ = distinct_groups(identities)
    oldest = np.full(len(distinct), np.inf)
    np.minimum.at(oldest, [distinct[name] for name in identities], moments)
    n_validation, n_test = held_out(len(distinct), fractions, what="a split by time")
    order = np.argsort(oldest, kind="stable")
    part_of = _last(order, n_validation, n_test)
    describe = f"split by time {fraction_words(fractions)}, column {column!r}, oldest in training"
    return split_of_groups(identities, distinct, part_of, describe, _tie_note(oldest, part_of))


def value_split(
    values: FloatArray,
    identities: Sequence[str],
    *,
    fractions: Fractions = USUAL,
    ends: Ends = "both",
    column: str = "value",
) -> Split:
    """Test on extreme values, validate on the next ones, train on the rest: a test of extrapolation.

    Parameters
    ----------
    values : (n,) float64
        Value of each row. An input that stands in several rows counts with their mean.
    identities : sequence of str
        Canonical identity of each row.
    fractions : (train, validation, test)
        Fractions of the distinct inputs.
    ends : {"both", "high", "low"}
        Which extremes are held out; of both, half from each end.
    column : str
        Name of the column, for the description.

    Raises
    ------
    RecipeError
        When the fractions are not valid, or there are too few inputs.
    """
    distinct, _ = distinct_groups(identities)
    number = np.array([distinct[name] for name in identities], dtype=np.int64)
    sums = np.bincount(number, weights=values, minlength=len(distinct))
    means = sums / np.bincount(number, minlength=len(distinct))
    n_validation, n_test = held_out(len(distinct), fractions, what="a split by value")
    rank = np.argsort(np.argsort(means, kind="stable"), kind="stable")
    inward = {"both": -np.minimum(rank, len(rank) - 1 - rank), "high": rank, "low": -rank}[ends]
    part_of = _last(np.argsort(inward, kind="stable"), n_validation, n_test)
    told = "both ends" if ends == "both" else f"{ends} values"
    describe = f"split by value {fraction_words(fractions)}, column {column!r}, {told} in test"
    return split_of_groups(identities, distinct, part_of, describe, _tie_note(means, part_of))


def _last(order: IntArray, n_validation: int, n_test: int) -> IntArray:
    part_of = np.zeros(len(order), dtype=np.int64)
    part_of[order[len(order) - n_validation - n_test :]] = 1
    part_of[order[len(order) - n_test :]] = 2
    return part_of


def _tie_note(values: FloatArray, part_of: IntArray) -> tuple[str, ...]:
    """Equal values on both sides of a boundary are told: they were cut by the order of the file."""
    sides = {(value, part) for value, part in zip(values.tolist(), (part_of > 0).tolist(), strict=True)}
    cut = len(sides) - len(set(values.tolist()))
    what = f"{counted(cut, 'value')} of the column" if cut > 1 else "one value of the column"
    return (f"{what} on both sides of the boundary to what is held out",) if cut else ()


def read_values(cells: Sequence[str], lines: Sequence[int], *, column: str) -> FloatArray:
    """Numbers (n,) of a column; raises `RecipeError` with the lines of cells that are none."""
    bad = [place for place, cell in enumerate(cells) if not is_number(cell)]
    if bad:
        raise _unreadable(cells, lines, bad, column=column, expected="a number in every row")
    return np.array([float(cell) for cell in cells], dtype=np.float64)


def read_moments(cells: Sequence[str], lines: Sequence[int], *, column: str) -> FloatArray:
    """Times (n,) of a column of numbers, such as years, or of ISO dates: ``2019``, ``2019-03``, ``2019-03-31T12:00``.

    Returns
    -------
    (n,) float64
        The numbers themselves, or seconds since 1970; a time without a zone is taken for UTC.

    Raises
    ------
    RecipeError
        When cells are neither; the first ones are named with their lines.
    """
    if all(map(is_number, cells)):
        return np.array([float(cell) for cell in cells], dtype=np.float64)
    moments = np.array([_seconds(cell.strip()) for cell in cells], dtype=np.float64)
    bad = np.flatnonzero(np.isnan(moments)).tolist()
    if bad:
        expected = "numbers, or dates like 2019-03-31, in every row"
        raise _unreadable(cells, lines, bad, column=column, expected=expected)
    return moments


def _seconds(text: str) -> float:
    for suffix in ("", "-01", "-01-01"):
        try:
            moment = datetime.fromisoformat(text + suffix)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return math.nan


def _unreadable(
    cells: Sequence[str], lines: Sequence[int], bad: Sequence[int], *, column: str, expected: str
) -> RecipeError:
    shown = ", ".join(f"{cells[place]!r:.40} on line {lines[place]}" for place in bad[:_SHOWN])
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return RecipeError(
        f"cannot split by the column {column!r}",
        got=shown + more,
        expected=expected,
        hint="leave the rows out of the file, or fill the cells",
    )
