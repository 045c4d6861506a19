"""The composition tokenizer: a set of elements with fractions, equal for equal compositions."""

import csv
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tokenizers import Tokenizer

from gia_science.catalog import find
from gia_science.errors import UnreadableInputError
from gia_science.tokens.composition import CompositionOptions, CompositionTokenizer
from gia_science.tokens.elements import INDEX, SYMBOLS, element_table
from gia_science.tokens.stream import TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.tokens.vocabulary import SPECIAL_TOKENS

TOKENIZER: DomainTokenizer[dict[str, float]] = CompositionTokenizer()
ARRAYS = ("ids", "values", "positions", "features", "contexts", "edges", "edge_kinds", "units")


def stream(text: str) -> TokenStream:
    return TOKENIZER.encode(TOKENIZER.read(text))


def assert_same(one: TokenStream, other: TokenStream) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_a_stream_is_cls_and_the_elements():
    found = stream("Fe2O3")
    ids = TOKENIZER.vocabulary.ids
    assert found.ids.tolist() == [TOKENIZER.vocabulary.cls_id, ids["O"], ids["Fe"]]
    assert found.values.tolist() == pytest.approx([0, 0.6, 0.4])
    assert found.positions.tolist() == [0, 0, 0]
    assert found.units.tolist() == [-1, 0, 1]
    assert found.contexts.shape == (3, len(TOKENIZER.context_buckets)) == (3, 0)
    assert found.edges.shape == (0, 2)
    assert found.features.shape == (3, len(TOKENIZER.feature_names))
    assert not found.features[0].any()
    np.testing.assert_array_equal(found.features[2], element_table().features[INDEX["Fe"]])


def test_array_types_are_those_of_the_contract():
    found = stream("Fe2O3")
    for name in ARRAYS:
        expected = np.float32 if name in ("values", "features") else np.int64
        assert getattr(found, name).dtype == expected, name


def test_reading_holds_fractions_in_order_of_atomic_number():
    reading = TOKENIZER.read("Fe2O3")
    assert list(reading.parsed) == ["O", "Fe"]
    assert reading.length == 2
    assert reading.identity == "O0.6Fe0.4"


def test_changing_a_reading_does_not_change_the_next():
    TOKENIZER.read("LiF").parsed.clear()
    assert list(TOKENIZER.read("LiF").parsed) == ["Li", "F"]


@pytest.mark.parametrize("text", ["FeNi", "Fe50Ni50", "Fe0.3Ni0.3", "NiFe", "Ni1Fe1"])
def test_equal_compositions_have_equal_streams(text: str):
    assert_same(stream(text), stream("Fe0.5Ni0.5"))


@given(st.permutations(["Fe2", "O3", "Ni0.31", "H7", "U1e-3"]))
def test_order_of_elements_does_not_matter(parts: list[str]):
    assert_same(stream("".join(parts)), stream("Fe2O3Ni0.31H7U1e-3"))


def test_there_is_one_spelling():
    reading = TOKENIZER.read("Fe2O3")
    assert_same(TOKENIZER.respell(reading, np.random.default_rng(0)), TOKENIZER.encode(reading))


def test_notes_reach_the_reading():
    assert TOKENIZER.read("D2O").notes == ("read as hydrogen: D",)


def test_options_are_in_force_plain_and_closed():
    strict = CompositionTokenizer(CompositionOptions(hydrates="refuse"))
    assert strict.options == {"hydrates": "refuse", "isotopes": "fold"}
    with pytest.raises(UnreadableInputError, match="hydrates"):
        strict.read("CuSO4.5H2O")
    assert TOKENIZER.read("CuSO4.5H2O").length == 4
    with pytest.raises(UnreadableInputError, match="isotopes are refused by an option: got D"):
        CompositionTokenizer(CompositionOptions(isotopes="refuse")).read("HDO")
    with pytest.raises(ValidationError):
        CompositionOptions.model_validate({"hydrate": "read"})


def test_a_tokenizer_reaches_worker_processes():
    again = pickle.loads(pickle.dumps(TOKENIZER))
    assert_same(again.encode(again.read("Fe2O3")), stream("Fe2O3"))


def test_vocabulary_is_special_tokens_and_the_elements_by_atomic_number():
    assert TOKENIZER.vocabulary.tokens == SPECIAL_TOKENS + SYMBOLS


def test_hugging_face_opens_the_definition_and_gives_the_same_ids():
    engine = Tokenizer.from_file(str(find("tokenizers", "composition")))
    assert engine.encode("FeNi").ids == TOKENIZER.vocabulary.encode("FeNi").tolist()
    assert engine.encode("FeNi").tokens == ["Fe", "Ni"]
    assert sorted(engine.encode("NiFe").ids) == sorted(stream("FeNi").ids[1:].tolist())


@pytest.mark.skipif("GIA_DATA_MIRROR" not in os.environ, reason="needs the data files of GIA_DATA_MIRROR")
def test_superconductors_are_read_but_for_eight_broken_formulas():
    path = Path(os.environ["GIA_DATA_MIRROR"]) / "materials" / "supercon_stanev.csv"
    refused = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                TOKENIZER.read(row["name"])
            except UnreadableInputError:
                refused.append(row["name"])
    assert len(refused) == 8
    assert "Sm1Ba-1Cu3O6.94" in refused


def test_elements_stand_by_atomic_number_whatever_the_text() -> None:
    reading = TOKENIZER.read("Fe2(SO4)3")
    assert TOKENIZER.names(reading, "Fe2(SO4)3") == ("O", "S", "Fe")
    assert TOKENIZER.places(reading, "Fe2(SO4)3").tolist() == [0, 1, 2]
