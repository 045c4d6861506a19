"""Folds of a cross-validation over the distinct inputs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from gia_science.data.splits.at_random import class_numbers, rare_note, spread_out
from gia_science.data.splits.base import Split, distinct_groups, require_groups, share_of, split_of_groups
from gia_science.errors import RecipeError
from gia_science.tokens.stream import IntArray


def fold_split(
    groups: Sequence[str],
    *,
    folds: int = 5,
    fold: int = 0,
    repeat: int = 0,
    seed: int = 0,
    validation: float = 0.1,
    strata: Sequence[object] | None = None,
) -> Split:
    """One fold of a cross-validation over the distinct groups, in the order in which they first appear.

    With a group for each row the test rows are those of ``KFold(folds, shuffle=True, random_state=seed)`` of
    scikit-learn, with `strata` those of `StratifiedKFold`. Validation is drawn from what is left for
    training.

    Parameters
    ----------
    groups : sequence of str
        Group of each row.
    folds, fold : int
        Number of folds, and which of them is the test part, counted from 0.
    repeat : int
        Which repetition of the cross-validation, counted from 0, with other folds each time. The first one has the
        folds of the seed itself, another those of a seed mixed from both.
    seed : int
        Equal seeds give equal splits. The validation part depends on seed, repetition and fold.
    validation : float
        Fraction of the training groups kept for validation; 0 for none, otherwise at least one group.
    strata : sequence, optional
        Class of each row; a group counts as of the class of its first row.

    Raises
    ------
    RecipeError
        When the numbers are not valid, or there are fewer distinct groups than folds.
    """
    if folds < 2 or not 0 <= fold < folds:
        raise RecipeError(
            "no such fold", got=f"fold {fold} of {folds}", expected="2 folds or more, and a fold from 0 on"
        )
    if not 0 <= validation < 1:
        raise RecipeError(
            "the validation fraction is not valid", got=f"{validation:g}", expected="0 <= f < 1"
        )
    distinct, first = distinct_groups(groups)
    require_groups(len(distinct), max(folds, 3 if validation else 2), f"a split in {folds} folds")
    classes = class_numbers(strata, first)
    shuffle = _repeat_seed(seed, repeat)
    train, test, notes = _fold(classes, folds, fold, shuffle, stratified=strata is not None)
    require_groups(len(train), 2 if validation else 1, "the training part of a fold")
    part_of = np.zeros(len(distinct), dtype=np.int64)
    part_of[test] = 2
    order = spread_out(train, classes[train], np.random.default_rng([shuffle, fold]))
    part_of[order[: share_of(len(train), validation, at_most=len(train) - 1)]] = 1
    kind = "fold" if strata is None else "stratified fold"
    describe = f"{kind} {fold} of {folds}{f', repetition {repeat}' if repeat else ''}, seed {seed}"
    return split_of_groups(groups, distinct, part_of, describe, notes)


def _repeat_seed(seed: int, repeat: int) -> int:
    # Mixed, not added: repetition 1 of seed 0 must not be repetition 0 of seed 1.
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0]) if repeat else seed


def _fold(
    classes: IntArray, folds: int, fold: int, seed: int, *, stratified: bool
) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    counts = np.bincount(classes)
    notes = rare_note(classes, folds) if stratified else ()
    if not stratified or counts.max() < folds:
        splitter = KFold(folds, shuffle=True, random_state=seed)
        if stratified:
            notes = (*notes, "no class is large enough for stratified folds: plain folds used")
    else:
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer members than folds; the note says so already.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        train, test = list(splitter.split(classes, classes))[fold]
    return train.astype(np.int64), test.astype(np.int64), notes
