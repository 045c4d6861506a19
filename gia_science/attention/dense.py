"""The equations read literally, with explicit N x N weights and loops: slow, and right in any precision.

The fast path must give these numbers; the tests compare the two. Reading the graph out of a layer
uses the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor
from torch.nn.functional import silu

from gia_science.attention.aggregation import STD_EPSILON
from gia_science.attention.config import Aggregator, EpsilonForm, Scaler
from gia_science.attention.mlp import NORM_EPSILON, HeadMLP


def dense_scores(
    queries: Tensor, keys: Tensor, visible: Tensor, *, alpha: Tensor | None = None, temperature: float = 1.0
) -> Tensor:
    """Return `alpha_h Q K^T / (T sqrt(d_h))`, and -inf where there is no edge.

    Parameters
    ----------
    queries, keys : (B, H, N, d_h)
        With rotary positions applied, not sharpened.
    visible : (B, N, N) bool
        True where i may see j.
    alpha : (H,) or (1,), optional
        Sharpening per head or per layer; none means 1.
    temperature : float
        Fixed divisor T.

    Returns
    -------
    (B, H, N, N)
    """
    products = queries @ keys.transpose(-1, -2)
    if alpha is not None:
        products = alpha[:, None, None] * products
    scores = products / (temperature * sqrt(queries.shape[-1]))
    return scores.masked_fill(~visible[:, None], float("-inf"))


def dense_softmax_adjacency(scores: Tensor) -> Tensor:
    """Return row-wise softmax weights; a row that sees nothing is 0 throughout.

    Parameters
    ----------
    scores : (B, H, N, N)
        -inf where there is no edge.

    Returns
    -------
    (B, H, N, N)
        `A[b, h, i, j]` is the weight of the edge from j to i.
    """
    top = scores.detach().amax(dim=-1, keepdim=True)
    weights = (scores - top.masked_fill(top.isinf(), 0)).exp()
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


def dense_plain(adjacency: Tensor, values: Tensor) -> Tensor:
    """Return `sum_j A[i, j] v_j`.

    Parameters
    ----------
    adjacency : (B, H, N, N)
    values : (B, H, N, d_h)

    Returns
    -------
    (B, H, N, d_h)
    """
    return (adjacency[..., None] * values[:, :, None]).sum(dim=3)


def dense_gin(
    adjacency: Tensor, values: Tensor, *, epsilon: Tensor, form: EpsilonForm, mlp: HeadMLP
) -> Tensor:
    """Return `MLP_h(eps_h v_i + sum_j A[i, j] v_j)`, or with `1 + eps_h`.

    Parameters
    ----------
    adjacency : (B, H, N, N)
    values : (B, H, N, d_h)
    epsilon : (H,)
    form : {"eps", "one_plus_eps"}
    mlp : HeadMLP
        Only its weights are used.

    Returns
    -------
    (B, H, N, d_h)
    """
    heads = []
    for h in range(values.shape[1]):
        own = epsilon[h] if form == "eps" else 1 + epsilon[h]
        gathered = own * values[:, h] + adjacency[:, h] @ values[:, h]
        heads.append(_perceptron(mlp, h, gathered))
    return torch.stack(heads, dim=1)


def dense_pna(
    adjacency: Tensor,
    values: Tensor,
    visible: Tensor,
    *,
    aggregators: Sequence[Aggregator],
    scalers: Sequence[Scaler],
    delta: float,
    mlp: HeadMLP,
) -> Tensor:
    """Return `MLP_h` of every aggregator under every degree scaler, concatenated.

    Parameters
    ----------
    adjacency : (B, H, N, N)
    values : (B, H, N, d_h)
    visible : (B, N, N) bool
        Its row sums are the degrees.
    aggregators : sequence of {"mean", "var", "std"}
    scalers : sequence of {"identity", "amplification", "attenuation"}
    delta : float
        Mean of `log(degree + 1)` over the training data.
    mlp : HeadMLP
        Only its weights are used.

    Returns
    -------
    (B, H, N, d_h)
    """
    mean = dense_plain(adjacency, values)
    offsets = values[:, :, None] - mean[:, :, :, None]
    variance = (adjacency[..., None] * offsets**2).sum(dim=3)
    found = {"mean": mean, "var": variance, "std": (variance + STD_EPSILON).sqrt()}
    logs = visible.sum(dim=-1).clamp(min=1).to(values.dtype).add(1).log()[:, None, :, None]
    factors = {"identity": logs / logs, "amplification": logs / delta, "attenuation": delta / logs}
    columns = torch.cat([factors[s] * found[a] for s in scalers for a in aggregators], dim=-1)
    heads = [_perceptron(mlp, h, columns[:, h]) for h in range(values.shape[1])]
    return torch.stack(heads, dim=1)


def _perceptron(mlp: HeadMLP, head: int, x: Tensor) -> Tensor:
    """Apply the perceptron of one head to (B, N, S * inputs), scaler by scaler."""
    head = head if mlp.weight_in.shape[0] > 1 else 0
    weight_in = mlp.weight_in[head].transpose(0, 1).flatten(0, 1)
    y = x @ weight_in + mlp.bias_in[head]
    y = y / (y.square().mean(dim=-1, keepdim=True) + NORM_EPSILON).sqrt() * mlp.gain[head]
    return silu(y) @ mlp.weight_out[head] + mlp.bias_out[head]
