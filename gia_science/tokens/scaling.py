"""Numbers of a whole input made comparable: cells to floats, descriptors to a common scale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.errors import DefinitionError, UnreadableInputError
from gia_science.tokens.stream import FloatArray

CLIP = 5.0
"""Largest scaled value, in standard deviations of the training rows."""

_MISSING = frozenset({"", "na", "n/a", "nan"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MINUS = "\N{MINUS SIGN}\N{EN DASH}"
"""What printed tables have for the hyphen."""
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*|[+-]?[0-9]{1,3}(?:,[0-9]{3}){2,}")
QUANTITY = re.compile(
    rf"(?P<bound>[<>=~≈≤≥±]*)\s*(?P<number>[+\-{_MINUS}]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)\s*"
    r"(?P<unit>[^0-9\s,;][^,;]{0,14})?"
)
"""A number with what people write about it: a bound before it, a unit behind."""
# Below this share of the column's magnitude a spread is rounding, not information.
_CONSTANT = 1e-10


def numeric_cell(text: str) -> float:
    """Number in a cell of the user's table; NaN for a blank cell, ``NA``, ``N/A`` and ``nan`` in any case.

    Raises
    ------
    UnreadableInputError
        For anything else that is not one finite number with a decimal point.
    """
    cell = text.strip()
    if cell.lower() in _MISSING:
        return float("nan")
    number = float(cell) if _NUMBER.fullmatch(cell) else float("inf")
    if np.isfinite(number):
        return number
    raise UnreadableInputError(
        "not a finite number", got=repr(text), expected="a number such as 0.5", hint=_hint(cell)
    )


def _hint(cell: str) -> str | None:
    """What is wrong with a cell that is nearly a number."""
    if "," in cell and _NUMBER.fullmatch(cell.replace(",", ".", 1)):
        return "the decimal sign is a point"
    if _THOUSANDS.fullmatch(cell):
        return "nothing stands between thousands"
    parts = QUANTITY.fullmatch(cell)
    if parts is None:
        return None
    if parts["number"][0] in _MINUS:
        return "the minus sign is a hyphen"
    if parts["bound"]:
        return "a bound is no value: leave the row out, or decide on a number"
    return "the number alone, without a unit" if parts["unit"] else None


@dataclass(frozen=True, eq=False)
class DescriptorScaling:
    """Which descriptors are kept, and their mean and standard deviation over the training rows.

    Scaled values are clipped to five standard deviations. Descriptors are heavy-tailed (counts, areas), and a
    row unlike the training rows must not drown the network in one number; within the clip nothing is bent.

    Parameters
    ----------
    columns : tuple of str
        Names of all D_all descriptors of a row, in order.
    names : tuple of str
        Names of the D descriptors that are kept, in the same order.
    mean, scale : (D,) float64
        Mean and standard deviation of the kept descriptors in their own units, over the rows that have them.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise DefinitionError("descriptor names repeat", got=_first_repeat(self.columns))
        if not set(self.names) <= set(self.columns):
            raise DefinitionError("kept descriptors are not among all descriptors")
        kept = set(self.names)
        if self.names != tuple(name for name in self.columns if name in kept):
            raise DefinitionError("kept descriptors are not in the order of all descriptors")
        shape = (len(self.names),)
        if self.mean.shape != shape or self.scale.shape != shape:
            raise DefinitionError(
                "descriptor statistics do not fit the names", expected=f"{shape[0]} numbers"
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise DefinitionError("descriptor statistics are not finite with a positive scale")

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the descriptors that were missing or constant over the training rows."""
        kept = set(self.names)
        return tuple(name for name in self.columns if name not in kept)

    @classmethod
    def fit(cls, matrix: npt.NDArray[np.float64], names: Sequence[str]) -> DescriptorScaling:
        """Learn from training rows.

        Parameters
        ----------
        matrix : (n, D_all) float64
            Descriptors; what is not finite counts as missing.
        names : sequence of str
            Their D_all names.
        """
        assert matrix.ndim == 2
        assert matrix.shape[1] == len(names)
        finite = np.isfinite(matrix)
        count = np.maximum(finite.sum(axis=0), 1)
        known = np.where(finite, matrix, 0.0)
        # In units of the largest magnitude, so that squares of huge values do not overflow.
        unit = np.abs(known).max(axis=0, initial=0.0)
        unit[unit == 0] = 1.0
        known = known / unit
        mean = known.sum(axis=0) / count
        scale = np.sqrt((np.where(finite, known - mean, 0.0) ** 2).sum(axis=0) / count)
        kept = np.flatnonzero((scale > _CONSTANT) & (scale * unit >= np.finfo(np.float64).tiny))
        return cls(
            columns=tuple(names),
            names=tuple(names[int(index)] for index in kept),
            mean=(mean * unit)[kept],
            scale=(scale * unit)[kept],
        )

    def transform(self, matrix: npt.NDArray[np.float64], *, names: Sequence[str] | None = None) -> FloatArray:
        """Kept descriptors in standard deviations from the mean, within plus or minus `CLIP`.

        Parameters
        ----------
        matrix : (n, D_all) float64
            All descriptors of each row, in the order of `columns`.
        names : sequence of str, optional
            Their names, to be checked.

        Returns
        -------
        (n, D) float32
            NaN where a descriptor is missing.

        Raises
        ------
        DefinitionError
            When the descriptors are not those of the training.
        """
        if names is not None:
            self.require(names)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.columns):
            raise DefinitionError(
                "wrong number of descriptors", got=str(matrix.shape), expected=f"{len(self.columns)} columns"
            )
        position = {name: index for index, name in enumerate(self.columns)}
        kept = matrix[:, [position[name] for name in self.names]]
        known = np.where(np.isfinite(kept), kept, np.nan)
        with np.errstate(over="ignore"):  # an infinite distance is clipped like any other
            scaled = (known - self.mean) / self.scale
        return np.clip(scaled, -CLIP, CLIP).astype(np.float32)

    def require(self, names: Sequence[str]) -> None:
        """Raise `DefinitionError` unless `names` are the descriptors of the training, in their order."""
        if tuple(names) == self.columns:
            return
        new, gone = sorted(set(names) - set(self.columns)), sorted(set(self.columns) - set(names))
        example = (new + gone)[0] if new or gone else "another order"
        raise DefinitionError(
            "descriptors differ from those of the training",
            got=f"{len(names)} ({len(new)} new, {len(gone)} gone; {example})",
            expected=str(len(self.columns)),
            hint="the library that computes them may have another version",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain types that `from_json` turns back exactly."""
        return {
            "columns": list(self.columns),
            "names": list(self.names),
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DescriptorScaling:
        """Inverse of `to_json`; raises `DefinitionError` on other keys and on values that do not fit."""
        expected = ["columns", "mean", "names", "scale"]
        if not isinstance(data, Mapping) or sorted(data) != expected:
            raise DefinitionError("descriptor scaling has wrong keys", expected=", ".join(expected))
        for key in ("columns", "names"):
            if not isinstance(data[key], list) or not all(isinstance(item, str) for item in data[key]):
                raise DefinitionError(f"descriptor scaling: {key} is not a list of names")
        for key in ("mean", "scale"):
            if not isinstance(data[key], list) or not all(type(item) in (int, float) for item in data[key]):
                raise DefinitionError(f"descriptor scaling: {key} is not a list of numbers")
        return cls(
            columns=tuple(data["columns"]),
            names=tuple(data["names"]),
            mean=np.array(data["mean"], dtype=np.float64),
            scale=np.array(data["scale"], dtype=np.float64),
        )


def _first_repeat(names: Sequence[str]) -> str:
    return next(repr(name) for index, name in enumerate(names) if name in names[:index])
