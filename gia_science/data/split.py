"""Train, validation and test parts of a table, made of groups of rows that must not be parted.

A group is what counts as one thing, as a rule the canonical identity of the input: rows with one label stand
in one part.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from gia_science.errors import RecipeError
from gia_science.tokens.stream import IntArray

PARTS = ("train", "validation", "test")
_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


@dataclass(frozen=True, slots=True)
class Split:
    """Rows of each part.

    Parameters
    ----------
    train, validation, test : (n,) int64
        Row numbers counted from 0, ascending; no row stands in two parts.
    describe : str
        How the split was made, in words.
    notes : tuple of str
        What the user should know about it.
    """

    train: IntArray
    validation: IntArray
    test: IntArray
    describe: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = (self.train, self.validation, self.test)
        assert all(np.all(np.diff(part) > 0) for part in parts), "rows ascend"
        rows = np.concatenate(parts)
        assert len(np.unique(rows)) == len(rows), "no row stands in two parts"


def random_split(
    groups: Sequence[str],
    *,
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
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
    if min(fractions) < 0 or fractions[0] == 0 or abs(sum(fractions) - 1) > 1e-6:
        raise RecipeError(
            "the fractions of a split are not valid",
            got=str(fractions),
            expected="three numbers (train above 0, validation, test) that sum to 1",
        )
    distinct, first = _distinct(groups)
    classes = _classes(strata, first)
    _require(len(distinct), 1 + sum(fraction > 0 for fraction in fractions[1:]), "a random split")
    order = _spread(np.arange(len(distinct)), classes, np.random.default_rng(seed))
    train_share = 1 if fractions[1] else 0
    n_test = _share(len(distinct), fractions[2], at_most=len(distinct) - 1 - train_share)
    n_validation = _share(len(distinct), fractions[1], at_most=len(distinct) - n_test - 1)
    part_of = np.full(len(distinct), 0)
    part_of[order[:n_test]] = 2
    part_of[order[n_test : n_test + n_validation]] = 1
    words = "/".join(f"{fraction:g}" for fraction in fractions)
    kind = "random split" if strata is None else "stratified random split"
    return _split(groups, distinct, part_of, f"{kind} {words}, seed {seed}", _rare_note(classes, 2))


def fold_split(
    groups: Sequence[str],
    *,
    folds: int = 5,
    fold: int = 0,
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
    seed : int
        Equal seeds give equal splits. The validation part depends on seed and fold.
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
    distinct, first = _distinct(groups)
    _require(len(distinct), max(folds, 3 if validation else 2), f"a split in {folds} folds")
    classes = _classes(strata, first)
    train, test, notes = _fold(classes, folds, fold, seed, stratified=strata is not None)
    _require(len(train), 2 if validation else 1, "the training part of a fold")
    part_of = np.zeros(len(distinct), dtype=np.int64)
    part_of[test] = 2
    order = _spread(train, classes[train], np.random.default_rng([seed, fold]))
    part_of[order[: _share(len(train), validation, at_most=len(train) - 1)]] = 1
    kind = "fold" if strata is None else "stratified fold"
    return _split(groups, distinct, part_of, f"{kind} {fold} of {folds}, seed {seed}", notes)


def column_split(values: Sequence[str], groups: Sequence[str]) -> Split:
    """Split that a column of the table prescribes, row by row.

    Parameters
    ----------
    values : sequence of str
        ``train``, ``validation`` (also ``valid``, ``val``, ``dev``) or ``test`` for each row, in any case.
    groups : sequence of str
        Group of each row. A group in several parts is left as prescribed, and told in the notes.

    Raises
    ------
    RecipeError
        When other words stand in the column, or no row is for training or for testing.
    """
    assert len(values) == len(groups)
    words = [value.strip().lower() for value in values]
    unknown = Counter(value for value, word in zip(values, words, strict=True) if word not in _WORDS)
    if unknown:
        shown = ", ".join(f"{word!r} ({count} rows)" for word, count in unknown.most_common(10))
        raise RecipeError(
            "words in the split column are not known", got=shown, expected="train, validation, test"
        )
    parts = np.array([PARTS.index(_WORDS[word]) for word in words], dtype=np.int64)
    for part in (0, 2):
        if not np.any(parts == part):
            raise RecipeError("a part of the split is empty", got=f"no row marked {PARTS[part]!r}")
    notes = [] if np.any(parts == 1) else ["the split column marks no row for validation"]
    pairs = {(group, int(part)) for group, part in zip(groups, parts, strict=True)}
    crossing = sum(count > 1 for count in Counter(group for group, _ in pairs).values())
    if crossing:
        notes.append(f"{crossing} inputs stand in more than one part of the split, as the column prescribes")
    train, validation, test = (np.flatnonzero(parts == part).astype(np.int64) for part in range(3))
    return Split(train, validation, test, "split column", tuple(notes))


def split_hash(split: Split) -> str:
    """SHA-256 of the row numbers of all parts; equal for equal splits on every machine."""
    digest = hashlib.sha256()
    for part in (split.train, split.validation, split.test):
        digest.update(f"{len(part)}:".encode())
        digest.update(part.astype("<i8").tobytes())
    return digest.hexdigest()


def _distinct(groups: Sequence[str]) -> tuple[dict[str, int], IntArray]:
    """Number of each group in order of appearance, and the first row of each."""
    number: dict[str, int] = {}
    first = []
    for row, group in enumerate(groups):
        if group not in number:
            number[group] = len(number)
            first.append(row)
    return number, np.array(first, dtype=np.int64)


def _classes(strata: Sequence[object] | None, first: IntArray) -> IntArray:
    """Class of each group as a number; one class for all where there are no strata."""
    if strata is None:
        return np.zeros(len(first), dtype=np.int64)
    # As text, so that NaN is one class and kinds of values can be mixed.
    names = [str(strata[row]) for row in first]
    number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


def _fold(
    classes: IntArray, folds: int, fold: int, seed: int, *, stratified: bool
) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    counts = np.bincount(classes)
    notes = _rare_note(classes, folds) if stratified else ()
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


def _spread(members: IntArray, classes: IntArray, rng: np.random.Generator) -> IntArray:
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


def _share(total: int, fraction: float, *, at_most: int) -> int:
    return min(max(1, round(total * fraction)), at_most) if fraction > 0 else 0


def _rare_note(classes: IntArray, needed: int) -> tuple[str, ...]:
    rare = int(np.sum(np.bincount(classes) < needed))
    if rare == 0:
        return ()
    what = "a single member" if needed == 2 else f"fewer than {needed} members"
    return (f"{rare} class{'es have' if rare > 1 else ' has'} {what}: not in every part of the split",)


def _require(found: int, needed: int, what: str) -> None:
    if found < needed:
        raise RecipeError(
            "too few rows for the split",
            got=f"{found} different inputs",
            expected=f"at least {needed} for {what}",
        )


def _split(
    groups: Sequence[str], distinct: dict[str, int], part_of: IntArray, describe: str, notes: tuple[str, ...]
) -> Split:
    parts = part_of[np.array([distinct[group] for group in groups], dtype=np.int64)]
    train, validation, test = (np.flatnonzero(parts == part).astype(np.int64) for part in range(3))
    words = f"{describe}; {len(distinct)} distinct inputs in {len(groups)} rows"
    return Split(train, validation, test, words, notes)
