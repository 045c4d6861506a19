"""The 2D descriptors of RDKit, computed together so that what they share is computed once."""

from __future__ import annotations

import inspect
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from rdkit import Chem
from rdkit.Chem import QED, Descriptors, Fragments, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.EState import EState_VSA

from gia_science.tokens.facts import DoubleArray, MoleculeFacts, outer_electrons
from gia_science.tokens.screen import PatternScreen
from gia_science.tokens.topology import (
    balaban,
    bertz,
    estate_indices,
    information_content,
    path_sums,
)

RDKitFunction = Callable[[Chem.Mol], float]

# Contributions of hydrogens to logP and refractivity: Wildman and Crippen, J. Chem. Inf. Comput. Sci. 1999, 39,
# 868, table 1, types H1 to H4 and HS.
_HYDROCARBON: Final = (0.123, 1.057)
_ALCOHOL: Final = (-0.2677, 1.395)
_AMINE: Final = (0.2142, 0.9627)
_ACID: Final = (0.298, 1.805)
_OTHER: Final = (0.1125, 1.112)

_HYBRIDISATION_TERM: Final = {
    Chem.HybridizationType.SP: 1,
    Chem.HybridizationType.SP2: 2,
    Chem.HybridizationType.SP3: 3,
}
_BURDEN: Final = {
    Chem.BondType.SINGLE: 1.0,
    Chem.BondType.DOUBLE: 1 / math.sqrt(2),
    Chem.BondType.TRIPLE: 1 / math.sqrt(3),
    Chem.BondType.AROMATIC: 1 / math.sqrt(1.5),
}
_BCUT: Final = tuple(
    f"BCUT2D_{name}" for name in ("MWHI", "MWLOW", "CHGHI", "CHGLO", "LOGPHI", "LOGPLOW", "MRHI", "MRLOW")
)
# RDKit's functions in Python have no types.
_QED: Final[Callable[..., float]] = QED.qed
_QED_PROPERTIES: Final[Callable[..., Any]] = QED.QEDproperties
_STEREO_CENTRES: Final[Callable[..., list[tuple[int, str]]]] = Chem.FindMolChiralCenters
_MORGAN: Final = rdFingerprintGenerator.GetMorganGenerator(radius=3)
_ERRORS: Final = (
    RuntimeError,
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
)  # what RDKit's are seen to raise


class RDKit2DFunctions:
    """Computes descriptors of ``rdkit.Chem.Descriptors.descList`` for one molecule at a time.

    The values are RDKit's own up to rounding, with two exceptions: ``Ipc`` and ``AvgIpc`` of more than about 70
    atoms, where RDKit's recurrence has lost its digits, and ``BertzCT`` with dative bonds, which RDKit computes in
    this way from 2026.9. Molecules with explicit hydrogens or dummy atoms, and
    descriptors that RDKit adds in later versions, go through RDKit's functions one by one.
    """

    def __init__(self) -> None:
        self.functions: dict[str, RDKitFunction] = dict(Descriptors.descList)
        fragments = {name: pattern for name, pattern in _fragment_patterns() if name in self.functions}
        self.names = tuple(self.functions)
        self._fragments = tuple(fragments)
        self._screen = PatternScreen((*fragments.values(), *QED.Acceptors), sought=QED.StructuralAlerts)

    def compute(self, facts: MoleculeFacts) -> dict[str, float]:
        """Value of every descriptor, in RDKit's order; NaN where RDKit cannot compute it."""
        found: dict[str, float] = {}
        if all(kind.number > 1 for kind in facts.kinds):
            for part in _PARTS:
                found |= part(facts)
            found |= self._patterns(facts)
        for name, function in self.functions.items():
            if name not in found:
                found[name] = _value_or_nan(function, facts.mol)
        return {name: found[name] for name in self.functions}

    def _patterns(self, facts: MoleculeFacts) -> dict[str, float]:
        """Fragment counts and, with what else it needs, drug-likeness.

        G. R. Bickerton et al., Nature Chemistry 2012, 4, 90.
        """
        counts, alerts = self._screen.counts(facts)
        needed = ("MolWt", "NumHDonors", "TPSA", "NumRotatableBonds")
        found: dict[str, float] = dict(zip(self._fragments, counts, strict=False))
        found |= {name: _value_or_nan(self.functions[name], facts.mol) for name in needed}
        properties = _QED_PROPERTIES(
            MW=found["MolWt"],
            ALOGP=_crippen(facts)["MolLogP"],
            HBA=sum(counts[len(self._fragments) :]),
            HBD=found["NumHDonors"],
            PSA=found["TPSA"],
            ROTB=found["NumRotatableBonds"],
            AROM=_rings_without_aliphatic(facts),
            ALERTS=sum(alerts),
        )
        found["qed"] = _value_or_nan(lambda mol: _QED(mol, qedProperties=properties), facts.mol)
        return found


def _fragment_patterns() -> Iterator[tuple[str, Chem.Mol]]:
    for name, function in Fragments.fns:
        # RDKit binds the pattern as the default of an argument, and offers it nowhere else.
        pattern = inspect.signature(function).parameters.get("pattern")
        if pattern is not None:
            yield name, pattern.default


def _value_or_nan(function: RDKitFunction, molecule: Chem.Mol) -> float:
    try:
        return float(function(molecule))
    except _ERRORS:
        return math.nan


def _vector_or_nan(
    function: Callable[[Chem.Mol], Sequence[float]], molecule: Chem.Mol, names: Sequence[str]
) -> dict[str, float]:
    try:
        return dict(zip(names, function(molecule), strict=True))
    except _ERRORS:
        return dict.fromkeys(names, math.nan)


def _charges(facts: MoleculeFacts) -> dict[str, float]:
    low, high = 500.0, -500.0
    for charge in facts.charges.tolist():  # not `min` of all: RDKit passes over NaN in this very order
        low, high = min(charge, low), max(charge, high)
    return {
        "MaxPartialCharge": high,
        "MinPartialCharge": low,
        "MaxAbsPartialCharge": max(abs(low), abs(high)),
        "MinAbsPartialCharge": min(abs(low), abs(high)),
    }


def _states(facts: MoleculeFacts) -> dict[str, float]:
    states = estate_indices(facts)
    size = np.abs(states)
    by_state = _binned(states, EState_VSA.estateBins, facts.labute)
    by_area = _binned(facts.labute, EState_VSA.vsaBins, states)
    return {
        "MaxEStateIndex": float(states.max()),
        "MinEStateIndex": float(states.min()),
        "MaxAbsEStateIndex": float(size.max()),
        "MinAbsEStateIndex": float(size.min()),
        **{f"EState_VSA{index}": value for index, value in enumerate(by_state, start=1)},
        **{f"VSA_EState{index}": value for index, value in enumerate(by_area, start=1)},
    }


def _binned(values: DoubleArray, edges: Sequence[float], weights: DoubleArray) -> list[float]:
    sums = [0.0] * (len(edges) + 1)
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        sums[bisect_right(edges, value)] += weight
    return sums


def _surface(facts: MoleculeFacts) -> dict[str, float]:
    found: dict[str, float] = {}
    for prefix, function, size in (
        ("SMR_VSA", rdMolDescriptors.SMR_VSA_, 10),
        ("SlogP_VSA", rdMolDescriptors.SlogP_VSA_, 12),
        ("PEOE_VSA", rdMolDescriptors.PEOE_VSA_, 14),
    ):
        found |= _vector_or_nan(function, facts.mol, [f"{prefix}{place}" for place in range(1, size + 1)])
    return found


def _eigenvalues(facts: MoleculeFacts) -> dict[str, float]:
    """Extreme eigenvalues of Burden matrices, and the polynomial of the adjacency matrix.

    R. S. Pearlman and K. M. Smith, J. Chem. Inf. Comput. Sci. 1999, 39, 28.
    """
    # RDKit gives no Burden eigenvalues without parameters for Gasteiger charges or with bonds of other kinds.
    defined = facts.has_charge_parameters and all(kind.type in _BURDEN for kind in facts.bond_kinds)
    converged = defined and bool(np.isfinite(facts.charges).all())
    matrices = [facts.adjacency, *(_burden_matrices(facts) if converged else ())]
    values = np.linalg.eigvalsh(np.stack(matrices))
    total, average = information_content(values[0])
    found = {"Ipc": total, "AvgIpc": average}
    if converged:
        found |= zip(_BCUT, values[1:, [-1, 0]].ravel().tolist(), strict=True)
    elif not defined:
        found |= dict.fromkeys(_BCUT, math.nan)
    return found


def _burden_matrices(facts: MoleculeFacts) -> list[DoubleArray]:
    frame = np.full((len(facts.atoms), len(facts.atoms)), 0.001)
    if facts.ends:
        first, second = np.array(facts.ends).T
        frame[first, second] = frame[second, first] = [_BURDEN[kind.type] for kind in facts.bond_kinds]
    masses = np.array([atom.GetMass() for atom in facts.atoms])
    matrices = []
    for diagonal in (masses, facts.charges, *facts.crippen.T):
        matrix = frame.copy()
        np.fill_diagonal(matrix, diagonal)
        matrices.append(matrix)
    return matrices


def _graph(facts: MoleculeFacts) -> dict[str, float]:
    degrees = np.array([kind.degree for kind in facts.kinds], dtype=np.float64)
    bonded = degrees[degrees > 0]
    pairs = degrees[np.array(facts.ends, dtype=np.int64).reshape(-1, 2)].prod(axis=1)
    return {
        "BalabanJ": balaban(facts),
        "BertzCT": bertz(facts),
        "Chi0": float((1 / np.sqrt(bonded)).sum()),
        "Chi1": float((1 / np.sqrt(pairs)).sum()),
    }


def _paths(facts: MoleculeFacts) -> dict[str, float]:
    """Connectivity and shape indices over paths. L. H. Hall and L. B. Kier, Rev. Comput. Chem. 1991, 2, 367."""
    if any(len(ring) < 5 for ring in facts.rings):
        return {}  # there a path may close a ring, and RDKit's convention depends on where it starts
    electrons = np.array([outer_electrons(kind.number) - kind.hydrogens for kind in facts.kinds], dtype=float)
    numbers = np.array([kind.number for kind in facts.kinds])
    shells = np.array([outer_electrons(kind.number) for kind in facts.kinds])
    valence = np.where(numbers <= 10, electrons, electrons / np.where(numbers <= 10, 1, numbers - shells - 1))
    weights = np.stack([_inverse_root(valence), _inverse_root(electrons), np.ones(len(numbers))])
    twos, threes, fours = path_sums(facts.adjacency, weights)
    alpha = rdMolDescriptors.CalcHallKierAlpha(facts.mol)
    first = rdMolDescriptors.CalcKappa1(facts.mol)
    second, third = _kappa_2(len(numbers), twos[2], alpha), _kappa_3(len(numbers), threes[2], alpha)
    orders = {"Chi2": twos, "Chi3": threes, "Chi4": fours}
    return {
        **{
            f"{name}{kind}": float(sums[row])
            for name, sums in orders.items()
            for row, kind in enumerate("vn")
        },
        "Kappa2": second,
        "Kappa3": third,
        "Phi": first * second / len(numbers),
    }


def _inverse_root(values: DoubleArray) -> DoubleArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values == 0, 0.0, 1 / np.sqrt(values))


def _kappa_2(atoms: int, paths: float, alpha: float) -> float:
    denominator = (paths + alpha) ** 2
    return (atoms + alpha - 1) * (atoms + alpha - 2) ** 2 / denominator if denominator else 0.0


def _kappa_3(atoms: int, paths: float, alpha: float) -> float:
    denominator = (paths + alpha) ** 2
    less = 1 if atoms % 2 else 2
    return (atoms + alpha - less) * (atoms + alpha - 3) ** 2 / denominator if denominator else 0.0


def _electrons(facts: MoleculeFacts) -> dict[str, float]:
    return {
        "NumValenceElectrons": sum(
            outer_electrons(kind.number) - kind.charge + kind.hydrogens for kind in facts.kinds
        ),
        "NumRadicalElectrons": sum(kind.radicals for kind in facts.kinds),
    }


def _crippen(facts: MoleculeFacts) -> dict[str, float]:
    """LogP and refractivity with the hydrogens, whose contributions follow from what they are bonded to."""
    logp, refractivity = facts.crippen.sum(axis=0).tolist()
    for index, kind in enumerate(facts.kinds):
        if kind.hydrogens:
            of_logp, of_refractivity = _of_hydrogen(facts, index)
            logp += kind.hydrogens * of_logp
            refractivity += kind.hydrogens * of_refractivity
    return {"MolLogP": logp, "MolMR": refractivity}


def _of_hydrogen(facts: MoleculeFacts, index: int) -> tuple[float, float]:
    kind = facts.kinds[index]
    if kind.number == 6:
        return _HYDROCARBON
    if kind.number == 7:
        return _AMINE
    return _of_hydroxyl(facts, index) if kind.number == 8 else _ALCOHOL


def _of_hydroxyl(facts: MoleculeFacts, index: int) -> tuple[float, float]:
    """The first that fits in the order of the paper's table, by the neighbours of the oxygen."""
    if facts.kinds[index].hydrogens > 1:
        return _ALCOHOL
    neighbours = [atom.GetIdx() for atom in facts.atoms[index].GetNeighbors()]
    kinds = [facts.kinds[neighbour] for neighbour in neighbours]
    for kind in kinds:
        alkyl_or_aryl = kind.number == 6 and (kind.aromatic or kind.degree + kind.hydrogens == 4)
        if alkyl_or_aryl or kind.number not in (6, 7, 8, 16):
            return _ALCOHOL
    if any(kind.number == 7 for kind in kinds):
        return _AMINE
    if any(kind.number in (8, 16) for kind in kinds) or any(map(_is_acyl(facts), neighbours)):
        return _ACID
    return _OTHER


def _is_acyl(facts: MoleculeFacts) -> Callable[[int], bool]:
    def acyl(carbon: int) -> bool:
        for bond in facts.atoms[carbon].GetBonds():
            other = facts.kinds[bond.GetOtherAtomIdx(carbon)]
            if bond.GetBondType() == Chem.BondType.DOUBLE and (
                other.number in (6, 7) or (other.number in (8, 16) and not other.aromatic)
            ):
                return True
        return False

    return acyl


def _density(facts: MoleculeFacts) -> dict[str, float]:
    """Number of different Morgan environments per atom, up to radius 1, 2 and 3."""
    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateAtomToBits()
    _MORGAN.GetSparseCountFingerprint(facts.mol, additionalOutput=output)
    # An atom whose environment repeats another's gets no larger ones, so the k-th of its bits has radius k.
    bits = [list(bits) for bits in output.GetAtomToBits()]
    return {
        f"FpDensityMorgan{radius}": len({bit for own in bits for bit in own[: radius + 1]}) / len(bits)
        for radius in (1, 2, 3)
    }


def _spatial(facts: MoleculeFacts) -> dict[str, float]:
    """Spacial score per atom. A. Krzyzanowski et al., J. Med. Chem. 2023, 66, 12739."""
    mol = Chem.Mol(facts.mol)  # what is noted on it changes other descriptors
    Chem.FindPotentialStereoBonds(mol)
    stereo: set[int] = set()
    for index, (ends, kind) in enumerate(zip(facts.ends, facts.bond_kinds, strict=True)):
        if kind.type != Chem.BondType.DOUBLE:
            continue
        if mol.GetBondWithIdx(index).GetStereo() != Chem.BondStereo.STEREONONE:
            stereo.update(ends)
    centres = _STEREO_CENTRES(mol, includeUnassigned=True, includeCIP=False, useLegacyImplementation=False)
    stereo.update(index for index, _ in centres)
    score = 0
    for index, atom in enumerate(facts.kinds):
        term = _HYBRIDISATION_TERM.get(atom.hybridisation, 4) * atom.degree**2
        promoted = (index in stereo) + bool(atom.ring_sizes and not atom.aromatic)
        score += term << promoted
    return {"SPS": score / len(facts.kinds)}


def _rings_without_aliphatic(facts: MoleculeFacts) -> int:
    """Rings that are left without the ring atoms that are not aromatic and have such a neighbour."""
    kinds = facts.kinds
    removed: set[int] = set()
    for first, second in facts.ends:
        if not (kinds[first].aromatic or kinds[second].aromatic):
            removed |= {atom for atom in (first, second) if kinds[atom].ring_sizes}
    if not removed:
        return len(facts.rings)
    return _independent_cycles([ends for ends in facts.ends if removed.isdisjoint(ends)])


def _independent_cycles(edges: Sequence[tuple[int, int]]) -> int:
    """Number of edges beyond those that join what was not yet joined."""
    root: dict[int, int] = {}

    def find(node: int) -> int:
        while node in root:
            node = root[node]
        return node

    cycles = 0
    for first, second in edges:
        one, other = find(first), find(second)
        if one == other:
            cycles += 1
        else:
            root[one] = other
    return cycles


_PARTS: Final[tuple[Callable[[MoleculeFacts], dict[str, float]], ...]] = (
    _charges,
    _states,
    _surface,
    _eigenvalues,
    _graph,
    _paths,
    _electrons,
    _crippen,
    _density,
    _spatial,
)
