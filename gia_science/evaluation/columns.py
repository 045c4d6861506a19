"""What the cells of a column look like: numbers, classes, how many are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gia_science.data.cells import canonical_label, is_missing, is_number, sorted_labels
from gia_science.data.inference import infer_kind
from gia_science.errors import RecipeError, counted

CLASSES_SHOWN = 8
"""Most classes that a line of text names."""


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One column.

    Parameters
    ----------
    name : str
    kind : str or None
        Task that it looks like; None where it is neither numbers nor classes.
    rows, missing : int
    classes : tuple of (str, int)
        Labels with the number of rows of each; empty for numbers.
    low, median, high : float or None
        Range of the numbers.
    problem : str or None
        Why it cannot be learnt.
    """

    name: str
    kind: str | None
    rows: int
    missing: int
    classes: tuple[tuple[str, int], ...] = ()
    low: float | None = None
    median: float | None = None
    high: float | None = None
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "name": self.name,
            "kind": self.kind,
            "rows": self.rows,
            "missing": self.missing,
            "classes": dict(self.classes),
            "range": None if self.low is None else [self.low, self.high],
            "median": self.median,
            "problem": self.problem,
        }

    def __str__(self) -> str:
        missing = f"; {self.missing} missing" if self.missing else ""
        known = self.rows - self.missing
        if self.low is not None and self.high is not None:
            numbers = f"{counted(known, 'number')}, {self.low:g} to {self.high:g}, median {self.median:g}"
            return f"{self.kind}: {numbers}{missing}"
        if self.kind == "per_token":
            return f"per_token: {counted(known)} with a label per residue{missing}"
        if not self.classes:
            return f"{self.kind or 'text'}: {known} values{missing}"
        shown = ", ".join(f"{label} ({count})" for label, count in self.classes[:CLASSES_SHOWN])
        more = len(self.classes) - CLASSES_SHOWN
        return f"{self.kind or 'text'}: {shown}{f' and {more} more' if more > 0 else ''}{missing}"


def summarise(
    name: str, cells: Sequence[str], *, kind: str | None = None, problem: str | None = None
) -> ColumnSummary:
    """Summary of the cells of a column.

    Parameters
    ----------
    name : str
    cells : sequence of str
    kind : str, optional
        What it is to be; what it looks like where not given.
    problem : str, optional
        Why it cannot be learnt, where that is known; a constant is found here.
    """
    known = [cell for cell in cells if not is_missing(cell)]
    if kind is None:
        kind = _kind(known)
    missing = len(cells) - len(known)
    if not known:
        return ColumnSummary(name, None, len(cells), missing, problem=problem or "no values")
    if kind == "per_token":
        return ColumnSummary(name, kind, len(cells), missing, problem=problem)
    numbers = np.array([float(cell) for cell in known if is_number(cell)])
    if kind == "regression" and not len(numbers):
        return ColumnSummary(
            name, kind, len(cells), missing, problem=problem or "none of its cells is a number"
        )
    if kind == "regression":
        low, high = float(numbers.min()), float(numbers.max())
        constant = f"it is {low:g} in every row, so there is nothing to learn" if low == high else None
        middle = float(np.median(numbers))
        return ColumnSummary(
            name, kind, len(cells), missing, low=low, median=middle, high=high, problem=problem or constant
        )
    counts = Counter(canonical_label(cell) for cell in known)
    classes = tuple((label, counts[label]) for label in sorted_labels(counts))
    if len(classes) == 1:
        problem = problem or f"it has a single class, {classes[0][0]}"
    return ColumnSummary(name, kind, len(cells), missing, classes=classes, problem=problem)


def _kind(known: Sequence[str]) -> str | None:
    """Task that the cells of one column look like."""
    if not known:
        return None
    try:
        return infer_kind([known])
    except RecipeError:
        return None
