"""Sequences are cleaned by documented rules, said aloud, and become streams with stable ids."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tokenizers import Tokenizer

from gia_science import catalog
from gia_science.errors import UnreadableInputError
from gia_science.tokens.protein import ProteinOptions, ProteinSequence, ProteinTokenizer
from gia_science.tokens.residues import AMBIGUOUS, FEATURE_NAMES, LETTERS, STANDARD, feature_table
from gia_science.tokens.stream import TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer

ROOT = Path(__file__).parents[2]
TOKENIZER = ProteinTokenizer()
SEQUENCES = st.text(STANDARD, min_size=1, max_size=60)


def encode(text: str, tokenizer: ProteinTokenizer = TOKENIZER) -> TokenStream:
    return tokenizer.encode(tokenizer.read(text))


def assert_equal_streams(left: TokenStream, right: TokenStream, *, but: tuple[str, ...] = ()) -> None:
    for name in TokenStream.__slots__:
        if name not in but:
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


def test_satisfies_the_contract_of_a_domain() -> None:
    tokenizer: DomainTokenizer[ProteinSequence] = TOKENIZER
    assert tokenizer.domain == "protein"
    assert tokenizer.options == {
        "unknown": "map",
        "gaps": "refuse",
        "strip_leading_met": False,
        "sites": 0,
        "template": "",
        "reference": "",
    }
    assert ProteinOptions(**tokenizer.options) == ProteinOptions()  # type: ignore[arg-type] # plain JSON types


def test_sites_tell_equal_neighbourhoods_at_other_places_apart() -> None:
    """Variants of one protein: what a residue does depends on where it stands."""
    plain, sited = encode("GAGAGAGAGA"), encode("GAGAGAGAGA", ProteinTokenizer(ProteinOptions(sites=8)))
    assert plain.contexts[5].tolist() == plain.contexts[7].tolist()
    assert_equal_streams(plain, sited, but=("contexts",))
    np.testing.assert_array_equal(sited.contexts[:, :3], plain.contexts)
    places = sited.contexts[:, 3]
    assert len(set(places[1:9])) == 8, "eight places, told apart"
    assert not places[[0, 9, 10, 11]].any(), (
        "none at special tokens, and none beyond the places that there are"
    )
    other = encode("GAGAGAGAGG", ProteinTokenizer(ProteinOptions(sites=10))).contexts[:, 3]
    assert other[10] != encode("GAGAGAGAGA", ProteinTokenizer(ProteinOptions(sites=10))).contexts[10, 3]


def test_of_aligned_sequences_only_the_places_that_differ_become_tokens() -> None:
    """Each with all that it has in the whole sequence: neighbours, place, and where it stands in the text."""
    tokenizer = ProteinTokenizer(ProteinOptions(template="MK?VA??"))
    whole, seen = encode("MKRVAGH"), encode("MKRVAGH", tokenizer)
    shown = [0, 3, 6, 7, 8]
    for name in ("ids", "features", "positions", "units", "values"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(whole, name)[shown], err_msg=name)
    np.testing.assert_array_equal(seen.contexts[:, :3], whole.contexts[shown])
    assert len({*seen.contexts[1:4, 3].tolist(), 0}) == 4, (
        "three places told apart, and none at special tokens"
    )
    assert seen.edges.tolist() == [[2, 3]], "only the last two are neighbours"
    reading = tokenizer.read(" MKRVAGH")
    assert (reading.length, tokenizer.names(reading, " MKRVAGH")) == (3, ("R", "G", "H"))


def test_what_differs_where_no_training_sequence_does_is_told() -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(template="MK?VA??"))
    assert tokenizer.read("MKRVAGH").notes == ()
    assert tokenizer.read("MK RWAGH").notes[-1] == (
        "not seen, as no sequence of the training table differs there: position 5"
    )
    with pytest.raises(UnreadableInputError, match=r"not aligned with .*: got 6 residues, expected 7"):
        tokenizer.read("MKRVAG")


def test_of_variants_only_what_differs_from_the_reference_becomes_tokens() -> None:
    """Each with all that it has in the whole sequence, and with its place, which other residues there share."""
    tokenizer = ProteinTokenizer(ProteinOptions(reference="MKVVAAA"))
    whole, seen = encode("MKRVAGH"), encode("MKRVAGH", tokenizer)
    shown = [0, 3, 6, 7, 8]
    for name in ("ids", "features", "positions", "units", "values"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(whole, name)[shown], err_msg=name)
    np.testing.assert_array_equal(seen.contexts[:, :3], whole.contexts[shown])
    assert not seen.contexts[[0, -1], 3:].any(), "special tokens have no place"
    assert seen.edges.tolist() == [[2, 3]], "only the last two are neighbours"
    other = encode("MKWVAAA", tokenizer)
    assert other.contexts[1, 4] == seen.contexts[1, 4], "the same place"
    assert other.contexts[1, 3] != seen.contexts[1, 3], "another residue at it"
    reading = tokenizer.read("MKVVAAA")
    assert (reading.length, len(tokenizer.encode(reading))) == (0, 2), "nothing differs"


def test_a_variant_that_ends_early_is_told_and_says_where() -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(reference="MKVVAAA"))
    reading = tokenizer.read("MRVV*")
    assert reading.notes[-1] == "read as ending after 4 of 7 residues"
    stream, later = tokenizer.encode(reading), encode("MRVVA", tokenizer)
    assert reading.length == 1
    assert stream.contexts[-1, -1] not in (0, later.contexts[-1, -1])
    with pytest.raises(
        UnreadableInputError, match=r"not aligned with .*: got 8 residues, expected at most 7"
    ):
        tokenizer.read("MKVVAAAA")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"reference": "M?V"}, "reference: expected residues"),
        ({"reference": "MKV", "template": "M?V"}, "give one of them"),
        ({"template": "MKV"}, "at one place or more"),
        ({"template": "M?*"}, "expected residues"),
        ({"template": "M?", "sites": 2}, "give one of them"),
    ],
)
def test_a_template_that_says_nothing_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ProteinOptions(**options)


@given(SEQUENCES, st.integers(1, 30))
def test_contexts_with_sites_stay_inside_their_tables(text: str, sites: int) -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(sites=sites))
    contexts = encode(text, tokenizer).contexts
    assert contexts.shape[1] == len(tokenizer.context_buckets) == 4
    assert (contexts < np.array(tokenizer.context_buckets)).all()
    assert (contexts >= 0).all()


@given(
    st.text(alphabet="ACDEFX", min_size=1, max_size=12), st.text(alphabet="ACDEF", min_size=12, max_size=20)
)
def test_contexts_of_variants_stay_inside_their_tables(text: str, reference: str) -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(reference=reference))
    stream = encode(text, tokenizer)
    assert stream.contexts.shape == (len(stream), len(tokenizer.context_buckets))
    assert (stream.contexts < np.array(tokenizer.context_buckets)).all()
    assert (stream.contexts >= 0).all()
    differ = sum(given != wild for given, wild in zip(text, reference, strict=False))
    assert len(stream) == differ + 2


@pytest.mark.parametrize(
    ("text", "identity", "note"),
    [
        ("mehqllc", "MEHQLLC", "lower-case letters read as upper case"),
        ("MRFNVS*", "MRFNVS", r"final * (stop) left out"),
        ("M K T", "MKT", "blanks inside the sequence left out (2)"),
        ("MK\nT", "MKT", "blanks inside the sequence left out (1)"),
        ("MKTAU", "MKTAC", "U read as C at position 5"),
        ("MKO", "MKK", "O read as K at position 3"),
        ("MKJLA", "MKJLA", "J read as I or L at position 3"),
        ("BMB", "BMB", "B read as D or N at positions 1, 3"),
        ("MZ", "MZ", "Z read as E or Q at position 2"),
        ("MXX", "MXX", "X read as any residue at positions 2, 3"),
    ],
)
def test_what_is_changed_or_assumed_is_noted(text: str, identity: str, note: str) -> None:
    reading = TOKENIZER.read(text)
    assert reading.identity == reading.parsed.residues == identity
    assert reading.length == len(identity)
    assert reading.notes == (note,)


def test_a_plain_sequence_has_no_notes_and_surrounding_blanks_do_not_count() -> None:
    reading = TOKENIZER.read("  MKTAYI\t\n")
    assert reading.identity == "MKTAYI"
    assert reading.notes == ()
    assert reading.parsed.units.tolist() == [0, 1, 2, 3, 4, 5]


def test_long_lists_of_positions_are_cut() -> None:
    (note,) = TOKENIZER.read("X" * 12).notes
    assert note == "X read as any residue at positions 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MKT0A", "unknown letter '0' at position 4"),
        ("  MKT0A", "unknown letter '0' at position 4"),
        ("M KT0A", "unknown letter '0' at position 5"),
        ("M*VGK*", "stop '*' inside the sequence at position 2"),
        ("MK**", "stop '*' inside the sequence at position 3"),
        ("MYL--KIKN", "gap '-' at position 4"),
        ("MYL.KIKN", "gap '.' at position 4"),
        ("MKß", "unknown letter 'ß' at position 3"),
        ("\ufeffMK", "unknown letter '\\ufeff' at position 1"),
        ("M\udc80K", "unknown letter '\\udc80' at position 2"),
        ("", "empty sequence"),
        (" \t", "empty sequence"),
        ("*", "empty sequence"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_position(text: str, reason: str) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        TOKENIZER.read(text)
    assert caught.value.reason.startswith(reason)


def test_other_letters_are_refused_where_the_user_says_so() -> None:
    strict = ProteinTokenizer(ProteinOptions(unknown="error"))
    assert strict.read("MKT*").identity == "MKT"
    for letter in "BZJXUO":
        with pytest.raises(UnreadableInputError, match=f"non-standard letter '{letter}' at position 3"):
            strict.read(f"MK{letter}")


def test_dropped_gaps_are_told_and_units_still_count_in_the_given_text() -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(gaps="drop"))
    reading = tokenizer.read("MYL--KI.N*")
    assert reading.identity == "MYLKIN"
    assert reading.notes == ("gaps left out at positions 4, 5, 8", "final * (stop) left out")
    assert tokenizer.encode(reading).units.tolist() == [-1, 0, 1, 2, 5, 6, 8, -1]


def test_a_sequence_of_gaps_alone_is_empty() -> None:
    with pytest.raises(UnreadableInputError, match="empty sequence"):
        ProteinTokenizer(ProteinOptions(gaps="drop")).read("--.-")


def test_first_methionine_is_left_out_on_request_only() -> None:
    tokenizer = ProteinTokenizer(ProteinOptions(strip_leading_met=True))
    assert TOKENIZER.read("MKT").identity == "MKT"
    reading = tokenizer.read("mKT")
    assert reading.identity == "KT"
    assert "first M left out" in reading.notes
    assert reading.parsed.units.tolist() == [1, 2]
    assert tokenizer.read("M").identity == "M"
    assert tokenizer.read("KMT").notes == ()


@pytest.mark.parametrize("text", ["ATGAAAACC" * 7, "AUGGCN" * 4])
def test_nucleotides_are_noticed(text: str) -> None:
    assert "looks like DNA or RNA, not protein" in TOKENIZER.read(text).notes


@pytest.mark.parametrize("text", ["GATTACA", "ATGAAAACCATGAAAACCATGL"])
def test_short_or_mixed_sequences_are_not_taken_for_nucleotides(text: str) -> None:
    assert TOKENIZER.read(text).notes == ()


def test_stream_has_one_token_per_residue_between_cls_and_eos() -> None:
    stream = encode("AAAAA")
    assert len(stream) == 7
    assert TOKENIZER.vocabulary.tokens[stream.ids[1]] == "A"
    assert stream.ids[[0, -1]].tolist() == [2, 3]
    assert stream.positions.tolist() == list(range(7))
    assert stream.units.tolist() == [-1, 0, 1, 2, 3, 4, -1]
    assert stream.edges.tolist() == [[1, 2], [2, 3], [3, 4], [4, 5]]
    assert stream.edge_kinds.tolist() == [0, 0, 0, 0]
    assert not stream.features[[0, -1]].any()
    assert not stream.contexts[[0, -1]].any()
    assert not stream.values.any()


def test_a_single_residue_is_a_stream_without_edges() -> None:
    stream = encode("W")
    assert len(stream) == 3
    assert stream.edges.shape == (0, 2)


@given(SEQUENCES)
def test_shapes_types_and_ranges(text: str) -> None:
    stream = encode(text)
    assert stream.ids.dtype == stream.contexts.dtype == stream.edges.dtype == stream.units.dtype == np.int64
    assert stream.features.dtype == stream.values.dtype == np.float32
    assert stream.features.shape == (len(text) + 2, len(TOKENIZER.feature_names))
    assert np.isfinite(stream.features).all()
    inner = stream.contexts[1:-1]
    assert (inner >= 1).all()
    assert (inner < np.array(TOKENIZER.context_buckets)).all()


@given(SEQUENCES, st.integers(0, 2**32 - 1))
def test_equal_identity_gives_equal_streams_but_for_units(text: str, seed: int) -> None:
    spaced = " ".join(text.lower()) + "*"
    assert TOKENIZER.read(spaced).identity == text
    assert_equal_streams(encode(spaced), encode(text), but=("units",))
    reading = TOKENIZER.read(text)
    assert_equal_streams(TOKENIZER.respell(reading, np.random.default_rng(seed)), encode(text))


@given(SEQUENCES, st.integers(0, 59), st.sampled_from(STANDARD))
def test_contexts_see_no_further_than_their_window(text: str, place: int, letter: str) -> None:
    place %= len(text)
    changed = text[:place] + letter + text[place + 1 :]
    differs = encode(text).contexts[1:-1] != encode(changed).contexts[1:-1]
    offsets = np.arange(len(text)) - place
    for column, (first, last) in enumerate([(-1, 0), (-1, 1), (-2, 2)]):
        assert not differs[(offsets < first) | (offsets > last), column].any()


def test_pairs_have_buckets_of_their_own() -> None:
    stream = encode("".join(a + b for a in STANDARD for b in STANDARD))
    pairs = {(int(x), int(y)) for x, y in zip(stream.ids[1:-2], stream.ids[2:-1], strict=True)}
    assert len(pairs) == len(STANDARD) ** 2
    assert len(set(stream.contexts[1:-2, 0].tolist())) == len(pairs)


def test_hashed_buckets_are_used_evenly() -> None:
    rng = np.random.default_rng(0)
    contexts = encode("".join(rng.choice(list(STANDARD), 50_000))).contexts[1:-1]
    for column in (1, 2):
        used = len(np.unique(contexts[:, column]))
        assert used > 0.75 * TOKENIZER.context_buckets[column]


CONTEXTS_OF_MKWXD = (
    "[[259, 2305, 2385], [219, 4033, 1471], [474, 474, 990], [578, 2049, 3086], [75, 2144, 3791]]"
)


def test_context_ids_never_change() -> None:
    """A saved model looks its contexts up by these numbers, in any process and any version."""
    assert str(encode("MKWXD").contexts[1:-1].tolist()) == CONTEXTS_OF_MKWXD
    program = (
        "from gia_science.tokens.protein import ProteinTokenizer as T; t = T();"
        "print(t.encode(t.read('MKWXD')).contexts[1:-1].tolist())"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONHASHSEED": "7"},
    )
    assert result.stdout.strip() == CONTEXTS_OF_MKWXD


def test_features_are_standardised_over_the_standard_residues() -> None:
    table = feature_table()
    assert table.shape == (len(LETTERS), len(FEATURE_NAMES))
    np.testing.assert_allclose(table[:20].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(table[:20].std(axis=0), 1, atol=1e-6)
    for letter, meant in AMBIGUOUS.items():
        expected = table[[LETTERS.index(residue) for residue in meant]].mean(axis=0)
        np.testing.assert_allclose(table[LETTERS.index(letter)], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("feature", "lowest", "highest"),
    [
        ("hydropathy", "R", "I"),
        ("mass", "G", "W"),
        ("volume", "G", "W"),
        ("charge", "D", "R"),
        ("isoelectric_point", "D", "R"),
        ("polarity", "L", "D"),
        ("helix", "GP", "E"),
        ("sheet", "E", "V"),
        ("turn", "I", "GN"),
    ],
)
def test_features_rank_residues_as_their_sources_do(feature: str, lowest: str, highest: str) -> None:
    column = feature_table()[:20, FEATURE_NAMES.index(feature)]
    at = dict(zip(STANDARD, column, strict=True))
    assert {residue for residue in STANDARD if at[residue] == column.min()} == set(lowest)
    assert {residue for residue in STANDARD if at[residue] == column.max()} == set(highest)


def test_ids_equal_those_of_hugging_face_on_antimicrobial_peptides() -> None:
    with (ROOT / "datasets" / "amp.csv").open(newline="", encoding="utf-8") as file:
        sequences = [row["sequence"] for row in csv.DictReader(file)]
    assert len(sequences) > 1000
    reference = Tokenizer.from_file(str(catalog.find("tokenizers", "protein")))
    for sequence, encoding in zip(sequences, reference.encode_batch(sequences), strict=True):
        assert encode(sequence).ids.tolist() == encoding.ids


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValidationError):
        ProteinOptions(gap="drop")  # type: ignore[call-arg] # the mistake under test


def test_residues_have_the_place_and_the_letter_of_the_text() -> None:
    text = " mk--U o*"
    reading = ProteinTokenizer(ProteinOptions(gaps="drop")).read(text)
    assert reading.parsed.residues == "MKCK"
    assert TOKENIZER.places(reading, text).tolist() == [0, 1, 4, 6]
    assert TOKENIZER.names(reading, text) == ("m", "k", "U", "o")
