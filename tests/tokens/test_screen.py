"""Ruling patterns out must never lose a match."""

from __future__ import annotations

import pytest
from rdkit import Chem

from gia_science.tokens.facts import MoleculeFacts
from gia_science.tokens.screen import PatternScreen, recursive_groups, without_recursion

PATTERNS = (
    *("C", "[NX3;!$(N=*)]", "[$([NX4+]),$([NX4]=*)]", "[C!$(C-[OH])]=O", "c1ccccc1", "[R2][R2]", "[15N]"),
    *("[$([OX2]([#6])[#6]);!$(O[C,c]=O)]", "F.F.F.F", "*1[O,S,N]*1", "[N;$(NC=O);$(N[#6])]", "C=!@CC=[O,S]"),
    *("[cR,CR]~C(=O)NC(=O)~[cR,CR]", "[#6,#8][CX3](=O)O[#6]", "[$([N;$(NC)])]", "[r3]", "[O-,$(O=C)]"),
)
MOLECULES = (
    *(
        "CCO",
        "c1ccccc1C(=O)O",
        "C[N+](C)(C)C",
        "CC(=O)Nc1ccc(O)cc1",
        "O=C1NC(=O)c2ccccc12",
        "C1OC1",
        "[15NH3]",
    ),
    *("FC(F)(F)CF", "C1CC2CCC1C2", "C[NH+]=C", "CC(=O)[O-].[Na+]", "O=C(OC)C=CC", "N", "CCOCC", "CNC"),
)


def test_counts_are_those_without_screening() -> None:
    """On one screen, so that kinds kept from earlier molecules serve later ones."""
    patterns = [Chem.MolFromSmarts(smarts) for smarts in PATTERNS]
    screen = PatternScreen(patterns, sought=patterns)
    for smiles in MOLECULES * 2:
        mol = Chem.MolFromSmiles(smiles)
        counts, matched = screen.counts(MoleculeFacts(mol))
        assert counts == [len(mol.GetSubstructMatches(pattern)) for pattern in patterns], smiles
        assert matched == [mol.HasSubstructMatch(pattern) for pattern in patterns], smiles


def test_what_cannot_match_is_not_tried() -> None:
    """Else screening would be right and useless."""
    screen = PatternScreen([Chem.MolFromSmarts("[$([NX4+]),$([NX4]=*)]"), Chem.MolFromSmarts("CS")])
    ethanol = MoleculeFacts(Chem.MolFromSmiles("CCO"))
    screen._counted = tuple(
        type(pattern)(None, pattern.needs, alone=pattern.alone) for pattern in screen._counted
    )
    assert screen.counts(ethanol) == ([0, 0], [])


@pytest.mark.parametrize(
    ("smarts", "relaxed"),
    [
        ("[N;!$(N=O);$(NC)]-C", "[N;*;*]-C"),
        ("[$([C;H2]),$(C(=[O,S])[C&$(CC)])]", "[*,*]"),
        ("C(=O)N", "C(=O)N"),
    ],
)
def test_recursive_parts_become_any_atom(smarts: str, relaxed: str) -> None:
    assert without_recursion(smarts) == relaxed


@pytest.mark.parametrize(
    ("smarts", "groups"),
    [
        ("[$([C;H2]),$(CC)]=[N;$(NC)]", [["[C;H2]", "CC"], ["NC"]]),
        ("[O&-,$(O=C)]", []),  # an atom can meet it without its recursive part
        ("[N&!$(NC=O)]", []),
        ("[N&$(N[C&$(CC)])&$(NO)]", [["N[C&$(CC)]"]]),
    ],
)
def test_of_each_group_one_must_match(smarts: str, groups: list[list[str]]) -> None:
    assert recursive_groups(smarts) == groups
