"""Aligned sequences: a template says at which places they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from gia_science.tokens.residues import FEATURE_NAMES
from gia_science.tokens.stream import IntArray

OPEN: Final = "?"
"""Stands in a template for a place at which sequences differ."""
TOLD_APART_BY: Final = tuple(FEATURE_NAMES.index(name) for name in ("hydropathy", "volume"))
"""Columns of the features by which trees tell residues at a place apart: two numbers in place of twenty columns."""
NEARLY_ALL: Final = 0.9
"""Share of the texts that have one length, from which on that is no chance."""


def usual_length(texts: Sequence[str]) -> int | None:
    """The length that nearly all texts have; None where there is none."""
    counts = Counter(map(len, texts)).most_common(1)
    return counts[0][0] if counts and counts[0][1] >= NEARLY_ALL * len(texts) else None


def are_aligned(sequences: Sequence[str]) -> bool:
    """Whether cleaned sequences have one length, but for a few that are shorter: these end early."""
    return bool(sequences) and usual_length(sequences) == max(map(len, sequences))


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
    codes = _codes_of(sequences)
    differ = (codes != codes[0]).any(axis=0)
    return "".join(
        OPEN if here else residue for here, residue in zip(differ.tolist(), sequences[0], strict=True)
    )


def consensus_of(sequences: Sequence[str]) -> str:
    """The most frequent residue at each place, the first in the alphabet where several are.

    Parameters
    ----------
    sequences : sequence of str
        One or more cleaned sequences of one length.

    Examples
    --------
    >>> consensus_of(["MKVA", "MRVA", "MKVG"])
    'MKVA'
    """
    codes = _codes_of(sequences)
    letters = np.unique(codes)
    counts = np.stack([(codes == letter).sum(axis=0) for letter in letters])
    return "".join(map(chr, letters[counts.argmax(axis=0)].tolist()))


def open_places(template: str) -> IntArray:
    """Index of each `OPEN` in a template."""
    return np.flatnonzero(_codes(template) == ord(OPEN))


def departures(template: str, residues: str) -> IntArray:
    """Places at which a sequence of the template's length is not as the template says."""
    fixed = _codes(template)
    return np.flatnonzero((fixed != ord(OPEN)) & (fixed != _codes(residues)))


def _codes_of(sequences: Sequence[str]) -> IntArray:
    """Codes ``(n, L)`` of sequences of one length."""
    return np.stack([_codes(sequence) for sequence in sequences])


def _codes(text: str) -> IntArray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.int64)
