"""Inputs longer than a model allows are refused, cut or read in windows, and always told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Example, Featurizer
from gia_science.tokens.long import check_long, cut, read_within, windows
from gia_science.tokens.stream import TokenStream

LONG = {"protein": "MKTAYIGLWS", "smiles": "CC(=O)Nc1ccc(O)cc1", "composition": "Fe2O3H2NaCl"}


def featurizer(domain: str, *, providers: tuple[str, ...] = (), max_length: int = 4) -> Featurizer:
    tokenizer = make_tokenizer(domain)
    source = DescriptorSource(providers=providers, columns=())
    raw = [source.compute(tokenizer.read(text), ()) for text in (LONG[domain], LONG[domain][:2])]
    return Featurizer.fit(tokenizer, source=source, raw=raw, max_length=max_length)


def assert_equal(first: Example, second: Example) -> None:
    for name in TokenStream.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(first.stream, name), getattr(second.stream, name), err_msg=name)
    np.testing.assert_array_equal(first.descriptors, second.descriptors)


def test_an_input_that_is_too_long_is_refused_with_its_length_and_the_ways_out() -> None:
    tokenizer = make_tokenizer("protein")
    assert read_within(tokenizer, "MKTAY", max_length=5).length == 5
    with pytest.raises(UnreadableInputError) as refused:
        read_within(tokenizer, "MKTAYI", max_length=5)
    assert "longer than the model allows: got 6 units, expected at most 5" in refused.value.reason
    assert "--long truncate" in refused.value.reason
    assert "--long window" in refused.value.reason
    with pytest.raises(UnreadableInputError) as refused:
        featurizer("smiles").read("CCCCC")
    assert "window" not in refused.value.reason


def test_a_truncated_protein_is_its_first_part_as_if_given_alone() -> None:
    """Descriptors and k-mers among it: nothing knows of what was cut off."""
    made = featurizer("protein", providers=("protparam",))
    reading = made.read("MKTAYI", long="truncate")
    assert reading.notes == ("only the first 4 of 6 units used",)
    assert reading.truncated
    assert made.parts(reading) == (reading,)
    example = made.example(reading)
    assert example.stream.units.tolist() == [-1, 0, 1, 2, 3, -1]
    assert example.stream.ids[-1] == made.tokenizer.vocabulary.eos_id
    alone = made.read("MKTA")
    assert_equal(example, made.example(alone))
    assert (reading.identity, reading.length, alone.truncated) == ("MKTA", 4, False)


def test_places_of_a_truncated_protein_are_those_in_the_whole_text() -> None:
    reading = featurizer("protein").read(" mk t ayi* ", long="truncate")
    assert reading.parsed.units.tolist() == [0, 1, 3, 5]
    assert "lower-case letters read as upper case" in reading.notes
    assert reading.notes[-1] == "only the first 4 of 6 units used"


@pytest.mark.parametrize("domain", ["smiles", "composition"])
def test_a_molecule_or_composition_keeps_its_whole_and_loses_tokens(domain: str) -> None:
    made = featurizer(domain)
    reading = made.read(LONG[domain], long="truncate")
    assert reading.truncated
    assert reading.identity == made.tokenizer.read(LONG[domain]).identity
    stream = made.example(reading).stream
    assert stream.units[stream.units >= 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("long", ["truncate", "window"])
def test_what_is_short_enough_is_read_as_ever(long: str) -> None:
    made = featurizer("protein")
    assert made.read("MKTA", long=long) == made.read("MKTA")
    assert made.parts(made.read("MKTA", long=long)) == (made.read("MKTA"),)


def test_windows_overlap_by_half_and_the_last_ends_with_the_input() -> None:
    assert windows(10, max_length=4) == (range(4), range(2, 6), range(4, 8), range(6, 10))
    assert windows(5, max_length=4) == (range(4), range(1, 5))
    assert windows(3, max_length=4) == (range(3),)
    assert windows(3, max_length=1) == (range(1), range(1, 2), range(2, 3))


@given(st.integers(1, 400), st.integers(1, 60))
def test_windows_cover_every_unit_and_none_is_longer_than_allowed(length: int, size: int) -> None:
    found = windows(length, max_length=size)
    assert {unit for window in found for unit in window} == set(range(length))
    assert all(len(window) == min(size, length) for window in found)
    assert len({window.start for window in found}) == len(found)


def test_windows_of_a_protein_are_proteins_of_their_own() -> None:
    made = featurizer("protein", providers=("protparam",))
    reading = made.read("MKTAYI", long="window")
    assert reading.notes == ("read in 2 windows of 4 units",)
    assert (reading.length, reading.truncated) == (6, False)
    first, second = made.parts(reading)
    assert_equal(made.example(first), made.example(made.read("MKTA")))
    assert (second.identity, second.parsed.units.tolist()) == ("TAYI", [2, 3, 4, 5])
    np.testing.assert_array_equal(
        made.example(second).descriptors, made.example(made.read("TAYI")).descriptors
    )


@pytest.mark.parametrize("domain", ["smiles", "composition"])
def test_windows_are_refused_where_a_part_is_another_thing(domain: str) -> None:
    with pytest.raises(RecipeError, match="windows are for proteins"):
        featurizer(domain).read("C", long="window")
    check_long("truncate", domain=domain)


def test_an_unknown_choice_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        RecipeError, match=r"got 'windows', expected error, truncate or window \(did you mean"
    ):
        check_long("windows", domain="protein")


def test_a_cut_keeps_bonds_between_what_is_left() -> None:
    tokenizer = make_tokenizer("smiles")
    stream = tokenizer.encode(tokenizer.read("CC(=O)NC"))
    part = cut(stream, units=3)
    assert tokenizer.read("CC(=O)NC").identity == "CNC(C)=O"
    assert part.units.tolist() == [-1, 0, 1, 2, -1, -1]
    assert part.ids[-1] == tokenizer.vocabulary.eos_id
    assert part.positions.tolist() == list(range(6))
    assert part.units[part.edges].tolist() == [[0, 1], [1, 2]]
    assert part.edge_kinds.tolist() == [0, 0]


def test_a_cut_composition_has_no_closing_token() -> None:
    tokenizer = make_tokenizer("composition")
    part = cut(tokenizer.encode(tokenizer.read("Fe2O3H2")), units=2)
    assert part.units.tolist() == [-1, 0, 1]
    assert not part.positions.any()


@pytest.mark.parametrize("units", [5, 6, 1000])
def test_what_is_short_enough_is_not_touched(units: int) -> None:
    tokenizer = make_tokenizer("protein")
    stream = tokenizer.encode(tokenizer.read("MKTAY"))
    assert cut(stream, units=units) is stream
