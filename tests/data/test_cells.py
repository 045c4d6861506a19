"""Cells are empty, numbers or labels, however they are written; labels have a fixed order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.cells import canonical_label, is_missing, sorted_labels


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (["1", "-1"], ("-1", "1")),
        (["+1", "-1"], ("-1", "1")),
        (["active", "inactive"], ("inactive", "active")),
        (["1.0", "2.0"], ("1", "2")),
        (["yes", "no"], ("no", "yes")),
        (["True", "False"], ("False", "True")),
        (["b", "a"], ("a", "b")),
        (["10", "9", "2"], ("2", "9", "10")),
        (["3", "two", "1"], ("1", "3", "two")),
    ],
)
def test_labels_stand_in_a_fixed_order_with_the_positive_one_last(
    found: list[str], ordered: tuple[str, ...]
) -> None:
    canonical = [canonical_label(label) for label in found]
    assert sorted_labels(canonical) == sorted_labels(canonical[::-1]) == ordered


def test_two_spellings_of_a_number_have_a_fixed_order() -> None:
    assert sorted_labels(["1.50", "1.5", "0"]) == ("0", "1.5", "1.50")


@given(st.text())
def test_a_canonical_label_is_its_own_canonical_label(text: str) -> None:
    assert canonical_label(canonical_label(text)) == canonical_label(text)


@pytest.mark.parametrize("cell", ["0", "no", "-", "N", "missing"])
def test_other_cells_are_values(cell: str) -> None:
    assert not is_missing(cell)
