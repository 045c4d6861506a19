"""A split of rows into parts, and what every way of making one shares.

A group is what counts as one thing, as a rule the canonical identity of the input: rows with one label stand
in one part.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gia_science.errors import RecipeError
from gia_science.tokens.stream import IntArray

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
Fractions = tuple[float, float, float]
"""Shares of training, validation and test."""
USUAL: Fractions = (0.8, 0.1, 0.1)


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


def split_hash(split: Split) -> str:
    """SHA-256 of the row numbers of all parts; equal for equal splits on every machine."""
    digest = hashlib.sha256()
    for part in (split.train, split.validation, split.test):
        digest.update(f"{len(part)}:".encode())
        digest.update(part.astype("<i8").tobytes())
    return digest.hexdigest()


def distinct_groups(groups: Sequence[str]) -> tuple[dict[str, int], IntArray]:
    """Number of each group in order of appearance, and the first row of each."""
    number: dict[str, int] = {}
    first = []
    for row, group in enumerate(groups):
        if group not in number:
            number[group] = len(number)
            first.append(row)
    return number, np.array(first, dtype=np.int64)


def check_fractions(fractions: Fractions) -> None:
    """Raise `RecipeError` unless the fractions sum to 1, none is negative, and training gets some."""
    if min(fractions) < 0 or fractions[0] == 0 or abs(sum(fractions) - 1) > 1e-6:
        raise RecipeError(
            "the fractions of a split are not valid",
            got=str(fractions),
            expected="three numbers (train above 0, validation, test) that sum to 1",
        )


def fraction_words(fractions: Fractions) -> str:
    """Fractions as they stand in a description: ``0.8/0.1/0.1``."""
    return "/".join(f"{fraction:g}" for fraction in fractions)


def share_of(total: int, fraction: float, *, at_most: int) -> int:
    """Members that a fraction asks for: 0 for none, otherwise at least one."""
    return min(max(1, round(total * fraction)), at_most) if fraction > 0 else 0


def held_out(
    total: int, fractions: Fractions, *, what: str, noun: str = "different inputs"
) -> tuple[int, int]:
    """Members of `total` for validation and for test; `RecipeError` where a part would stay empty."""
    check_fractions(fractions)
    require_groups(total, 1 + sum(fraction > 0 for fraction in fractions[1:]), what, noun=noun)
    n_test = share_of(total, fractions[2], at_most=total - 1 - (fractions[1] > 0))
    return share_of(total, fractions[1], at_most=total - n_test - 1), n_test


def require_groups(found: int, needed: int, what: str, *, noun: str = "different inputs") -> None:
    """Raise `RecipeError` where there are fewer groups than a way of splitting needs."""
    if found < needed:
        raise RecipeError(
            "too few rows for the split", got=f"{found} {noun}", expected=f"at least {needed} for {what}"
        )


def split_of_parts(parts: IntArray, describe: str, notes: tuple[str, ...] = ()) -> Split:
    """Split from the part (n,) of each row: 0, 1 or 2 as in `PARTS`."""
    train, validation, test = (np.flatnonzero(parts == part).astype(np.int64) for part in range(3))
    return Split(train, validation, test, describe, notes)


def split_of_groups(
    groups: Sequence[str],
    distinct: dict[str, int],
    part_of: IntArray,
    describe: str,
    notes: tuple[str, ...] = (),
) -> Split:
    """Split from the part of each distinct group."""
    parts = part_of[np.array([distinct[group] for group in groups], dtype=np.int64)]
    words = f"{describe}; {len(distinct)} distinct inputs in {len(groups)} rows"
    return split_of_parts(parts, words, notes)


def count_crossing(groups: Sequence[str], parts: IntArray) -> int:
    """Groups with rows in more than one part."""
    pairs = {(group, int(part)) for group, part in zip(groups, parts, strict=True)}
    return sum(count > 1 for count in Counter(group for group, _ in pairs).values())
