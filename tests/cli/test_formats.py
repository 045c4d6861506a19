"""Files of molecules and materials at the command line: in as SMI, SDF or CIF, out as a table."""

from __future__ import annotations

import gzip

import pytest
from rdkit import Chem

ALKANES = ["C" * count for count in range(1, 13)]


def record(smiles: str, *, name: str = "", fields: dict[str, str] | None = None) -> str:
    mol = Chem.MolFromSmiles(smiles, sanitize=False)
    mol.SetProp("_Name", name)
    mol.UpdatePropertyCache(strict=False)
    data = "".join(f"> <{key}>\n{value}\n\n" for key, value in (fields or {}).items())
    return f"{Chem.MolToMolBlock(mol, kekulize=False)}{data}$$$$\n"


def test_molecules_of_an_sdf_file_are_predicted_beside_their_fields(gia, write, molecules) -> None:
    text = (
        record("CCO", name="a", fields={"batch": "007", "note": "x,\ny"})
        + record("CC(C)(C)(C)C", name="b", fields={"batch": "008"})
        + record("CCC", name="c")
    )
    done = gia("predict", molecules, write(text, "mols.sdf"), "-o", "out.csv")
    assert done.code == 1
    assert "1 of 3 rows not predicted: line 19: RDKit cannot read the molecule: Explicit valence" in done.err
    again = gia("predict", molecules, "out.csv")
    assert list(again.rows[0])[:7] == ["smiles", "name", "batch", "note", "pIC50_pred", "pIC50_std", "status"]
    assert [(row["smiles"], row["name"], row["batch"], row["status"]) for row in again.rows] == [
        ("CCO", "a", "007", "ok"),
        ("", "b", "008", "error"),
        ("CCC", "c", "", "ok"),
    ]
    plain = gia("predict", molecules, write("smiles\nOCC\n"))
    assert again.rows[0]["pIC50_pred"] == plain.rows[0]["pIC50_pred"]


def test_the_molecule_of_a_record_is_the_input_whatever_its_fields_are_called(
    gia, write, fit, molecules
) -> None:
    fit("SMILES,y\n" + "".join(f"{smiles},{index}.5\n" for index, smiles in enumerate(ALKANES)), "-t", "y")
    write(record("CCCC", fields={"SMILES": "C1CC", "formula": "C4H10", "sequence": "MK"}), "mols.sdf")
    assert [row["status"] for row in gia("predict", "new", "mols.sdf").rows] == ["ok"]
    assert gia("predict", molecules, "mols.sdf").code == 0
    assert gia("predict", molecules, "mols.sdf", "--input", "SMILES").code == 1


def test_a_model_is_trained_on_the_fields_of_an_sdf_file(gia, fit) -> None:
    text = "".join(record(smiles, fields={"y": f"{index}.5"}) for index, smiles in enumerate(ALKANES))
    done = fit(text, "-t", "y", name="measured.sdf")
    assert done.code == 0
    assert "input: column 'smiles', read as smiles (atoms)" in done.told
    assert gia("evaluate", "new", "measured.sdf").code == 0
    assert "there are: smiles, name, y" in fit(text, name="measured.sdf").error


@pytest.mark.parametrize("name", ["a.smi", "a.smiles", "a.ism", "a.smi.gz"])
def test_smiles_files(gia, write, molecules, name) -> None:
    text = "CCO ethanol\nC1CC b\nCC |^1:0|\ttwo words\n"
    done = gia("predict", molecules, write(gzip.compress(text.encode(), mtime=0), name))
    assert done.code == 1
    assert [(row["smiles"], row["name"], row["status"]) for row in done.rows] == [
        ("CCO", "ethanol", "ok"),
        ("C1CC", "b", "error"),
        ("CC |^1:0|", "two words", "ok"),
    ]


def test_formulas_of_a_cif_file_are_predicted(gia, write, materials) -> None:
    site = "loop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n"
    lengths = "".join(f"_cell_length_{axis} 4\n" for axis in "abc")
    angles = "".join(f"_cell_angle_{axis} 90\n" for axis in ("alpha", "beta", "gamma"))
    good = f"data_one\n{lengths}{angles}{site}Zn 0 0 0\nS 0.25 0.25 0.25\n"
    done = gia("predict", materials, write(good + "data_two\n_cell_length_a 4\n", "a.cif"))
    assert done.code == 1
    assert [(row["name"], row["formula"], row["status"]) for row in done.rows] == [
        ("one", "ZnS", "ok"),
        ("two", "", "error"),
    ]
    assert gia("predict", materials, "-", stdin=good.encode()).rows[0]["formula"] == "ZnS"


def test_standard_input_is_recognised_or_named(gia, molecules, tiny) -> None:
    sdf = record("CCO", name="a").encode()
    assert gia("predict", molecules, "-", stdin=sdf).rows[0]["name"] == "a"
    for command in ("predict", "embed"):
        done = gia(command, molecules, "-", "--format", "smi", stdin=b"CCO a\n")
        assert done.rows[0]["name"] == "a"
    assert "no such table format: got 'sdff'" in gia("predict", molecules, "-", "--format", "sdff").error
    rows = "".join(record(smiles, fields={"y": f"{i}.5"}) for i, smiles in enumerate(ALKANES)).encode()
    options = ("-t", "y", "-o", "new", "--no-baseline", "--format", "sdf", *tiny)
    assert gia("train", "-", *options, stdin=rows).code == 0
    assert gia("evaluate", "new", "-", "--format", "sdf", stdin=rows).code == 0


def test_a_cut_file_is_an_error_or_an_error_row(gia, write, molecules, tmp_path) -> None:
    text = record("CCO", name="a") * 3
    done = gia("predict", molecules, write(text[:-20], "cut.sdf"))
    assert [row["status"] for row in done.rows] == ["ok", "ok", "error"]
    assert "the file may be cut off" in done.rows[2]["reason"]
    bad = gia(
        "predict", molecules, write(gzip.compress(text.encode(), mtime=0)[:-9], "cut.sdf.gz"), "-o", "out.csv"
    )
    assert "the compressed file is cut off" in bad.error
    assert not (tmp_path / "out.csv").exists()
