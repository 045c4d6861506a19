"""SDF: a row for every record, with its data fields, readable or not."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, RDConfig

from gia_science.data.record import LoadedTable
from gia_science.data.table import open_table, read_table
from gia_science.errors import TableError


def molfile(smiles: str, name: str = "") -> str:
    mol = Chem.MolFromSmiles(smiles, sanitize=False)
    mol.SetProp("_Name", name)
    mol.UpdatePropertyCache(strict=False)
    return str(Chem.MolToMolBlock(mol, kekulize=False))


ETHANOL = molfile("CCO", "ethanol")
FIVE_BONDS = molfile("CC(C)(C)(C)C", "five bonds")


def read(text: str | bytes, *, format: str | None = "sdf", id_column: str | None = None) -> LoadedTable:
    content = text if isinstance(text, bytes) else text.encode()
    return read_table("-", stdin=io.BytesIO(content), format=format, id_column=id_column)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_fields_of_all_records_are_columns(end: str, mark: str) -> None:
    first = f"{ETHANOL}>  <logS>  (1)\n1.1\n\n> 25 <note> (7) \ntwo\nlines \n\n$$$$\n"
    second = f"{molfile('C[C@H](N)C(=O)O', 'ala')}> <batch>\n007\n\n> <logS>\n\n$$$$\n\n"
    table = read(mark + (first + second).replace("\n", end), format=None)
    assert (table.format, table.columns) == ("sdf", ("smiles", "name", "logS", "note", "batch"))
    assert [record.cells for record in table.records] == [
        ("CCO", "ethanol", "1.1", "two\nlines", ""),
        ("C[C@H](N)C(=O)O", "ala", "", "", "007"),
    ]
    assert [(record.line, record.id) for record in table.records] == [
        (1, "ethanol"),
        (1 + first.count("\n"), "ala"),
    ]


@pytest.mark.parametrize(
    ("molecule", "reason"),
    [
        (FIVE_BONDS, "Explicit valence for atom # 1 C, 5, is greater than permitted"),
        (ETHANOL.replace(" C ", " Qq "), "RDKit cannot read the molecule: Element 'Qq' not found"),
        (ETHANOL.replace("  1  2  1  0", "  1  9  1  0"), "Range Error"),
        (ETHANOL.replace("M  END\n", ""), "M  END|unexpected|EOF"),
        ("cut\n\n\n  3  2  0  0\n    0.0", "cannot read the molecule: .*(line|EOF)"),
        ("a\n\n\nxx\n", "no counts line|Counts line too short"),
        ("empty\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n", "molecule without atoms"),
    ],
)
def test_a_record_that_rdkit_cannot_read_keeps_its_fields_and_has_rdkits_reason(
    molecule: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = f"{molecule}\n> <y>\n1.5\n\n$$$$\n{ETHANOL}$$$$\n"
    bad, good = read(text).records
    assert (bad.cells[0], bad.cells[2]) == ("", "1.5")
    assert bad.problem is not None
    assert re.search(reason, bad.problem)
    assert "Stacktrace" not in bad.problem
    assert (good.cells, good.problem) == (("CCO", "ethanol", ""), None)
    assert capfd.readouterr() == ("", "")


def test_a_record_without_its_end_is_an_error_row_unless_it_is_a_molfile() -> None:
    for last in (ETHANOL, ETHANOL[:80], "rubbish\n"):
        *_, record = read(f"{ETHANOL}$$$$\n{last}").records
        assert record.problem == "the record does not end in $$$$: the file may be cut off"
    assert read(ETHANOL).column("smiles") == ["CCO"]
    assert read(ETHANOL[: ETHANOL.index("M  END")] + "$$$$\n").records[0].problem is not None
    with pytest.raises(TableError, match="not SDF: expected molecules that end in M END"):
        read("smiles\nCCO\n")


def test_fields_that_are_called_like_columns_or_stand_twice_lose_nothing() -> None:
    table = read(f"{ETHANOL}> <smiles>\nOCC\n\n> <name>\nx\n\n> <y>\n1\n\n> <y>\n2\n\n$$$$\n")
    assert table.columns == ("smiles", "name", "smiles_2", "name_2", "y")
    assert table.records[0].cells == ("CCO", "ethanol", "OCC", "x", "1\n2")


def test_fields_as_careless_programs_write_them() -> None:
    table = read(f"{ETHANOL}> <a>\n1\n> <b>\n2\n\n3\n\n> DT12\n4\n\n$$$$\n")
    assert table.columns[2:] == ("a", "b", "DT12")
    assert table.records[0].cells[2:] == ("1", "2\n\n3", "4")


def test_the_identifier_is_the_name_or_a_field() -> None:
    text = f"{ETHANOL}> <ID>\n7\n\n> <key>\nk\n\n$$$$\n"
    assert read(text).records[0].id == "7"
    assert read(text, id_column="key").records[0].id == "k"
    with pytest.raises(TableError, match="no column 'kee'"):
        read(text, id_column="kee")


def test_a_file_is_read_again_and_a_compressed_one_as_well(tmp_path: Path) -> None:
    content = (ETHANOL + "$$$$\n").encode()
    for name, packed in [("a.sdf", content), ("b.sdf", gzip.compress(content, mtime=0))]:
        (tmp_path / name).write_bytes(packed)
        table = open_table(tmp_path / name)
        assert len(list(table.records)) == len(list(table.records)) == 1
    (tmp_path / "cut.sdf").write_bytes(gzip.compress(content, mtime=0)[:-9])
    with pytest.raises(TableError, match="the compressed file is cut off"):
        read_table(tmp_path / "cut.sdf")


@pytest.mark.parametrize(
    "name",
    ["Data/NCI/first_200.props.sdf", "Contrib/FreeWilson/data/cmet_ligands.sdf"],
)
def test_molecules_that_come_with_rdkit_are_read_as_rdkit_reads_them(name: str) -> None:
    path = Path(RDConfig.RDContribDir).parent / name
    if not path.exists():
        pytest.skip("this RDKit comes without its data")
    table = read_table(path)
    for mol, record in zip(Chem.SDMolSupplier(str(path)), table.records, strict=True):
        cells = dict(zip(table.columns, record.cells, strict=True))
        assert cells["smiles"] == Chem.MolToSmiles(mol)
        assert cells["name"] == mol.GetProp("_Name").strip()
        assert {field: cells[field] for field in mol.GetPropNames()} == {
            field: mol.GetProp(field).strip() for field in mol.GetPropNames()
        }


RECORDS = st.lists(
    st.sampled_from([ETHANOL, FIVE_BONDS, ETHANOL[:90], "", "x\n", ETHANOL + "> <y>\n1\n\n", "> <y>\n2\n"])
    | st.text(alphabet="> <y\n\r$M  END0é", max_size=40),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(RECORDS, st.integers(0, 400))
def test_no_record_is_lost(records: list[str], cut: int) -> None:
    text = "\n$$$$\n".join(records)[: -cut or None]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ends = [number for number, line in enumerate(lines) if line.startswith("$$$$")]
    rest = any(line.strip() for line in lines[ends[-1] + 1 if ends else 0 :])
    try:
        table = read(text)
    except TableError:
        assert not ends
        return
    assert len(table) == len(ends) + rest
    starts = [1, *(number + 2 for number in ends)]
    assert [record.line for record in table.records] == starts[: len(table)]
    assert all(record.cells[0] or record.problem for record in table.records)


def test_a_letter_that_rdkit_cuts_in_two_for_its_reason_is_an_error_row() -> None:
    text = "x\n  program\n\n \u1000 2  1  0  0  0  0  0  0  0  0999 V2000\nM  END\n> <y>\n1\n\n$$$$\n"
    table = read(text)
    assert table.column("y") == ["1"]
    assert table.records[0].problem == "RDKit cannot read the molecule: a character that is not ASCII"
