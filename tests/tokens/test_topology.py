"""Graph indices that differ from RDKit's on purpose, and the parts that its oracle does not reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from gia_science.tokens.facts import MoleculeFacts
from gia_science.tokens.topology import information_content, path_sums


def polynomial_of_a_chain(atoms: int) -> list[int]:
    """Coefficients from the lowest: p(n) = x p(n - 1) - p(n - 2)."""
    before, last = [1], [0, 1]
    for _ in range(atoms - 1):
        shorter = [*before, *[0] * (len(last) + 1 - len(before))]
        before, last = last, [one - other for one, other in zip([0, *last], shorter, strict=True)]
    return last


@pytest.mark.parametrize("atoms", [2, 3, 40, 90, 200])
def test_information_content_of_a_chain_is_exact_at_any_length(atoms: int) -> None:
    """RDKit's is exact up to about 60 atoms."""
    amounts = [abs(coefficient) for coefficient in polynomial_of_a_chain(atoms)]
    total = sum(amounts)
    average = -math.fsum(amount / total * math.log2(amount / total) for amount in amounts if amount)
    adjacency = np.eye(atoms, k=1) + np.eye(atoms, k=-1)
    found = information_content(np.linalg.eigvalsh(adjacency))
    assert found == pytest.approx((total * average, average), rel=1e-11)


def test_rdkits_information_content_loses_its_digits_in_large_molecules() -> None:
    """The reason for not taking it: where this fails, RDKit has been mended."""
    mol = Chem.MolFromSmiles("c1ccccc1" * 20)
    _, average = information_content(np.linalg.eigvalsh(Chem.GetAdjacencyMatrix(mol).astype(float)))
    assert abs(Descriptors.AvgIpc(mol) - average) > 0.1


def test_information_content_beyond_floating_point_is_missing() -> None:
    assert np.isnan(information_content(np.linspace(-6, 6, 1000))).all()


@pytest.mark.parametrize(
    "smiles", ["CCCC", "CC(C)CC(C)(C)C", "C1CCCCC1C", "c1ccc2ccccc2c1", "C1CC2CCC1CC2", "C"]
)
def test_path_sums_with_weight_one_count_paths(smiles: str) -> None:
    facts = MoleculeFacts(Chem.MolFromSmiles(smiles))
    found = path_sums(facts.adjacency, np.ones((1, len(facts.atoms))))
    for bonds, sums in zip((2, 3, 4), found, strict=True):
        assert sums[0] == len(Chem.FindAllPathsOfLengthN(facts.mol, bonds + 1, useBonds=False))
