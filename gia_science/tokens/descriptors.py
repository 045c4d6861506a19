"""Descriptors of a whole input, computed with the tools of each field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from Bio.SeqUtils import ProtParamData
from Bio.SeqUtils.ProtParam import ProteinAnalysis
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator

from gia_science.catalog import suggestion
from gia_science.errors import DefinitionError
from gia_science.tokens.charges import ChargeBalance
from gia_science.tokens.elements import INDEX, element_table
from gia_science.tokens.facts import molecule_facts
from gia_science.tokens.rdkit2d import RDKit2DFunctions
from gia_science.tokens.scaling import DescriptorScaling, numeric_cell
from gia_science.tokens.stream import Reading

__all__ = [
    "DOMAIN_DEFAULTS",
    "PROVIDERS",
    "ChargeBalance",
    "DescriptorProvider",
    "DescriptorScaling",
    "Dipeptides",
    "ElementFractions",
    "ElementStats",
    "MorganCounts",
    "ProtParam",
    "RDKit2D",
    "numeric_cell",
    "provider",
]

DescriptorArray = npt.NDArray[np.float64]
ParsedT = TypeVar("ParsedT")

_RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
# D. Eisenberg et al., J. Mol. Biol. 1984, 179, 125: normalised consensus hydrophobicity.
_EISENBERG = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        [
            *(0.62, -2.53, -0.78, -0.90, 0.29, -0.85, -0.74, 0.48, -0.40, 1.38),
            *(1.06, -1.50, 0.64, 1.19, 0.12, -0.18, -0.05, 0.81, 0.26, 1.08),
        ],
        strict=True,
    )
)
_HELIX_ANGLE = math.radians(100)
_MOMENT_WINDOW = 11

# The same by index in `_RESIDUES`, and Biopython's tables, so that whole chains are looked up at once.
_CODE = np.full(128, -1)
_CODE[[ord(residue) for residue in _RESIDUES]] = range(len(_RESIDUES))
_HYDROPHOBICITY = np.array([_EISENBERG[residue] for residue in _RESIDUES])
_HYDROPATHY = np.array([ProtParamData.kd[residue] for residue in _RESIDUES])
_FLEXIBILITY = np.array([ProtParamData.Flex[residue] for residue in _RESIDUES])
_INSTABILITY = np.array([[ProtParamData.DIWV[one][other] for other in _RESIDUES] for one in _RESIDUES])
# Biopython takes the sixth residue of a window for its middle: its weight counts twice, that of the fifth never.
_FLEXIBILITY_WEIGHTS = np.array([0.25, 0.4375, 0.625, 0.8125, 0, 1.8125, 0.625, 0.4375, 0.25]) / 5.25


class DescriptorProvider(Protocol[ParsedT]):
    """Computes the descriptors of inputs of one domain.

    Attributes
    ----------
    name : str
        By which recipes and `provider` know it.
    domain : str
        Domain whose readings it takes.
    names : tuple of str
        Names of the D descriptors.
    """

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def compute(self, reading: Reading[ParsedT]) -> DescriptorArray:
        """Descriptors ``(D,)`` float64 in their own units, NaN where one is undefined."""
        ...


class HasResidues(Protocol):
    """A protein as its tokenizer reads it."""

    @property
    def residues(self) -> str: ...


class RDKit2D:
    """All of ``rdkit.Chem.Descriptors.descList``, in its order.

    ``Ipc``, which grows exponentially with size, is replaced by ``log1p_Ipc``; nothing is left out. A
    descriptor that RDKit cannot compute for a molecule (partial charges of metals) is NaN, the others stay.
    """

    name = "rdkit2d"
    domain = "smiles"

    def __init__(self) -> None:
        self._functions = RDKit2DFunctions()
        self.names = tuple("log1p_Ipc" if name == "Ipc" else name for name in self._functions.names)

    def compute(self, reading: Reading[Chem.Mol]) -> DescriptorArray:
        """Descriptors of a molecule; see `DescriptorProvider`."""
        with rdBase.BlockLogs():
            found = self._functions.compute(molecule_facts(reading.parsed))
        found["Ipc"] = math.log1p(found["Ipc"])
        return _finite(list(found.values()))


class MorganCounts:
    """Logarithm of one plus the hashed counts of Morgan environments up to radius 2, in 2048 buckets."""

    name = "morgan_counts"
    domain = "smiles"

    def __init__(self) -> None:
        size = 2048
        self._generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=size)
        self.names = tuple(f"morgan_{index}" for index in range(size))

    def compute(self, reading: Reading[Chem.Mol]) -> DescriptorArray:
        """Counts of a molecule; see `DescriptorProvider`."""
        counts: npt.NDArray[np.uint32] = self._generator.GetCountFingerprintAsNumPy(reading.parsed)
        return np.log1p(counts.astype(np.float64))


class ProtParam:
    """Physical chemistry of a chain, mostly from Biopython's ``ProteinAnalysis``, and its residue fractions.

    Everything but the length speaks of the 20 standard residues: others (B, J, O, U, X, Z) are left out of
    the chain, and every descriptor is NaN where none is left.

    Notes
    -----
    ``aliphatic_index`` is Ikai's (J. Biochem. 1980, 88, 1895). ``hydrophobic_moment`` is the largest over
    windows of 11 residues (the whole chain where it is shorter) at 100 degrees per residue, per residue, with
    the scale of Eisenberg et al. (J. Mol. Biol. 1984, 179, 125).
    """

    name = "protparam"
    domain = "protein"
    names = (
        "log_length",
        "molecular_weight",
        "aromaticity",
        "aliphatic_index",
        "instability_index",
        "isoelectric_point",
        "gravy",
        "charge_ph7",
        "helix_fraction",
        "turn_fraction",
        "sheet_fraction",
        "extinction_reduced",
        "extinction_cystines",
        "mean_flexibility",
        "hydrophobic_moment",
        *(f"fraction_{residue}" for residue in _RESIDUES),
    )

    def compute(self, reading: Reading[HasResidues]) -> DescriptorArray:
        """Descriptors of a chain; see `DescriptorProvider`."""
        residues = reading.parsed.residues
        values = np.full(len(self.names), math.nan)
        values[0] = math.log(len(residues)) if residues else math.nan
        standard = "".join(residue for residue in residues if residue in _EISENBERG)
        if standard:
            values[1:] = [*_chain_properties(standard), *_residue_fractions(standard)]
        return _finite(values)


def _chain_properties(chain: str) -> list[float]:
    analysis, codes = ProteinAnalysis(chain), _codes(chain)
    return [
        analysis.molecular_weight(),
        analysis.aromaticity(),
        _aliphatic_index(chain),
        10 * float(_INSTABILITY[codes[:-1], codes[1:]].sum()) / len(chain) if len(chain) > 1 else math.nan,
        analysis.isoelectric_point(),
        float(_HYDROPATHY[codes].sum()) / len(chain),
        analysis.charge_at_pH(7.0),
        *analysis.secondary_structure_fraction(),
        *analysis.molar_extinction_coefficient(),
        _mean_flexibility(codes),
        _hydrophobic_moment(codes),
    ]


def _codes(residues: str) -> npt.NDArray[np.int64]:
    """Index in `_RESIDUES` of each residue, -1 for others."""
    return _CODE[np.frombuffer(residues.encode("ascii", "replace"), dtype=np.uint8)]


def _mean_flexibility(codes: npt.NDArray[np.int64]) -> float:
    """Mean over the windows of 9 residues of Vihinen's flexibility, as Biopython weights and counts them."""
    windows = len(codes) - len(_FLEXIBILITY_WEIGHTS)
    if windows < 1:
        return math.nan
    profile = np.convolve(_FLEXIBILITY[codes], _FLEXIBILITY_WEIGHTS[::-1], mode="valid")
    return float(profile[:windows].mean())


def _residue_fractions(chain: str) -> list[float]:
    return [chain.count(residue) / len(chain) for residue in _RESIDUES]


def _aliphatic_index(chain: str) -> float:
    weighted = chain.count("A") + 2.9 * chain.count("V") + 3.9 * (chain.count("I") + chain.count("L"))
    return 100 * weighted / len(chain)


def _hydrophobic_moment(codes: npt.NDArray[np.int64]) -> float:
    window = min(_MOMENT_WINDOW, len(codes))
    turned = _HYDROPHOBICITY[codes] * np.exp(1j * _HELIX_ANGLE * np.arange(len(codes)))
    return float(np.abs(np.convolve(turned, np.ones(window), mode="valid")).max() / window)


class Dipeptides:
    """Fractions of the 400 pairs of neighbouring standard residues; NaN for a chain that has no such pair."""

    name = "dipeptides"
    domain = "protein"
    names = tuple("".join(pair) for pair in product(_RESIDUES, repeat=2))

    def compute(self, reading: Reading[HasResidues]) -> DescriptorArray:
        """Fractions of a chain; see `DescriptorProvider`."""
        codes = _codes(reading.parsed.residues)
        first, second = codes[:-1], codes[1:]
        pairs = (first * len(_RESIDUES) + second)[(first >= 0) & (second >= 0)]
        if not len(pairs):
            return np.full(len(self.names), math.nan)
        return np.bincount(pairs, minlength=len(self.names)) / len(pairs)


class ElementStats:
    """Statistics of element properties over a composition, in the manner of Ward et al.

    For each property of `ElementTable.raw`, and the shares of s, p, d and f electrons among an element's
    valence electrons: mean, mean absolute deviation from it, minimum, maximum, range, and the value of the
    most abundant element (the mean of several). Means are weighted by fraction. An element without the
    property is left out and the weights of the others are renormalised; NaN where no element has it. Besides:
    number of elements, largest fraction, and the 2- and 3-norms of the fractions.

    Notes
    -----
    L. Ward et al., npj Comput. Mater. 2016, 2, 16028.
    """

    name = "element_stats"
    domain = "composition"

    def __init__(self) -> None:
        table = element_table()
        electrons = table.raw[:, [table.raw_names.index(f"{subshell}_valence") for subshell in "spdf"]]
        self._table = np.hstack([table.raw, electrons / electrons.sum(axis=1, keepdims=True)])
        properties = (*table.raw_names, *(f"{subshell}_valence_share" for subshell in "spdf"))
        statistics = ("mean", "deviation", "min", "max", "range", "mode")
        self.names = (
            *("n_elements", "max_fraction", "norm2", "norm3"),
            *(f"{statistic}_{name}" for statistic in statistics for name in properties),
        )

    def compute(self, reading: Reading[Mapping[str, float]]) -> DescriptorArray:
        """Statistics of a composition; see `DescriptorProvider`."""
        fractions = np.array(list(reading.parsed.values()))
        values = self._table[[INDEX[symbol] for symbol in reading.parsed]]  # (n, P)
        norms = [
            len(fractions),
            fractions.max(),
            (fractions**2).sum() ** 0.5,
            (fractions**3).sum() ** (1 / 3),
        ]
        mean = _weighted_mean(values, fractions)
        known = np.isfinite(values)
        low = np.where(known, values, np.inf).min(axis=0)
        high = np.where(known, values, -np.inf).max(axis=0)
        span = np.subtract(high, low, out=np.full_like(low, np.nan), where=known.any(axis=0))
        abundant = fractions >= fractions.max() * (1 - 1e-9)
        mode = _weighted_mean(values[abundant], fractions[abundant])
        deviation = _weighted_mean(np.abs(values - mean), fractions)
        return _finite(np.concatenate([norms, mean, deviation, low, high, span, mode]))


class ElementFractions:
    """Fraction of each of the elements H to Og in a composition, 0 where it is not in.

    Statistics of properties do not tell elements apart that are alike, or that a composition has little of: carbon
    in steel.
    """

    name = "element_fractions"
    domain = "composition"
    names = tuple(f"fraction_{symbol}" for symbol in INDEX)

    def compute(self, reading: Reading[Mapping[str, float]]) -> DescriptorArray:
        """Fractions of a composition; see `DescriptorProvider`."""
        fractions = np.zeros(len(self.names))
        fractions[[INDEX[symbol] for symbol in reading.parsed]] = list(reading.parsed.values())
        return fractions


def _weighted_mean(values: DescriptorArray, weights: DescriptorArray) -> DescriptorArray:
    """Mean ``(P,)`` of ``(n, P)`` values over the rows that have one; NaN where none has."""
    known = np.isfinite(values)
    total = weights @ known
    summed = weights @ np.where(known, values, 0.0)
    return np.divide(summed, total, out=np.full_like(summed, np.nan), where=total > 0)


def _finite(values: DescriptorArray | Sequence[float]) -> DescriptorArray:
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


PROVIDERS: Mapping[str, Callable[[], DescriptorProvider[Any]]] = MappingProxyType(
    {
        maker.name: maker
        for maker in (
            RDKit2D,
            MorganCounts,
            ProtParam,
            Dipeptides,
            ElementStats,
            ElementFractions,
            ChargeBalance,
        )
    }
)
"""Makers of the descriptor providers by name."""

DOMAIN_DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "smiles": ("rdkit2d", "morgan_counts"),
        "protein": ("protparam",),
        "composition": ("element_stats", "element_fractions", "charge_balance"),
    }
)
"""Providers that a domain uses where nothing else is said."""


def provider(name: str) -> DescriptorProvider[Any]:
    """Descriptor provider of that name; raises `DefinitionError` where there is none."""
    if name not in PROVIDERS:
        hint = suggestion(name, PROVIDERS) or f"there are: {', '.join(PROVIDERS)}"
        raise DefinitionError("unknown descriptors", got=repr(name), hint=hint)
    return PROVIDERS[name]()
