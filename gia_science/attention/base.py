"""What all attention layers share: (B, N, d) in, (B, N, d) out, and the graph in between."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from gia_science.attention.adjacency import sharpen, visible
from gia_science.attention.config import AttentionConfig
from gia_science.attention.dense import dense_adjacency, dense_scores, dense_sparsify
from gia_science.attention.graph import AttentionGraph
from gia_science.attention.mlp import HeadMLP
from gia_science.attention.rotary import rotary
from gia_science.errors import RecipeError


class GraphAttention(nn.Module, ABC):
    """What all kinds share: queries, keys, values and sharpening, and an optional output projection.

    Parameters
    ----------
    width : int
        d, a multiple of `2 * heads`.
    config : AttentionConfig

    Attributes
    ----------
    query_key : torch.nn.Linear
        Queries, then keys; two sets of each, queries first, where the adjacency is differential. No bias.
    value, output : torch.nn.Linear
        Projections without bias; None where the kind has none.
    sharpening : (H,) or (1,) parameter
        Factor on the scores; None where it is fixed at 1.
    lambdas : (H,) parameter
        Factor of the second softmax of the differential adjacency, else None.
    threshold : (H,) parameter
        None where it is fixed, or where nothing is cut.
    edge_bias : (H, edge_kinds) parameter
        What a known edge of each kind adds to the scores; None where known edges are not used.
    """

    def __init__(self, width: int, config: AttentionConfig) -> None:
        super().__init__()
        if width < 1 or width % (2 * config.heads):
            raise RecipeError(
                "the heads do not divide the width into even parts",
                got=f"width {width}, heads {config.heads}",
                expected=f"a width that is a multiple of {2 * config.heads}",
                hint="change `heads` or the width of the model",
            )
        self.width = width
        self.config = config
        self.head_width = width // config.heads
        sets = 2 if config.adjacency == "differential" else 1
        key_width = config.key_heads * self.head_width
        self._projections = [width] * sets + [key_width] * sets
        self.query_key = nn.Linear(width, sum(self._projections), bias=False)
        self.value = nn.Linear(width, key_width, bias=False) if config.projects_values else None
        self.output = nn.Linear(width, width, bias=False) if config.projects_output else None
        alphas = {"per_head": config.heads, "per_layer": 1, "fixed": 0}[config.sharpening]
        self.sharpening = nn.Parameter(torch.ones(alphas)) if alphas else None
        self.lambdas = nn.Parameter(torch.full((config.heads,), config.lambda_init)) if sets == 2 else None
        self.threshold = (
            nn.Parameter(torch.full((config.heads,), config.threshold)) if config.learn_threshold else None
        )
        self.edge_bias = (
            nn.Parameter(torch.zeros(config.heads, config.edge_kinds)) if config.edge_kinds else None
        )
        with torch.no_grad():
            for weight in torch.split(self.query_key.weight, self._projections):
                nn.init.xavier_uniform_(weight)
            for layer in (self.value, self.output):
                if layer is not None:
                    nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        x: Tensor,
        *,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        edges: Tensor | None = None,
    ) -> Tensor:
        """Let each node take up its neighbours.

        Parameters
        ----------
        x : (B, N, d)
            Hidden states, as a rule after a norm.
        positions : (B, N), optional
            What rotary encoding sees; 0, 1, 2, ... by default. Equal positions mean no order.
        mask : (B, N) bool, optional
            True for real tokens; padding may be on either side. None says that all are real and
            spares the kernel a mask.
        edges : (B, N, N) int, optional
            Known graph, as from `edge_matrix`: the kind of edge plus 1, 0 for none. Read only if the configuration
            has `edge_kinds`.

        Returns
        -------
        (B, N, d)
            Rows of padding tokens are finite and without meaning.

        Raises
        ------
        TypeError
            The mask is not boolean.
        """
        graph = self._graph(x, positions, mask, edges)
        heads = self._aggregate(graph, self._values(x))
        y: Tensor = heads.transpose(1, 2).flatten(2)
        if self.output is not None:
            y = self.output(y)
        return y

    def adjacency(
        self,
        x: Tensor,
        *,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        edges: Tensor | None = None,
    ) -> Tensor:
        """Return the graph that `forward` aggregates over, at the memory cost of N x N numbers per head.

        Parameters
        ----------
        x, positions, mask, edges
            As in `forward`.

        Returns
        -------
        (B, H, N, N)
            `A'[b, h, i, j]` is the weight of the edge from token j to token i; 0 where j is hidden from i.
        """
        graph = self._graph(x, positions, mask, edges)
        real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        pairs = visible(real, causal=self.config.causal)
        scores = [
            dense_scores(queries, keys, pairs, bias=bias, edges=edges)
            for queries, keys, bias in zip(graph.queries, graph.keys, (self.edge_bias, None), strict=False)
        ]
        weights = dense_adjacency(scores, adjacency=self.config.adjacency, lambdas=self.lambdas)
        return dense_sparsify(weights, pairs, config=self.config, threshold=self.threshold)

    def scale_output(self, factor: float) -> None:
        """Multiply the last linear map by a factor, once, before training.

        Parameters
        ----------
        factor : float
            Smaller than 1 in a deep residual stack, so that the stream does not grow with depth.
        """
        with torch.no_grad():
            self._last_weight().mul_(factor)

    @abstractmethod
    def _aggregate(self, graph: AttentionGraph, values: Tensor) -> Tensor:
        """Return what each head makes of the neighbours, (B, H, N, d_h)."""

    def _last_weight(self) -> Tensor:
        assert self.output is not None
        return self.output.weight

    def _graph(
        self, x: Tensor, positions: Tensor | None, mask: Tensor | None, edges: Tensor | None
    ) -> AttentionGraph:
        if mask is not None and mask.dtype is not torch.bool:
            raise TypeError(f"mask must be boolean, True for real tokens; got {mask.dtype}")
        B, N, _ = x.shape
        if positions is None:
            positions = torch.arange(N, device=x.device).expand(B, N)
        heads = [width // self.head_width for width in self._projections]
        both = self.query_key(x).view(B, N, sum(heads), self.head_width)
        parts = torch.split(rotary(both.transpose(1, 2), positions), heads, dim=1)
        queries, keys = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        temperature = self.config.temperature
        return AttentionGraph(
            self.config,
            tuple(sharpen(part, self.sharpening, temperature=temperature) for part in queries),
            tuple(self._for_all_heads(part) for part in keys),
            mask=mask,
            threshold=self.threshold,
            lambdas=self.lambdas,
            bias=self.edge_bias,
            edges=None if self.edge_bias is None else edges,
        )

    def _values(self, x: Tensor) -> Tensor:
        values: Tensor = x if self.value is None else self.value(x)
        return self._for_all_heads(values.view(*x.shape[:2], -1, self.head_width).transpose(1, 2))

    def _for_all_heads(self, shared: Tensor) -> Tensor:
        """Repeat keys or values that several heads of queries share."""
        heads = self.config.heads
        return (
            shared if shared.shape[1] == heads else shared.repeat_interleave(heads // shared.shape[1], dim=1)
        )

    def _head_mlp(self, *, inputs: int, scalers: int = 1) -> HeadMLP:
        return HeadMLP(
            1 if self.config.mlp == "shared" else self.config.heads,
            inputs=inputs,
            hidden=max(1, round(self.config.gamma * self.head_width)),
            outputs=self.head_width,
            scalers=scalers,
        )
