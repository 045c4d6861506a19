"""Records become rows or reasons, one for each, and what is one thing is found to be one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gia_science.data.record import Record, Table
from gia_science.data.rows import (
    BadRow,
    Columns,
    Row,
    identity_hash,
    read_row,
    read_rows,
    refuse_bad_rows,
)
from gia_science.data.targets import Targets
from gia_science.errors import TableError
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.protein import ProteinOptions, ProteinTokenizer

COLUMNS = ("smiles", "T", "y")
SMILES = make_tokenizer("smiles")
TARGETS = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))


def table(*rows: tuple[str, ...], columns: tuple[str, ...] = COLUMNS) -> Table:
    records = [Record("a.csv", line, f"r{line}", cells) for line, cells in enumerate(rows, start=2)]
    return Table(columns, records, "a.csv", "csv", columns)


def read(*rows: tuple[str, ...]) -> tuple[list[Row], list[BadRow]]:
    source = table(*rows)
    columns = Columns.find(source, input="smiles", numbers=["T"], targets=["y"])
    return read_rows(source.records, columns=columns, read=SMILES.read, targets=TARGETS)


def test_good_and_bad_rows_keep_their_lines_and_order() -> None:
    rows, bad = read(("CCO", "300", "1.5"), ("C1CC", "300", "2"), ("OCC", "", "NA"), ("", "1", "1"))
    assert [(row.line, row.id, row.reading.identity) for row in rows] == [(2, "r2", "CCO"), (4, "r4", "CCO")]
    np.testing.assert_array_equal(rows[0].numbers, [300.0])
    np.testing.assert_array_equal(rows[0].target, [1.5])
    assert np.isnan(rows[1].numbers).all()
    assert np.isnan(rows[1].target).all()
    assert [row.line for row in bad] == [3, 5]
    assert "ring" in bad[0].reason
    assert bad[1].reason == "empty SMILES"
    assert str(bad[1]) == "line 5 (r5): empty SMILES"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (("C", "1,5", "1"), "column 'T': not a finite number: got '1,5', .*the decimal sign is a point"),
        (("C", "1", "2,5"), "column 'y': not a finite number: got '2,5'"),
        (("C", "warm", "2"), "column 'T': not a finite number: got 'warm'"),
    ],
)
def test_a_cell_that_is_no_number_is_named_with_its_column(cells: tuple[str, ...], reason: str) -> None:
    _, bad = read(cells)
    assert len(bad) == 1
    assert re.match(reason, bad[0].reason)


def test_numeric_columns_without_names_are_read_as_well() -> None:
    record = Record("a.csv", 2, None, ("C", "1.5"))
    row = read_row(record, columns=Columns(input=0, numbers=(1,)), read=SMILES.read)
    assert isinstance(row, Row)
    assert row.numbers.tolist() == [1.5]
    assert row.target.shape == (0,)


def test_the_problem_of_a_record_is_its_reason() -> None:
    record = Record("a.csv", 7, None, ("C",), problem="more cells than columns")
    bad = read_row(record, columns=Columns(input=0), read=SMILES.read)
    assert bad == BadRow(7, None, "more cells than columns")


def residues(sequence: str, labels: str, *, options: ProteinOptions | None = None) -> Row | BadRow:
    targets = Targets(names=("ss",), kind="per_token", labels=("C", "E", "H"))
    return read_row(
        Record("a.csv", 2, None, (sequence, labels)),
        columns=Columns(input=0, targets=(1,)),
        read=ProteinTokenizer(options).read,
        targets=targets,
    )


def test_labels_of_residues_belong_to_the_letters_of_the_text() -> None:
    row = residues("MK-T", "HE-C", options=ProteinOptions(gaps="drop"))
    assert isinstance(row, Row)
    np.testing.assert_array_equal(row.target, [2, 1, np.nan, 0])
    np.testing.assert_array_equal(row.target[row.reading.parsed.units], [2, 1, 0])


def test_labels_and_residues_that_differ_in_number_are_refused() -> None:
    bad = residues("MKT", "HE")
    assert isinstance(bad, BadRow)
    assert bad.reason == "labels and residues differ in number: got 2 labels, expected 3"


def test_missing_labels_of_residues_are_as_many_as_the_residues() -> None:
    row = residues(" MKT ", "")
    assert isinstance(row, Row)
    assert np.isnan(row.target).tolist() == [True] * 3


def test_a_missing_column_is_named_with_the_nearest_one() -> None:
    source = table(("C", "1", "1"))
    with pytest.raises(
        TableError, match=r"a.csv: no column 'smile' .*did you mean 'smiles'\? there are: smiles"
    ):
        Columns.find(source, input="smile")
    with pytest.raises(TableError, match="no column 'Y'"):
        Columns.find(source, input="smiles", targets=["Y"])
    with pytest.raises(TableError, match="no column 'pH'"):
        Columns.find(source, input="smiles", numbers=["pH"])


def test_places_of_columns() -> None:
    found = Columns.find(table(), input="y", numbers=["T", "smiles"], targets=["T"])
    assert (found.input, found.numbers, found.targets) == (2, (1, 0), (1,))


def test_the_error_over_bad_rows_counts_them() -> None:
    error = refuse_bad_rows([BadRow(3, "b", "empty SMILES")], total=4, source="a.csv")
    assert "a.csv: 1 of 4 rows cannot be used" in str(error)
    assert "line 3 (b): empty SMILES" in str(error)


def test_a_hash_recognises_an_identity_without_holding_it() -> None:
    assert identity_hash("CCO") == identity_hash("CCO") != identity_hash("CCN")
    assert len(identity_hash("CCO")) == 16
