"""Which pairs are edges, and with what weight."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gia_science.adapters import SparseGINConfig
from gia_science.adapters.edges import edge_weights

P = torch.tensor([[[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]]] * 2])
P[0, 1] = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("heads", "A"),
    [
        ("sum", [[1.0, 0.5, 0.2], [0.4, 0.4, 1.0], [1.0, 0.9, 0.05]]),
        ("mean", [[0.65, 0.25, 0.1], [0.2, 0.2, 0.6], [0.525, 0.45, 0.025]]),
        ("max", [[0.7, 0.3, 0.1], [0.3, 0.3, 0.8], [1.0, 0.9, 0.05]]),
    ],
)
def test_heads_become_one_graph(heads: str, A) -> None:
    found = edge_weights(P, None, SparseGINConfig(heads=heads, edges="soft"))
    torch.testing.assert_close(found[0, 0], torch.sigmoid(10 * (torch.tensor(A) - 0.1)))


def test_each_head_may_keep_its_own_graph() -> None:
    found = edge_weights(P, None, SparseGINConfig(heads="per_head", edges="soft"))
    torch.testing.assert_close(found, torch.sigmoid(10 * (P - 0.1)))


def test_the_default_cut_keeps_attention_above_a_seventh() -> None:
    attention = torch.tensor([0.13, 0.15])[None, None, None].expand(1, 1, 2, 2)
    found = edge_weights(attention, None, SparseGINConfig())
    assert found[0, 0].tolist() == [[0.0, pytest.approx(0.6225, abs=1e-4)]] * 2


@given(
    size=st.integers(1, 7),
    seed=st.integers(0, 2**16),
    heads=st.sampled_from(["sum", "mean", "max", "per_head"]),
    edges=st.sampled_from(["soft", "cut", "topk"]),
    self_edges=st.booleans(),
)
def test_hidden_pairs_have_no_edge(size: int, seed: int, heads, edges, self_edges: bool) -> None:
    """Whatever the settings: weight exactly 0, also in rows that see nothing; at most k neighbours without ties."""
    generator = torch.Generator().manual_seed(seed)
    attention = torch.rand(2, 3, size, size, generator=generator)
    seen = torch.rand(2, 1, size, size, generator=generator) > 0.4
    k = 2 if edges == "topk" else None
    config = SparseGINConfig(heads=heads, edges=edges, k=k, self_edges=self_edges)
    found = edge_weights(attention, seen, config)
    assert found.shape == (2, 3 if heads == "per_head" else 1, size, size)
    assert not found[~seen.expand_as(found)].any()
    if not self_edges:
        assert not found.diagonal(dim1=2, dim2=3).any()
    kept = found > 0
    if edges == "cut":
        assert bool((found[kept] >= config.cut).all())
    if edges == "topk" and heads != "sum":  # sums are clamped at 1, which makes ties
        assert int(kept.sum(-1).max()) <= 2


def test_k_goes_with_topk() -> None:
    for wrong in ({"edges": "topk"}, {"edges": "cut", "k": 3}):
        with pytest.raises(ValidationError, match="go together"):
            SparseGINConfig(**wrong)
