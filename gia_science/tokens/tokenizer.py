"""What every domain offers: read a text, name its identity, turn it into tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np

from gia_science.tokens.stream import IntArray, Reading, TokenStream
from gia_science.tokens.vocabulary import Vocabulary

ParsedT = TypeVar("ParsedT")


class DomainTokenizer(Protocol[ParsedT]):
    """Contract of a domain's tokenizer.

    Attributes
    ----------
    domain : str
        ``"protein"``, ``"smiles"`` or ``"composition"``.
    vocabulary : Vocabulary
        Tokens and their ids.
    feature_names : tuple of str
        Names of the F token features.
    context_buckets : tuple of int
        Size of each of the K context tables; context ids lie in ``[0, size)`` and 0 means none.
    edge_kind_names : tuple of str
        Names of the kinds of known edges.
    options : Mapping
        The options in force as plain JSON types. They are stored with a model: prediction takes none of its own.
    """

    @property
    def domain(self) -> str: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def context_buckets(self) -> tuple[int, ...]: ...
    @property
    def edge_kind_names(self) -> tuple[str, ...]: ...
    @property
    def options(self) -> Mapping[str, object]: ...

    def read(self, text: str) -> Reading[ParsedT]:
        """Read one text; raises `UnreadableInputError` (without a place) when it cannot be read."""
        ...

    def encode(self, reading: Reading[ParsedT]) -> TokenStream:
        """Tokens of a reading; the same stream for every spelling of the same thing."""
        ...

    def respell(self, reading: Reading[ParsedT], rng: np.random.Generator) -> TokenStream:
        """Tokens of another spelling of the same thing, for augmentation; `encode` where there is only one."""
        ...

    def places(self, reading: Reading[ParsedT], text: str) -> IntArray:
        """Place ``(L,)`` in the text of each unit of its reading, counted from 0.

        Letters for residues; for atoms their index in RDKit's reading of the text. The elements of a composition,
        which is a set, have the place of the reading: they stand by atomic number.
        """
        ...

    def names(self, reading: Reading[ParsedT], text: str) -> tuple[str, ...]:
        """Each of the L units of a reading in words: a residue's letter in the text, or the symbol of an element."""
        ...
