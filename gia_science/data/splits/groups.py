"""Splits that keep groups of similar inputs whole: clusters, scaffolds, chemical systems, the user's own groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gia_science.catalog import suggestion
from gia_science.data.splits.base import (
    USUAL,
    Fractions,
    Split,
    check_fractions,
    distinct_groups,
    fraction_words,
    require_groups,
    share_of,
    split_of_groups,
    split_of_parts,
)
from gia_science.errors import RecipeError, counted
from gia_science.tokens.stream import IntArray


def group_split(
    groups: Sequence[str],
    *,
    fractions: Fractions = USUAL,
    seed: int = 0,
    what: str = "split by groups",
    noun: str = "group",
) -> Split:
    """Give whole groups to the parts, so that the parts have about the asked shares of the rows.

    Groups larger than half of the smallest held-out part go first, the largest before the others, the rest in random
    order; each goes to the part that lacks most rows. So large groups come into training, and what is held out is made
    of many small ones.

    Parameters
    ----------
    groups : sequence of str
        Group of each row.
    fractions : (train, validation, test)
        Fractions of the rows. A part with a fraction above 0 gets at least one group.
    seed : int
        Equal seeds give equal splits.
    what, noun : str
        What the split and a group are called.

    Raises
    ------
    RecipeError
        When the fractions are not valid, or there are fewer groups than parts.
    """
    check_fractions(fractions)
    distinct, _ = distinct_groups(groups)
    require_groups(len(distinct), sum(fraction > 0 for fraction in fractions), what, noun=f"{noun}s")
    number = np.array([distinct[group] for group in groups], dtype=np.int64)
    part_of = _assign(np.bincount(number, minlength=len(distinct)), fractions, np.random.default_rng(seed))
    told = f"{what} {fraction_words(fractions)}, seed {seed}; {counted(len(distinct), noun)}"
    return split_of_parts(part_of[number], f"{told} in {counted(len(groups))}")


def _assign(sizes: IntArray, fractions: Fractions, rng: np.random.Generator) -> IntArray:
    """Part of each group."""
    wanted = np.array(fractions) * sizes.sum()
    parts = [part for part in range(3) if fractions[part] > 0]
    smallest = min((wanted[part] for part in parts if part), default=0.0)
    order = rng.permutation(len(sizes))
    large = sizes[order] > smallest / 2
    first = order[large]
    order = np.concatenate([first[np.argsort(-sizes[first], kind="stable")], order[~large]])
    part_of = np.full(len(sizes), -1, dtype=np.int64)
    for place, group in enumerate(order):
        empty = [part for part in parts if not np.any(part_of == part)] if len(order) - place <= 3 else []
        among = empty if len(order) - place <= len(empty) else parts
        part = max(among, key=lambda part: wanted[part])
        part_of[group] = part
        wanted[part] -= sizes[group]
    return part_of


def leave_out_split(
    groups: Sequence[str],
    identities: Sequence[str],
    *,
    group: str,
    validation: float = 0.1,
    seed: int = 0,
    what: str = "group",
) -> Split:
    """Test on one group, train on all others; validation inputs are drawn at random from the others.

    Parameters
    ----------
    groups : sequence of str
        Group of each row.
    identities : sequence of str
        Canonical identity of each row. One with any row in the group is left out with all its rows.
    group : str
        The group that is left out.
    validation : float
        Fraction of the other inputs for validation; 0 for none, otherwise at least one.
    seed : int
        Draws the validation inputs.
    what : str
        What a group is called.

    Raises
    ------
    RecipeError
        When there is no such group, or too little is left beside it.
    """
    known = list(dict.fromkeys(groups))
    if group not in known:
        shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise RecipeError(
            f"no such {what} to leave out",
            got=repr(group),
            hint=suggestion(group, known) or f"there are: {shown}",
        )
    distinct, _ = distinct_groups(identities)
    part_of = np.zeros(len(distinct), dtype=np.int64)
    inside = [name == group for name in groups]
    part_of[[distinct[name] for name, within in zip(identities, inside, strict=True) if within]] = 2
    others = np.flatnonzero(part_of == 0)
    require_groups(len(others), 2 if validation else 1, f"training without {what} {group!r}")
    drawn = np.random.default_rng(seed).permutation(others)
    part_of[drawn[: share_of(len(others), validation, at_most=len(others) - 1)]] = 1
    describe = f"{what} {group!r} of {len(known)} left out, seed {seed} for validation"
    split = split_of_groups(identities, distinct, part_of, describe)
    moved = len(split.test) - sum(inside)
    note = f"{counted(moved)} of other groups left out too: their inputs stand in {group!r} as well"
    return Split(split.train, split.validation, split.test, split.describe, (note,) if moved else ())


def numbered(groups: Sequence[str]) -> list[str]:
    """Groups renamed by number, the largest ``"0"``; of two equally large, the one that comes first."""
    distinct, first = distinct_groups(groups)
    sizes = np.bincount([distinct[group] for group in groups], minlength=len(distinct))
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [str(rank[distinct[group]]) for group in groups]
