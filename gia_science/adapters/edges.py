"""From attention probabilities to the edges that messages pass over."""

from __future__ import annotations

import torch
from torch import Tensor

from gia_science.adapters.config import SparseGINConfig
from gia_science.attention.config import AttentionConfig
from gia_science.attention.sparsify import sparsify


def edge_weights(probabilities: Tensor, seen: Tensor | None, config: SparseGINConfig) -> Tensor:
    """Weights `A~` of the edges (Buehler 2025, arXiv 2501.02393).

    Parameters
    ----------
    probabilities : (B, H, N, N)
        Attention of each head; `[b, h, i, j]` is what token i takes from token j.
    seen : (B or 1, 1, N or 1, N) bool, optional
        True where there may be an edge; none means everywhere.
    config : SparseGINConfig

    Returns
    -------
    (B, G, N, N)
        G is the number of heads for ``per_head``, else 1. Exactly 0 where there is no edge.
    """
    weights = _over_heads(probabilities, config)
    pairs = _pairs(seen, weights, config)
    soft = sparsify(
        weights,
        pairs,
        config=AttentionConfig(sparsifier="sigmoid", beta=config.sharpness, threshold=config.tau),
    )
    if config.edges == "cut":
        return soft.masked_fill_(soft < config.cut, 0)
    if config.edges == "topk":
        strongest = AttentionConfig(sparsifier="topk", k=config.k, hard_edges="keep_weight")
        return soft.masked_fill_(sparsify(weights, pairs, config=strongest) == 0, 0)
    return soft


def _over_heads(probabilities: Tensor, config: SparseGINConfig) -> Tensor:
    if config.heads == "sum":
        return probabilities.sum(dim=1, keepdim=True).clamp(max=1)
    if config.heads == "mean":
        return probabilities.mean(dim=1, keepdim=True)
    return probabilities.amax(dim=1, keepdim=True) if config.heads == "max" else probabilities


def _pairs(seen: Tensor | None, weights: Tensor, config: SparseGINConfig) -> Tensor | None:
    if config.self_edges:
        return seen
    others = ~torch.eye(weights.shape[-1], dtype=torch.bool, device=weights.device)
    return others if seen is None else seen & others
