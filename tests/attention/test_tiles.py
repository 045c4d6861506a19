"""Tiles cover everything once, within their size, and nothing inside a tile is kept."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gia_science.attention import tiles
from gia_science.attention.tiles import Tiling, recomputed

sizes = st.integers(1, 7)


@settings(max_examples=60, deadline=None)
@given(batch=sizes, heads=sizes, nodes=sizes, pairs=st.integers(1, 400))
def test_parts_join_to_the_whole_and_stay_within_the_size(
    batch: int, heads: int, nodes: int, pairs: int
) -> None:
    array = torch.arange(batch * heads * nodes * 2).view(batch, heads, nodes, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "_PAIRS", pairs)
        tiling = Tiling.of(array)
    parts = tiling.split(array)
    assert torch.equal(tiling.join(parts, heads=heads), array)
    for part, (some, mine) in zip(parts, tiling.places(array), strict=True):
        assert torch.equal(part, array[some, mine])
    rows = tiling.row_slices(nodes)
    assert [i for tile in rows for i in range(nodes)[tile]] == list(range(nodes))
    most = max(part[:, :, tile].shape[:3].numel() for part in parts for tile in rows)
    assert most * nodes <= max(pairs, nodes), "one row is the least"


def test_a_recomputed_function_keeps_its_arguments_alone() -> None:
    x = torch.randn(50, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(50, 50, dtype=torch.float64)
    kept: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    def products(x: Tensor) -> Tensor:
        return (x @ x.mT).softmax(dim=-1) * weight

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        found = recomputed(products, x)
    assert not [tensor for tensor in kept if tensor.numel() >= weight.numel()]
    (gradient,) = torch.autograd.grad(found.sum(), x)
    (expected,) = torch.autograd.grad(products(x).sum(), x)
    assert torch.equal(gradient, expected)
