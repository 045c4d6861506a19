"""Folds of a column are kept row by row; validation comes from the other rows, whole groups together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.splits.prescribed import prescribed_fold_split
from gia_science.errors import RecipeError


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=20, max_size=60),
    st.integers(0, 2),
    st.integers(0, 99),
)
def test_the_fold_is_the_test_part_and_groups_stay_together_in_the_rest(rows, fold, seed):
    rows = [(0, 100), (0, 101), (1, 102), (1, 103), (2, 104), (2, 105), *rows]
    folds, groups = [str(number) for number, _ in rows], [str(group) for _, group in rows]
    split = prescribed_fold_split(folds, groups, fold=fold, seed=seed)
    assert split.test.tolist() == [row for row, (number, _) in enumerate(rows) if number == fold]
    assert sorted([*split.train, *split.validation, *split.test]) == list(range(len(rows)))
    assert len(split.validation) > 0
    assert not {groups[row] for row in split.train} & {groups[row] for row in split.validation}


def test_the_split_is_reproducible_and_moves_with_the_seed():
    folds, groups = list("01234" * 40), [str(row) for row in range(200)]
    first, again, other = (prescribed_fold_split(folds, groups, fold=1, seed=seed) for seed in (0, 0, 1))
    assert first.validation.tolist() == again.validation.tolist() != other.validation.tolist()
    assert len(first.validation) == 16


def test_classes_have_their_share_of_the_validation_rows():
    folds, groups = list("01234" * 40), [str(row) for row in range(200)]
    strata = [row % 4 == 0 for row in range(200)]
    split = prescribed_fold_split(folds, groups, strata=strata)
    assert sum(strata[row] for row in split.validation) == 4


def test_inputs_in_several_folds_are_left_there_and_told():
    split = prescribed_fold_split(list("0011"), list("abac"), fold=0, validation=0.5)
    assert split.test.tolist() == [0, 1]
    assert split.notes == ("1 input in more than one fold, as the column prescribes",)


@pytest.mark.parametrize(
    ("folds", "fold", "message"),
    [
        (["0", "train", "1"], 0, "does not number folds: got 'train'"),
        (["0", "", "1"], 0, "does not number folds: got ''"),
        (["0", "1", "3"], 2, "no such fold in the split column: got 2, expected 0, 1, 3"),
        (["0", "0", "0"], 0, "no such fold"),
    ],
)
def test_a_column_without_that_fold_is_refused(folds, fold, message):
    with pytest.raises(RecipeError, match=message):
        prescribed_fold_split(folds, list("abc"), fold=fold)
