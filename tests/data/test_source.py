"""Where rows come from: shipped datasets, hashes that tell data apart, and the input column and its domain."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pydantic import ValidationError

from gia_science.data.record import LoadedTable
from gia_science.data.source import DataSource, dataset_table, open_source, resolve_input, table_hash
from gia_science.data.table import open_table, read_table, table_from_texts
from gia_science.errors import DefinitionError, RecipeError, TableError

AMBIGUOUS = ["CC", "CCN", "CCO"]


def save(path: Path, rows: list[list[str]], *, delimiter: str = ",") -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)
    return path


@pytest.fixture
def make_table(tmp_path: Path):
    def make(header: list[str], *rows: list[str]) -> LoadedTable:
        return read_table(save(tmp_path / "t.csv", [header, *(rows or [["x"] * len(header)])]))

    return make


@pytest.mark.parametrize(
    ("name", "rows", "columns", "first"),
    [
        ("amp", 4620, ("sequence", "label"), ("GLWSKIKEVGKEAAKAAAKAAGKAALGAVSEAV", "1")),
        ("expt_gap", 2152, ("formula", "band_gap_eV"), ("Hg0.7Cd0.3Te", "0.31")),
        ("nav17", 1017, ("id", "smiles", "pIC50"), None),
    ],
)
def test_a_shipped_dataset_is_a_table(
    name: str, rows: int, columns: tuple[str, ...], first: tuple[str, ...] | None
) -> None:
    table = open_source(DataSource(dataset=name))
    assert len(table) == rows
    assert table.columns == table.header == columns
    assert table.source == name
    assert all(len(record.cells) == len(columns) for record in table.records)
    lines = [record.line for record in table.records]
    assert len(set(lines)) == rows
    assert lines == sorted(lines)
    if first is not None:
        assert table.records[0].cells == first
    ids = {record.id for record in table.records}
    assert ids == {None} if "id" not in columns else len(ids) == rows


def test_a_source_names_one_place() -> None:
    with pytest.raises(RecipeError, match=r"no data.*name a dataset or a file"):
        open_source(DataSource())
    with pytest.raises(ValidationError, match="not both"):
        DataSource(dataset="amp", file="a.csv")
    with pytest.raises(DefinitionError, match="did you mean 'nav17'"):
        open_source(DataSource(dataset="nav18"))
    with pytest.raises(TableError, match="no such file"):
        open_source(DataSource(file="/nowhere/a.csv"))


def test_a_file_without_a_header(tmp_path: Path) -> None:
    path = save(tmp_path / "a.csv", [["C", "1"], ["N", "2"]])
    table = open_source(DataSource(file=str(path), header=False))
    assert table.columns == ("column_1", "column_2")
    assert len(table) == 2


ROWS = [["id", "smiles", "y"], ["007", "CCO", "1.5"], ["8", "a,b", ""]]


def test_the_hash_does_not_depend_on_how_a_table_is_stored(tmp_path: Path) -> None:
    plain = table_hash(read_table(save(tmp_path / "a.csv", ROWS)))
    assert table_hash(read_table(save(tmp_path / "b.tsv", ROWS, delimiter="\t"))) == plain
    quoted = tmp_path / "c.csv"
    quoted.write_bytes(b'\xef\xbb\xbf"id";"smiles";"y"\r\n"007";"CCO";"1.5"\r\n8;"a,b";\r\n')
    assert table_hash(read_table(quoted)) == plain
    assert len(plain) == 64


def test_the_hash_does_not_depend_on_parquet(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: [row[index] for row in ROWS[1:]] for index, name in enumerate(ROWS[0])}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert table_hash(read_table(tmp_path / "a.parquet")) == table_hash(
        read_table(save(tmp_path / "a.csv", ROWS))
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[1].__setitem__(2, "1.50"),
        lambda rows: rows[0].__setitem__(2, "z"),
        lambda rows: rows.append(["9", "C", "1"]),
        lambda rows: rows.__setitem__(slice(1, 3), [rows[2], rows[1]]),
        lambda rows: [row.__setitem__(slice(1, 3), row[:0:-1]) for row in rows],
    ],
    ids=["cell", "column name", "row added", "rows swapped", "columns swapped"],
)
def test_the_hash_changes_with_the_content(tmp_path: Path, change) -> None:
    before = table_hash(read_table(save(tmp_path / "a.csv", ROWS)))
    rows = [list(row) for row in ROWS]
    change(rows)
    assert table_hash(read_table(save(tmp_path / "a.csv", rows))) != before


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (["id", "SMILES", "y"], ("SMILES", "smiles")),
        (["canonical_smiles", "smiles", "y"], ("smiles", "smiles")),
        (["name", "Protein Sequence", "y"], ("Protein Sequence", "protein")),
        (["Formula", "y"], ("Formula", "composition")),
    ],
)
def test_the_input_is_known_by_the_name_of_its_column(make_table, header, found) -> None:
    assert resolve_input(make_table(header), input=None, domain=None) == found


def test_of_several_named_columns_the_domain_decides(make_table) -> None:
    table = make_table(["smiles", "sequence", "y"])
    with pytest.raises(TableError, match=r"which column is the input: got smiles, sequence, y .*--input"):
        resolve_input(table, input=None, domain=None)
    assert resolve_input(table, input=None, domain="protein") == ("sequence", "protein")
    assert resolve_input(table, input=None, domain="smiles") == ("smiles", "smiles")
    assert resolve_input(table, input="y", domain="smiles") == ("y", "smiles")


def test_a_column_named_for_another_domain_is_not_taken_for_the_one_asked_for(make_table) -> None:
    with pytest.raises(TableError, match="which column is the input"):
        resolve_input(make_table(["sequence", "y"]), input=None, domain="smiles")


def test_names_that_say_nothing_are_refused(make_table) -> None:
    with pytest.raises(TableError, match=r"t.csv: cannot tell which column is the input: got a, b"):
        resolve_input(make_table(["a", "b"]), input=None, domain=None, texts=["CCO", "1"])


def test_an_unknown_column_or_domain_is_refused_with_the_nearest(make_table) -> None:
    table = make_table(["smiles", "y"])
    with pytest.raises(TableError, match="did you mean 'smiles'"):
        resolve_input(table, input="smile", domain="smiles")
    with pytest.raises(DefinitionError, match="did you mean 'smiles'"):
        resolve_input(table, input=None, domain="smile")


def test_fasta_is_protein_unless_another_domain_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.fasta"
    path.write_text(">a\nMKT\n")
    table = open_table(path)
    assert resolve_input(table, input=None, domain=None) == ("sequence", "protein")
    assert resolve_input(table, input=None, domain="smiles") == ("sequence", "smiles")


def test_a_single_column_is_recognised_by_its_content() -> None:
    table = table_from_texts(["c1ccccc1", "CC(=O)O"], column="input")
    assert resolve_input(table, input=None, domain=None, texts=["c1ccccc1", "CC(=O)O"]) == ("input", "smiles")
    assert resolve_input(table, input=None, domain="protein") == ("input", "protein")


def test_a_column_asked_for_is_recognised_by_its_own_content(make_table) -> None:
    table = make_table(["a", "b", "y"])
    texts = ["MKTAYIAKQR", "Fe2O3", "1", "GLWSKIKEVG", "NaCl", "2"]
    assert resolve_input(table, input="a", domain=None, texts=texts) == ("a", "protein")
    assert resolve_input(table, input="b", domain=None, texts=texts) == ("b", "composition")


def test_short_smiles_are_decided_by_the_name_of_the_column_or_refused(make_table) -> None:
    """``CCN`` is a peptide, a molecule and, to some, a formula."""
    named = make_table(["smiles", "y"])
    texts = [cell for text in AMBIGUOUS for cell in (text, "1")]
    for column in (None, "smiles"):
        assert resolve_input(named, input=column, domain=None, texts=texts) == ("smiles", "smiles")
    table = table_from_texts(AMBIGUOUS, column="input")
    with pytest.raises(
        TableError, match=r"column 'input': cannot tell what the input column holds.*--domain"
    ):
        resolve_input(table, input=None, domain=None, texts=AMBIGUOUS)
    assert resolve_input(table, input=None, domain="smiles", texts=AMBIGUOUS) == ("input", "smiles")


def test_content_that_contradicts_the_name_wins(make_table) -> None:
    """A column called compound may hold formulas or SMILES."""
    smiles = [cell for text in ("c1ccccc1O", "CC(=O)Nc1ccc(O)cc1", "C#N") for cell in (text, "1")]
    formulas = [cell for text in ("Fe2O3", "NaCl", "Al2O3") for cell in (text, "1")]
    table = make_table(["compound", "y"])
    assert resolve_input(table, input=None, domain=None, texts=smiles) == ("compound", "smiles")
    assert resolve_input(table, input=None, domain=None, texts=formulas) == ("compound", "composition")


def test_rows_of_a_dataset_equal_its_csv() -> None:
    table = dataset_table("expt_gap")
    path = Path(__file__).parents[2] / "datasets" / "expt_gap.csv"
    assert table_hash(table) == table_hash(read_table(path))
    assert [record.line for record in table.records[:2]] == [2, 3]
