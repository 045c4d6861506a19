"""What RDKit knows of the atoms of a molecule: features, Morgan environments, bonds."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from rdkit import Chem
from rdkit.Chem import Lipinski, rdCIPLabeler, rdFingerprintGenerator, rdMolDescriptors, rdPartialCharges

from gia_science.tokens.stream import FloatArray, IntArray

ELEMENTS: Final = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I")
_HYBRIDISATIONS: Final = ("SP", "SP2", "SP3")
_RING_SIZES: Final = (3, 4, 5, 6, 7)
_MOST_NEIGHBOURS: Final = 4
_MOST_HYDROGENS: Final = 3

FEATURE_NAMES: Final = (
    *(f"element_{element}" for element in ELEMENTS),
    "element_other",
    *(f"degree_{degree}" for degree in range(_MOST_NEIGHBOURS + 1)),
    *(f"hydrogens_{count}" for count in range(_MOST_HYDROGENS + 1)),
    *(f"hybridisation_{kind.lower()}" for kind in _HYBRIDISATIONS),
    "hybridisation_other",
    *("aromatic", "in_ring"),
    *(f"ring_of_{size}" for size in _RING_SIZES),
    *("chirality_R", "chirality_S", "hydrogen_donor", "hydrogen_acceptor"),
    *("formal_charge", "radical_electrons", "valence", "mass", "covalent_radius", "outer_electrons"),
    *("partial_charge", "logp_contribution", "refractivity_contribution", "polar_area_contribution"),
)
_COLUMN: Final = {name: index for index, name in enumerate(FEATURE_NAMES)}
_FIRST_CONTINUOUS: Final = _COLUMN["formal_charge"]
_ELEMENT_COLUMN: Final = {element: _COLUMN[f"element_{element}"] for element in ELEMENTS}
_HYBRIDISATION_COLUMN: Final = {
    getattr(Chem.HybridizationType, kind): _COLUMN[f"hybridisation_{kind.lower()}"]
    for kind in _HYBRIDISATIONS
}

# Round numbers that bring the continuous features of drug-like molecules to about unit range.
_SCALES: Final = np.array([1, 1, 4, 100, 1, 8, 0.5, 1, 5, 20], dtype=np.float32)
# Far beyond anything but bare metal ions.
_LARGEST: Final = 8.0

CONTEXT_BUCKETS: Final = (2048, 4096, 4096)

BOND_KINDS: Final = ("single", "double", "triple", "aromatic", "other")
_BOND_KIND: Final = {
    Chem.BondType.SINGLE: 0,
    Chem.BondType.DOUBLE: 1,
    Chem.BondType.TRIPLE: 2,
    Chem.BondType.AROMATIC: 3,
}

# The hierarchical digraphs behind CIP labels can explode on cages; past this many steps no label is given.
_CIP_STEPS: Final = 100_000
_MORGAN: Final = rdFingerprintGenerator.GetMorganGenerator(
    radius=len(CONTEXT_BUCKETS), includeRedundantEnvironments=True
)


def atom_features(mol: Chem.Mol) -> FloatArray:
    """Features of the atoms.

    One-hot groups, then continuous features brought to about unit range and cut at 8. Contributions to logP
    and molar refractivity are Crippen's, to polar surface area Ertl's, partial charges Gasteiger's; a charge
    that does not converge is 0.

    Parameters
    ----------
    mol : rdkit.Chem.Mol
        A sanitised molecule of A atoms; it is not changed.

    Returns
    -------
    (A, F) float32
        Columns of `FEATURE_NAMES`.
    """
    mol = Chem.Mol(mol)
    # RDKit's own iterators over atoms and bonds are several times slower than asking for each by its index.
    atoms = [mol.GetAtomWithIdx(index) for index in range(mol.GetNumAtoms())]
    features = np.zeros((len(atoms), len(FEATURE_NAMES)), dtype=np.float32)
    rows, columns = _flags(mol, atoms)
    features[rows, columns] = 1
    features[:, _FIRST_CONTINUOUS:] = _continuous(mol, atoms)
    return features


def _flags(mol: Chem.Mol, atoms: list[Chem.Atom]) -> tuple[list[int], list[int]]:
    """Rows and columns of the features that are 1."""
    rows: list[int] = []
    columns: list[int] = []
    other_element, other_hybridisation = _COLUMN["element_other"], _COLUMN["hybridisation_other"]
    degree_0, hydrogens_0 = _COLUMN["degree_0"], _COLUMN["hydrogens_0"]
    for index, atom in enumerate(atoms):
        mine = [
            _ELEMENT_COLUMN.get(atom.GetSymbol(), other_element),
            degree_0 + min(atom.GetDegree(), _MOST_NEIGHBOURS),
            hydrogens_0 + min(atom.GetTotalNumHs(), _MOST_HYDROGENS),
            _HYBRIDISATION_COLUMN.get(atom.GetHybridization(), other_hybridisation),
        ]
        if atom.GetIsAromatic():
            mine.append(_COLUMN["aromatic"])
        columns += mine
        rows += [index] * len(mine)
    for column, members in [
        *_ring_flags(mol),
        *_chirality_flags(mol, atoms),
        *_hydrogen_bond_flags(mol),
    ]:
        columns += [column] * len(members)
        rows += members
    return rows, columns


def _ring_flags(mol: Chem.Mol) -> list[tuple[int, list[int]]]:
    rings = mol.GetRingInfo().AtomRings()
    sizes = [(_COLUMN[f"ring_of_{len(ring)}"], list(ring)) for ring in rings if len(ring) in _RING_SIZES]
    return [*sizes, *((_COLUMN["in_ring"], list(ring)) for ring in rings)]


def _chirality_flags(mol: Chem.Mol, atoms: list[Chem.Atom]) -> list[tuple[int, list[int]]]:
    centres = [atom for atom in atoms if atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED]
    if not centres:
        return []
    for atom in centres:
        atom.ClearProp("_CIPCode")
    try:
        rdCIPLabeler.AssignCIPLabels(mol, maxRecursiveIterations=_CIP_STEPS)
    except RuntimeError:
        return []
    codes = {atom.GetIdx(): atom.GetProp("_CIPCode") for atom in centres if atom.HasProp("_CIPCode")}
    # Lower-case r and s are labels of pseudo-asymmetric centres.
    return [
        (_COLUMN[f"chirality_{label}"], [index for index, code in codes.items() if code.upper() == label])
        for label in "RS"
    ]


def _hydrogen_bond_flags(mol: Chem.Mol) -> list[tuple[int, list[int]]]:
    return [
        (
            _COLUMN[name],
            [match[0] for match in mol.GetSubstructMatches(pattern, maxMatches=mol.GetNumAtoms())],
        )
        for name, pattern in (
            ("hydrogen_donor", Lipinski.HDonorSmarts),
            ("hydrogen_acceptor", Lipinski.HAcceptorSmarts),
        )
    ]


def _continuous(mol: Chem.Mol, atoms: list[Chem.Atom]) -> FloatArray:
    crippen = np.array(rdMolDescriptors._CalcCrippenContribs(mol), dtype=np.float32)
    rdPartialCharges.ComputeGasteigerCharges(mol)
    of_atoms = [
        (
            atom.GetFormalCharge(),
            atom.GetNumRadicalElectrons(),
            atom.GetTotalValence(),
            atom.GetMass(),
            *_of_element(atom.GetAtomicNum()),
            atom.GetDoubleProp("_GasteigerCharge"),
        )
        for atom in atoms
    ]
    polar_area = np.array(rdMolDescriptors._CalcTPSAContribs(mol), dtype=np.float32)
    values = np.column_stack([np.array(of_atoms, dtype=np.float32), crippen, polar_area])
    finite = np.nan_to_num(values / _SCALES, nan=0.0, posinf=0.0, neginf=0.0)
    bounded: FloatArray = np.clip(finite, -_LARGEST, _LARGEST)
    return bounded


@lru_cache(maxsize=128)
def _of_element(number: int) -> tuple[float, int]:
    table = Chem.GetPeriodicTable()
    return table.GetRcovalent(number), table.GetNOuterElecs(number)


def atom_contexts(mol: Chem.Mol) -> IntArray:
    """Morgan environments of radius 1, 2 and 3 around each atom, hashed into buckets.

    Parameters
    ----------
    mol : rdkit.Chem.Mol
        A sanitised molecule of A atoms.

    Returns
    -------
    (A, 3) int64
        Ids in ``[1, size)`` for each size of `CONTEXT_BUCKETS`; 0 for an atom without neighbours, which has
        no environment. Chirality does not count. Rogers & Hahn, J. Chem. Inf. Model. 50:742-754 (2010).
    """
    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateAtomToBits()
    _MORGAN.GetSparseFingerprint(mol, additionalOutput=output)
    # With redundant environments kept, an atom has one bit for each radius from 0 up, in this order.
    complete = len(CONTEXT_BUCKETS) + 1
    hashes = [bits if len(bits) == complete else None for bits in output.GetAtomToBits()]
    contexts = np.zeros((len(hashes), len(CONTEXT_BUCKETS)), dtype=np.int64)
    found = [index for index, bits in enumerate(hashes) if bits is not None]
    if found:
        around = np.array([bits[1:] for bits in hashes if bits is not None], dtype=np.int64)
        contexts[found] = 1 + around % (np.array(CONTEXT_BUCKETS) - 1)
    return contexts


def bonds(mol: Chem.Mol) -> tuple[IntArray, IntArray]:
    """Bonds as pairs of atom indices (E, 2), and their kinds (E,) as indices into `BOND_KINDS`."""
    found = [mol.GetBondWithIdx(index) for index in range(mol.GetNumBonds())]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in found]
    kinds = [_BOND_KIND.get(bond.GetBondType(), len(BOND_KINDS) - 1) for bond in found]
    return np.array(ends, dtype=np.int64).reshape(-1, 2), np.array(kinds, dtype=np.int64)
