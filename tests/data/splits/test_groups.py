"""Whole groups: sizes near those asked for, large groups in training, no part empty."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.splits.groups import group_split, numbered
from gia_science.errors import RecipeError


@given(st.lists(st.integers(1, 30), min_size=3, max_size=60), st.integers(0, 100))
def test_sizes_are_as_near_as_groups_allow(sizes: list[int], seed: int) -> None:
    groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    split = group_split(groups, seed=seed)
    parts = (split.train, split.validation, split.test)
    assert min(map(len, parts)) > 0
    assert sum(len({groups[row] for row in part}) for part in parts) == len(sizes)
    for part, share in zip(parts, (0.8, 0.1, 0.1), strict=True):
        assert abs(len(part) - share * len(groups)) <= 2 * max(sizes)


def test_small_groups_fill_the_parts_exactly_and_large_ones_train() -> None:
    groups = ["large"] * 30 + ["big"] * 20 + [f"g{number}" for number in range(50)]
    for seed in range(5):
        split = group_split(groups, seed=seed)
        assert [len(split.train), len(split.validation), len(split.test)] == [80, 10, 10]
        assert set(range(50)) <= set(split.train.tolist())


def test_three_groups_are_three_parts_and_two_are_too_few() -> None:
    split = group_split(["a"] * 10 + ["b"] * 3 + ["c"])
    assert len(split.train) == 10
    assert sorted([len(split.validation), len(split.test)]) == [1, 3]
    with pytest.raises(RecipeError, match="got 2 clusters, expected at least 3 for a split"):
        group_split(["a", "b"] * 9, what="a split", noun="cluster")


def test_a_part_that_nobody_asked_for_stays_empty() -> None:
    split = group_split(list("abcdefghij"), fractions=(0.8, 0.0, 0.2))
    assert [len(split.train), len(split.validation), len(split.test)] == [8, 0, 2]


def test_groups_are_numbered_by_size_then_place() -> None:
    assert numbered(list("abbcad")) == ["0", "1", "1", "2", "0", "3"]
    assert Counter(numbered(list("xyyy")))["0"] == 3
