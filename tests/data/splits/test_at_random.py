"""Splits: disjoint, complete, never through a group, equal for equal seeds, and those of scikit-learn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from gia_science.data.splits.at_random import random_split
from gia_science.data.splits.base import Split, split_hash
from gia_science.data.splits.column import column_split
from gia_science.data.splits.folds import fold_split
from gia_science.errors import RecipeError

GROUPS = st.lists(st.sampled_from([f"g{index}" for index in range(30)]), min_size=12, max_size=80)


def check(split: Split, groups: list[str]) -> None:
    parts = (split.train, split.validation, split.test)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert all(part.dtype == np.int64 for part in parts)
    owners = [{groups[row] for row in part} for part in parts]
    assert sum(map(len, owners)) == len(set(groups)), "a group stands in two parts"


@given(GROUPS, st.integers(0, 2**32 - 1), st.booleans())
def test_random_split_is_complete_and_parts_no_group(groups: list[str], seed: int, stratified: bool) -> None:
    if len(set(groups)) < 3:
        return
    strata = [group[-1] for group in groups] if stratified else None
    split = random_split(groups, seed=seed, strata=strata)
    check(split, groups)
    assert min(len(split.train), len(split.validation), len(split.test)) > 0
    assert split_hash(split) == split_hash(random_split(groups, seed=seed, strata=strata))


@given(GROUPS, st.integers(0, 1000), st.integers(2, 5), st.booleans())
def test_folds_are_complete_part_no_group_and_test_each_row_once(
    groups: list[str], seed: int, folds: int, stratified: bool
) -> None:
    if len(set(groups)) < max(folds + 1, 4):
        return
    strata = [group[-1] for group in groups] if stratified else None
    splits = [fold_split(groups, folds=folds, fold=fold, seed=seed, strata=strata) for fold in range(folds)]
    for split in splits:
        check(split, groups)
        assert min(len(split.train), len(split.validation), len(split.test)) > 0
    assert sorted(np.concatenate([split.test for split in splits]).tolist()) == list(range(len(groups)))


@pytest.mark.parametrize("seed", [0, 18012019])
def test_folds_over_distinct_rows_are_those_of_scikit_learn(seed: int) -> None:
    groups = [f"g{index}" for index in range(57)]
    oracle = KFold(5, shuffle=True, random_state=seed).split(groups)
    for fold, (train, test) in enumerate(oracle):
        split = fold_split(groups, folds=5, fold=fold, seed=seed)
        assert split.test.tolist() == test.tolist()
        assert sorted([*split.train, *split.validation]) == train.tolist()
        assert (
            fold_split(groups, folds=5, fold=fold, seed=seed, validation=0).train.tolist() == train.tolist()
        )


def test_stratified_folds_over_distinct_rows_are_those_of_scikit_learn() -> None:
    groups = [f"g{index}" for index in range(60)]
    labels = [index % 3 == 0 for index in range(60)]
    oracle = StratifiedKFold(5, shuffle=True, random_state=3).split(groups, labels)
    for fold, (_, test) in enumerate(oracle):
        assert fold_split(groups, fold=fold, seed=3, strata=labels).test.tolist() == test.tolist()


def test_fractions_count_distinct_inputs_and_classes_keep_their_share() -> None:
    groups = [f"g{index}" for index in range(200)]
    split = random_split(groups, seed=1)
    assert [len(split.train), len(split.validation), len(split.test)] == [160, 20, 20]
    labels = ["rare" if index % 10 == 0 else "common" for index in range(200)]
    split = random_split(groups, seed=1, strata=labels)
    for part, expected in ((split.test, 2), (split.validation, 2), (split.train, 16)):
        assert Counter(labels[row] for row in part)["rare"] == expected


def test_seed_and_fold_change_the_split() -> None:
    groups = [f"g{index}" for index in range(100)]
    assert len({split_hash(random_split(groups, seed=seed)) for seed in range(10)}) == 10
    assert len({split_hash(fold_split(groups, fold=fold)) for fold in range(5)}) == 5


@pytest.mark.parametrize("fold", [None, 0, 4])
def test_rare_classes_neither_crash_nor_leave_training(fold: int | None) -> None:
    groups = [f"g{index}" for index in range(50)]
    labels: list[object] = ["a", "b"] * 24 + ["once", float("nan")]
    split = (
        random_split(groups, strata=labels) if fold is None else fold_split(groups, fold=fold, strata=labels)
    )
    check(split, groups)
    assert "2 classes have" in split.notes[0]
    if fold is None:
        assert {48, 49} <= set(split.train.tolist())


def test_only_rare_classes_fall_back_to_plain_folds_with_a_note() -> None:
    groups = [f"g{index}" for index in range(12)]
    split = fold_split(groups, strata=list(range(12)), seed=2)
    assert split.test.tolist() == fold_split(groups, seed=2).test.tolist()
    assert "plain folds used" in split.notes[-1]


@pytest.mark.parametrize("rows", [3, 5, 12])
def test_tiny_tables_have_no_empty_part(rows: int) -> None:
    groups = [f"g{index}" for index in range(rows)]
    split = random_split(groups)
    assert min(len(split.train), len(split.validation), len(split.test)) > 0
    assert len(split.train) >= len(split.test)


def test_too_few_rows_and_impossible_numbers_are_errors_that_say_what_is_needed() -> None:
    with pytest.raises(RecipeError, match="got 2 different inputs, expected at least 3"):
        random_split(["a", "b", "a", "b"])
    with pytest.raises(RecipeError, match="got 0 different inputs"):
        random_split([])
    with pytest.raises(RecipeError, match="got 4 different inputs, expected at least 5"):
        fold_split(list("abcd"))
    with pytest.raises(RecipeError, match="fold 5 of 5"):
        fold_split(list("abcdefgh"), fold=5)
    with pytest.raises(RecipeError, match="fold 0 of 1"):
        fold_split(list("abcdefgh"), folds=1)
    with pytest.raises(RecipeError, match="validation fraction"):
        fold_split(list("abcdefgh"), validation=1.0)
    for fractions in ((0.5, 0.1, 0.1), (0.0, 0.5, 0.5), (1.1, -0.1, 0.0)):
        with pytest.raises(RecipeError, match="fractions"):
            random_split(list("abcdefgh"), fractions=fractions)


def test_a_fraction_of_zero_gives_an_empty_part() -> None:
    split = random_split(list("abcdefgh"), fractions=(0.75, 0.0, 0.25))
    assert (len(split.train), len(split.validation), len(split.test)) == (6, 0, 2)
    assert len(random_split(["a"], fractions=(1.0, 0.0, 0.0)).train) == 1


def test_column_split_follows_the_words_and_tells_of_groups_that_cross() -> None:
    split = column_split(["Train", "valid", "TEST ", "train", "val"], ["a", "b", "c", "d", "e"])
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == ([0, 3], [1, 4], [2])
    assert split.notes == ()
    crossing = column_split(["train", "test", "train"], ["a", "a", "b"])
    assert crossing.test.tolist() == [1]
    assert any("1 inputs stand in more than one part" in note for note in crossing.notes)
    assert any("no row for validation" in note for note in crossing.notes)


def test_column_split_lists_unknown_words_and_refuses_empty_parts() -> None:
    with pytest.raises(RecipeError, match=r"'holdout' \(2 rows\), '' \(1 rows\)"):
        column_split(["train", "holdout", "holdout", "", "test"], list("abcde"))
    with pytest.raises(RecipeError, match="no row marked 'test'"):
        column_split(["train", "train"], ["a", "b"])


def test_hash_depends_on_rows_and_parts_alone() -> None:
    one = column_split(["train", "validation", "test"], list("abc"))
    assert split_hash(one) == split_hash(column_split(["TRAIN", "dev", "test"], list("xyz")))
    assert split_hash(one) != split_hash(column_split(["train", "test", "validation"], list("abc")))
    assert len(split_hash(one)) == 64
