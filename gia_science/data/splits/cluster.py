"""Clusters of similar sequences or compositions around representatives, for splits that keep them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from gia_science.data.splits import mmseqs
from gia_science.data.splits.kmers import estimated_identity, kmer_codes
from gia_science.errors import RecipeError
from gia_science.tokens.elements import INDEX
from gia_science.tokens.stream import IntArray

FloatArray = npt.NDArray[np.float64]
Tool = Literal["auto", "mmseqs", "kmers"]


def cluster_sequences(
    sequences: Sequence[str], *, similarity: float = 0.5, tool: Tool = "auto"
) -> tuple[list[str], str]:
    """Cluster sequences by identity.

    Parameters
    ----------
    sequences : sequence of str
        The n sequences; equal ones are in one cluster.
    similarity : float
        Least identity of a member with its representative. Below about 0.4 k-mers say little: related and unrelated
        sequences share as few.
    tool : {"auto", "mmseqs", "kmers"}
        MMseqs2, k-mers with `cluster_by_kmers`, or the first of them that is there.

    Returns
    -------
    clusters : list of str
        Representative of each row.
    how : str
        What clustered, in words.

    Raises
    ------
    RecipeError
        When MMseqs2 is asked for and not on the PATH, or fails.
    """
    distinct = list(dict.fromkeys(sequences))
    program = None if tool == "kmers" else mmseqs.find()
    if tool == "mmseqs" and program is None:
        raise RecipeError(
            "MMseqs2 is not installed", expected="mmseqs on the PATH", hint="split.clusters=kmers needs none"
        )
    if program is None:
        chosen, how = cluster_by_kmers(distinct, similarity=similarity), "k-mers"
    else:
        chosen = mmseqs.cluster(distinct, similarity=similarity, program=program)
        how = mmseqs.version(program)
    of = {sequence: distinct[place] for sequence, place in zip(distinct, chosen, strict=True)}
    return [of[sequence] for sequence in sequences], f"sequence identity {similarity:g} by {how}"


def cluster_by_kmers(sequences: Sequence[str], *, similarity: float) -> list[int]:
    """Greedy clusters of distinct sequences, the longest first, by the identity that shared k-mers let expect.

    A sequence joins the representative it is most similar to, if that is similar enough, and else becomes one itself.

    Returns
    -------
    list of int
        Place of each sequence's representative.
    """
    representative = list(range(len(sequences)))
    holders: dict[int, list[int]] = {}
    sizes = np.zeros(len(sequences), dtype=np.int64)
    for place in sorted(range(len(sequences)), key=lambda place: (-len(sequences[place]), place)):
        codes = kmer_codes(sequences[place]).tolist()
        sizes[place] = len(codes)
        met = [holder for code in codes for holder in holders.get(code, ())]
        best = _most_similar(met, sizes, len(codes), similarity)
        if best is not None:
            representative[place] = best
            continue
        for code in codes:
            holders.setdefault(code, []).append(place)
    return representative


def _most_similar(met: list[int], sizes: IntArray, size: int, similarity: float) -> int | None:
    """Representative with the highest identity; of several the first in the list of sequences."""
    if not met:
        return None
    candidates, shared = np.unique(met, return_counts=True)
    identity = estimated_identity(shared, np.minimum(sizes[candidates], size))
    best = int(identity.argmax())
    return int(candidates[best]) if identity[best] >= similarity else None


def cluster_compositions(compositions: Sequence[Mapping[str, float]], *, similarity: float) -> list[int]:
    """Greedy clusters of compositions in their order, by 1 less half the sum of the differences of their fractions.

    Parameters
    ----------
    compositions : sequence of mapping of str to float
        Fractions of the elements, summing to 1.
    similarity : float
        Least similarity of a member with its representative; 1 for equal compositions only.

    Returns
    -------
    list of int
        Place of each composition's representative.
    """
    fractions = composition_matrix(compositions)
    chosen = np.zeros(len(compositions), dtype=np.int64)
    count = 0
    found = []
    for place, own in enumerate(fractions):
        alike = 1 - np.abs(fractions[chosen[:count]] - own).sum(axis=1) / 2
        best = int(alike.argmax()) if count else -1
        # Fractions are rounded: a sum of equal ones may differ in the last bits.
        if count and alike[best] >= similarity - 1e-9:
            found.append(int(chosen[best]))
            continue
        chosen[count] = place
        count += 1
        found.append(place)
    return found


def composition_matrix(compositions: Sequence[Mapping[str, float]]) -> FloatArray:
    """Fractions (n, E) of the E elements that occur."""
    elements = sorted({symbol for one in compositions for symbol in one}, key=lambda symbol: INDEX[symbol])
    column = {symbol: index for index, symbol in enumerate(elements)}
    matrix = np.zeros((len(compositions), len(elements)))
    for row, one in enumerate(compositions):
        for symbol, fraction in one.items():
            matrix[row, column[symbol]] = fraction
    return matrix
