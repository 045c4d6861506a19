"""What a split may be asked to be, as settings and in short form."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gia_science.data.splits.recipe import SplitRecipe, read_split
from gia_science.errors import RecipeError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fold": 1}, "fold goes with method: folds, not with method: random"),
        ({"method": "scaffold", "folds": 4}, "folds goes with method: folds, not with method: scaffold"),
        ({"method": "time"}, "method: time needs column"),
        ({"method": "leave_out"}, "method: leave_out needs group"),
        ({"method": "file"}, "method: file needs file"),
        (
            {"method": "random", "similarity": 0.3},
            "similarity goes with method: cluster, composition, leave_out",
        ),
        ({"method": "time", "column": "t", "ends": "low"}, "ends goes with method: value"),
        ({"fractions": (0.0, 0.5, 0.5)}, "fractions must be positive and sum to 1"),
        ({"method": "folds", "fold": 5}, "with 5 folds it is at most 4"),
    ],
)
def test_options_of_another_method_and_missing_ones_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        SplitRecipe(**settings)


def test_a_recipe_written_with_all_its_defaults_is_read_again() -> None:
    for how in ({}, {"method": "folds", "fold": 2}, {"method": "leave_out", "group": 3, "seed": 4}):
        recipe = SplitRecipe(**how)
        assert SplitRecipe(**recipe.model_dump(mode="json")) == recipe


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("scaffold", {"method": "scaffold"}),
        ("time:date tested", {"method": "time", "column": "date tested"}),
        ("value:y", {"method": "value", "column": "y"}),
        ("leave_out:lab=A", {"method": "leave_out", "column": "lab", "group": "A"}),
        ("leave_out:3", {"method": "leave_out", "group": "3"}),
        ("part", {"method": "column", "column": "part"}),
        ("column:scaffold", {"method": "column", "column": "scaffold"}),
        ("file", {"method": "column", "column": "file"}),
        ("old/split.json", {"method": "file", "file": "old/split.json"}),
        ("file:parts", {"method": "file", "file": "parts"}),
    ],
)
def test_the_short_form(text: str, settings: dict[str, Any]) -> None:
    assert read_split(text) == settings
    SplitRecipe(**settings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time", "time:COLUMN"),
        ("leave_out", "leave_out:COLUMN=GROUP"),
        ("scaffold:0.8", "scaffold"),
        ("value:", "value:COLUMN"),
    ],
)
def test_a_short_form_that_says_too_little_or_too_much(text: str, expected: str) -> None:
    with pytest.raises(RecipeError, match=f"the split is not valid: got '{text}', expected {expected}"):
        read_split(text)
