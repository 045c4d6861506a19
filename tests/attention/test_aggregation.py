"""Variance keeps its digits where the mean is large, and scalers stay finite."""

from __future__ import annotations

from math import log

import pytest
import torch

from gia_science.attention.aggregation import (
    degree_factors,
    gin_sum,
    moments,
    weighted_mean_and_variance,
)


def offset_values(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = torch.randn(3, 2, 4, n, 8, generator=torch.Generator().manual_seed(0))
    return q, k, v + 3000


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_variance_one_at_mean_three_thousand_in_float32(causal: bool, padded: bool) -> None:
    """`E[x^2] - E[x]^2` in float32 is wrong by whole units here."""
    n = 40
    q, k, v = offset_values(n)
    mask = torch.ones(2, n, dtype=torch.bool)
    if padded:
        mask[0, :9] = False
        mask[1, 30:] = False
        v = torch.where(mask[:, None, :, None], v, 0.0)
    mean, variance = weighted_mean_and_variance(q, k, v, mask=mask if padded else None, causal=causal)

    pairs = mask[:, None, None] & (torch.ones(n, n).tril() > 0 if causal else True)
    scores = (q.double() @ k.double().mT / 8**0.5).masked_fill(~pairs, -1e9)
    a = scores.softmax(dim=-1) * pairs.any(dim=-1, keepdim=True)
    exact_mean = a @ v.double()
    offsets = v.double()[:, :, None] - exact_mean[:, :, :, None]
    exact = (a[..., None] * offsets**2).sum(dim=3)
    torch.testing.assert_close(mean.double(), exact_mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(variance.double(), exact, rtol=1e-3, atol=1e-3)
    assert float(exact.mean()) > 0.5


def test_a_node_that_sees_nothing_has_mean_and_variance_zero() -> None:
    q, k, v = offset_values(4)
    mask = torch.tensor([[False, False, True, True], [False, False, False, False]])
    for causal in (False, True):
        mean, variance = weighted_mean_and_variance(q, k, v, mask=mask, causal=causal)
        assert (mean[1] == 0).all()
        assert (variance[1] == 0).all()
        if causal:
            assert (mean[0, :, :2] == 0).all()


def test_moments_from_sums_of_offsets() -> None:
    """Values 10 and 13 at weights 2 and 1, around 9; then a node without neighbours, and one as good as without."""
    sums = torch.tensor([[2 * 1 + 4.0, 2 * 1 + 16.0, 3.0], [0.0, 0.0, 0.0], [4e-40, 1e-40, 1e-40]])
    sums.requires_grad_()
    total, mean, variance = moments(sums[None, None], torch.full((1, 1, 1, 1), 9.0), variance=True)
    assert total.flatten().tolist() == pytest.approx([33, 0, 0])
    assert mean.flatten().tolist() == pytest.approx([11, 0, 0])
    assert variance.flatten().tolist() == pytest.approx([2, 0, 0])
    (total + mean + variance).sum().backward()
    assert sums.grad is not None
    assert sums.grad.isfinite().all()


def test_degree_factors() -> None:
    """Degree 0 counts as 1, so that padding in an empty stream stays finite."""
    got = degree_factors(
        torch.tensor([[0, 1, 9]]),
        scalers=("attenuation", "identity", "amplification"),
        delta=2.0,
        dtype=torch.float64,
    )
    expected = [[2 / log(n), 1.0, log(n) / 2] for n in (2, 2, 10)]
    torch.testing.assert_close(got, torch.tensor([expected], dtype=torch.float64))


def test_gin_sum_in_both_forms() -> None:
    v, around = torch.full((1, 2, 1, 1), 10.0), torch.full((1, 2, 1, 1), 1.0)
    epsilon = torch.tensor([0.5, -1.0])
    assert gin_sum(v, around, epsilon, form="eps").flatten().tolist() == [6.0, -9.0]
    assert gin_sum(v, around, epsilon, form="one_plus_eps").flatten().tolist() == [16.0, 1.0]
