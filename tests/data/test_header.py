"""The row of names: a title above it is told, blank names are kept where there is nothing to name."""

from __future__ import annotations

import pytest

from gia_science.data.header import read_header
from gia_science.errors import TableError, Where

BODY = [["id", "smiles", "y"], ["a", "CCO", "1"], ["b", "CCN", "2"]]


@pytest.mark.parametrize("first", [["Campaign 2024"], ["Campaign 2024", "", ""], ["", " ", "Campaign 2024"]])
def test_a_title_above_the_names_is_told(first: list[str]) -> None:
    """Its cells were taken for names: the columns that are there could not be found."""
    told = "line 3: the first row names one column only: got 'Campaign 2024' above 3 columns"
    with pytest.raises(TableError, match=told):
        read_header(first, BODY, where=Where(file="table.csv", line=3))


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (["smiles", "", "", ""], [["C", "", "", ""], ["CC", "", "", ""]]),
        (["smiles", ""], [["C", "1"]]),
        (["smiles"], [["C"], ["CC", "1", "2"]]),
        (["smiles"], []),
        (["", "smiles", "y"], [["0", "C", "1"]]),
    ],
)
def test_few_names_are_enough_for_few_columns(first: list[str], body: list[list[str]]) -> None:
    assert read_header(first, body, where=Where()) == (tuple(first), ())


def test_one_row_of_another_width_does_not_hide_a_title() -> None:
    with pytest.raises(TableError, match="one column only"):
        read_header(["Campaign 2024"], [*BODY, ["c", "CCC", "3", "late"]], where=Where())
