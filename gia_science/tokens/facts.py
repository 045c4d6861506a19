"""What RDKit says of the atoms and bonds of a molecule, asked once for features and descriptors alike."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors, rdPartialCharges

IntArray = npt.NDArray[np.int64]
DoubleArray = npt.NDArray[np.float64]


class AtomKind(NamedTuple):
    """Everything of an atom that does not depend on its neighbours' identity: a few hundred kinds cover drugs."""

    number: int
    charge: int
    isotope: int
    radicals: int
    degree: int
    hydrogens: int
    implicit_hydrogens: int
    valence: int
    hybridisation: Chem.HybridizationType
    aromatic: bool
    ring_sizes: tuple[int, ...]
    ring_bonds: int


class BondKind(NamedTuple):
    """What of a bond queries can ask for."""

    type: Chem.BondType
    aromatic: bool
    in_ring: bool


class MoleculeFacts:
    """Properties of one sanitised molecule of A atoms and E bonds, each computed when first asked for.

    Parameters
    ----------
    mol : rdkit.Chem.Mol
        Copied, so that what RDKit notes on a molecule does not show on it.
    """

    def __init__(self, mol: Chem.Mol) -> None:
        self.mol = Chem.Mol(mol)
        # RDKit's own iterators over atoms and bonds are several times slower than asking for each by its index.
        self.atoms = [self.mol.GetAtomWithIdx(index) for index in range(self.mol.GetNumAtoms())]
        self.bonds = [self.mol.GetBondWithIdx(index) for index in range(self.mol.GetNumBonds())]

    @cached_property
    def rings(self) -> list[tuple[int, ...]]:
        """Atoms of each ring."""
        return [tuple(ring) for ring in self.mol.GetRingInfo().AtomRings()]

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """Atoms of each bond."""
        return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in self.bonds]

    @cached_property
    def bond_kinds(self) -> list[BondKind]:
        """Kind of each bond."""
        return [BondKind(bond.GetBondType(), bond.GetIsAromatic(), bond.IsInRing()) for bond in self.bonds]

    @cached_property
    def kinds(self) -> list[AtomKind]:
        """Kind of each atom."""
        sizes: list[list[int]] = [[] for _ in self.atoms]
        for ring in self.rings:
            for atom in ring:
                sizes[atom].append(len(ring))
        ring_bonds = [0] * len(self.atoms)
        for (first, second), kind in zip(self.ends, self.bond_kinds, strict=True):
            if kind.in_ring:
                ring_bonds[first] += 1
                ring_bonds[second] += 1
        return [
            AtomKind(
                atom.GetAtomicNum(),
                atom.GetFormalCharge(),
                atom.GetIsotope(),
                atom.GetNumRadicalElectrons(),
                atom.GetDegree(),
                atom.GetTotalNumHs(),
                atom.GetNumImplicitHs(),
                atom.GetTotalValence(),
                atom.GetHybridization(),
                atom.GetIsAromatic(),
                tuple(sorted(own)) if own else (),
                bonds,
            )
            for atom, own, bonds in zip(self.atoms, sizes, ring_bonds, strict=True)
        ]

    @cached_property
    def has_charge_parameters(self) -> bool:
        """Whether there are parameters for the Gasteiger charges of all atoms; metals have none."""
        try:
            rdPartialCharges.ComputeGasteigerCharges(self.mol, throwOnParamFailure=True)
        except ValueError:
            rdPartialCharges.ComputeGasteigerCharges(self.mol)
            return False
        return True

    @cached_property
    def charges(self) -> DoubleArray:
        """Gasteiger charges ``(A,)``; NaN or infinite where they do not converge."""
        assert self.has_charge_parameters in (True, False), "asking computes them"
        return np.array([atom.GetDoubleProp("_GasteigerCharge") for atom in self.atoms], dtype=np.float64)

    @cached_property
    def crippen(self) -> DoubleArray:
        """Wildman and Crippen's contributions to logP and molar refractivity ``(A, 2)``, without hydrogens."""
        return np.array(rdMolDescriptors._CalcCrippenContribs(self.mol), dtype=np.float64).reshape(-1, 2)

    @cached_property
    def labute(self) -> DoubleArray:
        """Labute's contributions to the surface area ``(A,)``."""
        return np.array(list(rdMolDescriptors._CalcLabuteASAContribs(self.mol, True)[0]), dtype=np.float64)

    @cached_property
    def distances(self) -> DoubleArray:
        """Number of bonds between atoms ``(A, A)``; 1e8 between fragments."""
        distances: DoubleArray = Chem.GetDistanceMatrix(self.mol, useBO=False, useAtomWts=False)
        return distances

    @cached_property
    def adjacency(self) -> DoubleArray:
        """1 between bonded atoms ``(A, A)``, 0 elsewhere."""
        adjacency: DoubleArray = (self.distances == 1).astype(np.float64)
        return adjacency

    @cached_property
    def bond_order_distances(self) -> DoubleArray:
        """Sums of reciprocal bond orders along shortest paths ``(A, A)``; 1e8 between fragments."""
        # Forced: without, RDKit hands back whatever matrix of this name it computed last for the molecule.
        distances: DoubleArray = Chem.GetDistanceMatrix(
            self.mol, useBO=True, useAtomWts=False, force=True, prefix="Balaban"
        )
        return distances


# Two: descriptors and tokens of one molecule are computed one after the other, possibly on two threads.
_KEPT: Final = 2


@lru_cache(maxsize=_KEPT)
def molecule_facts(mol: Chem.Mol) -> MoleculeFacts:
    """Facts of a molecule; those of the last molecules are kept. A molecule must not change in between."""
    return MoleculeFacts(mol)


@lru_cache(maxsize=128)
def outer_electrons(number: int) -> int:
    """Number of electrons in the outer shell of an element."""
    electrons: int = Chem.GetPeriodicTable().GetNOuterElecs(number)
    return electrons
