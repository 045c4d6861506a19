"""Whatever a user holds in Python becomes a table, or is refused with what would do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from pymatgen.core import Composition, Lattice, Structure
from rdkit import Chem

from gia_science.data.inputs import as_table
from gia_science.data.record import Table
from gia_science.data.table import read_table
from gia_science.errors import TableError

ETHANOL = Chem.MolFromSmiles("OCC")
IRON = Structure(Lattice.cubic(3), ["Fe"], [[0, 0, 0]])


def cells(table: Table) -> list[tuple[str, ...]]:
    return [record.cells for record in table.records]


def test_objects_stand_beside_texts_and_a_missing_one_is_an_empty_cell() -> None:
    given = [ETHANOL, None, "CC", Seq("MK"), Composition("NaCl"), IRON, float("nan"), np.str_("C")]
    table = as_table(given)
    assert table.columns == ("input",)
    assert [row[0] for row in cells(table)] == ["CCO", "", "CC", "MK", "NaCl", "Fe", "", "C"]
    assert cells(as_table(pd.Series(given[:3], name="mol"))) == [("CCO",), ("",), ("CC",)]
    assert as_table(pd.Series(given[:3], name="mol")).columns == ("mol",)
    assert cells(as_table(item for item in given[:1])) == [("CCO",)]


def test_an_object_that_cannot_be_written_is_an_error_row() -> None:
    first, second = as_table([Chem.Mol(), ETHANOL]).records
    assert (first.cells, first.problem) == (("",), "molecule without atoms")
    assert second.problem is None


def test_objects_in_the_columns_of_a_frame() -> None:
    frame = pd.DataFrame(
        {
            "ROMol": [ETHANOL, None],
            "seq": [Seq("MK"), SeqRecord(Seq("MV"), id="b")],
            "f": [IRON, Composition("Fe2O3")],
            "y": [1, 2.5],
        }
    )
    assert cells(as_table(frame)) == [("CCO", "MK", "Fe", "1.0"), ("", "MV", "Fe2O3", "2.5")]


def test_records_of_biopython_are_read_as_the_file_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "a.fasta"
    path.write_text(">a first one\nMKT\nAYI\n>b\nGG\n>a\nMK\n")
    with path.open() as stream:
        table = as_table(SeqIO.parse(stream, "fasta"))
    expected = read_table(path)
    assert table.columns == expected.columns
    assert cells(table) == cells(expected)
    assert [record.id for record in table.records] == ["a", "b", "a"]
    mixed = as_table([SeqRecord(Seq("MK"), id="x"), "MV"])
    assert cells(mixed) == [("x", "", "MK"), ("", "", "MV")]


@pytest.mark.parametrize("value", [1, 2.5, {"a": 1}, ["CCO"], b"CCO", True])
def test_an_item_of_another_type_is_an_error_row_that_names_it(value: object) -> None:
    first, second = as_table(["CCO", value]).records
    assert first.problem is None
    assert second.line == 2
    assert second.problem is not None
    assert second.problem.startswith(f"not an input: got {type(value).__name__} {value!r}, expected a text")


@pytest.mark.parametrize("single", [ETHANOL, Seq("MK"), SeqRecord(Seq("MK")), Composition("NaCl"), IRON])
def test_a_single_object_is_refused(single: object) -> None:
    with pytest.raises(TableError, match=r"a single \w+: expected a list"):
        as_table(single)


@pytest.mark.parametrize(
    ("data", "message"),
    [("CCO", "no such file"), (b"CCO", "a single text"), (7, "got int"), ({"a": ["CCO"]}, "got dict")],
)
def test_other_things_are_refused(data: object, message: str) -> None:
    with pytest.raises(TableError, match=message):
        as_table(data)


def test_paths_and_tables_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO a\n")
    table = as_table(path)
    assert cells(as_table(table)) == cells(as_table(str(path))) == [("CCO", "a")]
    assert as_table(table) is table
