"""Vocabularies of pretrained models: letters looked up one by one, special tokens at their places, unknowns counted."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gia_science.errors import DefinitionError
from gia_science.tokens.base_files import said_length, tokenizer_json
from gia_science.tokens.base_vocabulary import BaseVocabulary, parse_vocabulary
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.residues import LETTERS
from tests.bases import BERT, ESM

Shared = Callable[[str], Path]


@pytest.fixture
def vocabulary(shared_base: Shared) -> Callable[[str], BaseVocabulary]:
    return lambda family: BaseVocabulary.of(tokenizer_json(shared_base(family)), most_tokens=64)


@pytest.mark.parametrize(
    ("family", "tokens", "before", "after"),
    [("bert", BERT, "[CLS]", "[SEP]"), ("esm", ESM, "<cls>", "<eos>"), ("gpt2", ESM, "", "")],
)
def test_each_letter_has_the_id_that_the_file_gives_it(
    vocabulary: Callable[[str], BaseVocabulary], family: str, tokens: tuple[str, ...], before: str, after: str
) -> None:
    """J, which neither model has, is read as X: any residue."""
    found = vocabulary(family)
    assert found.tokens == tokens
    assert found.letters is not None
    assert [tokens[index] for index in found.letters] == list(LETTERS.replace("J", "X"))
    around = [[tokens[index] for index in ids] for ids in found.around]
    assert around == [[before] if before else [], [after] if after else []]


def test_a_letter_without_a_token_is_unknown_never_something_else() -> None:
    text = '{"model": {"type": "WordLevel", "vocab": {"<u>": 0, "A": 1, "X": 2}, "unk_token": "<u>"}}'
    whole = text.replace("{", '{"version": "1.0", "added_tokens": [], ', 1)
    found = BaseVocabulary.of(whole, most_tokens=10)
    assert found.letters is not None
    assert found.letters.tolist() == [1 if x == "A" else 2 if x in "BZJX" else 0 for x in LETTERS]


def test_letters_match_transformers_own_tokenizer_with_blanks_between(shared_base: Shared) -> None:
    """The oracle for models that want blanks between residues."""
    transformers = pytest.importorskip("transformers")
    vocab = {token: index for index, token in enumerate(BERT)}
    theirs = transformers.BertTokenizer(vocab=vocab, do_lower_case=False)
    own = make_tokenizer(
        "protein", vocabulary=BaseVocabulary.of(tokenizer_json(shared_base("bert")), most_tokens=64)
    )
    stream = own.encode(own.read("mktayiakqX"))
    assert stream.ids.tolist() == theirs("M K T A Y I A K Q X")["input_ids"]


def test_what_a_file_says_of_cutting_and_filling_up_is_not_done(
    vocabulary: Callable[[str], BaseVocabulary],
) -> None:
    found = vocabulary("gpt2")
    assert len(found.pieces("M" * 30).ids) == 30
    assert len(found.pieces("M").ids) == 1


def test_pieces_of_sequences_are_no_letters() -> None:
    from tokenizers.implementations import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        ["MKTAYIAK"] * 10, vocab_size=300, special_tokens=["<pad>"], show_progress=False
    )
    assert BaseVocabulary.of(trained.to_str(), most_tokens=10).letters is None


def test_unknown_tokens_are_counted_without_special_ones(vocabulary: Callable[[str], BaseVocabulary]) -> None:
    found = vocabulary("bert")
    tokenizer = make_tokenizer("protein", vocabulary=found)
    stream = tokenizer.encode(tokenizer.read("MKTA"))
    assert found.unknown_share([stream]) == 0
    ids = stream.ids.copy()
    ids[1] = found.unk_id
    changed = type(stream)(**{**{n: getattr(stream, n) for n in stream.__slots__}, "ids": ids})
    assert found.unknown_share([stream, changed]) == 1 / 8


def test_it_survives_storage_and_pickling(vocabulary: Callable[[str], BaseVocabulary]) -> None:
    found = vocabulary("esm")
    again = parse_vocabulary(found.raw, most_tokens=64)
    assert isinstance(again, BaseVocabulary)
    assert again == found == pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.letters, found.letters)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"model": {"type": "WordLevel"}}'])
def test_a_damaged_file_is_told_in_one_line(text: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be read") as error:
        BaseVocabulary.of(text, most_tokens=1)
    assert "\n" not in str(error.value)


def test_older_files_are_put_together(
    make_base: Callable[..., Path], change_json: Callable[..., None]
) -> None:
    folder = make_base("roberta")
    found = BaseVocabulary.of(tokenizer_json(folder), most_tokens=64)
    pieces = found.pieces("c1ccccc1").tokens
    assert (pieces[0], pieces[-1], "".join(pieces[1:-1])) == ("<s>", "</s>", "c1ccccc1")
    assert len(pieces) < 2 + len("c1ccccc1")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 32}')
    assert said_length(folder) == 32
    change_json(folder / "tokenizer_config.json", model_max_length=10**30)
    assert said_length(folder) is None


def test_a_vocabulary_without_capitals_lowers_letters(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*BERT[:5], *"acdefghiklmnpqrstvwyx"]))
    found = BaseVocabulary.of(tokenizer_json(tmp_path), most_tokens=9)
    assert found.letters is not None
    assert found.letters[0] == 5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (None, "", "no vocabulary"),
        ("vocab.txt", "A\nB", "of another kind"),
        ("vocab.txt", "[CLS]\n[UNK]", "lacks a special token"),
        ("tokenizer_config.json", "[]", "no vocabulary"),
    ],
)
def test_a_folder_without_a_vocabulary_of_use_is_told(
    tmp_path: Path, name: str | None, content: str, message: str
) -> None:
    if name:
        (tmp_path / name).write_text(content)
    with pytest.raises(DefinitionError, match=message):
        tokenizer_json(tmp_path)


def test_the_token_that_hides_others_is_found_by_its_name() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    for tokens, expected in (
        (("<unk>", "A", "<mask>"), 2),
        (("[UNK]", "[MASK]", "A"), 1),
        (("<unk>", "A"), None),
    ):
        engine = Tokenizer(
            WordLevel({token: place for place, token in enumerate(tokens)}, unk_token=tokens[0])
        )
        engine.add_special_tokens([token for token in tokens if token != "A"])
        vocabulary = BaseVocabulary.of(engine.to_str(), most_tokens=9)
        if expected is None:
            with pytest.raises(DefinitionError, match="no token that hides another"):
                _ = vocabulary.mask_id
        else:
            assert vocabulary.mask_id == expected
