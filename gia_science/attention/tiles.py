"""Cutting N x N weights into tiles that fit a cache, and making them again instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

_PAIRS = 2**19
"""Pairs of nodes, over batch and heads, whose weights are held at once on a processor: 2 MiB in float32."""
_PAIRS_GPU = 2**26


@dataclass(frozen=True)
class Tiling:
    """Sizes of a tile.

    Tiles of few heads and many rows are better than the reverse, as each tile has a gradient for all keys of its heads.

    Parameters
    ----------
    batch, heads, rows : int
        How many of each make a tile.
    """

    batch: int
    heads: int
    rows: int

    @classmethod
    def of(cls, queries: Tensor) -> Tiling:
        """Choose sizes for queries (B, H, N, d_h)."""
        B, H, N, _ = queries.shape
        pairs = _PAIRS if queries.device.type == "cpu" else _PAIRS_GPU
        whole = max(1, pairs // (N * N))
        batch, heads = min(B, max(1, whole // H)), min(H, whole)
        return cls(batch, heads, min(N, max(1, pairs // (batch * heads * N))))

    def split(self, array: Tensor) -> list[Tensor]:
        """Split (B, H, ...) by batch, and each part by heads.

        Split, not sliced: the gradient of each slice would be as large as the whole.
        """
        return [
            part for some in torch.split(array, self.batch) for part in torch.split(some, self.heads, dim=1)
        ]

    def places(self, array: Tensor) -> list[tuple[slice, slice]]:
        """Which part of the batch, and which heads, each piece of `split` is."""
        B, H = array.shape[:2]
        return [
            (slice(b, b + self.batch), slice(h, h + self.heads))
            for b in range(0, B, self.batch)
            for h in range(0, H, self.heads)
        ]

    def join(self, parts: Sequence[Tensor], *, heads: int) -> Tensor:
        """Undo `split`, for so many heads in all."""
        across = ceil(heads / self.heads)
        return join([join(parts[i : i + across], dim=1) for i in range(0, len(parts), across)], dim=0)

    def row_slices(self, rows: int) -> list[slice]:
        """Cut a number of rows into tiles."""
        return [slice(start, min(start + self.rows, rows)) for start in range(0, rows, self.rows)]


def join(parts: Sequence[Tensor], *, dim: int) -> Tensor:
    """Concatenate, without a copy where there is one part."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=dim)


def recomputed(function: Callable[..., Tensor], *args: Any) -> Tensor:
    """Call a function whose intermediate results are not kept for the backward pass but made again.

    Parameters
    ----------
    function : callable
        Deterministic.
    *args
        Its arguments, and whatever tensors it holds, take part in differentiation.

    Returns
    -------
    Tensor
    """
    if not torch.is_grad_enabled():
        return function(*args)
    result: Tensor = checkpoint(function, *args, use_reentrant=False, preserve_rng_state=False)
    return result
