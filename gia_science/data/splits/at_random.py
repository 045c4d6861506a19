"""Splits drawn at random from the distinct inputs, with equal shares of the classes where they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gia_science.data.splits.base import (
    USUAL,
    Fractions,
    Split,
    distinct_groups,
    fraction_words,
    held_out,
    split_of_groups,
)
from gia_science.tokens.stream import IntArray


def random_split(
    groups: Sequence[str],
    *,
    fractions: Fractions = USUAL,
    seed: int = 0,
    strata: Sequence[object] | None = None,
) -> Split:
    """Split at random into fractions of the distinct groups.

    Parameters
    ----------
    groups : sequence of str
        Group of each row.
    fractions : (train, validation, test)
        Fractions of the groups, summing to 1. A part with a fraction above 0 gets at least one group.
    seed : int
        Equal seeds give equal splits.
    strata : sequence, optional
        Class of each row; a group counts as of the class of its first row. Each part gets its share of each
        class as far as whole groups allow; the few of a rare class stay in training.

    Raises
    ------
    RecipeError
        When the fractions are not valid, or there are fewer distinct groups than parts.
    """
    distinct, first = distinct_groups(groups)
    n_validation, n_test = held_out(len(distinct), fractions, what="a random split")
    classes = class_numbers(strata, first)
    order = spread_out(np.arange(len(distinct)), classes, np.random.default_rng(seed))
    part_of = np.full(len(distinct), 0)
    part_of[order[:n_test]] = 2
    part_of[order[n_test : n_test + n_validation]] = 1
    kind = "random split" if strata is None else "stratified random split"
    describe = f"{kind} {fraction_words(fractions)}, seed {seed}"
    return split_of_groups(groups, distinct, part_of, describe, rare_note(classes, 2))


def class_numbers(strata: Sequence[object] | None, first: IntArray) -> IntArray:
    """Class of each group as a number; one class for all where there are no strata."""
    if strata is None:
        return np.zeros(len(first), dtype=np.int64)
    # As text, so that NaN is one class and kinds of values can be mixed.
    names = [str(strata[row]) for row in first]
    number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


def spread_out(members: IntArray, classes: IntArray, rng: np.random.Generator) -> IntArray:
    """`members` in random order, such that each stretch from the start holds its share of each class.

    The k-th of the m shuffled members of a class stands at (k + 1/2) / m of the way; a single member stands
    in the middle, so that short stretches at the start leave it out.
    """
    shuffled = rng.permutation(len(members))
    place = np.empty(len(members))
    for kind in np.unique(classes):
        own = shuffled[classes[shuffled] == kind]
        place[own] = (np.arange(len(own)) + 0.5) / len(own)
    # The sort is stable: equal places stay in the shuffled order.
    return members[shuffled[np.argsort(place[shuffled], kind="stable")]]


def rare_note(classes: IntArray, needed: int) -> tuple[str, ...]:
    """What to say of classes with fewer members than there are parts or folds."""
    rare = int(np.sum(np.bincount(classes) < needed))
    if rare == 0:
        return ()
    what = "a single member" if needed == 2 else f"fewer than {needed} members"
    return (f"{rare} class{'es have' if rare > 1 else ' has'} {what}: not in every part of the split",)
