"""SMILES files: every line that is neither blank nor a comment is a row, whatever it holds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, RDConfig

from gia_science.data.record import LoadedTable
from gia_science.data.smi import split_smiles
from gia_science.data.table import read_table
from gia_science.errors import TableError


def read(text: str, *, header: bool = True) -> LoadedTable:
    return read_table("-", stdin=io.BytesIO(text.encode()), format="smi", header=header)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_names_and_lines_are_kept(end: str, mark: str) -> None:
    table = read(mark + end.join(["CCO\tethanol, 96 %", "", "# a note", "CC", "C   a  b ", ""]))
    assert (table.format, table.columns) == ("smi", ("smiles", "name"))
    assert [record.cells for record in table.records] == [
        ("CCO", "ethanol, 96 %"),
        ("CC", ""),
        ("C", "a  b"),
    ]
    assert [(record.line, record.id) for record in table.records] == [
        (1, "ethanol, 96 %"),
        (4, None),
        (5, "a  b"),
    ]


def test_a_missing_smiles_is_an_empty_cell_and_not_the_name() -> None:
    assert read("CCO a\n\tb\n c\n").column("smiles") == ["CCO", "", ""]
    assert read("CCO a\n\tb\n c\n").column("name") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "first", ["smiles name", "SMILES\tID", "canonical_smiles", "isosmi zinc_id", "Molecule x", "mol"]
)
def test_a_header_is_told_by_its_first_word(first: str) -> None:
    assert [record.line for record in read(f"# made today\n{first}\nCCO a\n").records] == [3]
    assert len(read(f"{first}\nCCO a\n", header=False)) == 2
    assert len(read(f"CCO a\n{first}\n")) == 2


@pytest.mark.parametrize("first", ["C1CC a", "CCX a", "structure id", "c", "Cn", "CS(I)C x", "[Sm]I"])
def test_a_first_line_that_cannot_be_read_is_not_taken_for_a_header(first: str) -> None:
    assert len(read(f"{first}\nCCO a\n")) == 2


def test_an_extension_belongs_to_the_smiles() -> None:
    assert split_smiles("CCO |$a b;;$,^1:0| the name |x|") == ("CCO |$a b;;$,^1:0|", "the name |x|")
    assert split_smiles("CCO |r|") == ("CCO |r|", "")
    assert split_smiles("CCO |open") == ("CCO", "|open")
    assert split_smiles("CCO name |r|") == ("CCO", "name |r|")


def test_a_table_with_commas_and_a_file_of_comments_are_refused() -> None:
    with pytest.raises(TableError, match=r"line 1: not a SMILES file: got the header 'smiles,name'"):
        read("smiles,name\nCCO,ethanol\n")
    with pytest.raises(TableError, match="no SMILES in the file"):
        read("# a\n\n#b\n")
    assert len(read("smiles name\n")) == 0


def test_molecules_that_come_with_rdkit_are_read_as_rdkit_reads_them() -> None:
    path = Path(RDConfig.RDContribDir).parent / "Data" / "NCI" / "first_5K.smi"
    if not path.exists():
        pytest.skip("this RDKit comes without its data")
    table = read_table(path)
    supplier = Chem.SmilesMolSupplier(str(path), delimiter="\t", titleLine=False, sanitize=False)
    assert len(table) == len(supplier)
    assert table.column("name")[:200] == [supplier[i].GetProp("_Name") for i in range(200)]


@given(st.text(alphabet="CO1#|\t \r\nsmi", max_size=60))
def test_no_line_is_lost(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    expected = [n for n, line in enumerate(lines, start=1) if line.strip() and line[0] != "#"]
    if not expected:
        return
    assert [record.line for record in read(text, header=False).records] == expected


def test_text_in_an_extension_makes_no_header(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CC |$smiles$| ethane\nCCO ethanol\n")
    assert [record.cells[1] for record in read_table(path).records] == ["ethane", "ethanol"]
