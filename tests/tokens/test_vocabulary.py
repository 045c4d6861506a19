"""The vocabulary reads Hugging Face's file strictly and splits text as Hugging Face's engine does."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from gia_science import catalog
from gia_science.errors import DefinitionError
from gia_science.tokens.vocabulary import SPECIAL_TOKENS, Vocabulary

PROTEIN = catalog.find("tokenizers", "protein")
PATHS = [catalog.find("tokenizers", name) for name in catalog.names("tokenizers")]
BY_NAME = {path.stem: (Vocabulary.load(path), Tokenizer.from_file(str(path))) for path in PATHS}


def content() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(PROTEIN.read_text(encoding="utf-8"))
    return parsed


@pytest.mark.parametrize("name", BY_NAME)
def test_special_tokens_have_the_first_ids(name: str) -> None:
    vocabulary = BY_NAME[name][0]
    ids = (
        vocabulary.pad_id,
        vocabulary.unk_id,
        vocabulary.cls_id,
        vocabulary.eos_id,
        vocabulary.mask_id,
    )
    assert ids == (0, 1, 2, 3, 4)
    assert tuple(vocabulary.tokens[:5]) == SPECIAL_TOKENS
    assert [vocabulary.ids[token] for token in vocabulary.tokens] == list(range(len(vocabulary)))


@pytest.mark.parametrize("name", BY_NAME)
def test_raw_text_is_the_file_byte_for_byte(name: str) -> None:
    assert BY_NAME[name][0].raw.encode() == catalog.find("tokenizers", name).read_bytes()


@pytest.mark.parametrize("name", BY_NAME)
def test_survives_pickling_for_worker_processes(name: str) -> None:
    vocabulary = BY_NAME[name][0]
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary
    assert again.tokens == vocabulary.tokens
    assert again.ids == vocabulary.ids


@pytest.mark.parametrize("name", BY_NAME)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=40))
def test_any_text_is_split_and_numbered_as_by_hugging_face(name: str, text: str) -> None:
    """`<` is left out: only Hugging Face reads special tokens inside a text."""
    vocabulary, reference = BY_NAME[name]
    encoding = reference.encode(text, add_special_tokens=False)
    assert vocabulary.encode(text).tolist() == encoding.ids
    assert "".join(vocabulary.split(text)) == text
    assert [text[start:end] for start, end in encoding.offsets] == vocabulary.split(text)


def test_special_tokens_in_a_text_are_not_special() -> None:
    assert not {0, 2, 3, 4} & set(BY_NAME["smiles"][0].encode("<pad><cls><eos><mask>").tolist())


def test_empty_text_has_no_tokens() -> None:
    for vocabulary, _ in BY_NAME.values():
        assert vocabulary.encode("").dtype == np.int64
        assert len(vocabulary.encode("")) == 0


def test_text_between_matches_is_a_piece_of_its_own() -> None:
    changed = content()
    changed["pre_tokenizer"]["pattern"]["Regex"] = "[AC]"
    text = json.dumps(changed)
    vocabulary = Vocabulary.parse(text)
    assert vocabulary.split("ADEC") == ["A", "DE", "C"]
    assert vocabulary.encode("ADEC").tolist() == Tokenizer.from_str(text).encode("ADEC").ids[1:-1]


def set_at(*keys: str, to: object) -> Callable[[dict[str, Any]], None]:
    def change(parsed: dict[str, Any]) -> None:
        for key in keys[:-1]:
            parsed = parsed[key]
        parsed[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parsed: parsed.pop("model"), "lacks a part.*model"),
        (lambda parsed: parsed["added_tokens"].pop(), "<mask>"),
        (lambda parsed: parsed["model"]["vocab"].pop("<mask>"), "consecutive.*28 for 'X'"),
        (set_at("model", "vocab", "A", to=6), "consecutive.*6 for 'A', 6 for 'C'"),
        (set_at("model", "vocab", "A", to=600), "consecutive.*600 for 'A'"),
        (set_at("model", "vocab", "A", to="5"), "whole numbers"),
        (set_at("model", "vocab", to={"A": 0}), "special tokens"),
        (set_at("model", "vocab", to={}), "special tokens"),
        (set_at("model", "type", to="BPE"), "WordLevel"),
        (set_at("model", "unk_token", to="X"), "unk_token"),
        (set_at("pre_tokenizer", "behavior", to="Removed"), "Isolated"),
        (set_at("pre_tokenizer", "pattern", "Regex", to="("), "not valid"),
        (set_at("pre_tokenizer", "pattern", "Regex", to="(A)"), "capturing"),
        (set_at("normalizer", to={"type": "Lowercase"}), "normalizer"),
    ],
)
def test_damaged_definitions_are_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    changed = copy.deepcopy(content())
    change(changed)
    with pytest.raises(DefinitionError, match=message):
        Vocabulary.parse(json.dumps(changed))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"model": 1}', "[" * 100_000])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError):
        Vocabulary.parse(text)


def test_a_token_named_twice_is_refused() -> None:
    """Plain JSON keeps the last of two equal keys without a word."""
    text = PROTEIN.read_text(encoding="utf-8").replace('"A": 5', '"A": 5, "A": 5')
    with pytest.raises(DefinitionError, match=r"twice.*'A'"):
        Vocabulary.parse(text)


def test_errors_of_load_name_the_file(tmp_path: Any) -> None:
    missing = tmp_path / "missing.json"
    with pytest.raises(DefinitionError, match=r"missing\.json"):
        Vocabulary.load(missing)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(DefinitionError, match=r"binary\.json.*UTF-8"):
        Vocabulary.load(binary)
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{")
    with pytest.raises(DefinitionError, match=r"damaged\.json.*JSON"):
        Vocabulary.load(damaged)
