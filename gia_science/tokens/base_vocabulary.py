"""Vocabularies of pretrained models from elsewhere: their tokenizer.json, with Hugging Face's engine behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gia_science.errors import DefinitionError, Where
from gia_science.tokens.residues import LETTERS, STANDARD
from gia_science.tokens.stream import IntArray, TokenStream
from gia_science.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_WORD_MARKS = ("##", "Ġ", "▁")
"""How vocabularies mark that a token goes on with a word, or opens one."""
_ANY_RESIDUE = "X"


@dataclass(frozen=True)
class BaseVocabulary(Vocabulary):
    """The tokens of a pretrained model.

    Built with `of`. What a text is cut into, and which special tokens stand around it, is the file's affair; of a
    vocabulary of single residues the ids are looked up letter by letter, with or without blanks between them.

    Parameters
    ----------
    raw, tokens, pattern
        As in `Vocabulary`; there is no pattern. A number that stands for no token has the empty one.
    most_tokens : int
        Longest input of the model in tokens, special ones among them.
    """

    most_tokens: int = 0

    @classmethod
    def of(cls, text: str, *, most_tokens: int, where: Where | None = None) -> BaseVocabulary:
        """Read the text of a tokenizer.json; raises `DefinitionError` where the engine refuses it."""
        known = _engine(text, where=where).get_vocab(with_added_tokens=True)
        if not known:
            raise DefinitionError("the vocabulary is empty", where=where)
        tokens = [""] * (max(known.values()) + 1)
        for token, index in known.items():
            tokens[index] = token
        return cls(raw=text, tokens=tuple(tokens), pattern="", most_tokens=most_tokens)

    def __reduce__(self) -> tuple[object, ...]:
        return (_read_again, (self.raw, self.most_tokens))

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Id of each token."""
        return MappingProxyType({token: index for index, token in enumerate(self.tokens) if token})

    @property
    def unk_id(self) -> int:
        """Id given to whatever the vocabulary does not hold; -1 where there is none."""
        return self._unknown

    @cached_property
    def _unknown(self) -> int:
        model: dict[str, Any] = json.loads(self.raw)["model"]
        number = model.get("unk_id")
        if isinstance(number, int):
            return number
        return self.ids.get(str(model.get("unk_token")), -1)

    @cached_property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that stand for no part of a text, such as ``[CLS]``; not that of the unknown."""
        added = self._engine.get_added_tokens_decoder()
        return tuple(
            sorted(index for index, token in added.items() if token.special and index != self.unk_id)
        )

    @cached_property
    def mask_id(self) -> int:
        """Id of the token that hides another, ``[MASK]`` or ``<mask>``.

        Raises
        ------
        DefinitionError
            When there is none, as in vocabularies of causal models.
        """
        found = [index for index in self.special_ids if self.tokens[index].strip("[]<>").lower() == "mask"]
        if not found:
            raise DefinitionError("the vocabulary of the pretrained model has no token that hides another")
        return found[0]

    @cached_property
    def letters(self) -> IntArray | None:
        """Id of each of the residues `LETTERS`; None where tokens are pieces of sequences.

        Letters for more than one residue that the vocabulary lacks have the id of X where it has that.
        """
        special = {*self.special_ids, self.unk_id}
        plain = [token for index, token in enumerate(self.tokens) if token and index not in special]
        if any(len(bare) > 1 and set(bare) <= set(LETTERS) for bare in map(_bare, plain)):
            return None
        any_residue = self._single(_ANY_RESIDUE)
        ids = [
            self._single(letter, any_residue if letter not in STANDARD else self.unk_id) for letter in LETTERS
        ]
        if -1 in ids:
            raise DefinitionError(
                "the vocabulary of the pretrained model has no token for a residue, nor for the unknown",
                got=LETTERS[ids.index(-1)],
            )
        return np.array(ids, dtype=np.int64)

    @cached_property
    def around(self) -> tuple[IntArray, IntArray]:
        """Ids of the special tokens before and after a text."""
        encoding = self._engine.encode("A")
        places = np.flatnonzero(np.asarray(encoding.special_tokens_mask) == 0)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        return (ids[: places[0]], ids[places[-1] + 1 :]) if len(places) else (ids[:0], ids[:0])

    def pieces(self, text: str) -> Encoding:
        """The engine's tokens of a text, special ones around it."""
        return self._engine.encode(text)

    def unknown_share(self, streams: Iterable[TokenStream]) -> float:
        """Share of tokens, special ones apart, that the vocabulary does not hold."""
        unknown = total = 0
        for stream in streams:
            plain = stream.ids[~np.isin(stream.ids, self.special_ids)]
            unknown += int((plain == self.unk_id).sum())
            total += len(plain)
        return unknown / total if total else 0.0

    def _single(self, letter: str, otherwise: int | None = None) -> int:
        """Id of a letter as a token of its own."""
        found = self._engine.encode(letter, add_special_tokens=False).ids
        if len(found) == 1 and found[0] != self.unk_id:
            return int(found[0])
        return self.unk_id if otherwise is None else otherwise

    @cached_property
    def _engine(self) -> Tokenizer:
        return _engine(self.raw)


def parse_vocabulary(text: str, *, most_tokens: int | None) -> Vocabulary:
    """A stored vocabulary: that of a pretrained model where its longest input is given, else one of this package."""
    return Vocabulary.parse(text) if most_tokens is None else BaseVocabulary.of(text, most_tokens=most_tokens)


def _read_again(raw: str, most_tokens: int) -> BaseVocabulary:
    return BaseVocabulary.of(raw, most_tokens=most_tokens)


def _bare(token: str) -> str:
    for mark in _WORD_MARKS:
        token = token.removeprefix(mark)
    return token.upper()


def _engine(text: str, *, where: Where | None = None) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise DefinitionError(
            "vocabularies of pretrained models need the package tokenizers",
            hint='pip install "gia-science[hf]"',
        ) from error
    try:
        engine = Tokenizer.from_str(text)
    # The engine, written in Rust, raises nothing narrower.
    except Exception as error:
        raise DefinitionError("the vocabulary cannot be read", got=str(error), where=where) from error
    # What is too long is told, never cut or filled up in silence.
    engine.no_truncation()
    engine.no_padding()
    return engine
