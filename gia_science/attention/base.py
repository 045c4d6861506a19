"""What all attention layers share: (B, N, d) in, (B, N, d) out, and the graph in between."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from gia_science.attention.adjacency import sharpen, visible
from gia_science.attention.config import AttentionConfig
from gia_science.attention.dense import dense_scores, dense_softmax_adjacency
from gia_science.attention.mlp import HeadMLP
from gia_science.attention.rotary import rotary
from gia_science.errors import RecipeError


class GraphAttention(nn.Module, ABC):
    """What all kinds share: queries, keys, values and sharpening, and an optional output projection.

    Attributes
    ----------
    query_key, value, output : torch.nn.Linear
        Projections without bias; `value` and `output` are None where the kind has none.
    sharpening : (H,) or (1,) parameter
        Factor on the scores; None where it is fixed at 1.
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
        self.query_key = nn.Linear(width, 2 * width, bias=False)
        self.value = nn.Linear(width, width, bias=False) if config.projects_values else None
        self.output = nn.Linear(width, width, bias=False) if config.projects_output else None
        alphas = {"per_head": config.heads, "per_layer": 1, "fixed": 0}[config.sharpening]
        self.sharpening = nn.Parameter(torch.ones(alphas)) if alphas else None
        with torch.no_grad():
            for weight in self.query_key.weight.chunk(2):
                nn.init.xavier_uniform_(weight)
            for layer in (self.value, self.output):
                if layer is not None:
                    nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Tensor, *, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
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

        Returns
        -------
        (B, N, d)
            Rows of padding tokens are finite and without meaning.

        Raises
        ------
        TypeError
            The mask is not boolean.
        """
        _check_mask(mask)
        queries, keys = self._queries_keys(x, positions)
        queries = sharpen(queries, self.sharpening, temperature=self.config.temperature)
        heads = self._aggregate(queries, keys, self._values(x), mask)
        y: Tensor = heads.transpose(1, 2).flatten(2)
        if self.output is not None:
            y = self.output(y)
        return y

    def adjacency(self, x: Tensor, *, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Return the graph that `forward` aggregates over, at the memory cost of N x N numbers per head.

        Parameters
        ----------
        x, positions, mask
            As in `forward`.

        Returns
        -------
        (B, H, N, N)
            `A[b, h, i, j]` is the weight of the edge from token j to token i; 0 where j is hidden from i.
        """
        _check_mask(mask)
        queries, keys = self._queries_keys(x, positions)
        real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        scores = dense_scores(
            queries,
            keys,
            visible(real, causal=self.config.causal),
            alpha=self.sharpening,
            temperature=self.config.temperature,
        )
        return dense_softmax_adjacency(scores)

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
    def _aggregate(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each head makes of the neighbours, (B, H, N, d_h)."""

    def _last_weight(self) -> Tensor:
        assert self.output is not None
        return self.output.weight

    def _queries_keys(self, x: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        B, N, _ = x.shape
        if positions is None:
            positions = torch.arange(N, device=x.device).expand(B, N)
        both = self.query_key(x).view(B, N, 2 * self.config.heads, self.head_width)
        queries, keys = rotary(both.transpose(1, 2), positions).chunk(2, dim=1)
        return queries, keys

    def _values(self, x: Tensor) -> Tensor:
        values: Tensor = x if self.value is None else self.value(x)
        return values.view(*values.shape[:2], self.config.heads, self.head_width).transpose(1, 2)

    def _head_mlp(self, *, inputs: int, scalers: int = 1) -> HeadMLP:
        return HeadMLP(
            1 if self.config.mlp == "shared" else self.config.heads,
            inputs=inputs,
            hidden=max(1, round(self.config.gamma * self.head_width)),
            outputs=self.head_width,
            scalers=scalers,
        )


def _check_mask(mask: Tensor | None) -> None:
    if mask is not None and mask.dtype is not torch.bool:
        raise TypeError(f"mask must be boolean, True for real tokens; got {mask.dtype}")
