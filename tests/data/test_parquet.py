"""Parquet: values become text that reads back equal; what is not whole is refused."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data import parquet as module
from gia_science.data.table import open_table, read_table
from gia_science.errors import TableError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.dat"
    table = pa.table(
        {
            "id": ["007", "NA", None],
            "y": [0.1, float("nan"), None],
            "small": pa.array([0.1, None, 2.5], type=pa.float32()),
            "n": [1, None, -3],
            "flag": [True, False, None],
        }
    )
    pq.write_table(table, path)
    return path


def test_values_become_text_and_missing_ones_empty(file: Path) -> None:
    table = read_table(file)
    assert table.format == "parquet"
    assert [record.cells for record in table.records] == [
        ("007", "0.1", "0.1", "1", "True"),
        ("NA", "", "", "", "False"),
        ("", "", "2.5", "-3", ""),
    ]
    assert [(record.line, record.id) for record in table.records] == [(2, "007"), (3, "NA"), (4, "")]


def test_compressed_and_streamed_files_and_a_second_iteration(file: Path, tmp_path: Path) -> None:
    expected = [record.cells for record in read_table(file).records]
    packed = tmp_path / "a.parquet.gz"
    packed.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    table = open_table(packed)
    assert [record.cells for record in table.records] == expected
    assert [record.cells for record in table.records] == expected
    stream = read_table("-", stdin=io.BytesIO(file.read_bytes()))
    assert [record.cells for record in stream.records] == expected


@pytest.mark.parametrize("keep", [4, 20, -1, -20])
def test_a_cut_file_is_an_error(file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(TableError, match="Parquet file is cut off or damaged"):
        read_table(file)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_is_never_another_exception(place: int, flip: int) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": ["x", "y"], "b": [1.5, 2.5]}), buffer)
    content = bytearray(buffer.getvalue())
    content[4 + place % (len(content) - 4)] ^= flip
    try:
        table = read_table("-", stdin=io.BytesIO(bytes(content)))
    except TableError:
        return
    assert all(len(record.cells) == len(table.columns) for record in table.records)


def test_another_file_under_the_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("id,smiles\n1,C\n")
    with pytest.raises(TableError, match="not a Parquet file"):
        read_table(path)


def test_without_pyarrow_the_error_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", absent)
    with pytest.raises(TableError, match=r"pip install 'gia-science\[parquet\]'"):
        read_table(file)


def test_dates_beyond_those_of_python_are_told_and_lose_no_row() -> None:
    stream = io.BytesIO()
    days, far = pa.array([2**31 - 1, 3], pa.date32()), pa.array([2**62, 3], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"id": ["a", "b"], "day": days, "far": far}), stream)
    rows = [record.cells for record in read_table("-", stdin=io.BytesIO(stream.getvalue())).records]
    assert rows == [
        ("a", "2147483647 (date32[day])", "4611686018427387904 (timestamp[us, tz=UTC])"),
        ("b", "1970-01-04", "1970-01-01 00:00:00.000003+00:00"),
    ]
