"""The equations read literally, with explicit N x N weights and loops: slow, and right in any precision.

The fast path must give these numbers; the tests compare the two. Reading the graph out of a layer
uses the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, sqrt

import torch
from torch import Tensor
from torch.nn.functional import silu

from gia_science.attention.aggregation import LEAST_DEGREE, STD_EPSILON
from gia_science.attention.config import Adjacency, Aggregator, AttentionConfig, EpsilonForm, Scaler
from gia_science.attention.mlp import NORM_EPSILON, HeadMLP


def dense_scores(
    queries: Tensor,
    keys: Tensor,
    visible: Tensor,
    *,
    alpha: Tensor | None = None,
    temperature: float = 1.0,
    bias: Tensor | None = None,
    edges: Tensor | None = None,
) -> Tensor:
    """Return `alpha_h Q K^T / (T sqrt(d_h))` plus the bias of known edges, and -inf where there is no edge.

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
    bias : (H, K), optional
        What a known edge of each kind adds.
    edges : (B, N, N) int, optional
        Kind of the known edge plus 1, 0 for none.

    Returns
    -------
    (B, H, N, N)
    """
    products = queries @ keys.transpose(-1, -2)
    if alpha is not None:
        products = alpha[:, None, None] * products
    scores = products / (temperature * sqrt(queries.shape[-1]))
    if bias is not None and edges is not None:
        for kind in range(bias.shape[1]):
            scores = torch.where(edges[:, None] == kind + 1, scores + bias[:, kind, None, None], scores)
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


def dense_adjacency(
    scores: Sequence[Tensor], *, adjacency: Adjacency = "softmax", lambdas: Tensor | None = None
) -> Tensor:
    """Return the weights A of all edges.

    Parameters
    ----------
    scores : sequence of (B, H, N, N)
        -inf where there is no edge; two for the differential adjacency, else one.
    adjacency : {"softmax", "relu", "sigmoid", "differential"}
    lambdas : (H,), optional
        Factor of the second softmax of the differential adjacency.

    Returns
    -------
    (B, H, N, N)
        0 where there is no edge.
    """
    first = scores[0]
    if adjacency == "relu":
        return torch.where(first > 0, first, 0)
    if adjacency == "sigmoid":
        return 1 / (1 + (-first).exp())
    weights = dense_softmax_adjacency(first)
    if adjacency == "softmax":
        return weights
    assert lambdas is not None
    return weights - lambdas[:, None, None] * dense_softmax_adjacency(scores[1])


def dense_sparsify(
    weights: Tensor, visible: Tensor, *, config: AttentionConfig, threshold: Tensor | None = None
) -> Tensor:
    """Return the weights `A' = g(A; tau)` of the edges that stay.

    Parameters
    ----------
    weights : (B, H, N, N)
    visible : (B, N, N) bool
    config : AttentionConfig
        Its `sparsifier`, and the options of that.
    threshold : (H,), optional
        Learned threshold of each head; none means that of the configuration.

    Returns
    -------
    (B, H, N, N)
    """
    pairs = visible[:, None].expand_as(weights)
    if config.sparsifier == "none":
        return weights
    if config.sparsifier == "topk":
        found = _dense_hard(_dense_strongest(weights.detach(), pairs, config), weights, weights, config)
    else:
        tau = config.threshold if threshold is None else threshold[:, None, None]
        found = _dense_cut(weights, weights - tau, config)
    return torch.where(pairs, found, 0)


def _dense_cut(weights: Tensor, excess: Tensor, config: AttentionConfig) -> Tensor:
    above = excess.detach() > 0
    name, beta = config.sparsifier, config.beta
    if name == "relu":
        return torch.where(above, excess, 0)
    if name == "binary":
        return _dense_hard(above, weights, excess, config)
    if name.startswith("silu"):
        smooth = excess / (1 + (-excess).exp())
    elif name.startswith("softplus"):
        smooth = torch.logaddexp(torch.zeros_like(excess), beta * excess) / beta
    else:
        smooth = 1 / (1 + (-beta * excess).exp())
    return torch.where(above, 1, smooth) if name.endswith("binary") else smooth


def _dense_hard(keep: Tensor, weights: Tensor, carrier: Tensor, config: AttentionConfig) -> Tensor:
    if config.hard_edges == "keep_weight":
        return torch.where(keep, weights, 0)
    return keep.to(weights.dtype) + carrier - carrier.detach()


def _dense_strongest(weights: Tensor, pairs: Tensor, config: AttentionConfig) -> Tensor:
    keep = torch.zeros_like(pairs)
    for row, seen, kept in zip(weights.flatten(0, 2), pairs.flatten(0, 2), keep.flatten(0, 2), strict=True):
        ranked = sorted(row[seen].tolist(), reverse=True)
        if ranked:
            count = config.k or ceil(Fraction(str(config.fraction)) * len(ranked))
            least = ranked[min(count, len(ranked)) - 1]
            rounding = 64 * torch.finfo(weights.dtype).eps * abs(least)
            kept.copy_(seen & (row > 0) & (row >= least - rounding))
    return keep


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
    neighbours: Tensor,
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
        A negative weight counts as 0.
    values : (B, H, N, d_h)
    neighbours : (B, N, N) or (B, H, N, N) bool
        Whose values the extrema are taken of, and whose number is the degree.
    aggregators : sequence of {"sum", "mean", "max", "min", "var", "std"}
    scalers : sequence of {"identity", "amplification", "attenuation"}
    delta : float
        Mean of `log(degree + 1)` over the training data.
    mlp : HeadMLP
        Only its weights are used.

    Returns
    -------
    (B, H, N, d_h)
    """
    neighbours = (neighbours if neighbours.dim() == 4 else neighbours[:, None]).expand_as(adjacency)
    found = dense_statistics(adjacency, values, neighbours, aggregators=aggregators)
    logs = neighbours.sum(dim=-1).clamp(min=1).to(values.dtype).add(1).log()[..., None]
    factors = {"identity": logs / logs, "amplification": logs / delta, "attenuation": delta / logs}
    columns = torch.cat([factors[s] * found[a] for s in scalers for a in aggregators], dim=-1)
    heads = [_perceptron(mlp, h, columns[:, h]) for h in range(values.shape[1])]
    return torch.stack(heads, dim=1)


def dense_statistics(
    adjacency: Tensor, values: Tensor, neighbours: Tensor, *, aggregators: Sequence[Aggregator]
) -> dict[Aggregator, Tensor]:
    """Return statistics of the neighbours' values.

    Parameters
    ----------
    adjacency : (B, H, N, N)
        A negative weight counts as 0.
    values : (B, H, N, d_h)
    neighbours : (B, H, N, N) bool
        Whose values the extrema are taken of.
    aggregators : sequence of {"sum", "mean", "max", "min", "var", "std"}

    Returns
    -------
    dict of (B, H, N, d_h)
    """
    weights = torch.where(adjacency < 0, 0, adjacency)
    degree = weights.sum(dim=-1, keepdim=True)
    shares = torch.where(degree > LEAST_DEGREE, weights / degree.clamp(min=LEAST_DEGREE), 0)

    def variance() -> Tensor:
        offsets = values[:, :, None] - dense_plain(shares, values)[:, :, :, None]
        return (shares[..., None] * offsets**2).sum(dim=3)

    def extremum(signed: Tensor) -> Tensor:
        masked = signed[:, :, None].masked_fill(~neighbours[..., None], float("-inf"))
        return masked.max(dim=3).values.masked_fill(~neighbours.any(dim=-1, keepdim=True), 0)

    literal: dict[Aggregator, Callable[[], Tensor]] = {
        "sum": lambda: dense_plain(weights, values),
        "mean": lambda: dense_plain(shares, values),
        "max": lambda: extremum(values),
        "min": lambda: -extremum(-values),
        "var": variance,
        "std": lambda: (variance() + STD_EPSILON).sqrt(),
    }
    return {name: literal[name]() for name in aggregators}


def _perceptron(mlp: HeadMLP, head: int, x: Tensor) -> Tensor:
    """Apply the perceptron of one head to (B, N, S * inputs), scaler by scaler."""
    head = head if mlp.weight_in.shape[0] > 1 else 0
    weight_in = mlp.weight_in[head].transpose(0, 1).flatten(0, 1)
    y = x @ weight_in + mlp.bias_in[head]
    y = y / (y.square().mean(dim=-1, keepdim=True) + NORM_EPSILON).sqrt() * mlp.gain[head]
    return silu(y) @ mlp.weight_out[head] + mlp.bias_out[head]
