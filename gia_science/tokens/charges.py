"""Charge balance of compositions: whether ions can make it up whose charges cancel, and how usual those are.

A compound whose usual ions balance is most likely an insulator, one that needs unusual states or is left with a charge
a metal. Statistics of element properties do not show that: it depends on the fractions of all elements together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from pymatgen.core import Composition, Element

from gia_science.tokens.stream import Reading

DoubleArray = npt.NDArray[np.float64]

PRICES = (0.05, 0.2)
"""Charge per atom that one unit of unusualness is worth."""
TOP = 1.0
"""Cost, in charges per atom, from which on nothing balances: alloys do not differ in how far they are from salts."""
MOST = 2_000
"""Most assignments of oxidation states that are compared: beyond, the least usual are left out, as in alloys of many
elements, of which none balances."""


@dataclass(frozen=True)
class OxidationStates:
    """The S oxidation states of an element, and how unusual each is.

    Parameters
    ----------
    charges : (S,) float64
    unusual : (S,) float64
        Minus the logarithm of the frequency relative to the most frequent state, which has 0.
    """

    charges: DoubleArray
    unusual: DoubleArray


@cache
def oxidation_states() -> Mapping[str, OxidationStates]:
    """States of each element, in crystal structures or commonly said to be its own.

    Notes
    -----
    Counts of the Inorganic Crystal Structure Database, and common states, come from pymatgen (S. P. Ong et al.,
    Comput. Mater. Sci. 2013, 68, 314). Each state counts once more than it was found, so that common states of
    elements without counts are there too. An element of neither kind is neutral.
    """
    Composition("NaCl").oxi_state_guesses()  # fills the counts
    counts: dict[str, dict[float, float]] = {}
    for species, count in (Composition.oxi_prob or {}).items():
        counts.setdefault(species.element.symbol, {})[float(species.oxi_state)] = float(count)
    return {element.symbol: _states(element, counts.get(element.symbol, {})) for element in Element}


def _states(element: Element, counts: Mapping[float, float]) -> OxidationStates:
    charges = sorted(
        {charge for charge in counts if charge.is_integer()}
        | {float(c) for c in element.common_oxidation_states}
    ) or [0.0]
    frequency = np.array([1.0 + counts.get(charge, 0.0) for charge in charges])
    return OxidationStates(np.array(charges), np.log(frequency.max() / frequency))


@dataclass(frozen=True)
class Assignments:
    """Ways to give each element of a composition one oxidation state, that of an ion where it has any.

    Parameters
    ----------
    charge : (A,) float64
        Net charge per atom.
    unusual : (A,) float64
        Mean unusualness of the states, weighted by fraction.
    """

    charge: DoubleArray
    unusual: DoubleArray

    def cheapest(self, price: float) -> tuple[float, float, float]:
        """Least ``|charge| + price * unusual``, and the charge and the unusualness there.

        ``(TOP, TOP or -TOP, 0)`` where that is no less than `TOP`.
        """
        cost = np.abs(self.charge) + price * self.unusual
        best = int(cost.argmin())
        if cost[best] >= TOP:
            return TOP, math.copysign(TOP, self.charge[best]), 0.0
        return float(cost[best]), float(self.charge[best]), float(self.unusual[best])


def assignments(fractions: Mapping[str, float]) -> Assignments:
    """Assignments of a composition, from fractions that sum to 1."""
    charge, unusual = np.zeros(1), np.zeros(1)
    for symbol, fraction in fractions.items():
        states = oxidation_states()[symbol]
        ions = states.charges != 0 if states.charges.any() else slice(None)
        charge = np.add.outer(charge, fraction * states.charges[ions]).ravel()
        unusual = np.add.outer(unusual, fraction * states.unusual[ions]).ravel()
        if len(charge) > MOST:
            kept = np.sort(np.argpartition(unusual, MOST)[:MOST])
            charge, unusual = charge[kept], unusual[kept]
    return Assignments(charge, unusual)


class ChargeBalance:
    """How far the charges of ions of a composition are from cancelling, and how unusual those ions are.

    At each of `PRICES`, of the cheapest assignment of oxidation states: what it costs, the charge per atom that is
    left, and how unusual its states are.
    """

    name = "charge_balance"
    domain = "composition"
    names = tuple(f"{what}_{price}" for price in PRICES for what in ("balance", "charge", "unusual"))

    def compute(self, reading: Reading[Mapping[str, float]]) -> DoubleArray:
        """Charge balance of a composition; see `DescriptorProvider`."""
        found = assignments(reading.parsed)
        return np.array([value for price in PRICES for value in found.cheapest(price)])
