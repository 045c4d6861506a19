"""The columns that prediction adds to a table, and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gia_science.data.targets import Targets
from gia_science.prediction.outcomes import Outcome

DIGITS = 6
"""Significant digits of a network's output: what single precision holds."""
_MOST_DIGITS = 15


def prediction_columns(targets: Targets) -> tuple[str, ...]:
    """Names of the added columns: ``<target>_pred`` in the user's units or labels, and probabilities of classes."""
    names = []
    for target in targets.names:
        names.append(f"{target}_pred")
        if targets.kind in ("binary", "multilabel"):
            names.append(f"{target}_prob_{targets.labels[1]}")
        elif targets.kind == "multiclass":
            names.extend(f"{target}_prob_{label}" for label in targets.labels)
    return (*names, "status", "reason")


def numeric_columns(targets: Targets) -> tuple[bool, ...]:
    """Which of `prediction_columns` hold numbers: values and probabilities, not labels."""
    if targets.kind == "per_token":
        of_target: tuple[bool, ...] = (False,)
    elif targets.kind == "regression":
        of_target = (True,)
    else:
        of_target = (False, *(True,) * (len(targets.labels) if targets.kind == "multiclass" else 1))
    return (*of_target * len(targets.names), False, False)


def prediction_cells(targets: Targets) -> Callable[[Outcome], tuple[str, ...]]:
    """Function from an outcome to the cells of `prediction_columns`; empty predictions where there is an error."""
    width = len(prediction_columns(targets)) - 2

    def cells(outcome: Outcome) -> tuple[str, ...]:
        values = ("",) * width if outcome.output is None else _values(targets, outcome)
        return (*values, outcome.status, outcome.reason)

    return cells


def _values(targets: Targets, outcome: Outcome) -> tuple[str, ...]:
    assert outcome.output is not None
    output = targets.decode(outcome.output)
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
