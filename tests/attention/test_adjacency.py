"""Masks in their cheapest form, and degrees without pairs."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gia_science.attention.adjacency import degrees, sdpa_mask, sharpen, visible

masks = st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=3).map(torch.tensor)


def test_without_padding_the_kernel_gets_no_mask() -> None:
    assert sdpa_mask(None, causal=False) == (None, False)
    assert sdpa_mask(None, causal=True) == (None, True)


@settings(max_examples=30, deadline=None)
@given(mask=masks, causal=st.booleans())
def test_the_kernel_s_mask_and_the_degrees_are_those_of_the_visible_pairs(
    mask: torch.Tensor, causal: bool
) -> None:
    pairs = visible(mask, causal=causal)
    for b, i, j in torch.cartesian_prod(torch.arange(len(mask)), torch.arange(5), torch.arange(5)).tolist():
        assert bool(pairs[b, i, j]) == (bool(mask[b, j]) and (j <= i or not causal))
    attn_mask, is_causal = sdpa_mask(mask, causal=causal)
    assert attn_mask is not None
    assert not is_causal
    assert attn_mask.shape == (len(mask), 1, 5 if causal else 1, 5)
    assert torch.equal(attn_mask[:, 0].expand_as(pairs), pairs)
    assert torch.equal(degrees(mask, causal=causal), pairs.sum(dim=-1))


def test_sharpening_scales_each_head_s_scores() -> None:
    q, k = torch.randn(2, 1, 2, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    alpha = torch.tensor([2.0, -0.5], dtype=torch.float64)
    expected = torch.stack([2.0 * q[:, 0] @ k[:, 0].mT, -0.5 * q[:, 1] @ k[:, 1].mT], dim=1) / 3
    torch.testing.assert_close(sharpen(q, alpha, temperature=3.0) @ k.mT, expected)
    torch.testing.assert_close(sharpen(q, None, temperature=2.0), q / 2)
    assert sharpen(q, None, temperature=1.0) is q
