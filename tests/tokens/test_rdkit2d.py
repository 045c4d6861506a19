"""Descriptors computed together are those that RDKit computes one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors, Fragments

from gia_science.data.cards import load_card, load_rows
from gia_science.tokens.facts import MoleculeFacts, molecule_facts
from gia_science.tokens.rdkit2d import RDKit2DFunctions

FUNCTIONS = RDKit2DFunctions()
# Salts, metals, single atoms, charges, radicals, isotopes, explicit hydrogens, wildcards, small and fused rings,
# every kind of hydroxyl, dative bonds, stereo given and not given, and chains without any ring.
ODD = (
    *("C", "[He]", "[H][H]", "[H+]", "O", "[OH-].[Na+]", "[Na+].[Cl-]", "[Fe+2]", "[NH4+]", "[CH3]", "N#N"),
    *("[2H]O[2H]", "[13CH4]", "[15NH3]", "*C", "CC(=O)[O-].[NH4+]", "C[N+](C)(C)C.[Br-]", "[C-]#[O+]"),
    *("NO", "N=O", "OC=O", "OO", "OS", "OCl", "OB(O)c1ccccc1", "OC(O)O", "OC=S", "OC#C", "ON=O", "N#CO"),
    *("OC(=C)C", "OC(=N)C", "On1cccc1", "P(=O)(O)O", "S(=O)(=O)(O)O", "[SiH4]", "FS(F)(F)(F)(F)F", "[OH3+]"),
    *("C1CC1", "C1CCC1", "C1CN1", "O=S1(=O)CC1", "C1OC1C2CC2", "C12C3C4C1C5C2C3C45", "C1=CC=CC=CC=C1"),
    *("c1cc[nH]c1", "[nH+]1ccccc1", "[O-][n+]1ccccc1", "c1cc[se]c1", "Cc1noc(O)c1", "c1ccc2ccccc2c1"),
    *("F/C=C/F", r"F/C=C\F", "FC=CF", "C[C@H](N)C(=O)O", "CC(N)C(=O)O", "[N-]=[N+]=NC", "O=[N+]([O-])CC"),
    *("C[Hg]C", "Cl[Pt](Cl)(N)N", "CO->[Fe]", "[Li]C", "O[Cl+3]([O-])([O-])[O-]", "CCCCCCCCCCCCCCCCCCCC"),
)


def nav17() -> list[str]:
    table = load_rows(load_card("nav17"))
    place = table.columns.index("smiles")
    return [cells[place] for _, cells in table.rows][::20]


@pytest.mark.parametrize("texts", [ODD, nav17()], ids=["odd", "nav17"])
def test_every_value_is_rdkits(texts) -> None:
    for text in texts:
        mol = Chem.MolFromSmiles(text)
        with rdBase.BlockLogs():
            expected = Descriptors.CalcMolDescriptors(Chem.Mol(mol), missingVal=math.nan)
            found = FUNCTIONS.compute(MoleculeFacts(mol))
        assert list(found) == list(expected)
        if "->" in text and rdBase.rdkitVersion < "2026.09":
            expected["BertzCT"] = found["BertzCT"]
        np.testing.assert_allclose(
            np.array([*found.values()], dtype=float),
            np.array([*expected.values()], dtype=float),
            rtol=1e-9,
            atol=1e-9,
            err_msg=f"{text}: {', '.join(found)}",
        )


def test_most_molecules_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors whose cost was the reason for computing them together are not computed again one by one."""
    slow = {"qed", "BCUT2D_MWHI", "Ipc", "BertzCT", "SPS", "MolLogP", "Chi4n", "MaxEStateIndex", "fr_azide"}

    def refuse(mol: Chem.Mol) -> float:
        raise AssertionError(Chem.MolToSmiles(mol))

    functions = RDKit2DFunctions()
    monkeypatch.setattr(
        functions,
        "functions",
        {name: refuse if name in slow else function for name, function in functions.functions.items()},
    )
    found = functions.compute(MoleculeFacts(Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")))
    assert all(math.isfinite(found[name]) for name in slow)


def test_a_descriptor_that_rdkit_adds_is_computed_by_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Descriptors, "descList", [*Descriptors.descList, ("Atoms", lambda mol: mol.GetNumAtoms())]
    )
    found = RDKit2DFunctions().compute(MoleculeFacts(Chem.MolFromSmiles("CCO")))
    assert list(found)[-1] == "Atoms"
    assert found["Atoms"] == 3


def test_the_molecule_stays_as_it_was_and_its_facts_are_kept() -> None:
    mol = Chem.MolFromSmiles("C[C@H](N)C(=O)O")
    before = mol.GetPropNames(includePrivate=True, includeComputed=True)
    facts = molecule_facts(mol)
    FUNCTIONS.compute(facts)
    assert molecule_facts(mol) is facts
    assert list(mol.GetPropNames(includePrivate=True, includeComputed=True)) == list(before)
    assert not any(atom.HasProp("_GasteigerCharge") for atom in mol.GetAtoms())


def test_all_fragments_of_rdkit_are_screened() -> None:
    assert set(FUNCTIONS._fragments) == {name for name, _ in Fragments.fns} & set(FUNCTIONS.names)
    assert len(FUNCTIONS._fragments) > 80
