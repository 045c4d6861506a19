"""Extrema are those of the neighbours, found by rank, with the gradient at their holders."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gia_science.attention import extrema
from gia_science.attention.extrema import best_rank, ranks, values_of_rank, visible_extremum


def literal(values: Tensor, keep: Tensor, *, largest: bool) -> Tensor:
    """Node by node, channel by channel."""
    out = torch.zeros(*keep.shape[:3], values.shape[-1], dtype=values.dtype)
    for b, h, i in torch.cartesian_prod(*(torch.arange(n) for n in keep.shape[:3])).tolist():
        kept = values[b, h, keep[b, h, i]]
        if len(kept):
            out[b, h, i] = kept.max(dim=0).values if largest else kept.min(dim=0).values
    return out


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 9),
    largest=st.booleans(),
    density=st.floats(0, 1),
    equal=st.booleans(),
    seed=st.integers(0, 99),
)
def test_extrema_over_kept_neighbours(n: int, largest: bool, density: float, equal: bool, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(2, 3, n, 4, generator=generator, dtype=torch.float64)
    if equal:
        values = values.round()
    keep = torch.rand(2, 3, n, n, generator=generator) < density
    ranked, holders = ranks(values, largest=largest)
    found = values_of_rank(values, holders, best_rank(keep, ranked))
    assert torch.equal(found, literal(values, keep, largest=largest))


def test_the_size_of_a_batch_of_comparisons_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values, keep = torch.randn(2, 3, 7, 4), torch.rand(2, 3, 7, 7) < 0.4
    ranked, _ = ranks(values, largest=True)
    at_once = best_rank(keep, ranked)
    monkeypatch.setattr(extrema, "_CELLS", 1)
    assert torch.equal(best_rank(keep, ranked), at_once)


def test_the_gradient_goes_to_the_holder_alone() -> None:
    values = torch.tensor([1.0, 5.0, 3.0]).view(1, 1, 3, 1).requires_grad_()
    keep = torch.tensor([[True, False, True], [True, True, False], [False, False, False]]).view(1, 1, 3, 3)
    ranked, holders = ranks(values, largest=True)
    found = values_of_rank(values, holders, best_rank(keep, ranked))
    assert found.flatten().tolist() == [3.0, 5.0, 0.0]
    (found.flatten() * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert values.grad is not None
    assert values.grad.flatten().tolist() == [0.0, 10.0, 1.0]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_extrema_over_all_that_is_visible(largest: bool, causal: bool, padded: bool) -> None:
    values = torch.randn(3, 2, 5, 4, dtype=torch.float64)
    real = torch.tensor([[True] * 5, [False, False, True, True, False], [False] * 5])
    mask = real if padded else torch.ones_like(real)
    keep = mask[:, None, None, :].expand(3, 2, 5, 5)
    if causal:
        keep = keep.tril()
    found = visible_extremum(values, mask=mask if padded else None, causal=causal, largest=largest)
    assert torch.equal(found, literal(values, keep, largest=largest))
