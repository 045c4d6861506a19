"""Groups of the rows of an evaluation: scaffolds, chemical systems, lengths, ranges of the target, a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from rdkit.Chem.Scaffolds import MurckoScaffold

from gia_science.errors import EvaluationError
from gia_science.tokens.stream import Reading

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BUILT_IN: Final = ("scaffold", "chemical_system", "length", "target_range")
"""Groups that need no column."""
FEWEST_ROWS = 10
"""A group with fewer rows that have the target goes into `OTHER`."""
OTHER = "other"
BINS = 4


@dataclass(frozen=True)
class Grouping:
    """A group for each row, and each target.

    Parameters
    ----------
    by : str
        What the rows are grouped by.
    labels : tuple of tuple of str
        The groups of the n rows, once for all targets, or once for each.
    order : tuple of str
        Order of the groups; those that do not stand here follow by size.
    """

    by: str
    labels: tuple[tuple[str, ...], ...]
    order: tuple[str, ...] = ()

    def pooled(self, target: int, *, measured: npt.NDArray[np.bool_]) -> list[tuple[str, IntArray]]:
        """Groups of the rows that have a target, and their rows; the small ones are one group, the last.

        Parameters
        ----------
        target : int
        measured : (n,) bool
            Which rows have it.
        """
        labels = self.labels[target if len(self.labels) > 1 else 0]
        rows = [int(row) for row in np.flatnonzero(measured)]
        sizes = Counter(labels[row] for row in rows)
        found: dict[str, list[int]] = {}
        for row in rows:
            label = labels[row] if sizes[labels[row]] >= FEWEST_ROWS else OTHER
            found.setdefault(label, []).append(row)
        place = {name: index for index, name in enumerate(self.order)}
        names = sorted(
            found, key=lambda name: (name == OTHER, place.get(name, len(place)), -len(found[name]), name)
        )
        return [(name, np.array(found[name], dtype=np.int64)) for name in names]


def built_in_grouping(
    by: str, *, domain: str, readings: Sequence[Reading[Any]], truth: FloatArray, regression: bool
) -> Grouping:
    """One of the groupings of `BUILT_IN`.

    Parameters
    ----------
    by : str
        ``"scaffold"``: Bemis-Murcko scaffold of a molecule (J. Med. Chem. 1996, 39, 2887), ``no ring`` without.
        ``"chemical_system"``: the elements of a composition, as in ``Fe-O``. ``"length"``: quarters of the rows by
        number of residues, atoms or elements. ``"target_range"``: quarters of the rows by what was measured, for
        each target; errors can be compared between them, correlations and R² cannot, since a narrow range leaves
        little to explain.
    domain : str
    readings : sequence of Reading
        The n inputs.
    truth : (n, T) float64
    regression : bool
        Whether the targets are numbers.

    Raises
    ------
    EvaluationError
        When it does not go with the domain, or the targets are classes.
    """
    assert by in BUILT_IN
    needs = {"scaffold": "smiles", "chemical_system": "composition"}.get(by, domain)
    if domain != needs:
        raise EvaluationError(f"no {by} groups of this input", got=domain, expected=f"{needs} input")
    if by == "target_range":
        if not regression:
            raise EvaluationError("no target_range groups of classes", expected="targets that are numbers")
        ranges = [quarters(column) for column in truth.T]
        return Grouping(
            by,
            tuple(labels for labels, _ in ranges),
            tuple(dict.fromkeys(name for _, names in ranges for name in names)),
        )
    if by == "length":
        labels, order = quarters(np.array([reading.length for reading in readings], dtype=np.float64))
        return Grouping(by, (labels,), order)
    name = _scaffold if by == "scaffold" else _chemical_system
    return Grouping(by, (tuple(map(name, readings)),))


def quarters(values: FloatArray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Quarters of some values ``(n,)`` by size: the label of each, ``""`` for NaN, and the labels in order.

    Equal values stay together, so that there may be fewer than four.
    """
    known = values[np.isfinite(values)]
    inner = np.quantile(known, np.arange(1, BINS) / BINS) if len(known) else np.zeros(0)
    quarter = np.searchsorted(np.unique(inner), values, side="left")
    label = {
        int(number): _range(values[(quarter == number) & np.isfinite(values)])
        for number in np.unique(quarter[np.isfinite(values)])
    }
    labels = tuple(
        label[int(number)] if np.isfinite(value) else ""
        for number, value in zip(quarter, values, strict=True)
    )
    return labels, tuple(dict.fromkeys(label.values()))


def _range(values: FloatArray) -> str:
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"


def _scaffold(reading: Reading[Any]) -> str:
    # RDKit ships no types for its scaffolds.
    scaffold: Callable[..., str] = MurckoScaffold.MurckoScaffoldSmiles
    return scaffold(mol=reading.parsed) or "no ring"


def _chemical_system(reading: Reading[Any]) -> str:
    return "-".join(sorted(reading.parsed))
