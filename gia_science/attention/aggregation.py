"""What a node makes of its neighbours' values, without ever keeping an N x N array."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from gia_science.attention.adjacency import degrees, sdpa_mask
from gia_science.attention.config import EpsilonForm, Scaler

STD_EPSILON = 1e-5
"""Added to the variance under the square root, whose slope at 0 is infinite."""
LEAST_DEGREE = 1e-6
"""Weights that sum to no more than this have no mean: dividing by their sum would be noise, or overflow."""


def weighted_mean(
    queries: Tensor, keys: Tensor, values: Tensor, *, mask: Tensor | None, causal: bool
) -> Tensor:
    """Return `sum_j A[i, j] v_j` under softmax weights.

    Parameters
    ----------
    queries, keys, values : (B, H, N, d_h)
        Queries are already sharpened.
    mask : (B, N) bool, optional
        True for real tokens.
    causal : bool

    Returns
    -------
    (B, H, N, d_h)
        0 for a node that sees nothing.
    """
    attn_mask, is_causal = sdpa_mask(mask, causal=causal)
    return scaled_dot_product_attention(queries, keys, values, attn_mask=attn_mask, is_causal=is_causal)


def gin_sum(values: Tensor, neighbours: Tensor, epsilon: Tensor, *, form: EpsilonForm) -> Tensor:
    """Add the node itself to the sum over its neighbours.

    Parameters
    ----------
    values, neighbours : (B, H, N, d_h)
        The node's own value and the weighted sum over its neighbours.
    epsilon : (H,)
        Weight of the node itself, one per head.
    form : {"eps", "one_plus_eps"}

    Returns
    -------
    (B, H, N, d_h)

    References
    ----------
    Xu et al., How Powerful are Graph Neural Networks?, arXiv 1810.00826, eq. 4.1.
    """
    weight = epsilon if form == "eps" else 1 + epsilon
    return torch.addcmul(neighbours, values, weight.to(values.dtype)[:, None, None])


def weighted_mean_and_variance(
    queries: Tensor, keys: Tensor, values: Tensor, *, mask: Tensor | None, causal: bool
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of the neighbours' values under softmax weights.

    With any constant c, `E[v] = E[v - c] + c` and `Var[v] = E[(v - c)^2] - E[v - c]^2`. A c amid the values
    keeps the digits that `E[v^2] - E[v]^2` loses where the mean is large. Both results are independent
    of c, so no gradient flows through it.

    Parameters
    ----------
    queries, keys, values : (B, H, N, d_h)
        Queries are already sharpened.
    mask : (B, N) bool, optional
        True for real tokens.
    causal : bool

    Returns
    -------
    mean, variance : (B, H, N, d_h)
        Variance is at least 0; both are 0 for a node that sees nothing.
    """
    middle = centre(values.detach(), mask, causal=causal)
    offsets = values - middle
    mean = weighted_mean(queries, keys, offsets, mask=mask, causal=causal)
    square = weighted_mean(queries, keys, offsets * offsets, mask=mask, causal=causal)
    variance = (square - mean * mean).clamp(min=0)
    if mask is not None:
        middle = middle * (degrees(mask, causal=causal) > 0)[:, None, :, None]
    return mean + middle, variance


def moments(sums: Tensor, middle: Tensor, *, variance: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return sum, mean and variance of the neighbours' values from sums of offsets.

    Parameters
    ----------
    sums : (B, H, N, 2 * d_h + 1) or (B, H, N, d_h + 1)
        `sum_j A[i, j] u_j` with u the offsets `v - c`, their squares if the variance is wanted, and 1.
    middle : (B, H, 1, d_h)
        The constant c.
    variance : bool
        Whether it is wanted; otherwise the third result is the second.

    Returns
    -------
    sum, mean, variance : (B, H, N, d_h)
        Mean and variance are weighted by `A / sum_j A`; both are 0 where the weights sum to no more than
        `LEAST_DEGREE`.
    """
    d, dtype = middle.shape[-1], sums.dtype
    # In half precision the inverse of a small degree would overflow.
    sums = sums.to(torch.promote_types(dtype, torch.float32))
    degree = sums[..., -1:]
    there = degree > LEAST_DEGREE
    share = torch.where(there, 1 / degree.clamp(min=LEAST_DEGREE), 0)
    offset = sums[..., :d] * share
    total = sums[..., :d] + degree * middle
    mean = offset + there * middle
    spread = (sums[..., d : 2 * d] * share - offset * offset).clamp(min=0) if variance else mean
    return total.to(dtype), mean.to(dtype), spread.to(dtype)


def centre(values: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """Choose a constant amid the values, by which they are shifted before they are squared.

    Parameters
    ----------
    values : (B, H, N, d_h)
    mask : (B, N) bool, optional
        True for real tokens.
    causal : bool

    Returns
    -------
    (B, H, 1, d_h)
        Mean over the real tokens; in causal attention the first of them, the only one that every other token
        may know of.
    """
    if causal:
        if mask is None:
            return values[:, :, :1]
        first = mask.to(torch.uint8).argmax(dim=1)
        return values.take_along_dim(first[:, None, None, None], dim=2)
    if mask is None:
        return values.mean(dim=2, keepdim=True)
    weight = mask.to(values.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.einsum("bn,bhnd->bhd", weight.to(values.dtype), values)[:, :, None]


def degree_factors(degree: Tensor, *, scalers: Sequence[Scaler], delta: float, dtype: torch.dtype) -> Tensor:
    """Return the factors by which a node's statistics are scaled for its degree.

    Parameters
    ----------
    degree : (B, N) or (B, H, N)
        Number of neighbours; 0 counts as 1, so that attenuation stays finite.
    scalers : sequence of {"identity", "amplification", "attenuation"}
        1, `log(degree + 1) / delta`, `delta / log(degree + 1)`.
    delta : float
        Mean of `log(degree + 1)` over the training data.
    dtype : torch.dtype

    Returns
    -------
    (B, N, S) or (B, H, N, S)

    References
    ----------
    Corso et al., Principal Neighbourhood Aggregation for Graph Nets, arXiv 2004.05718, eq. 5.
    """
    amplification = degree.clamp(min=1).to(torch.promote_types(dtype, torch.float32)).log1p() / delta
    factors: dict[Scaler, Tensor] = {
        "identity": torch.ones_like(amplification),
        "amplification": amplification,
        "attenuation": 1 / amplification,
    }
    return torch.stack([factors[name] for name in scalers], dim=-1).to(dtype)
