"""Tokens and their ids, in Hugging Face's tokenizer.json format but with an engine of our own.

The file is what other tools read; `re` and a numpy table are several times faster than its usual engine on
SMILES and on residues.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gia_science.errors import DefinitionError, Where
from gia_science.tokens.stream import IntArray

SPECIAL_TOKENS = ("<pad>", "<unk>", "<cls>", "<eos>", "<mask>")
_ANY_CHARACTER = (".", r"[\s\S]")
_TABLE_SIZE = 256


@dataclass(frozen=True)
class Vocabulary:
    """The closed set of tokens of a domain and the rule that splits text into them.

    Built with `load` or `parse`. Two vocabularies are equal when their files are.

    Parameters
    ----------
    raw : str
        The whole tokenizer.json as it was read, so that a copy of it is byte-identical.
    tokens : tuple of str
        Token of each id, ``<pad> <unk> <cls> <eos> <mask>`` first.
    pattern : str
        Regular expression whose matches are the tokens of a text. What lies between matches is a piece too.
    """

    raw: str = field(repr=False)
    tokens: tuple[str, ...] = field(compare=False, repr=False)
    pattern: str = field(compare=False)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read a tokenizer.json.

        Raises
        ------
        DefinitionError
            When the file is missing, damaged, or not a word-level tokenizer with our special tokens.
        """
        where = Where(file=str(path))
        try:
            raw = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise DefinitionError("cannot open the vocabulary", got=error.strerror, where=where) from error
        except UnicodeDecodeError as error:
            raise DefinitionError("vocabulary is not UTF-8 text", where=where) from error
        return cls.parse(raw, where=where)

    @classmethod
    def parse(cls, text: str, *, where: Where | None = None) -> Vocabulary:
        """Read the text of a tokenizer.json; raises `DefinitionError` as `load` does."""
        try:
            content = json.loads(text, object_pairs_hook=_without_repeats)
        except DefinitionError as error:
            raise DefinitionError(error.what, got=error.got, where=where) from error
        except (json.JSONDecodeError, RecursionError) as error:
            raise DefinitionError("vocabulary is not valid JSON", got=str(error), where=where) from error
        try:
            tokens = _tokens(content)
            pattern = _pattern(content)
        except DefinitionError as error:
            error.where = where
            raise
        return cls(raw=text, tokens=tokens, pattern=pattern)

    def __len__(self) -> int:
        return len(self.tokens)

    def __reduce__(self) -> tuple[object, ...]:
        # The derived attributes (a read-only mapping among them) cannot be pickled; they are cheap to make.
        return (Vocabulary.parse, (self.raw,))

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Id of each token."""
        return MappingProxyType({token: index for index, token in enumerate(self.tokens)})

    @property
    def pad_id(self) -> int:
        """Id of ``<pad>``."""
        return 0

    @property
    def unk_id(self) -> int:
        """Id of ``<unk>``, given to whatever the vocabulary does not hold."""
        return 1

    @property
    def cls_id(self) -> int:
        """Id of ``<cls>``, which opens a stream."""
        return 2

    @property
    def eos_id(self) -> int:
        """Id of ``<eos>``, which closes a stream."""
        return 3

    @property
    def mask_id(self) -> int:
        """Id of ``<mask>``, which hides a token in pretraining."""
        return 4

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that stand for no part of a text; not that of the unknown."""
        return (self.pad_id, self.cls_id, self.eos_id, self.mask_id)

    def split(self, text: str) -> list[str]:
        """Pieces of a text; joined together they are the text."""
        if self._table is not None:
            return list(text)
        pieces = self._regex.findall(text)
        return pieces if sum(map(len, pieces)) == len(text) else self._split_with_gaps(text)

    def encode(self, text: str) -> IntArray:
        """Ids of the pieces of a text.

        Parameters
        ----------
        text : str
            Text without special tokens; ``<cls>`` in it is not the token of that name.

        Returns
        -------
        (N,) int64
            Without ``<cls>`` and ``<eos>``; `unk_id` for pieces that the vocabulary does not hold.
        """
        if self._table is not None:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            ids: IntArray = self._table[np.minimum(codes, _TABLE_SIZE)]
            return ids
        pieces = self.split(text)
        get, unknown = self._plain_ids.get, self.unk_id
        return np.fromiter((get(piece, unknown) for piece in pieces), dtype=np.int64, count=len(pieces))

    @cached_property
    def _plain_ids(self) -> dict[str, int]:
        return {token: index for token, index in self.ids.items() if token not in SPECIAL_TOKENS}

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _table(self) -> IntArray | None:
        """Id of each character code, the last entry for all codes beyond; None where tokens are longer."""
        plain = self._plain_ids
        single = all(len(token) == 1 and ord(token) < _TABLE_SIZE for token in plain)
        if not (single and self.pattern in _ANY_CHARACTER):
            return None
        table = np.full(_TABLE_SIZE + 1, self.unk_id, dtype=np.int64)
        for token, index in plain.items():
            table[ord(token)] = index
        return table

    def _split_with_gaps(self, text: str) -> list[str]:
        pieces: list[str] = []
        end = 0
        for match in self._regex.finditer(text):
            pieces += [text[end : match.start()], match.group()]
            end = match.end()
        return [piece for piece in [*pieces, text[end:]] if piece]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise DefinitionError("vocabulary names a key or token twice", got=repr(key))
        content[key] = value
    return content


def _part(content: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(content, dict) or key not in content:
            raise DefinitionError("vocabulary lacks a part", expected=".".join(keys))
        content = content[key]
    return content


def _tokens(content: Any) -> tuple[str, ...]:
    kind = _part(content, "model", "type")
    if kind != "WordLevel":
        raise DefinitionError("vocabulary of another kind", got=repr(kind), expected="'WordLevel'")
    vocab = _part(content, "model", "vocab")
    if not isinstance(vocab, dict) or not all(type(index) is int for index in vocab.values()):
        raise DefinitionError("model.vocab does not map tokens to whole numbers")
    ordered = sorted(vocab, key=vocab.__getitem__)
    if [vocab[token] for token in ordered] != list(range(len(vocab))):
        counts = Counter(vocab.values())
        wrong = [
            f"{index} for {token!r}"
            for token, index in vocab.items()
            if counts[index] > 1 or not 0 <= index < len(vocab)
        ]
        raise DefinitionError(
            "ids of the vocabulary are not consecutive",
            got=", ".join(wrong[:3]),
            expected=f"0 to {len(vocab) - 1}, each once",
        )
    if tuple(ordered[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
        raise DefinitionError(
            "special tokens are missing or not the first ids",
            got=" ".join(ordered[: len(SPECIAL_TOKENS)]) or "none",
            expected=" ".join(SPECIAL_TOKENS),
        )
    if content["model"].get("unk_token") != "<unk>":
        raise DefinitionError("model.unk_token is not <unk>", got=repr(content["model"].get("unk_token")))
    _check_added(_part(content, "added_tokens"), vocab)
    return tuple(ordered)


def _check_added(added: Any, vocab: dict[str, int]) -> None:
    entries = added if isinstance(added, list) else []
    special = {
        entry.get("content"): entry.get("id")
        for entry in entries
        if isinstance(entry, dict) and entry.get("special")
    }
    for token in SPECIAL_TOKENS:
        if special.get(token) != vocab[token]:
            raise DefinitionError(
                "added_tokens does not declare a special token", expected=f"{token} with id {vocab[token]}"
            )


def _pattern(content: Any) -> str:
    splitter = _part(content, "pre_tokenizer")
    pattern = _part(content, "pre_tokenizer", "pattern", "Regex")
    settings = (splitter.get("type"), splitter.get("behavior"), splitter.get("invert"))
    if settings != ("Split", "Isolated", False) or not isinstance(pattern, str):
        raise DefinitionError("pre_tokenizer is not a Split with a Regex, Isolated and not inverted")
    if content.get("normalizer") is not None:
        raise DefinitionError(
            "vocabulary has a normalizer", expected="null: texts are read before they are split"
        )
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise DefinitionError("the pattern of the vocabulary is not valid", got=str(error)) from error
    if groups:
        raise DefinitionError("the pattern of the vocabulary has capturing groups", expected="(?:...)")
    return pattern
