"""Vectors are written beside their rows and read back equal, also by others' tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gia_science.data.table import read_table
from gia_science.data.vectors import write_embeddings

VECTORS = np.array([[0.1, -2.5, 1e-8], [np.nan] * 3, [3.0, 4.0, 5.0]], dtype=np.float32)
COLUMNS = {"id": ["007", "b", "c"], "../e0": ["CCO", "?", "C\nC"], "e1": ["x", "", "z"]}


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.csv.gz"])
def test_text_has_a_column_for_each_dimension_under_a_free_name(tmp_path: Path, name: str) -> None:
    write_embeddings(tmp_path / name, columns=COLUMNS, vectors=VECTORS)
    table = read_table(tmp_path / name)
    assert table.columns == ("id", "../e0", "e1", "e0", "e1_2", "e2")
    assert table.column("../e0") == COLUMNS["../e0"]
    assert table.records[1].cells[3:] == ("", "", "")
    back = np.array([[np.float32(cell) for cell in table.records[row].cells[3:]] for row in (0, 2)])
    np.testing.assert_array_equal(back, VECTORS[[0, 2]])


def test_parquet_has_one_column_of_lists(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_embeddings(tmp_path / "v.parquet", columns=COLUMNS, vectors=VECTORS)
    frame = pd.read_parquet(tmp_path / "v.parquet")
    assert list(frame.columns) == [*COLUMNS, "embedding"]
    assert frame["id"].tolist() == COLUMNS["id"]
    assert frame["embedding"][1] is None
    np.testing.assert_array_equal(np.stack(frame["embedding"][[0, 2]].tolist()), VECTORS[[0, 2]])


def test_npz_needs_no_pickle_and_no_name_in_it_comes_from_data(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "v.npz", columns=COLUMNS, vectors=VECTORS)
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["columns", "text_0", "text_1", "text_2", "vectors"]
        assert arrays["columns"].tolist() == list(COLUMNS)
        assert arrays["text_1"].tolist() == COLUMNS["../e0"]
        np.testing.assert_array_equal(arrays["vectors"], VECTORS)


@pytest.mark.parametrize("name", ["v.csv", "v.parquet", "v.npz"])
def test_no_rows_and_no_columns_of_text(tmp_path: Path, name: str) -> None:
    write_embeddings(tmp_path / name, columns={"id": []}, vectors=VECTORS[:0])
    write_embeddings(tmp_path / name, columns={}, vectors=VECTORS)
    assert (tmp_path / name).stat().st_size > 0
