"""Texts are read by their domain's policies, then written in a pretrained model's tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gia_science.errors import DefinitionError, UnreadableInputError
from gia_science.tokens.base_files import tokenizer_json
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer
from tests.bases import BERT


@pytest.fixture
def tokenizer(shared_base: Callable[[str], Path]) -> Callable[..., BaseTokenizer]:
    def make(family: str, domain: str, *, most_tokens: int = 64, **options: object) -> BaseTokenizer:
        vocabulary = BaseVocabulary.of(tokenizer_json(shared_base(family)), most_tokens=most_tokens)
        made = make_tokenizer(domain, options=options, vocabulary=vocabulary)
        assert isinstance(made, BaseTokenizer)
        return made

    return make


def test_residues_keep_the_places_of_the_text_and_special_tokens_have_none(
    tokenizer: Callable[..., BaseTokenizer],
) -> None:
    protein = tokenizer("bert", "protein", gaps="drop")
    reading = protein.read("m-kUOJ*")
    stream = protein.encode(reading)
    assert [BERT[index] for index in stream.ids] == ["[CLS]", *"MKCKX", "[SEP]"]
    assert stream.units.tolist() == [-1, 0, 2, 3, 4, 5, -1]
    assert protein.places(reading, "m-kUOJ*").tolist() == [0, 2, 3, 4, 5]
    assert any("U read as C" in note for note in reading.notes)
    assert protein.token_per_unit


def test_the_policy_for_unknown_letters_is_the_projects(tokenizer: Callable[..., BaseTokenizer]) -> None:
    with pytest.raises(UnreadableInputError, match="non-standard letter 'J' at position 3"):
        tokenizer("esm", "protein", unknown="error").read("MKJ")


def test_all_spellings_of_a_molecule_are_one_text(tokenizer: Callable[..., BaseTokenizer]) -> None:
    smiles = tokenizer("roberta", "smiles")
    first, second = (smiles.encode(smiles.read(text)) for text in ("OCC", "C(C)O"))
    assert np.array_equal(first.ids, second.ids)
    assert not smiles.token_per_unit


def test_a_piece_stands_for_the_first_atom_that_it_opens(tokenizer: Callable[..., BaseTokenizer]) -> None:
    smiles = tokenizer("roberta", "smiles")
    reading = smiles.read("ClC1CCCCC1")
    stream = smiles.encode(reading)
    pieces = smiles.vocabulary.pieces(reading.identity)
    atoms = -1
    for token, unit in zip(pieces.tokens, stream.units.tolist(), strict=True):
        opened = sum(letter in "CNOc" for letter in token) if not token.startswith("<") else 0
        assert unit == (atoms + 1 if opened else -1)
        atoms += opened
    assert atoms == reading.length - 1


def test_another_spelling_is_the_same_molecule(tokenizer: Callable[..., BaseTokenizer]) -> None:
    smiles = tokenizer("roberta", "smiles")
    reading = smiles.read("CC(=O)Nc1ccc(O)cc1")
    rng = np.random.default_rng(0)
    texts = {
        "".join(smiles.vocabulary.tokens[index] for index in smiles.respell(reading, rng).ids[1:-1])
        for _ in range(5)
    }
    assert len(texts) > 1
    assert {smiles.read(text).identity for text in texts} == {reading.identity}


def test_more_tokens_than_the_model_takes_are_an_error_of_that_row(
    tokenizer: Callable[..., BaseTokenizer],
) -> None:
    smiles = tokenizer("roberta", "smiles", most_tokens=8)
    with pytest.raises(UnreadableInputError, match=r"got \d+ tokens, expected at most 8"):
        smiles.read("CC(=O)Nc1ccc(O)cc1")


def test_a_letter_that_the_engine_drops_in_silence_is_an_error() -> None:
    text = (
        '{"version": "1.0", "added_tokens": [], "pre_tokenizer": null, "normalizer": null, "model": {"type": "BPE", '
        '"vocab": {"C": 0, "O": 1}, "merges": [], "unk_token": null, "dropout": null, "fuse_unk": false}}'
    )
    tokenizer = make_tokenizer("smiles", vocabulary=BaseVocabulary.of(text, most_tokens=9))
    assert tokenizer.encode(tokenizer.read("CO")).ids.tolist() == [0, 1]
    with pytest.raises(UnreadableInputError, match="no token for 'N'"):
        tokenizer.read("CN")


def test_compositions_have_no_such_models(shared_base: Callable[[str], Path]) -> None:
    vocabulary = BaseVocabulary.of(tokenizer_json(shared_base("bert")), most_tokens=9)
    with pytest.raises(DefinitionError, match="do not read composition"):
        make_tokenizer("composition", vocabulary=vocabulary)


def test_a_featurizer_comes_back_from_its_files(tokenizer: Callable[..., BaseTokenizer]) -> None:
    protein = tokenizer("esm", "protein")
    featurizer = Featurizer(
        protein, source=DescriptorSource(providers=(), columns=()), scalings=(), max_length=20
    )
    stored = featurizer.to_json()
    again = Featurizer.from_json(stored, vocabulary=protein.vocabulary)
    assert isinstance(again.tokenizer, BaseTokenizer)
    assert again.to_json() == stored
    long = again.example(again.read("M" * 30, long="truncate"))
    assert len(long) == 22
    assert long.stream.ids[-1] == protein.vocabulary.around[1][0]
