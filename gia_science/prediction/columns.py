"""The columns that prediction adds to a table, and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gia_science.data.targets import Targets
from gia_science.prediction.outcomes import Outcome
from gia_science.tokens.long import Long

FloatArray = npt.NDArray[np.float64]
DIGITS = 6
"""Significant digits of a network's output: what single precision holds."""
_MOST_DIGITS = 15
MEDIAN = 0.5
"""Level of the quantile that is the prediction itself."""


def prediction_columns(targets: Targets, *, members: int = 1, long: Long = "error") -> tuple[str, ...]:
    """Names of the added columns.

    For each target ``<target>_pred`` in the user's units or labels; then the quantiles of numbers beside the median,
    such as ``<target>_q10``, or the probabilities of classes; then, of several members, ``<target>_std`` as
    `Targets.spread` has it. After all targets `outcome_columns`.
    """
    names = []
    for target in targets.names:
        names.append(f"{target}_pred")
        if targets.kind in ("binary", "multilabel"):
            names.append(f"{target}_prob_{targets.labels[1]}")
        elif targets.kind == "multiclass":
            names.extend(f"{target}_prob_{label}" for label in targets.labels)
        names.extend(f"{target}_q{100 * level:g}" for level in targets.quantiles if level != MEDIAN)
        if _spread_is_told(targets, members):
            names.append(f"{target}_std")
    return (*names, *outcome_columns(long))


def _spread_is_told(targets: Targets, members: int) -> bool:
    return members > 1 and targets.kind != "per_token"


def outcome_columns(long: Long) -> tuple[str, ...]:
    """What is told of every row: ``status`` and ``reason``, and before them ``truncated`` unless long is an error.

    ``truncated`` says whether a part of the input was not used.
    """
    return (*(() if long == "error" else ("truncated",)), "status", "reason")


def outcome_cells(outcome: Outcome, *, long: Long) -> tuple[str, ...]:
    """Cells of `outcome_columns`; ``truncated`` is ``yes`` or ``no``, empty where there is an error."""
    truncated = "" if outcome.output is None else "yes" if outcome.truncated else "no"
    return (*(() if long == "error" else (truncated,)), outcome.status, outcome.reason)


def numeric_columns(targets: Targets, *, members: int = 1, long: Long = "error") -> tuple[bool, ...]:
    """Which of `prediction_columns` hold numbers: values and probabilities, not labels."""
    added = len(prediction_columns(targets, members=members)) - len(outcome_columns("error"))
    of_target = (targets.kind == "regression", *(True,) * (added // len(targets.names) - 1))
    return (*of_target * len(targets.names), *(False for _ in outcome_columns(long)))


def prediction_cells(
    targets: Targets, *, members: int = 1, long: Long = "error"
) -> Callable[[Outcome], tuple[str, ...]]:
    """Function from an outcome to the cells of `prediction_columns`; empty predictions where there is an error."""
    width = len(prediction_columns(targets, members=members)) - len(outcome_columns("error"))

    def cells(outcome: Outcome) -> tuple[str, ...]:
        values = ("",) * width if outcome.output is None else _values(targets, outcome, members)
        return (*values, *outcome_cells(outcome, long=long))

    return cells


def _values(targets: Targets, outcome: Outcome, members: int) -> tuple[str, ...]:
    assert outcome.output is not None
    if targets.kind == "per_token":
        return (_label_text(targets, outcome),)
    output = outcome.output.astype(np.float64, copy=False)
    decoded = targets.decode(output)
    if targets.kind == "regression":
        cells = _numbers(targets, output, decoded)
    elif targets.kind == "multiclass":
        label = targets.labels[int(targets.label(decoded))]
        cells = [(label, *(number_text(value) for value in decoded))]
    else:
        labels = targets.label(decoded)
        cells = [
            (targets.labels[label], number_text(value)) for label, value in zip(labels, decoded, strict=True)
        ]
    if _spread_is_told(targets, members):
        spread = targets.spread(output)
        cells = [(*of_target, number_text(value)) for of_target, value in zip(cells, spread, strict=True)]
    return tuple(cell for of_target in cells for cell in of_target)


def _numbers(targets: Targets, output: FloatArray, decoded: FloatArray) -> list[tuple[str, ...]]:
    """Cells of each target: its value, then its quantiles."""
    values = decoded[:, None]
    if targets.quantiles:
        beside = [place for place, level in enumerate(targets.quantiles) if level != MEDIAN]
        values = np.concatenate((values, targets.interval(output)[:, beside]), axis=1)
    return [
        tuple(number_text(value, digits=_digits(value, targets, place)) for value in of_target)
        for place, of_target in enumerate(values.tolist())
    ]


def number_text(value: float, *, digits: int = DIGITS) -> str:
    """A number with some significant digits, by default those that single precision holds."""
    return f"{value:.{digits}g}"


def _digits(value: float, targets: Targets, place: int) -> int:
    """Digits that write a scaled output to its own precision, far from 0 as it may stand in the target's units."""
    scale = targets.scale[place]
    if scale == 0:
        return _MOST_DIGITS
    if targets.forms and targets.forms[place].transformed:
        # How far a step of the network's output reaches in these units.
        scale *= max(value + targets.forms[place].shift, 0.0) ** (1 - targets.forms[place].power) or 1.0
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
