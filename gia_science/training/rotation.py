"""Which rows each member of a model learns from, and which tell it when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gia_science.data.splits.base import Split
from gia_science.tokens.stream import IntArray

FOLDS = 10
"""Parts of the rows of which each member leaves out another; more where there are more members."""


@dataclass(frozen=True)
class Unjudged:
    """Rows of which none are held out to judge the model by: whoever trains it scores it elsewhere.

    Parameters
    ----------
    share : float
        Of the rows, that choose the epoch of a member.
    together : sequence of str
        Label of each row; rows of one label stand on one side of the line between learning and choosing.
    """

    share: float
    together: Sequence[str]

    @property
    def folds(self) -> int:
        """Parts that have about the share."""
        return max(1, round(1 / self.share))


@dataclass(frozen=True)
class MemberRows:
    """Rows of one member.

    Parameters
    ----------
    train, validation : (n,) int64
        Row numbers, ascending; no input stands in both.
    """

    train: IntArray
    validation: IntArray


def learnt_rows(split: Split, *, rotated: bool) -> IntArray:
    """Rows that some member learns from: those of training, rotated with those of validation."""
    return np.sort(np.concatenate([split.train, split.validation])) if rotated else split.train


def member_rows(
    split: Split, *, identities: Sequence[str], members: int, rotated: bool, seed: int, folds: int = FOLDS
) -> list[MemberRows]:
    """Rows of each member.

    Parameters
    ----------
    split : Split
    identities : sequence of str
        Of each row of the table; rows of one identity stay together.
    members : int
    rotated : bool
        Whether training and validation rows are one pool, of which every member leaves out another part. Together
        the members then see all rows, and each row that was left out has a prediction by a network that has not
        seen it. Otherwise all members have the rows of the split.
    seed : int
        Draws the parts.
    folds : int, default 10
        Number of parts, where there are not more members.
    """
    if not rotated:
        return [MemberRows(split.train, split.validation)] * members
    rows = learnt_rows(split, rotated=True)
    parts = max(folds, members)
    _, group = np.unique([identities[row] for row in rows], return_inverse=True)
    order = np.random.default_rng(seed).permutation(group.max(initial=-1) + 1)
    part = (order % parts)[group]
    return [MemberRows(rows[part != number], rows[part == number]) for number in range(members)]
