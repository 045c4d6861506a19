"""A template says where aligned sequences differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gia_science.tokens.alignment import OPEN, departures, open_places, template_of

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
