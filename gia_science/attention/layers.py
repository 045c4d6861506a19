"""The three kinds of attention, usable in any module: (B, N, d) in, (B, N, d) out."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor, nn

from gia_science.attention.adjacency import degrees
from gia_science.attention.aggregation import (
    degree_factors,
    gin_sum,
    statistics,
    weighted_mean,
    weighted_mean_and_variance,
)
from gia_science.attention.base import GraphAttention
from gia_science.attention.config import (
    Aggregator,
    AttentionConfig,
    EpsilonForm,
    MLPSharing,
    Scaler,
    Sharpening,
    Values,
)


class PlainAttention(GraphAttention):
    """The ordinary Transformer's attention: `W_o concat_h(sum_j A[i, j] v_j)`.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    heads, sharpening, temperature, causal
        See `AttentionConfig`.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.
    """

    def __init__(
        self,
        width: int,
        *,
        heads: int = 8,
        sharpening: Sharpening = "per_head",
        temperature: float = 1.0,
        causal: bool = False,
    ) -> None:
        config = AttentionConfig(
            kind="plain", heads=heads, sharpening=sharpening, temperature=temperature, causal=causal
        )
        super().__init__(width, config)

    def _aggregate(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        return weighted_mean(queries, keys, values, mask=mask, causal=self.config.causal)


class GINAttention(GraphAttention):
    """Attention as a graph isomorphism network: `MLP_h(eps_h v_i + sum_j A[i, j] v_j)`.

    `eps_h` starts at 0 in both forms: `eps` then begins as plain attention followed by a perceptron,
    `one_plus_eps` as the original graph isomorphism network.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    heads, sharpening, temperature, causal, values, output_projection, gamma, mlp, epsilon_form
        See `AttentionConfig`.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.

    References
    ----------
    Buehler, Graph-Aware Isomorphic Attention for Adaptive Dynamics in Transformers, arXiv 2501.02393.
    """

    def __init__(
        self,
        width: int,
        *,
        heads: int = 8,
        sharpening: Sharpening = "per_head",
        temperature: float = 1.0,
        causal: bool = False,
        values: Values | None = None,
        output_projection: bool | None = None,
        gamma: float = 0.5,
        mlp: MLPSharing = "per_head",
        epsilon_form: EpsilonForm = "eps",
    ) -> None:
        config = AttentionConfig(
            kind="gin",
            heads=heads,
            sharpening=sharpening,
            temperature=temperature,
            causal=causal,
            values=values,
            output_projection=output_projection,
            gamma=gamma,
            mlp=mlp,
            epsilon_form=epsilon_form,
        )
        super().__init__(width, config)
        self.epsilon = nn.Parameter(torch.zeros(heads))
        self.mlp = self._head_mlp(inputs=self.head_width)

    def _aggregate(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        neighbours = weighted_mean(queries, keys, values, mask=mask, causal=self.config.causal)
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
    heads, sharpening, temperature, causal, values, output_projection, gamma, mlp, aggregators, scalers, delta
        See `AttentionConfig`.

    Raises
    ------
    ValueError
        An option out of range; a `RecipeError` where the heads do not divide the width.

    References
    ----------
    Buehler, Graph-Aware Isomorphic Attention for Adaptive Dynamics in Transformers, arXiv 2501.02393.
    """

    def __init__(
        self,
        width: int,
        *,
        heads: int = 8,
        sharpening: Sharpening = "per_head",
        temperature: float = 1.0,
        causal: bool = False,
        values: Values | None = None,
        output_projection: bool | None = None,
        gamma: float = 0.5,
        mlp: MLPSharing = "per_head",
        aggregators: Sequence[Aggregator] = ("mean", "std"),
        scalers: Sequence[Scaler] = ("identity", "amplification", "attenuation"),
        delta: float = 4.0,
    ) -> None:
        config = AttentionConfig(
            kind="pna",
            heads=heads,
            sharpening=sharpening,
            temperature=temperature,
            causal=causal,
            values=values,
            output_projection=output_projection,
            gamma=gamma,
            mlp=mlp,
            aggregators=tuple(aggregators),
            scalers=tuple(scalers),
            delta=delta,
        )
        super().__init__(width, config)
        self.mlp = self._head_mlp(inputs=len(aggregators) * self.head_width, scalers=len(scalers))

    def _aggregate(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        config = self.config
        mean, variance = weighted_mean_and_variance(queries, keys, values, mask=mask, causal=config.causal)
        gathered = statistics(mean, variance, aggregators=config.aggregators)
        out: Tensor = self.mlp(gathered, self._factors(values, mask))
        return out

    def _factors(self, values: Tensor, mask: Tensor | None) -> Tensor | None:
        """Return the degree factors (B, N, S), or None where the only one is 1."""
        config = self.config
        if config.scalers == ("identity",):
            return None
        B, _, N, _ = values.shape
        real = torch.ones(B, N, dtype=torch.bool, device=values.device) if mask is None else mask
        degree = degrees(real, causal=config.causal)
        return degree_factors(degree, scalers=config.scalers, delta=config.delta, dtype=values.dtype)

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
