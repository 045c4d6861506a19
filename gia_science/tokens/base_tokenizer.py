"""Tokens for a pretrained model: text is read as its domain reads it, then written with the model's vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from rdkit import rdBase

from gia_science.errors import DefinitionError, UnreadableInputError
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.protein import ProteinSequence, letter_index
from gia_science.tokens.smiles import SmilesTokenizer, atom_places, random_spelling
from gia_science.tokens.stream import IntArray, Reading, TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer

DOMAINS: Final = ("protein", "smiles")
"""Domains that pretrained models read."""


class BaseTokenizer:
    """Tokenizer of a pretrained model within a domain.

    Special tokens stand where the vocabulary's file puts them and stand for no residue. There are no features,
    contexts or known edges: the model knows none.

    Parameters
    ----------
    inner : DomainTokenizer
        Reads the text: its options decide on unknown letters, gaps, isotopes and the like.
    vocabulary : BaseVocabulary
        Of the model.

    Raises
    ------
    DefinitionError
        For compositions, which are no text.
    """

    feature_names: Final[tuple[str, ...]] = ()
    context_buckets: Final[tuple[int, ...]] = ()
    edge_kind_names: Final[tuple[str, ...]] = ()

    def __init__(self, inner: DomainTokenizer[Any], *, vocabulary: BaseVocabulary) -> None:
        if inner.domain not in DOMAINS:
            raise DefinitionError(
                f"pretrained models of other sources do not read {inner.domain} input",
                expected=" or ".join(DOMAINS),
            )
        self._inner = inner
        self._vocabulary = vocabulary
        self._letters = vocabulary.letters if inner.domain == "protein" else None

    @property
    def domain(self) -> str:
        """``"protein"`` or ``"smiles"``."""
        return self._inner.domain

    @property
    def vocabulary(self) -> BaseVocabulary:
        """Tokens and their ids."""
        return self._vocabulary

    @property
    def options(self) -> Mapping[str, object]:
        """Options of the domain's own tokenizer."""
        return self._inner.options

    @property
    def token_per_unit(self) -> bool:
        """Whether each residue has a token of its own; pieces of SMILES and of sequences have none."""
        return self._letters is not None

    def read(self, text: str) -> Reading[Any]:
        """Read one text as the domain does.

        Raises
        ------
        UnreadableInputError
            When the domain cannot read it, or the vocabulary cuts it into more tokens than the model takes, or has
            no token at all for a part of it.
        """
        reading = self._inner.read(text)
        if not self.token_per_unit:
            self._check_pieces(_written(reading))
        return reading

    def encode(self, reading: Reading[Any]) -> TokenStream:
        """Tokens of a reading."""
        if isinstance(reading.parsed, ProteinSequence):
            if self._letters is not None:
                return self._residues(reading.parsed, self._letters)
            return self._pieces(reading.parsed.residues, np.arange(reading.length), reading.parsed.units)
        return self._smiles(reading.identity, range(reading.length))

    def respell(self, reading: Reading[Any], rng: np.random.Generator) -> TokenStream:
        """Tokens of a random SMILES of the molecule, where the model can read it; `encode` for a protein."""
        if isinstance(reading.parsed, ProteinSequence):
            return self.encode(reading)
        with rdBase.BlockLogs():
            stream = self._smiles(*random_spelling(reading.parsed, rng))
        return stream if len(stream) <= self._vocabulary.most_tokens else self.encode(reading)

    def places(self, reading: Reading[Any], text: str) -> IntArray:
        """As the domain's own tokenizer."""
        return self._inner.places(reading, text)

    def names(self, reading: Reading[Any], text: str) -> tuple[str, ...]:
        """As the domain's own tokenizer."""
        return self._inner.names(reading, text)

    def _residues(self, parsed: ProteinSequence, letters: IntArray) -> TokenStream:
        before, after = self._vocabulary.around
        ids = np.concatenate([before, letters[letter_index(parsed.residues)], after])
        units = np.full(len(ids), -1, dtype=np.int64)
        units[len(before) : len(ids) - len(after)] = parsed.units
        return _stream(ids, units)

    def _smiles(self, smiles: str, order: Sequence[int]) -> TokenStream:
        assert isinstance(self._inner, SmilesTokenizer)
        parts = self._inner.vocabulary.split(smiles)
        starts = np.cumsum([0, *(len(part) for part in parts)])[atom_places(parts)]
        return self._pieces(smiles, starts, np.asarray(order, dtype=np.int64))

    def _pieces(self, text: str, starts: IntArray, units: IntArray) -> TokenStream:
        """Stream of a text whose k-th unit begins at character ``starts[k]``; a token has the first that it opens."""
        encoding = self._vocabulary.pieces(text)
        spans = np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(starts, spans[:, 0])
        opened = starts[np.minimum(first, len(starts) - 1)]
        inside = (
            (np.asarray(encoding.special_tokens_mask) == 0) & (first < len(starts)) & (opened < spans[:, 1])
        )
        found = np.where(inside, units[np.minimum(first, len(units) - 1)], -1)
        return _stream(np.asarray(encoding.ids, dtype=np.int64), found)

    def _check_pieces(self, text: str) -> None:
        encoding, most = self._vocabulary.pieces(text), self._vocabulary.most_tokens
        if len(encoding.ids) > most:
            raise UnreadableInputError(
                "longer than the pretrained model allows",
                got=f"{len(encoding.ids)} tokens",
                expected=f"at most {most}",
            )
        covered = np.zeros(len(text), dtype=bool)
        for (start, stop), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True):
            covered[start:stop] |= not special
        if not covered.all():
            place = int(np.argmin(covered))
            raise UnreadableInputError(
                f"the pretrained model has no token for {text[place]!r}", got=repr(text[:80])
            )


def _written(reading: Reading[Any]) -> str:
    """The text that the model is given."""
    parsed = reading.parsed
    return parsed.residues if isinstance(parsed, ProteinSequence) else reading.identity


def _stream(ids: IntArray, units: IntArray) -> TokenStream:
    """Tokens that have nothing but their ids, places and units."""
    n = len(ids)
    return TokenStream(
        ids=ids,
        values=np.zeros(n, dtype=np.float32),
        positions=np.arange(n, dtype=np.int64),
        features=np.zeros((n, 0), dtype=np.float32),
        contexts=np.zeros((n, 0), dtype=np.int64),
        edges=np.zeros((0, 2), dtype=np.int64),
        edge_kinds=np.zeros(0, dtype=np.int64),
        units=units,
    )
