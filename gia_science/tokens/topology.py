"""Indices of the graph of a molecule: what RDKit computes atom by atom in Python, on whole arrays."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from functools import lru_cache

import numpy as np

from gia_science.tokens.facts import DoubleArray, MoleculeFacts, outer_electrons

# Distances between fragments are 1e8.
_CONNECTED = 1e6
_LAST_OF_PERIOD = (2, 10, 18, 36, 54, 86)


def estate_indices(facts: MoleculeFacts) -> DoubleArray:
    """Electrotopological states of the atoms ``(A,)``.

    L. H. Hall, B. Mohney and L. B. Kier, J. Chem. Inf. Comput. Sci. 1991, 31, 76.
    """
    own = np.array([_intrinsic_state(kind.number, kind.hydrogens, kind.degree) for kind in facts.kinds])
    between = facts.distances + 1
    weight = np.where(between < _CONNECTED, 1 / between**2, 0.0)
    states: DoubleArray = own + own * weight.sum(axis=1) - weight @ own
    return states


@lru_cache(maxsize=4096)
def _intrinsic_state(number: int, hydrogens: int, degree: int) -> float:
    if degree == 0:
        return 0.0
    period = 1 + bisect_left(_LAST_OF_PERIOD, number)
    return (4 / period**2 * (outer_electrons(number) - hydrogens) + 1) / degree


def information_content(eigenvalues: DoubleArray) -> tuple[float, float]:
    """Information content of the coefficients of the characteristic polynomial, in all and per unit (bits).

    D. Bonchev and N. Trinajstic, J. Chem. Phys. 1977, 67, 4517, equations 6 and 7. The polynomial is
    evaluated at roots of unity from the eigenvalues and transformed back: that keeps every coefficient to a
    rounding error of the largest, where the recurrence of Le Verrier and Faddeev loses all digits beyond
    about 70 atoms.

    Parameters
    ----------
    eigenvalues : (A,) float64
        Those of the adjacency matrix.

    Returns
    -------
    total, average : float
        NaN where the coefficients leave the range of floating point, beyond about 600 atoms.
    """
    size = len(eigenvalues) + 1
    points = np.exp(2j * np.pi * np.arange(size) / size)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.prod(points[:, None] - eigenvalues, axis=1)
        coefficients = np.abs(np.fft.fft(values).real) / size
    if not np.isfinite(coefficients.sum()):
        return math.nan, math.nan
    if coefficients.sum() < 1e12:  # they are whole numbers, here known to better than one half
        coefficients = np.rint(coefficients)
    total = float(coefficients.sum())
    average = entropy(coefficients)
    return total * average, average


def entropy(amounts: DoubleArray) -> float:
    """Entropy in bits of amounts that are not negative."""
    shares = amounts[amounts > 0] / amounts.sum()
    return float(-(shares * np.log2(shares)).sum())


def balaban(facts: MoleculeFacts) -> float:
    """Balaban's J with distances by bond order. A. T. Balaban, Chem. Phys. Lett. 1982, 89, 399."""
    atoms, bonds = len(facts.atoms), len(facts.bonds)
    cycles = bonds - atoms + 1
    if not bonds or cycles == -1:
        return 0.0
    ends = np.array(facts.ends)
    sums = facts.bond_order_distances.sum(axis=0)
    return bonds / (cycles + 1) * float((1 / np.sqrt(sums[ends[:, 0]] * sums[ends[:, 1]])).sum())


def bertz(facts: MoleculeFacts) -> float:
    """Complexity from the variety of bonds and of elements. S. H. Bertz, J. Am. Chem. Soc. 1981, 103, 3599.

    Atoms are alike where their hundred smallest distances by bond order are, to four decimals.
    """
    if len(facts.atoms) < 2:
        return 0.0
    connections = _connections(facts)
    elements = Counter(kind.number for kind in facts.kinds)
    total = sum(connections.values())
    variety = len(facts.atoms) * entropy(np.array([*elements.values()], dtype=np.float64))
    return variety + total * (entropy(np.array([*connections.values()])) + math.log2(total))


def _connections(facts: MoleculeFacts) -> dict[tuple[int, ...], float]:
    """Number of connections by the classes of the atoms that they join."""
    nearest = np.sort(facts.bond_order_distances, axis=1)[:, :100]
    seen: dict[bytes, int] = {}
    classes = [seen.setdefault(row.tobytes(), len(seen)) for row in np.rint(nearest * 1e4)]
    around: list[list[tuple[int, float]]] = [[] for _ in classes]
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for (first, second), kind, bond in zip(facts.ends, facts.bond_kinds, facts.bonds, strict=True):
        order = 1.5 if kind.aromatic else bond.GetBondTypeAsDouble()
        one, other = classes[first], classes[second]
        around[first].append((other, order))
        around[second].append((one, order))
        if order > 1:
            found[(one, other) if one < other else (other, one)] += order * (order - 1) / 2
    for centre, bonded in zip(classes, around, strict=True):
        for index, (one, order) in enumerate(bonded):
            for other, second_order in bonded[index + 1 :]:
                key = (one, centre, other) if one < other else (other, centre, one)
                found[key] += order * second_order
    return found or {(): 1.0}


def path_sums(adjacency: DoubleArray, weights: DoubleArray) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
    """Sums over paths of 2, 3 and 4 bonds of the product of the weights of their atoms, each ``(W,)``.

    Parameters
    ----------
    adjacency : (A, A) float64
        Of a graph without rings of 3 or 4 atoms, where no such path meets itself.
    weights : (W, A) float64
        Several weightings of the atoms.
    """
    around = weights @ adjacency
    twos = weights * (around**2 - weights**2 @ adjacency)
    # onward[:, i, j]: over paths of two atoms that leave j by its neighbour i and do not come back.
    onward = adjacency * (weights[:, :, None] * (around[:, :, None] - weights[:, None, :]))
    threes = (onward * onward.transpose(0, 2, 1)).sum(axis=(1, 2))
    fours = weights * (onward.sum(axis=1) ** 2 - (onward**2).sum(axis=1))
    return twos.sum(axis=1) / 2, threes / 2, fours.sum(axis=1) / 2
