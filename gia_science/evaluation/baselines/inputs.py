"""What baselines see of inputs: descriptors, fragments, words of residues, fractions of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from Bio.SeqUtils.ProtParamData import kd as KYTE_DOOLITTLE

from gia_science.data.rows import Row
from gia_science.errors import EvaluationError
from gia_science.tokens.alignment import TOLD_APART_BY, are_aligned, open_places, template_of
from gia_science.tokens.descriptors import provider
from gia_science.tokens.protein import letter_index
from gia_science.tokens.residues import STANDARD, feature_table
from gia_science.tokens.stream import IntArray, Reading

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Some inputs of a domain; each table is computed when it is first asked for, and once.

    Parameters
    ----------
    domain : str
        ``"smiles"``, ``"protein"`` or ``"composition"``.
    readings : sequence of Reading
        The n inputs.
    numbers : (n, C) float64
        Further numeric columns of the user, NaN where missing.

    Raises
    ------
    EvaluationError
        For a domain that has no baselines.
    """

    domain: str
    readings: Sequence[Reading[Any]]
    numbers: FloatArray

    def __post_init__(self) -> None:
        if self.domain not in _DESCRIBE:
            raise EvaluationError(
                "no baselines for this domain",
                got=repr(self.domain),
                expected=" or ".join(_DESCRIBE),
            )
        assert self.numbers.ndim == 2, "numeric columns are (n, C)"
        assert len(self.numbers) == len(self.readings), "numeric columns need one row per reading"

    @classmethod
    def of(
        cls, domain: str, readings: Sequence[Reading[Any]], *, numbers: FloatArray | None = None
    ) -> Inputs:
        """Inputs, with numeric columns or without."""
        none = np.zeros((len(readings), 0))
        return cls(domain, readings, none if numbers is None else numbers.astype(np.float64))

    @classmethod
    def of_rows(cls, domain: str, rows: Sequence[Row]) -> Inputs:
        """Inputs of rows of a table."""
        numbers = np.stack([row.numbers for row in rows]) if rows else np.zeros((0, 0))
        return cls(domain, [row.reading for row in rows], numbers)

    def __len__(self) -> int:
        return len(self.readings)

    @cached_property
    def descriptors(self) -> FloatArray:
        """What forests see ``(n, D + C)``: descriptors of the domain, then the numeric columns.

        Of a molecule the logarithms of one plus its counts of Morgan environments up to radius 2 in 2048 buckets
        (Rogers and Hahn, J. Chem. Inf. Model. 2010, 50, 742) and RDKit's 2D descriptors; of a protein the fractions
        of the 20 residues, length, net charge (K and R less D and E) and the mean Kyte-Doolittle hydropathy
        (J. Mol. Biol. 1982, 157, 105) of the residues that have one; of a composition statistics of the elements'
        properties (`ElementStats`), the fraction of each element and the balance of charges (`ChargeBalance`). NaN
        where one is not defined.
        """
        return np.concatenate([_DESCRIBE[self.domain](self.readings), self.numbers], axis=1)

    @cached_property
    def fractions(self) -> FloatArray:
        """Fraction of each of the elements H to Og ``(n, 118)`` of compositions."""
        return _provided("element_fractions", self.readings)

    @cached_property
    def pairs(self) -> FloatArray:
        """Fraction of each of the 400 pairs of neighbouring residues ``(n, 400)`` of proteins."""
        return _provided("dipeptides", self.readings)

    @cached_property
    def sequences(self) -> list[str]:
        """Residues of each protein."""
        return [reading.parsed.residues for reading in self.readings]

    @property
    def aligned_length(self) -> int | None:
        """Number of residues of aligned proteins (`are_aligned`); None of others, and of other inputs."""
        aligned = self.domain == "protein" and are_aligned(self.sequences)
        return max(map(len, self.sequences)) if aligned else None

    @property
    def differing_places(self) -> IntArray:
        """Places (K,) at which aligned proteins differ; none where they are not aligned."""
        length = self.aligned_length
        if length is None:
            return np.zeros(0, dtype=np.int64)
        return open_places(template_of([residues.ljust(length, "X") for residues in self.sequences]))

    def residues_at(self, places: IntArray) -> FloatArray:
        """Hydropathy and volume of the residue at each of K places ``(n, 2 K)``; beyond the end, of any residue."""
        if not len(places):
            return np.zeros((len(self), 0))
        length = int(places.max()) + 1
        letters = np.stack([letter_index(residues.ljust(length, "X"))[places] for residues in self.sequences])
        known: FloatArray = feature_table()[:, TOLD_APART_BY].astype(np.float64)[letters]
        return known.reshape(len(self), -1)


def _provided(name: str, readings: Sequence[Reading[Any]]) -> FloatArray:
    maker = provider(name)
    return _rows([maker.compute(reading) for reading in readings], len(maker.names))


def _rows(rows: list[FloatArray], width: int) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _molecules(readings: Sequence[Reading[Any]]) -> FloatArray:
    return np.concatenate([_provided("morgan_counts", readings), _provided("rdkit2d", readings)], axis=1)


def _proteins(readings: Sequence[Reading[Any]]) -> FloatArray:
    return _rows([_protein(reading.parsed.residues) for reading in readings], len(STANDARD) + 3)


def _protein(residues: str) -> FloatArray:
    counts = np.array([residues.count(residue) for residue in STANDARD], dtype=np.float64)
    known = counts.sum()
    hydropathy = np.array([KYTE_DOOLITTLE[residue] for residue in STANDARD])
    charge = sum(map(residues.count, "KR")) - sum(map(residues.count, "DE"))
    gravy = counts @ hydropathy / known if known else np.nan
    return np.concatenate([counts / max(len(residues), 1), [len(residues), charge, gravy]])


def _compositions(readings: Sequence[Reading[Any]]) -> FloatArray:
    seen = ("element_stats", "element_fractions", "charge_balance")
    return np.concatenate([_provided(name, readings) for name in seen], axis=1)


_DESCRIBE = {"smiles": _molecules, "protein": _proteins, "composition": _compositions}
