"""What the elements are: their tabulated properties, and the same standardised for the network."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from pymatgen.core import Element

from gia_science.tokens.stream import FloatArray

SYMBOLS: tuple[str, ...] = tuple(Element.from_Z(z).symbol for z in range(1, 119))
"""Symbols of the elements H to Og; the index is the atomic number less one."""

INDEX: dict[str, int] = {symbol: index for index, symbol in enumerate(SYMBOLS)}
"""Row of each symbol in the element table."""

_CAPACITY = {"s": 2, "p": 6, "d": 10, "f": 14}

_TABULATED = {
    "electronegativity": "X",
    "atomic_radius": "atomic_radius",
    "calculated_radius": "atomic_radius_calculated",
    "van_der_waals_radius": "van_der_waals_radius",
    "mendeleev_number": "mendeleev_no",
    "group": "group",
    "row": "row",
    "atomic_mass": "atomic_mass",
    "ionization_energy": "ionization_energy",
    "electron_affinity": "electron_affinity",
    "melting_point": "melting_point",
    "boiling_point": "boiling_point",
    "solid_density": "density_of_solid",
    "thermal_conductivity": "thermal_conductivity",
    "molar_volume": "molar_volume",
    "bulk_modulus": "bulk_modulus",
}
# Resistivities span 24 orders of magnitude, so only their logarithm can be averaged.
_LOGARITHMIC = {"log10_electrical_resistivity": "electrical_resistivity"}
_HELIUM_IONIZATION_EV = 24.6
_FLAGS = (
    "is_metal",
    "is_transition_metal",
    "is_post_transition_metal",
    "is_metalloid",
    "is_alkali",
    "is_alkaline",
    "is_chalcogen",
    "is_halogen",
    "is_noble_gas",
    "is_lanthanoid",
    "is_actinoid",
    "is_radioactive",
)


@dataclass(frozen=True)
class ElementTable:
    """Properties of the elements H to Og, one row each in order of atomic number.

    Parameters
    ----------
    symbols : tuple of str
        The 118 element symbols.
    raw_names : tuple of str
        Names of the P properties.
    raw : (118, P) float64
        Properties in pymatgen's units (radii in angstrom, energies in eV, temperatures in K, density in
        kg/m^3, molar volume in cm^3/mol, conductivity in W/(m K), modulus in GPa; the logarithm is of the
        resistivity in ohm m); NaN where there is none.
    feature_names : tuple of str
        Names of the F features.
    features : (118, F) float32
        Every property standardised over the elements that have it, 0 (the mean) for the others, and after
        them one 0/1 feature ``missing_...`` for each property that some element lacks.

    Notes
    -----
    Values come from pymatgen (S. P. Ong et al., Comput. Mater. Sci. 2013, 68, 314).
    """

    symbols: tuple[str, ...]
    raw_names: tuple[str, ...]
    raw: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]
    features: FloatArray


@cache
def element_table() -> ElementTable:
    """The table of all elements, built once. Its arrays are read-only."""
    rows = [_properties(Element(symbol)) for symbol in SYMBOLS]
    raw_names = tuple(rows[0])
    raw = np.array([list(row.values()) for row in rows], dtype=np.float64)
    missing = np.isnan(raw)
    lacking = np.flatnonzero(missing.any(axis=0))
    standardised = (raw - np.nanmean(raw, axis=0)) / np.nanstd(raw, axis=0)
    features = np.hstack([np.where(missing, 0.0, standardised), missing[:, lacking]]).astype(np.float32)
    names = raw_names + tuple(f"missing_{raw_names[index]}" for index in lacking)
    raw.flags.writeable = False
    features.flags.writeable = False
    return ElementTable(symbols=SYMBOLS, raw_names=raw_names, raw=raw, feature_names=names, features=features)


def _properties(element: Element) -> dict[str, float]:
    properties = {"atomic_number": float(element.Z)}
    properties |= {name: _number(element, attribute) for name, attribute in _TABULATED.items()}
    for name, attribute in _LOGARITHMIC.items():
        properties[name] = float(np.log10(_number(element, attribute)))
    # No neutral atom holds its electron tighter than helium: 50 and 65 eV for Mt and Ds are not data.
    if properties["ionization_energy"] > _HELIUM_IONIZATION_EV:
        properties["ionization_energy"] = float("nan")
    # pymatgen answers 0 where it knows no radius.
    properties["ionic_radius"] = _number(element, "average_ionic_radius") or float("nan")
    properties["min_common_oxidation_state"] = _extreme(min, element.common_oxidation_states)
    properties["max_common_oxidation_state"] = _extreme(max, element.common_oxidation_states)
    properties |= _valence(element)
    properties |= {flag: float(getattr(element, flag)) for flag in _FLAGS}
    return properties


def _number(element: Element, attribute: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymatgen warns wherever a value is missing
        try:
            value = getattr(element, attribute)
        except KeyError:
            return float("nan")
    return float("nan") if value is None else float(value)


def _extreme(choose: Callable[[Iterable[int]], int], states: tuple[int, ...]) -> float:
    return float(choose(states)) if states else float("nan")


def _valence(element: Element) -> dict[str, float]:
    """Electrons outside the noble-gas core by subshell, and the free places in those that are occupied."""
    try:
        configuration = element.electronic_structure
    except KeyError:
        counts = dict.fromkeys(_CAPACITY, float("nan"))
    else:
        counts = dict.fromkeys(_CAPACITY, 0.0)
        for subshell, electrons in re.findall(r"\d([spdf])(\d+)", configuration):
            counts[subshell] += int(electrons)
    valence = {f"{subshell}_valence": count for subshell, count in counts.items()}
    unfilled = {f"{s}_unfilled": (_CAPACITY[s] - n if n else n) for s, n in counts.items()}
    return valence | unfilled
