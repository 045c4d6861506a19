"""Splits along a column: the oldest train, extremes are tested on, and cells that cannot be read are named."""

from __future__ import annotations

import numpy as np
import pytest

from gia_science.data.splits.methods import make_split
from gia_science.data.splits.ordered import read_moments, read_values, time_split, value_split
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.errors import RecipeError

TEN = list("abcdefghij")


def test_the_oldest_train_and_the_newest_test() -> None:
    split = time_split(np.array([5, 1, 9, 2, 3, 4, 8, 6, 7, 0.0]), TEN)
    assert split.test.tolist() == [2]
    assert split.validation.tolist() == [6]


def test_an_input_counts_as_of_its_first_time() -> None:
    split = time_split(np.array([1, 9, 3, 4, 5.0]), ["a", "a", "b", "c", "d"])
    assert {0, 1} <= set(split.train.tolist())
    assert split.test.tolist() == [4]


def test_equal_times_on_both_sides_are_told() -> None:
    split = time_split(np.array([1] * 5 + [2] * 5, dtype=float), TEN)
    assert split.notes == ("one value of the column on both sides of the boundary to what is held out",)
    assert time_split(np.arange(10.0), TEN).notes == ()


def test_extremes_of_both_ends_or_one_are_tested_on() -> None:
    values, shares = np.arange(10.0), (0.6, 0.2, 0.2)
    both = value_split(values, TEN, fractions=shares)
    assert (both.test.tolist(), both.validation.tolist()) == ([0, 9], [1, 8])
    assert value_split(values, TEN, fractions=shares, ends="high").test.tolist() == [8, 9]
    assert value_split(values, TEN, fractions=shares, ends="low").test.tolist() == [0, 1]


def test_rows_of_one_input_count_with_their_mean() -> None:
    split = value_split(np.array([0.0, 10, 4, 5, 6.5]), ["a", "a", "b", "c", "d"], ends="high")
    assert split.test.tolist() == [4]


def test_dates_of_any_precision_and_years_are_times() -> None:
    cells = ["2019-03-31", "2019-03-31T12:00", "2019-04", "2020", "2019-03-31T13:00+02:00"]
    moments = read_moments(cells, range(5), column="when")
    assert np.argsort(moments).tolist() == [0, 4, 1, 2, 3]
    assert read_moments(["2019", " 1987 "], [2, 3], column="when").tolist() == [2019, 1987]


def test_cells_that_are_no_time_or_number_are_named_with_their_lines(split_input) -> None:
    with pytest.raises(
        RecipeError, match=r"column 'when': got '31.3.2019' on line 3, '' on line 4, expected numbers"
    ):
        read_moments(["2019-03-31", "31.3.2019", ""], [2, 3, 4], column="when")
    with pytest.raises(RecipeError, match=r"'x' on line 7 and 1 more, expected a number"):
        read_values(["x"] * 6, [3, 4, 5, 6, 7, 8], column="v")
    rows = split_input("smiles", ["C" * n for n in range(1, 11)], year=[2010 + n for n in range(10)])
    assert make_split(SplitRecipe(method="time", column="year"), rows).test.tolist() == [9]
