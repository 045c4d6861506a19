"""What RDKit knows of the atoms of a molecule: features, Morgan environments, bonds."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from rdkit import Chem
from rdkit.Chem import Lipinski, rdCIPLabeler, rdFingerprintGenerator, rdMolDescriptors, rdqueries

from gia_science.tokens.facts import AtomKind, MoleculeFacts, molecule_facts, outer_electrons
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
_CHIRAL: Final = rdqueries.HasChiralTagQueryAtom()
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
    facts = molecule_facts(mol)
    features = np.stack([_of_kind(kind) for kind in facts.kinds])
    for column, members in [*_chirality_flags(facts), *_hydrogen_bond_flags(facts.mol)]:
        features[members, column] = 1
    features[:, _COLUMN["mass"]] = [atom.GetMass() for atom in facts.atoms]
    features[:, _COLUMN["partial_charge"]] = facts.charges
    features[:, [_COLUMN["logp_contribution"], _COLUMN["refractivity_contribution"]]] = facts.crippen
    features[:, _COLUMN["polar_area_contribution"]] = rdMolDescriptors._CalcTPSAContribs(facts.mol)
    continuous = features[:, _FIRST_CONTINUOUS:] / _SCALES
    finite = np.nan_to_num(continuous, nan=0.0, posinf=0.0, neginf=0.0)
    features[:, _FIRST_CONTINUOUS:] = np.clip(finite, -_LARGEST, _LARGEST)
    return features


@lru_cache(maxsize=4096)
def _of_kind(kind: AtomKind) -> FloatArray:
    """Features ``(F,)`` that follow from the kind of an atom, not yet scaled; 0 elsewhere."""
    table = Chem.GetPeriodicTable()
    features = np.zeros(len(FEATURE_NAMES), dtype=np.float32)
    features[_ELEMENT_COLUMN.get(table.GetElementSymbol(kind.number), _COLUMN["element_other"])] = 1
    features[_COLUMN["degree_0"] + min(kind.degree, _MOST_NEIGHBOURS)] = 1
    features[_COLUMN["hydrogens_0"] + min(kind.hydrogens, _MOST_HYDROGENS)] = 1
    features[_HYBRIDISATION_COLUMN.get(kind.hybridisation, _COLUMN["hybridisation_other"])] = 1
    features[[_COLUMN[f"ring_of_{size}"] for size in kind.ring_sizes if size in _RING_SIZES]] = 1
    of_name = {
        "aromatic": kind.aromatic,
        "in_ring": bool(kind.ring_sizes),
        "formal_charge": kind.charge,
        "radical_electrons": kind.radicals,
        "valence": kind.valence,
        "covalent_radius": table.GetRcovalent(kind.number),
        "outer_electrons": outer_electrons(kind.number),
    }
    for name, value in of_name.items():
        features[_COLUMN[name]] = value
    features.setflags(write=False)
    return features


def _chirality_flags(facts: MoleculeFacts) -> list[tuple[int, list[int]]]:
    if not facts.mol.GetAtomsMatchingQuery(_CHIRAL):
        return []
    mol = Chem.Mol(facts.mol)  # labels noted on the molecule could change descriptors
    centres = list(mol.GetAtomsMatchingQuery(_CHIRAL))
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
    facts = molecule_facts(mol)
    kinds = [_BOND_KIND.get(kind.type, len(BOND_KINDS) - 1) for kind in facts.bond_kinds]
    return np.array(facts.ends, dtype=np.int64).reshape(-1, 2), np.array(kinds, dtype=np.int64)
