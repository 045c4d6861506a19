"""Cross-validation whose folds a column of the table prescribes, as those of a published benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gia_science.data.splits.at_random import random_split
from gia_science.data.splits.base import Split
from gia_science.errors import RecipeError
from gia_science.tokens.stream import IntArray


def prescribed_fold_split(
    folds: Sequence[str],
    groups: Sequence[str],
    *,
    fold: int = 0,
    seed: int = 0,
    validation: float = 0.1,
    strata: Sequence[object] | None = None,
) -> Split:
    """Split whose test rows are those with one number in a column; validation is drawn from the others.

    Parameters
    ----------
    folds : sequence of str
        Number of the fold of each row, counted from 0.
    groups : sequence of str
        Group of each row. A group in several folds is left as prescribed, and told in the notes.
    fold : int
        The fold that is the test part.
    seed : int
        Of the rows for validation; equal seeds give equal splits.
    validation : float
        Fraction of the training groups kept for validation.
    strata : sequence, optional
        Class of each row; validation gets its share of each.

    Raises
    ------
    RecipeError
        When the column holds other than numbers, or no row stands in the fold.
    """
    assert len(folds) == len(groups)
    words = [word.strip() for word in folds]
    odd = next((word for word in words if not (word.isascii() and word.isdigit())), None)
    if odd is not None:
        raise RecipeError(
            "the split column does not number folds",
            got=repr(odd),
            expected="0, 1, 2, ...",
            hint="a column of train, validation and test goes with method: column",
        )
    numbers = np.array(words, dtype=np.int64)
    test, rest = np.flatnonzero(numbers == fold), np.flatnonzero(numbers != fold)
    if not len(test) or not len(rest):
        there = ", ".join(str(number) for number in sorted(set(numbers.tolist())))
        raise RecipeError("no such fold in the split column", got=str(fold), expected=there)
    inner = random_split(
        [groups[row] for row in rest.tolist()],
        fractions=(1 - validation, validation, 0.0),
        seed=seed,
        strata=None if strata is None else [strata[row] for row in rest.tolist()],
    )
    describe = f"fold {fold} of {len(set(numbers.tolist()))} of the split column; validation with seed {seed}"
    notes = (*inner.notes, *_crossing_note(numbers, groups))
    return Split(rest[inner.train], rest[inner.validation], test, describe, notes)


def _crossing_note(numbers: IntArray, groups: Sequence[str]) -> tuple[str, ...]:
    pairs = set(zip(groups, numbers.tolist(), strict=True))
    crossing = sum(count > 1 for count in Counter(group for group, _ in pairs).values())
    return (
        (f"{crossing} input{'s' * (crossing != 1)} in more than one fold, as the column prescribes",)
        if crossing
        else ()
    )
