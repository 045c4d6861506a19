"""Members of a model learn from all rows together, and none is stopped by a row that it has learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from gia_science.data.splits.base import Split
from gia_science.training.rotation import FOLDS, Unjudged, learnt_rows, member_rows


def split(*, rows: int = 100, test: int = 20) -> Split:
    order = np.random.default_rng(1).permutation(rows)
    parts = np.split(order, [rows - test - 10, rows - test])
    return Split(*(np.sort(part) for part in parts), describe="drawn")


@pytest.mark.parametrize("members", [2, 5, FOLDS + 2])
def test_each_member_leaves_out_other_rows_and_none_sees_a_test_row(members: int) -> None:
    one = split()
    identities = [f"input {row // 2}" for row in range(100)]
    drawn = member_rows(one, identities=identities, members=members, rotated=True, seed=0)
    pool = set(one.train) | set(one.validation)
    assert len(drawn) == members
    for member in drawn:
        assert set(member.train) | set(member.validation) == pool
        assert not {identities[row] for row in member.train} & {identities[row] for row in member.validation}
        assert 0 < len(member.validation) <= 2 * len(pool) / max(FOLDS, members) + 2
    left_out = np.concatenate([member.validation for member in drawn])
    assert len(np.unique(left_out)) == len(left_out), "no row is left out twice"
    if members >= FOLDS:
        assert set(left_out) == pool


def test_the_seed_draws_the_parts() -> None:
    identities = [str(row) for row in range(100)]
    first, again, other = (
        member_rows(split(), identities=identities, members=3, rotated=True, seed=seed) for seed in (0, 0, 1)
    )
    assert all(np.array_equal(a.train, b.train) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].validation, other[0].validation)


def test_without_rotation_all_members_have_the_rows_of_the_split() -> None:
    one = split()
    for member in member_rows(one, identities=[""] * 100, members=3, rotated=False, seed=0):
        assert member.train is one.train
        assert member.validation is one.validation
    assert learnt_rows(one, rotated=False) is one.train
    assert len(learnt_rows(one, rotated=True)) == len(one.train) + len(one.validation)


@pytest.mark.parametrize(("share", "folds"), [(0.1, 10), (0.2, 5), (0.33, 3), (0.5, 2), (0.99, 1)])
def test_a_member_leaves_out_about_the_share_that_was_asked_for(share: float, folds: int) -> None:
    unjudged = Unjudged(share, [str(row) for row in range(100)])
    assert unjudged.folds == folds
    drawn = member_rows(
        split(test=0), identities=unjudged.together, members=2, rotated=True, seed=0, folds=unjudged.folds
    )
    for member in drawn:
        assert len(member.validation) == pytest.approx(100 / max(folds, 2), abs=1)
    assert not set(drawn[0].validation) & set(drawn[1].validation)
