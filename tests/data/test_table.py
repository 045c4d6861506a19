"""One door: formats are recognised, lists and frames enter as tables, and real files are read whole."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import RDConfig

from gia_science.data.record import cell_text
from gia_science.data.table import (
    FILE_FORMATS,
    open_table,
    read_table,
    table_from_frame,
    table_from_texts,
)
from gia_science.errors import TableError

MOLFILE = """methane
  program

  1  0  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
M  END
"""
CIF = "data_x\n_cell_length_a 4\n"


def test_format_is_recognised_by_content_then_by_suffix(tmp_path: Path) -> None:
    for name, text, expected in [
        ("a.txt", "a\tb\n1\t2\n", "tsv"),
        ("a.tsv", "a,b\nx,2\n", "csv"),
        ("b.tsv", "name\nx,2\n", "tsv"),
        ("a.csv", "a,b\nx,2\n", "csv"),
        ("a", ">x\nMK\n", "fasta"),
        ("a.smi", "CCO ethanol\n", "smi"),
        ("a.ISM", "CCO ethanol\n", "smi"),
        ("a.smi.gz", "CCO ethanol\n", "smi"),
        ("a.sd", MOLFILE + "$$$$\n", "sdf"),
        ("a.txt", MOLFILE + "$$$$\n", "sdf"),
        ("a", MOLFILE, "sdf"),
        ("quoted.csv", f'a,b\n1,"{MOLFILE}$$$$\n"\n', "csv"),
        ("a.cif", CIF, "cif"),
        ("a.txt", "\ufeff# a note\n\n" + CIF, "cif"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        table = read_table(path)
        assert table.format == expected
        assert expected == "cif" or not any(record.problem for record in table.records)


def test_unknown_and_unread_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no such table format: got 'cvs'.*did you mean 'csv'"):
        open_table("a.csv", format="cvs")
    path = tmp_path / "a.mol2"
    path.write_text("x")
    with pytest.raises(TableError, match=r"\.mol2 are not read"):
        open_table(path)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252"])
def test_other_encodings_are_refused_by_name(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("smiles,name\nCCO,éthanol\n".encode(encoding))
    with pytest.raises(
        TableError, match="UTF-16" if encoding == "utf-16" else r"line 2: .*Latin-1 or Windows-1252"
    ):
        read_table(path)


def test_a_list_of_texts_is_a_table_of_one_column() -> None:
    table = table_from_texts(["CCO", None, "NA"], column="smiles")
    assert table.column("smiles") == ["CCO", "", "NA"]
    assert [record.line for record in table.records] == [1, 2, 3]
    assert table_from_texts(pd.Series(["a", float("nan")]), column="x").column("x") == ["a", ""]
    assert len(table_from_texts([], column="x")) == 0
    with pytest.raises(TableError, match="a single text"):
        table_from_texts("CCO", column="smiles")


def test_a_frame_keeps_its_labels_and_its_numbers() -> None:
    frame = pd.DataFrame(
        {
            "smiles": ["CCO", None],
            "y": [0.1, np.nan],
            "single": np.array([0.1, np.nan], dtype=np.float32),
            "n": pd.array([1, None], dtype="Int64"),
            "when": [pd.Timestamp("2024-01-02"), pd.NaT],
        },
        index=["a", "b"],
    )
    table = table_from_frame(frame)
    assert [record.cells for record in table.records] == [
        ("CCO", "0.1", "0.1", "1", "2024-01-02 00:00:00"),
        ("", "", "", "", ""),
    ]
    assert [(record.line, record.id) for record in table.records] == [(2, "a"), (3, "b")]


def test_frames_without_rows_and_with_double_names() -> None:
    assert len(table_from_frame(pd.DataFrame({"a": []}))) == 0
    with pytest.raises(TableError, match="more than once"):
        table_from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, width=32))
def test_floats_read_back_equal(double: float, single: float) -> None:
    assert float(cell_text(double)) == double
    assert float(cell_text(np.float64(double))) == double
    assert np.float32(cell_text(np.float32(single))) == np.float32(single)


def test_measured_potencies_that_come_with_rdkit_are_read_as_pandas_reads_them() -> None:
    path = Path(RDConfig.RDContribDir) / "FreeWilson" / "data" / "CHEMBL2321810_act.csv"
    table = read_table(path)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert table.columns == tuple(frame.columns)
    assert [record.cells for record in table.records] == list(frame.itertuples(index=False, name=None))
    assert not any(record.problem for record in table.records)


@given(st.binary(max_size=200), st.sampled_from([None, *FILE_FORMATS]))
def test_any_bytes_in_any_format_give_a_table_or_a_table_error(content: bytes, format: str | None) -> None:
    for start in (b"", b"\x1f\x8b\x08", b"PAR1", b">", b"data_x\n_cell_length_a "):
        try:
            table = read_table("-", stdin=io.BytesIO(start + content), format=format)
        except TableError:
            continue
        assert all(len(record.cells) == len(table.columns) for record in table.records)
