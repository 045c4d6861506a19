"""Columns are summarised as what they would be learnt as."""

from __future__ import annotations

import pytest

from gia_science.evaluation.columns import summarise


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (["1.5", "", "3", "NA", "2"], "regression: 3 numbers, 1.5 to 3, median 2; 2 missing"),
        (["1", "0", "1", "1.0"], "binary: 0 (1), 1 (3)"),
        (["active", "inactive", "inactive"], "binary: inactive (2), active (1)"),
        (["a", "b", "c", "a", "b", "c"], "multiclass: a (2), b (2), c (2)"),
        (["one", "two", "three", "four"], "text: four (1), one (1), three (1), two (1)"),
    ],
)
def test_a_column_in_one_line(cells: list[str], text: str) -> None:
    assert str(summarise("y", cells)) == text


@pytest.mark.parametrize(
    ("cells", "kind", "problem"),
    [
        (["2", "2", "2.0"], "regression", "it is 2 in every row, so there is nothing to learn"),
        (["0", "0"], "multilabel", "it has a single class, 0"),
        (["", "NA"], None, "no values"),
        (["0,5", "1,5"], "regression", "none of its cells is a number"),
        (["1", "2"], "regression", None),
    ],
)
def test_what_cannot_be_learnt_is_said(cells: list[str], kind: str | None, problem: str | None) -> None:
    assert summarise("y", cells, kind=kind).problem == problem


def test_many_classes_are_cut_in_the_text_and_whole_in_the_json() -> None:
    found = summarise("y", [f"class {index:02}" for index in range(12)] * 2)
    assert str(found).endswith("class 07 (2) and 4 more")
    assert len(found.to_json()["classes"]) == 12
