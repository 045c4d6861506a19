"""The vocabulary in the folder of a pretrained model, as one tokenizer.json, whatever files it came in.

The older files (vocab.txt, vocab.json with merges.txt) say which tokens there are, not how text is cut: that is what
BERT, ESM, RoBERTa and GPT-2 do with such files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gia_science.errors import DefinitionError, Where

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
"""Files that may say something of the vocabulary."""
_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ESM = ("<cls>", "<pad>", "<eos>", "<unk>", "<mask>")
_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_LARGEST_CONFIG_LENGTH = 1_000_000
"""Larger ones mean that nobody said how long inputs may be."""


def tokenizer_json(folder: Path) -> str:
    """Text of the tokenizer.json of a folder, made from the older files where there is none.

    Raises
    ------
    DefinitionError
        When there is no vocabulary, or one that cannot be read.
    """
    if (folder / "tokenizer.json").is_file():
        return _text(folder / "tokenizer.json")
    try:
        if (folder / "vocab.txt").is_file():
            return _from_lines(folder).to_str()
        if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
            return _from_merges(folder).to_str()
    except ImportError as error:
        raise DefinitionError(
            "vocabularies of pretrained models need the package tokenizers",
            hint='pip install "gia-science[hf]"',
        ) from error
    raise DefinitionError(
        "the pretrained model has no vocabulary that can be read",
        expected="tokenizer.json, vocab.txt, or vocab.json with merges.txt",
        where=Where(file=str(folder)),
    )


def said_length(folder: Path) -> int | None:
    """Longest input in tokens that tokenizer_config.json speaks of; None where it says nothing of use."""
    length = _settings(folder).get("model_max_length")
    return length if isinstance(length, int) and 0 < length < _LARGEST_CONFIG_LENGTH else None


def _from_lines(folder: Path) -> Tokenizer:
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel, WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer, Split

    lines = _text(folder / "vocab.txt").splitlines()
    vocabulary = {token: index for index, token in enumerate(lines)}
    if "[CLS]" in vocabulary and "[UNK]" in vocabulary:
        tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=_BERT[1]))
        tokenizer.normalizer = BertNormalizer(lowercase=_lowers(folder, lines))
        tokenizer.pre_tokenizer = BertPreTokenizer()
        return _closed(tokenizer, vocabulary, special=_BERT, opening="[CLS]", closing="[SEP]")
    if "<cls>" in vocabulary and "<unk>" in vocabulary:
        tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=_ESM[3]))
        tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
        return _closed(tokenizer, vocabulary, special=_ESM, opening="<cls>", closing="<eos>")
    raise DefinitionError(
        "a vocabulary of another kind",
        got=" ".join(lines[:5]),
        expected="[CLS] and [UNK], or <cls> and <unk>, among its tokens",
        where=Where(file=str(folder / "vocab.txt")),
    )


def _from_merges(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as ByteLevelDecoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel

    where = Where(file=str(folder / "vocab.json"))
    vocabulary = _object(folder / "vocab.json")
    lines = _text(folder / "merges.txt").splitlines()
    pairs = [line.split() for line in lines if line.strip() and not line.startswith("#version")]
    if not all(isinstance(index, int) for index in vocabulary.values()) or any(
        len(pair) != 2 for pair in pairs
    ):
        raise DefinitionError(
            "vocab.json and merges.txt are not those of a byte-level vocabulary", where=where
        )
    unknown = "<unk>" if "<unk>" in vocabulary else None
    merges = [(left, right) for left, right in pairs]
    tokenizer = Tokenizer(BPE(vocabulary, merges, unk_token=unknown))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    if "<s>" in vocabulary and "</s>" in vocabulary:
        return _closed(tokenizer, vocabulary, special=_ROBERTA, opening="<s>", closing="</s>")
    tokenizer.add_special_tokens([token for token in ("<|endoftext|>",) if token in vocabulary])
    return tokenizer


def _closed(
    tokenizer: Tokenizer, vocabulary: dict[str, int], *, special: tuple[str, ...], opening: str, closing: str
) -> Tokenizer:
    """The tokenizer with its special tokens, two of them around each text."""
    from tokenizers.processors import TemplateProcessing

    if closing not in vocabulary:
        raise DefinitionError("the vocabulary lacks a special token", expected=closing)
    tokenizer.add_special_tokens([token for token in special if token in vocabulary])
    tokenizer.post_processor = TemplateProcessing(
        single=f"{opening} $A {closing}",
        special_tokens=[(token, vocabulary[token]) for token in (opening, closing)],
    )
    return tokenizer


def _lowers(folder: Path, tokens: list[str]) -> bool:
    """Whether letters are lowered: as the folder says, or where no token has a capital."""
    said = _settings(folder).get("do_lower_case")
    if isinstance(said, bool):
        return said
    return not any(token != token.lower() for token in tokens if token not in _BERT)


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    return _object(path) if path.is_file() else {}


def _object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise DefinitionError("not JSON", got=str(error), where=Where(file=str(path))) from error
    if not isinstance(data, dict):
        raise DefinitionError("not a JSON object", where=Where(file=str(path)))
    return data


def _text(path: Path) -> str:
    where = Where(file=str(path))
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DefinitionError("cannot open the vocabulary", got=error.strerror, where=where) from error
    except UnicodeDecodeError as error:
        raise DefinitionError("the vocabulary is not UTF-8 text", where=where) from error
