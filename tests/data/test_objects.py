"""Objects of chemical, biological and materials libraries as the texts that the domains read."""

from __future__ import annotations

import subprocess
import sys

import pytest
from Bio.Seq import MutableSeq, Seq
from Bio.SeqRecord import SeqRecord
from pymatgen.core import Composition, Lattice, Molecule, Structure
from rdkit import Chem

from gia_science.data.objects import ObjectText, object_text
from gia_science.tokens.formula import read_formula


def text_of(value: object) -> str:
    found = object_text(value)
    assert found is not None
    assert found.problem is None
    return found.text


def test_molecules_are_canonical_smiles() -> None:
    assert text_of(Chem.MolFromSmiles("OC(=O)[C@@H](N)C")) == Chem.CanonSmiles("OC(=O)[C@@H](N)C")
    assert text_of(Chem.RWMol(Chem.MolFromSmiles("OCC"))) == "CCO"


def test_molecules_that_cannot_be_written_have_a_reason() -> None:
    empty, long = object_text(Chem.Mol()), object_text(_chain(6000))
    assert empty == ObjectText("", problem="molecule without atoms")
    assert long == ObjectText("", problem="molecule too large: got 6000 atoms, expected at most 5000")


def _chain(length: int) -> Chem.Mol:
    mol = Chem.RWMol()
    for index in range(length):
        mol.AddAtom(Chem.Atom(6))
        if index:
            mol.AddBond(index - 1, index, Chem.BondType.SINGLE)
    return mol


def test_sequences_and_records() -> None:
    assert text_of(Seq("MKV")) == text_of(MutableSeq("MKV")) == "MKV"
    assert object_text(SeqRecord(Seq("MK"), id="a", description="a first one")) == ObjectText(
        "MK", "a", "first one", is_record=True
    )
    assert object_text(SeqRecord(Seq("MK"))) == ObjectText("MK", is_record=True)
    for unknown in (object_text(Seq(None, 3)), object_text(SeqRecord(Seq(None, 3), id="a"))):
        assert unknown is not None
        assert unknown.problem is not None
        assert unknown.problem.startswith("sequence without letters")


@pytest.mark.parametrize(
    ("composition", "formula"),
    [
        (Composition({"Fe3+": 2, "O2-": 3}), "Fe2O3"),
        (Composition({"Fe2+": 1, "Fe3+": 2, "O2-": 4}), "Fe3O4"),
        (Composition("Fe0.5Ni0.5"), "Fe0.5Ni0.5"),
        (Composition({"Fe": 1e-7, "C": 1}), "Fe1e-07C"),
        (Structure(Lattice.cubic(4), [{"Na+": 0.75}, "Cl-"], [[0, 0, 0], [0.5] * 3]), "Na0.75Cl"),
        (Molecule(["O", "H", "H"], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]), "H2O"),
    ],
)
def test_compositions_and_structures_are_formulas_of_elements(composition: object, formula: str) -> None:
    assert read_formula(text_of(composition)) == read_formula(formula)


@pytest.mark.parametrize("value", ["CCO", 1, 1.5, None, {"a": 1}, [1], object()])
def test_other_values_are_none_of_them(value: object) -> None:
    assert object_text(value) is None


def test_asking_imports_nothing() -> None:
    code = (
        "import sys; from gia_science.data.objects import object_text; assert object_text(1) is None;"
        "assert not {'rdkit', 'Bio', 'pymatgen'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
