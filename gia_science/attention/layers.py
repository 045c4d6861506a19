"""The three kinds of attention, usable in any module: (B, N, d) in, (B, N, d) out."""

from __future__ import annotations

from math import sqrt
from typing import Unpack

import torch
from torch import Tensor, nn

from gia_science.attention.aggregation import degree_factors, gin_sum
from gia_science.attention.base import GraphAttention
from gia_science.attention.config import AttentionConfig, GINOptions, GraphOptions, PNAOptions
from gia_science.attention.graph import AttentionGraph


class PlainAttention(GraphAttention):
    """The ordinary Transformer's attention: `W_o concat_h(sum_j A[i, j] v_j)`.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    **options
        Fields of `AttentionConfig`, but those of perceptrons and statistics.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.
    """

    def __init__(self, width: int, **options: Unpack[GraphOptions]) -> None:
        super().__init__(width, AttentionConfig.model_validate({"kind": "plain", **options}))

    def _aggregate(self, graph: AttentionGraph, values: Tensor) -> Tensor:
        return graph.weighted_sum(values)


class GINAttention(GraphAttention):
    """Attention as a graph isomorphism network: `MLP_h(eps_h v_i + sum_j A[i, j] v_j)`.

    `eps_h` starts at 0 in both forms: `eps` then begins as plain attention followed by a perceptron,
    `one_plus_eps` as the original graph isomorphism network.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    **options
        Fields of `AttentionConfig`, but those of statistics.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.

    References
    ----------
    Buehler, Graph-Aware Isomorphic Attention for Adaptive Dynamics in Transformers, arXiv 2501.02393.
    """

    def __init__(self, width: int, **options: Unpack[GINOptions]) -> None:
        super().__init__(width, AttentionConfig.model_validate({"kind": "gin", **options}))
        self.epsilon = nn.Parameter(torch.zeros(self.config.heads))
        self.mlp = self._head_mlp(inputs=self.head_width)

    def _aggregate(self, graph: AttentionGraph, values: Tensor) -> Tensor:
        neighbours = graph.weighted_sum(values)
        out: Tensor = self.mlp(gin_sum(values, neighbours, self.epsilon, form=self.config.epsilon_form))
        return out

    def _last_weight(self) -> Tensor:
        return self.mlp.weight_out if self.output is None else self.output.weight


class PNAAttention(GraphAttention):
    """Attention as principal neighbourhood aggregation: statistics of the neighbours, scaled by degree.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    **options
        Fields of `AttentionConfig`, but `epsilon_form`.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.

    References
    ----------
    Buehler, Graph-Aware Isomorphic Attention for Adaptive Dynamics in Transformers, arXiv 2501.02393.
    """

    def __init__(self, width: int, **options: Unpack[PNAOptions]) -> None:
        super().__init__(width, AttentionConfig.model_validate({"kind": "pna", **options}))
        self.mlp = self._head_mlp(
            inputs=len(self.config.aggregators) * self.head_width, scalers=len(self.config.scalers)
        )

    def _aggregate(self, graph: AttentionGraph, values: Tensor) -> Tensor:
        columns, degree = graph.statistics(values)
        config, factors = self.config, None
        if config.scales:
            assert degree is not None
            factors = degree_factors(degree, scalers=config.scalers, delta=config.delta, dtype=values.dtype)
        out: Tensor = self.mlp(columns, factors)
        return out

    def _last_weight(self) -> Tensor:
        return self.mlp.weight_out if self.output is None else self.output.weight


_LAYERS: dict[str, type[PlainAttention] | type[GINAttention] | type[PNAAttention]] = {
    "plain": PlainAttention,
    "gin": GINAttention,
    "pna": PNAAttention,
}


def build_attention(width: int, config: AttentionConfig, *, depth: int = 1) -> GraphAttention:
    """Make the attention layer that a configuration describes.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    config : AttentionConfig
    depth : int
        Number of blocks in the stack. Each block adds to the residual stream twice, hence the last linear
        map starts smaller by `sqrt(2 * depth)`.

    Returns
    -------
    GraphAttention

    Raises
    ------
    RecipeError
        The heads do not divide the width into even parts.
    """
    layer = _LAYERS[config.kind](width, **config.options())
    layer.scale_output(1 / sqrt(2 * depth))
    return layer
