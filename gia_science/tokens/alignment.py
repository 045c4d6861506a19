"""Aligned sequences: a template says at which places they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gia_science.tokens.residues import FEATURE_NAMES
from gia_science.tokens.stream import IntArray

OPEN: Final = "?"
"""Stands in a template for a place at which sequences differ."""
TOLD_APART_BY: Final = tuple(FEATURE_NAMES.index(name) for name in ("hydropathy", "volume"))
"""Columns of the features by which trees tell residues at a place apart: two numbers in place of twenty columns."""


def template_of(sequences: Sequence[str]) -> str:
    """The residue where all sequences agree, `OPEN` where they differ.

    Parameters
    ----------
    sequences : sequence of str
        One or more cleaned sequences of one length.

    Examples
    --------
    >>> template_of(["MKVA", "MRVA", "MKVG"])
    'M?V?'
    """
    codes = np.stack([_codes(sequence) for sequence in sequences])
    differ = (codes != codes[0]).any(axis=0)
    return "".join(
        OPEN if here else residue for here, residue in zip(differ.tolist(), sequences[0], strict=True)
    )


def open_places(template: str) -> IntArray:
    """Index of each `OPEN` in a template."""
    return np.flatnonzero(_codes(template) == ord(OPEN))


def departures(template: str, residues: str) -> IntArray:
    """Places at which a sequence of the template's length is not as the template says."""
    fixed = _codes(template)
    return np.flatnonzero((fixed != ord(OPEN)) & (fixed != _codes(residues)))


def _codes(text: str) -> IntArray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.int64)
