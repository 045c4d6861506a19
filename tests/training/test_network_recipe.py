"""What is usual for a network where a recipe says nothing."""

from __future__ import annotations

from gia_science.training.network_recipe import MEMBERS, usual_members


def test_more_rows_have_fewer_networks() -> None:
    counts = [usual_members(rows) for rows in (20, MEMBERS[0][0], MEMBERS[0][0] + 1, 10**6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 1
