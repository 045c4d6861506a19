"""Targets between the user's cells and the network's numbers: scaling, label names, missing values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.settings import Strict
from gia_science.tokens.descriptors import numeric_cell

TaskKind = Literal["regression", "binary", "multilabel", "multiclass", "per_token"]
"""What is predicted: numbers, one or several yes/no answers, one class of many, or a class per residue."""

MISSING = frozenset({"", "na", "n/a", "nan", "none", "null"})
"""Cells, in lower case, that stand for a target that was not measured."""


def is_missing(cell: str) -> bool:
    """Whether a target cell is empty or says that there is no value."""
    return cell.strip().lower() in MISSING


class Targets(Strict):
    """What is predicted, in the user's words.

    Parameters
    ----------
    names : tuple of str
        Column names of the targets.
    kind : TaskKind
        Regression; binary, or several binary targets (multilabel); multiclass; a class per residue.
    labels : tuple of str
        Class labels as the user wrote them, in the order of the outputs; the second of two is the positive class.
        Empty for regression.
    mean, scale : tuple of float
        Per target, in its units; learnt from training rows. A constant target has scale 0, so that its prediction
        is that constant. Empty for classes.
    units : tuple of str
        Units of the targets, ``""`` where not known.
    """

    names: tuple[str, ...]
    kind: TaskKind
    labels: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    units: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        count = len(self.names)
        if self.kind == "regression":
            if len(self.mean) != count or len(self.scale) != count:
                raise ValueError("regression targets need one mean and one scale each")
        elif len(self.labels) < 2:
            raise ValueError("classes need at least two labels")
        if self.kind in ("binary", "multilabel") and len(self.labels) != 2:
            raise ValueError("binary targets have two labels")
        if self.kind in ("binary", "multiclass", "per_token") and count != 1:
            raise ValueError(f"a {self.kind} task has one target")
        return self

    @property
    def outputs(self) -> int:
        """Number of outputs of the network's head."""
        return len(self.labels) if self.kind in ("multiclass", "per_token") else len(self.names)

    def encode(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values in the user's units ``(n, T)`` to network targets; class indices pass unchanged."""
        if self.kind != "regression":
            return values
        scale = np.array(self.scale)
        scaled: npt.NDArray[np.float64] = (values - np.array(self.mean)) / np.where(scale > 0, scale, 1.0)
        return scaled

    def decode(self, outputs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Activated outputs ``(n, outputs)`` to the user's units; probabilities pass unchanged."""
        if self.kind != "regression":
            return outputs
        values: npt.NDArray[np.float64] = outputs * np.array(self.scale) + np.array(self.mean)
        return values

    def parse(self, cells: Sequence[str]) -> npt.NDArray[np.float64]:
        """Target cells of one row to ``(T,)`` numbers: values, or indices of labels; NaN where missing.

        Raises
        ------
        UnreadableInputError
            For a cell that is neither a number (regression) nor a known label (classes).
        """
        assert self.kind != "per_token"
        return np.array([self._parse_cell(cell) for cell in cells], dtype=np.float64)

    def parse_tokens(self, cell: str) -> npt.NDArray[np.float64]:
        """A cell with one letter per residue to class indices ``(L,)``; ``-`` and ``?`` are missing."""
        index = {label: float(number) for number, label in enumerate(self.labels)}
        unknown = sorted(set(cell.strip()) - set(index) - {"-", "?"})
        if unknown:
            raise UnreadableInputError(
                "unknown label", got=", ".join(map(repr, unknown)), expected=" or ".join(self.labels)
            )
        return np.array([index.get(letter, math.nan) for letter in cell.strip()], dtype=np.float64)

    def _parse_cell(self, cell: str) -> float:
        if is_missing(cell):
            return math.nan
        if self.kind == "regression":
            return numeric_cell(cell)
        label = canonical_label(cell)
        if label not in self.labels:
            raise UnreadableInputError("unknown label", got=repr(cell), expected=" or ".join(self.labels))
        return float(self.labels.index(label))


def canonical_label(cell: str) -> str:
    """A label as text; ``1.0`` and ``1`` are one label."""
    text = cell.strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number == int(number) else text


NEGATIVE_WORDS = frozenset(
    {"0", "no", "n", "false", "f", "inactive", "negative", "neg", "decoy", "insoluble", "nonbinder"}
)
"""Labels, in lower case, that name the negative class of two."""
MOST_CLASSES = 100
"""Most classes that are recognised without being asked for."""


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in a fixed order: numbers by size, words by alphabet; of two, a word that says no comes first."""
    distinct = set(labels)
    try:
        ordered = sorted(distinct, key=float)
    except ValueError:
        ordered = sorted(distinct)
    if (
        len(ordered) == 2
        and ordered[1].lower() in NEGATIVE_WORDS
        and ordered[0].lower() not in NEGATIVE_WORDS
    ):
        ordered.reverse()
    return tuple(ordered)


def is_number(cell: str) -> bool:
    """Whether a cell is written as a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def infer_kind(columns: Sequence[Sequence[str]]) -> TaskKind:
    """Kind of task from the cells of its target columns, missing ones left out.

    Two distinct values are yes and no; more than two are numbers when at least half of the cells are written as
    numbers, and class names otherwise.
    """
    known = [[cell for cell in cells if not is_missing(cell)] for cells in columns]
    distinct = [len({canonical_label(cell) for cell in cells}) for cells in known]
    if all(count <= 2 for count in distinct) and max(distinct) == 2:
        return "binary" if len(columns) == 1 else "multilabel"
    cells = [cell for column in known for cell in column]
    if 2 * sum(map(is_number, cells)) >= len(cells):
        return "regression"
    if len(columns) > 1:
        raise RecipeError(
            "several targets must all be numbers, or all have two labels", got=f"{max(distinct)} labels"
        )
    if distinct[0] > min(MOST_CLASSES, len(cells) // 2):
        raise RecipeError(
            "the target is neither numbers nor classes",
            got=f"{distinct[0]} distinct values in {len(cells)} rows",
        )
    return "multiclass"


def find_labels(kind: TaskKind, columns: Sequence[Sequence[str]], *, names: Sequence[str]) -> tuple[str, ...]:
    """Labels found in the target columns, in their fixed order.

    Raises
    ------
    RecipeError
        When there are too few labels, or more than two where two are meant.
    """
    cells = [cell for column in columns for cell in column if not is_missing(cell)]
    if kind == "per_token":
        return sorted_labels({letter for cell in cells for letter in cell.strip()} - {"-", "?"})
    labels = sorted_labels(canonical_label(cell) for cell in cells)
    shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
    if len(labels) < 2:
        raise RecipeError(
            f"the target {', '.join(names)} has a single class",
            got=shown or "no value",
            expected="two or more",
        )
    if kind != "multiclass" and len(labels) > 2:
        raise RecipeError(
            f"a {kind} target has two labels", got=f"{len(labels)}: {shown}", hint="--kind multiclass?"
        )
    return labels


def fit_scaling(values: npt.NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each target ``(n, T)`` over the rows that have it; (0, 0) where none has."""
    mean = [
        float(np.mean(column[known])) if (known := ~np.isnan(column)).any() else 0.0 for column in values.T
    ]
    scale = [
        float(np.std(column[known])) if (known := ~np.isnan(column)).any() else 0.0 for column in values.T
    ]
    return tuple(mean), tuple(scale)
