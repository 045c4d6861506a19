"""The one currency of the package: text read in its domain, and the stream of tokens made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]

ParsedT = TypeVar("ParsedT")


@dataclass(frozen=True, slots=True)
class Reading(Generic[ParsedT]):
    """A text that its domain understood.

    Parameters
    ----------
    identity : str
        Canonical form. Two texts with one identity are the same thing: they get the same prediction
        and never stand on both sides of a split.
    parsed : ParsedT
        What tokens and descriptors are made from: the residues (`ProteinSequence`), the molecule
        (`rdkit.Chem.Mol`) or the element fractions (`dict[str, float]`).
    length : int
        Number of residues, atoms or elements.
    notes : tuple of str
        What was changed or assumed on the way, in words for the user.
    truncated : bool
        Whether a part of the text is not used, because it is longer than the model allows.
    """

    identity: str
    parsed: ParsedT
    length: int
    notes: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class TokenStream:
    """Everything the network knows of one input.

    Parameters
    ----------
    ids : (N,) int64
        Vocabulary index of each token.
    values : (N,) float32
        A number riding on the token (an element's fraction); 0 where there is none.
    positions : (N,) int64
        What rotary encoding sees. Equal positions mean no order.
    features : (N, F) float32
        What the token is: the properties of a residue, an atom or an element, standardised; 0 for others.
    contexts : (N, K) int64
        Hashed ids of the neighbourhood the token stands in; 0 means none.
    edges : (E, 2) int64
        Known graph as pairs of token indices, each undirected edge once.
    edge_kinds : (E,) int64
        Kind of each edge (bond type), counted from 0.
    units : (N,) int64
        Index of the residue, atom or element that the token stands for; -1 for special and syntax tokens.
        Residues are counted in the text as the user gave it, atoms and elements in the canonical form.
    """

    ids: IntArray
    values: FloatArray
    positions: IntArray
    features: FloatArray
    contexts: IntArray
    edges: IntArray
    edge_kinds: IntArray
    units: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def __post_init__(self) -> None:
        n = len(self.ids)
        for name in ("values", "positions", "features", "contexts", "units"):
            assert len(getattr(self, name)) == n, f"{name} must have one row per token"
        assert self.features.ndim == 2
        assert self.contexts.ndim == 2
        assert self.edges.shape == (len(self.edge_kinds), 2)
