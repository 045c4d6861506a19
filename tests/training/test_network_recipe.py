"""What is usual for a network where a recipe says nothing."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gia_science.attention import AttentionConfig
from gia_science.training.network_recipe import MEMBERS, NetworkRecipe, usual_members


def test_more_rows_have_fewer_networks() -> None:
    counts = [usual_members(rows) for rows in (20, MEMBERS[0][0], MEMBERS[0][0] + 1, 10**6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 1


def test_steps_go_along_known_edges() -> None:
    with pytest.raises(ValidationError, match="known_edges: true"):
        NetworkRecipe(hops=2)
    assert NetworkRecipe(hops=2, known_edges=True).hops == 2
    assert NetworkRecipe(hops=2, attention=AttentionConfig(edge_kinds=5)).hops == 2
