"""Sequence identity estimated from shared k-mers, without an alignment.

The share of common k-mers follows the identity of related sequences closely (Edgar, Nucleic Acids Res. 2004, 32, 380).
Where substitutions fall independently, a k-mer survives with the identity to the power k: so it is assumed here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gia_science.tokens.stream import IntArray

FloatArray = npt.NDArray[np.float64]
K = 4
"""Long enough that unrelated proteins of usual length share few, short enough for peptides."""
_LETTERS = 27
CODES = _LETTERS**K
"""Number of possible k-mers."""


def kmer_codes(residues: str) -> IntArray:
    """Distinct k-mers of a sequence as numbers from 0 to `CODES` - 1, ascending.

    Parameters
    ----------
    residues : str
        Letters A to Z. A sequence shorter than k is filled up with a symbol of its own.
    """
    letters = np.frombuffer(residues.ljust(K, "[").encode("ascii"), dtype=np.uint8).astype(np.int64) - 65
    windows = np.lib.stride_tricks.sliding_window_view(letters, K)
    codes: IntArray = np.unique(windows @ _LETTERS ** np.arange(K))
    return codes


def estimated_identity(shared: npt.ArrayLike, smaller: npt.ArrayLike) -> FloatArray:
    """Identity from the number of shared distinct k-mers and the smaller of the two numbers of distinct k-mers."""
    share = np.asarray(shared, dtype=np.float64) / np.asarray(smaller, dtype=np.float64)
    identity: FloatArray = share ** (1 / K)
    return identity
