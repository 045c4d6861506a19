"""Vectors are written beside their rows and read back equal, also by others' tools."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gia_science.data import vectors as module
from gia_science.data.table import read_table
from gia_science.data.vectors import EmbeddingWriter, TokenEmbeddingWriter, check_embedding_target
from gia_science.errors import TableError

VECTORS = np.array([[0.1, -2.5, 1e-8], [np.nan] * 3, [3.0, 4.0, 5.0]], dtype=np.float32)
COLUMNS = ("id", "../e0", "e1")
ROWS = [("007", "CCO", "x"), ("b", "?", ""), ("c", "C\nC", "z")]
NAMES = ["v.csv", "v.tsv", "v.csv.gz", "v.parquet", "v.npz"]


def write(target: Path, *, rows: Sequence[Sequence[str]] = ROWS, columns: Sequence[str] = COLUMNS) -> None:
    with EmbeddingWriter(target, columns, width=3) as writer:
        for cells, vector in zip(rows, VECTORS, strict=False):
            writer.write_row(cells, None if np.isnan(vector).all() else vector)


def write_tokens(target: Path) -> None:
    """Two units, none, one."""
    with TokenEmbeddingWriter(target, ("status", "reason"), width=3) as writer:
        none = np.zeros(0, dtype=np.int64)
        writer.write_row(
            ("ok", "gap"), VECTORS[[0, 2]], row=1, id="a", units=np.array([1, 3]), tokens=("M", "K")
        )
        writer.write_row(("error", "no"), VECTORS[:0], row=2, id=None, units=none, tokens=())
        writer.write_row(("ok", ""), VECTORS[[2]], row=3, id="a", units=np.array([1]), tokens=("Fe",))


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.csv.gz"])
def test_text_has_a_column_for_each_dimension_under_a_free_name(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    table = read_table(tmp_path / name)
    assert table.columns == ("id", "../e0", "e1", "e0", "e1_2", "e2")
    assert table.column("../e0") == ["CCO", "?", "C\nC"]
    assert table.records[1].cells[3:] == ("", "", "")
    back = np.array([[np.float32(cell) for cell in table.records[row].cells[3:]] for row in (0, 2)])
    np.testing.assert_array_equal(back, VECTORS[[0, 2]])


def test_parquet_has_one_column_of_lists(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write(tmp_path / "v.parquet")
    frame = pd.read_parquet(tmp_path / "v.parquet")
    assert list(frame.columns) == [*COLUMNS, "embedding"]
    assert frame["id"].tolist() == ["007", "b", "c"]
    assert frame["embedding"][1] is None
    np.testing.assert_array_equal(np.stack(frame["embedding"][[0, 2]].tolist()), VECTORS[[0, 2]])


def test_groups_of_a_parquet_file_hold_all_rows_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(module, "_NUMBERS_PER_GROUP", 6)
    write(tmp_path / "v.parquet")
    assert parquet.ParquetFile(tmp_path / "v.parquet").num_row_groups == 2
    assert pd.read_parquet(tmp_path / "v.parquet")["../e0"].tolist() == ["CCO", "?", "C\nC"]


def test_npz_needs_no_pickle_and_no_name_in_it_comes_from_data(tmp_path: Path) -> None:
    write(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["columns", "text_0", "text_1", "text_2", "vectors"]
        assert arrays["columns"].tolist() == list(COLUMNS)
        assert arrays["text_1"].tolist() == ["CCO", "?", "C\nC"]
        assert arrays["vectors"].dtype == np.float32
        np.testing.assert_array_equal(arrays["vectors"], VECTORS)


@pytest.mark.parametrize("name", ["v.csv", "v.parquet", "v.npz"])
def test_no_rows_and_no_columns_of_text(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, rows=[], columns=("id",))
    assert (tmp_path / name).stat().st_size > 0
    write(tmp_path / name, rows=[()] * 3, columns=())
    if name == "v.npz":
        with np.load(tmp_path / name) as arrays:
            assert arrays["vectors"].shape == (3, 3)


def test_units_have_a_line_each_and_a_row_without_has_one(tmp_path: Path) -> None:
    write_tokens(tmp_path / "v.csv")
    table = read_table(tmp_path / "v.csv")
    assert table.columns == ("row", "id", "unit", "token", "status", "reason", "e0", "e1", "e2")
    assert [record.cells[:6] for record in table.records] == [
        ("1", "a", "1", "M", "ok", "gap"),
        ("1", "a", "3", "K", "ok", "gap"),
        ("2", "", "", "", "error", "no"),
        ("3", "a", "1", "Fe", "ok", ""),
    ]
    assert table.column("e0") == ["0.1", "3.0", "", "3.0"]


def test_units_in_parquet_are_counted_in_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_tokens(tmp_path / "v.parquet")
    frame = pd.read_parquet(tmp_path / "v.parquet")
    assert frame["row"].tolist() == [1, 1, 2, 3]
    assert frame["unit"].isna().tolist() == [False, False, True, False]
    assert frame["token"].tolist() == ["M", "K", "", "Fe"]
    np.testing.assert_array_equal(frame["embedding"][3], VECTORS[2])


def test_units_in_npz_are_found_by_offsets(tmp_path: Path) -> None:
    write_tokens(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert arrays["offsets"].tolist() == [0, 2, 2, 3]
        assert arrays["units"].tolist() == [1, 3, 1]
        assert arrays["tokens"].tolist() == ["M", "K", "Fe"]
        assert arrays["columns"].tolist() == ["id", "status", "reason"]
        assert [arrays[f"text_{index}"].tolist() for index in range(3)] == [
            ["a", "", "a"],
            ["ok", "error", "ok"],
            ["gap", "no", ""],
        ]
        np.testing.assert_array_equal(arrays["vectors"], VECTORS[[0, 2, 2]])


@pytest.mark.parametrize("writer", [write, write_tokens])
@pytest.mark.parametrize("name", NAMES)
def test_equal_rows_give_equal_bytes(tmp_path: Path, name: str, writer) -> None:
    write_twice = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        writer(tmp_path / folder / name)
        write_twice.append((tmp_path / folder / name).read_bytes())
    assert write_twice[0] == write_twice[1]


@pytest.mark.parametrize("name", NAMES)
def test_after_an_error_nothing_is_left_and_what_was_there_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    broken = [*ROWS[:2], ("too", "few")]
    with pytest.raises(AssertionError):
        write(tmp_path / name, rows=broken)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_standard_output_is_csv() -> None:
    stream = io.BytesIO()
    with EmbeddingWriter("-", ("a",), width=3, stdout=stream) as writer:
        writer.write_row(("x",), VECTORS[2])
    assert stream.getvalue() == b"a,e0,e1,e2\nx,3.0,4.0,5.0\n"


@pytest.mark.parametrize("name", ["v.parquet", "v.npz"])
def test_memory_does_not_grow_with_the_rows(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views of a batch that goes by are not kept either."""
    if name == "v.parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(module, "_NUMBERS_PER_GROUP", 2**14)

    def peak(batches: int) -> int:
        tracemalloc.start()
        with EmbeddingWriter(tmp_path / name, ("a",), width=64) as writer:
            for _ in range(batches):
                batch = np.zeros((200, 64), dtype=np.float32)
                for vector in batch:
                    writer.write_row(("x" * 100,), vector)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1)
    assert peak(60) < peak(12) + 300_000, "2.5 MB more go through"


@pytest.mark.parametrize(
    ("name", "message"),
    [("v.json", r"expected .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .npz"), ("no/v.npz", "no such folder")],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(TableError, match=message):
        check_embedding_target(tmp_path / name)
    check_embedding_target("-")
    check_embedding_target(tmp_path / "v.npz")


def test_text_that_parquet_cannot_hold_is_told(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with (
        pytest.raises(TableError, match="cannot be written as UTF-8"),
        EmbeddingWriter(tmp_path / "v.parquet", ("a",), width=3) as writer,
    ):
        writer.write_row(("\ud800",), VECTORS[0])
    assert list(tmp_path.iterdir()) == []
