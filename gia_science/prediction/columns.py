"""The columns that prediction adds to a table, and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gia_science.data.targets import Targets
from gia_science.prediction.outcomes import Outcome
from gia_science.tokens.long import Long

DIGITS = 6
"""Significant digits of a network's output: what single precision holds."""
_MOST_DIGITS = 15


def prediction_columns(targets: Targets, *, long: Long = "error") -> tuple[str, ...]:
    """Names of the added columns: ``<target>_pred`` in the user's units or labels, and probabilities of classes.

    After them `outcome_columns`.
    """
    names = []
    for target in targets.names:
        names.append(f"{target}_pred")
        if targets.kind in ("binary", "multilabel"):
            names.append(f"{target}_prob_{targets.labels[1]}")
        elif targets.kind == "multiclass":
            names.extend(f"{target}_prob_{label}" for label in targets.labels)
    return (*names, *outcome_columns(long))


def outcome_columns(long: Long) -> tuple[str, ...]:
    """What is told of every row: ``status`` and ``reason``, and before them ``truncated`` unless long is an error.

    ``truncated`` says whether a part of the input was not used.
    """
    return (*(() if long == "error" else ("truncated",)), "status", "reason")


def outcome_cells(outcome: Outcome, *, long: Long) -> tuple[str, ...]:
    """Cells of `outcome_columns`; ``truncated`` is ``yes`` or ``no``, empty where there is an error."""
    truncated = "" if outcome.output is None else "yes" if outcome.truncated else "no"
    return (*(() if long == "error" else (truncated,)), outcome.status, outcome.reason)


def numeric_columns(targets: Targets, *, long: Long = "error") -> tuple[bool, ...]:
    """Which of `prediction_columns` hold numbers: values and probabilities, not labels."""
    if targets.kind == "per_token":
        of_target: tuple[bool, ...] = (False,)
    elif targets.kind == "regression":
        of_target = (True,)
    else:
        of_target = (False, *(True,) * (len(targets.labels) if targets.kind == "multiclass" else 1))
    return (*of_target * len(targets.names), *(False for _ in outcome_columns(long)))


def prediction_cells(targets: Targets, *, long: Long = "error") -> Callable[[Outcome], tuple[str, ...]]:
    """Function from an outcome to the cells of `prediction_columns`; empty predictions where there is an error."""
    width = len(prediction_columns(targets)) - 2

    def cells(outcome: Outcome) -> tuple[str, ...]:
        values = ("",) * width if outcome.output is None else _values(targets, outcome)
        return (*values, *outcome_cells(outcome, long=long))

    return cells


def _values(targets: Targets, outcome: Outcome) -> tuple[str, ...]:
    assert outcome.output is not None
    output = targets.decode(outcome.output.astype(np.float64, copy=False))
    if targets.kind == "regression":
        return tuple(
            number_text(value, digits=_digits(value, scale))
            for value, scale in zip(output.tolist(), targets.scale, strict=True)
        )
    if targets.kind in ("binary", "multilabel"):
        return tuple(
            text for value in output for text in (targets.labels[int(value >= 0.5)], number_text(value))
        )
    if targets.kind == "multiclass":
        return (targets.labels[int(output.argmax())], *(number_text(value) for value in output))
    return (_label_text(targets, outcome),)


def number_text(value: float, *, digits: int = DIGITS) -> str:
    """A number with some significant digits, by default those that single precision holds."""
    return f"{value:.{digits}g}"


def _digits(value: float, scale: float) -> int:
    """Digits that write a scaled output to its own precision, far from 0 as it may stand in the target's units."""
    if scale == 0:
        return _MOST_DIGITS
    if value == 0 or not math.isfinite(value):
        return DIGITS
    beyond = math.ceil(math.log10(abs(value)) - math.log10(scale))
    return min(DIGITS + max(0, beyond), _MOST_DIGITS)


def _label_text(targets: Targets, outcome: Outcome) -> str:
    """One label per letter of the input as the user wrote it, ``-`` where a letter was left out or cut off."""
    assert outcome.output is not None
    assert outcome.units is not None
    letters = np.full(outcome.length, "-", dtype=object)
    letters[outcome.units] = [targets.labels[index] for index in outcome.output.argmax(axis=1)]
    return "".join(letters)
