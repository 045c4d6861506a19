"""Which edges stay, and with what weight."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import sigmoid, silu, softplus

from gia_science.attention.config import AttentionConfig


def sparsify(
    weights: Tensor, seen: Tensor | None, *, config: AttentionConfig, threshold: Tensor | None = None
) -> Tensor:
    """Return `A' = g(A; tau)`, and exactly 0 for hidden pairs, whatever g makes of them.

    Parameters
    ----------
    weights : (B, H, t, M)
        A, from `edge_weights`.
    seen : broadcastable to the weights, bool, optional
        True where there may be an edge; none means everywhere.
    config : AttentionConfig
        Its `sparsifier`, and the options of that.
    threshold : (H,), optional
        Learned threshold of each head; none means that of the configuration.

    Returns
    -------
    (B, H, t, M)
    """
    if config.has_threshold:
        tau = config.threshold if threshold is None else threshold[:, None, None]
        weights = _cut(weights, weights - tau, config)
    elif config.sparsifier == "topk":
        weights = _harden(_strongest(weights.detach(), seen, config), weights, weights, config)
    return weights if seen is None else weights.masked_fill(~seen, 0)


def _cut(weights: Tensor, excess: Tensor, config: AttentionConfig) -> Tensor:
    if config.sparsifier == "binary":
        return _harden(excess > 0, weights, excess, config)
    form = config.sparsifier.removesuffix("_binary")
    if form == "relu":
        return excess.relu_()
    if form == "silu":
        smooth = silu(excess)
    elif form == "softplus":
        # Beyond 40 the exact value is linear even in float64; the default of 20 is not.
        smooth = softplus(excess, beta=config.beta, threshold=40)
    else:
        smooth = sigmoid(config.beta * excess)
    return smooth if form == config.sparsifier else smooth.masked_fill(excess > 0, 1)


def _harden(keep: Tensor, weights: Tensor, carrier: Tensor, config: AttentionConfig) -> Tensor:
    """Keep some edges; straight through, the gradient is that of the carrier (Bengio et al., arXiv 1308.3432)."""
    if config.hard_edges == "keep_weight":
        return weights.masked_fill(~keep, 0)
    return keep + (carrier - carrier.detach())


def _strongest(weights: Tensor, seen: Tensor | None, config: AttentionConfig) -> Tensor:
    """Tell which weights are above 0 and among the strongest of their row.

    What equals the weakest kept weight is kept too, up to rounding: atoms that a symmetry makes alike then stay
    alike, in whatever order they come.
    """
    if seen is not None:
        weights = weights.masked_fill(~seen, 0)
    if config.k is not None:
        least = weights.topk(min(config.k, weights.shape[-1]), dim=-1).values[..., -1:]
    else:
        count = weights.shape[-1] if seen is None else seen.sum(dim=-1, keepdim=True)
        place = (kept_count(torch.as_tensor(count, device=weights.device), config) - 1).clamp(min=0)
        ordered = weights.sort(dim=-1, descending=True).values
        least = ordered.take_along_dim(place.expand(*weights.shape[:-1], 1), dim=-1)
    return (weights > 0) & (weights >= least * (1 - 64 * torch.finfo(weights.dtype).eps))


def kept_count(visible: Tensor, config: AttentionConfig) -> Tensor:
    """Return how many of the visible tokens `topk` keeps as neighbours.

    Parameters
    ----------
    visible : int64
        Number of visible tokens.
    config : AttentionConfig
        Its `k` or its `fraction`, which is rounded up.

    Returns
    -------
    int64
    """
    if config.k is not None:
        return visible.clamp(max=config.k)
    assert config.fraction is not None
    # A product such as 0.1 * 30 may lie just above the whole number that it stands for.
    return (visible.double() * config.fraction - 1e-9).ceil().long()
