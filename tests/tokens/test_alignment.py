"""What aligned sequences are, where they differ, and what is most frequent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gia_science.tokens.alignment import (
    OPEN,
    are_aligned,
    consensus_of,
    departures,
    open_places,
    template_of,
    usual_length,
)

ALIGNED = st.integers(1, 12).flatmap(
    lambda length: st.lists(
        st.text(alphabet="ACDE", min_size=length, max_size=length), min_size=1, max_size=8
    )
)


@given(ALIGNED)
def test_sequences_differ_at_the_open_places_and_nowhere_else(sequences: list[str]) -> None:
    template = template_of(sequences)
    for place, residue in enumerate(template):
        here = {sequence[place] for sequence in sequences}
        assert (len(here) > 1) == (residue == OPEN) == (place in open_places(template))
        assert residue == OPEN or here == {residue}
    assert all(not len(departures(template, sequence)) for sequence in sequences)


def test_departures_are_places_where_a_fixed_residue_is_another() -> None:
    assert departures("M?VA", "MKVA").tolist() == []
    assert departures("M?VA", "AKVC").tolist() == [0, 3]


@given(ALIGNED)
def test_no_sequence_is_nearer_to_all_than_their_most_frequent_residues(sequences: list[str]) -> None:
    def distance(reference: str) -> int:
        return sum(len(departures(reference, sequence)) for sequence in sequences)

    assert distance(consensus_of(sequences)) <= min(distance(sequence) for sequence in sequences)


def test_a_few_may_end_early_and_none_may_be_longer() -> None:
    whole = ["MKVA"] * 18
    assert are_aligned([*whole, "MK", "MKV"])
    assert not are_aligned([*whole, "MK", "MKV", "M"]), "too many to be few"
    assert not are_aligned([*whole, "MKVAA"])
    assert usual_length([*whole, "MKVAA"]) == 4
    assert not are_aligned([])
