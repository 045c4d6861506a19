"""The columns that prediction adds to a table, and their cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gia_science.data.targets import Targets
from gia_science.prediction.outcomes import Outcome

DIGITS = 6
"""Significant digits of a predicted number: what single precision holds."""


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
        return tuple(number_text(value) for value in output)
    if targets.kind in ("binary", "multilabel"):
        return tuple(
            text for value in output for text in (targets.labels[int(value >= 0.5)], number_text(value))
        )
    if targets.kind == "multiclass":
        return (targets.labels[int(output.argmax())], *(number_text(value) for value in output))
    return (_label_text(targets, outcome),)


def number_text(value: float) -> str:
    """A number with the digits that single precision holds."""
    return f"{value:.{DIGITS}g}"


def _label_text(targets: Targets, outcome: Outcome) -> str:
    """One label per residue of the input as the user wrote it, ``-`` where a residue was left out."""
    assert outcome.output is not None
    assert outcome.units is not None
    letters = np.full(int(outcome.units.max(initial=-1)) + 1, "-", dtype=object)
    letters[outcome.units] = [targets.labels[index] for index in outcome.output.argmax(axis=1)]
    return "".join(letters)
