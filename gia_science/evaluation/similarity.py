"""How near the rows of one part are to those of another: the similarity of each to its nearest neighbour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from Bio.Align import PairwiseAligner, substitution_matrices
from rdkit import DataStructs
from rdkit.Chem import rdFingerprintGenerator
from scipy import sparse
from scipy.spatial.distance import cdist

from gia_science.data.splits.cluster import composition_matrix
from gia_science.data.splits.kmers import CODES, kmer_codes
from gia_science.tokens.stream import IntArray, Reading

FloatArray = npt.NDArray[np.float64]
MOST_ROWS = 5000
"""Rows beyond which a sample is looked at."""
CHUNK_CELLS = 4_000_000
"""Pairs of rows that are compared at a time."""
ALIGNED = 3
"""Candidates of a sequence, those that share most k-mers, that are aligned with it."""
ALIGNED_CELLS = 500_000_000
"""Cells of all alignments together: of long sequences fewer rows are looked at."""
CLOSE_SEQUENCES = 0.9
RADIUS, BITS = 2, 2048


@dataclass(frozen=True)
class Measure:
    """A similarity of two inputs of a domain.

    Parameters
    ----------
    name : str
        In words.
    thresholds : tuple of float
        Similarities of which the report says how many rows reach them, ascending.
    close : float
        From which on two inputs are next to each other.
    """

    name: str
    thresholds: tuple[float, ...]
    close: float


MEASURES: Mapping[str, Measure] = {
    "smiles": Measure(f"Tanimoto of {BITS} Morgan bits, radius {RADIUS}", (0.4, 0.7, 0.85), 0.85),
    "protein": Measure(
        "share of residues identical in an alignment", (0.3, 0.5, CLOSE_SEQUENCES), CLOSE_SEQUENCES
    ),
    "composition": Measure("1 less half the sum of differences of the fractions", (0.8, 0.95, 0.99), 0.99),
}


@dataclass(frozen=True)
class Neighbours:
    """Similarity of each row that was looked at to the nearest row of the other part.

    Parameters
    ----------
    rows : (n,) int64
        Places of the rows that were looked at.
    similarity : (n,) float64
        From 0 to 1.
    """

    rows: IntArray
    similarity: FloatArray


def nearest(
    domain: str, rows: Sequence[Reading[Any]], among: Sequence[Reading[Any]], *, seed: int = 0
) -> Neighbours:
    """Similarity of rows to their nearest neighbour among others.

    Molecules and compositions are compared with every other row. Sequences are aligned (global, BLOSUM62, gaps -11 and
    -1, free at the ends) with the few others that share most k-mers with them. Those of one length that agree at nine
    places of ten are taken as they stand: variants of one protein, which an alignment leaves so.

    Parameters
    ----------
    domain : str
    rows : sequence of Reading
        More than `MOST_ROWS`, or fewer of long sequences, are sampled.
    among : sequence of Reading
        At least one.
    seed : int
        Draws the sample.
    """
    assert len(among), "there is something to be near to"
    most = min(MOST_ROWS, _alignable(rows, among)) if domain == "protein" else MOST_ROWS
    chosen = np.arange(len(rows))
    if len(rows) > most:
        chosen = np.sort(np.random.default_rng(seed).choice(len(rows), size=most, replace=False))
    own = [rows[index].parsed for index in chosen.tolist()]
    others = [reading.parsed for reading in among]
    return Neighbours(chosen.astype(np.int64), _SIMILARITY[domain](own, others))


def _alignable(rows: Sequence[Reading[Any]], among: Sequence[Reading[Any]]) -> int:
    if not rows:
        return 0
    cells = np.mean([one.length for one in rows]) * np.mean([one.length for one in among]) * ALIGNED
    return max(100, int(ALIGNED_CELLS / cells))


def _molecules(own: Sequence[Any], others: Sequence[Any]) -> FloatArray:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    prints = [generator.GetFingerprint(molecule) for molecule in others]
    found = [
        max(DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(one), prints), default=0)
        for one in own
    ]
    return np.array(found, dtype=np.float64)


def _compositions(own: Sequence[Any], others: Sequence[Any]) -> FloatArray:
    matrix = composition_matrix([*own, *others])
    mine, theirs = matrix[: len(own)], matrix[len(own) :]
    chunk = max(1, CHUNK_CELLS // len(theirs))
    distances = [
        cdist(mine[start : start + chunk], theirs, "cityblock").min(axis=1)
        for start in range(0, len(mine), chunk)
    ]
    return 1 - np.concatenate([np.zeros(0), *distances]) / 2


def _proteins(own: Sequence[Any], others: Sequence[Any]) -> FloatArray:
    texts = [one.residues for one in others]
    theirs = _kmer_matrix(texts).T.tocsr()
    exact = set(texts)
    aligner = _aligner()
    chunk = max(1, CHUNK_CELLS // len(texts))
    found = []
    for start in range(0, len(own), chunk):
        block = [one.residues for one in own[start : start + chunk]]
        shared = (_kmer_matrix(block) @ theirs).toarray()
        best = np.argsort(-shared, axis=1, kind="stable")[:, :ALIGNED]
        for residues, places in zip(block, best, strict=True):
            near = (_identity(aligner, residues, texts[place]) for place in places)
            found.append(1.0 if residues in exact else max(near))
    return np.array(found, dtype=np.float64)


def _kmer_matrix(sequences: Sequence[str]) -> Any:
    """Distinct k-mers of each sequence as a sparse matrix (n, CODES) of ones."""
    codes = [kmer_codes(sequence) for sequence in sequences]
    ends = np.concatenate([[0], np.cumsum([len(one) for one in codes])])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *codes])
    ones = np.ones(len(columns), dtype=np.float32)
    return sparse.csr_matrix((ones, columns, ends), shape=(len(sequences), CODES))


def _aligner() -> Any:
    aligner = PairwiseAligner(mode="global", substitution_matrix=substitution_matrices.load("BLOSUM62"))
    aligner.open_gap_score = -11
    aligner.extend_gap_score = -1
    aligner.end_gap_score = 0
    return aligner


def _identity(aligner: Any, one: str, other: str) -> float:
    """Share of the residues of one sequence that are identical in its best alignment with the other."""
    as_they_stand = _identity_by_place(one, other)
    if as_they_stand >= CLOSE_SEQUENCES:
        return as_they_stand
    # The matrix has no J (I or L).
    one, other = one.replace("J", "X"), other.replace("J", "X")
    return float(aligner.align(one, other)[0].counts().identities / len(one))


def _identity_by_place(one: str, other: str) -> float:
    """Share of places with the same residue, 0 for sequences of two lengths."""
    if len(one) != len(other):
        return 0.0
    first, second = (np.frombuffer(text.encode("ascii"), dtype=np.uint8) for text in (one, other))
    return float(np.mean(first == second))


_SIMILARITY = {"smiles": _molecules, "protein": _proteins, "composition": _compositions}
