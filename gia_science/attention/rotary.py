"""Rotary position encoding."""

from __future__ import annotations

import torch
from torch import Tensor

_BASE = 10000.0


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of channels by an angle proportional to the token's position.

    The scalar product of two turned vectors depends on the difference of their positions alone, so
    tokens at equal positions are compared as if there were no order. Channel c is paired with channel
    c + d_h/2 and turned by `position * 10000**(-2c / d_h)` radians.

    Parameters
    ----------
    x : (B, H, N, d_h)
        Queries or keys; d_h is even.
    positions : (B, N)
        Position of each token, integer or real. Angles are computed in float32 at least: positions
        beyond about 1e5 lose the fine differences.

    Returns
    -------
    (B, H, N, d_h)
        In the precision of `x`.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, arXiv 2104.09864, eq. 34.
    """
    half = x.shape[-1] // 2
    assert 2 * half == x.shape[-1], "rotary encoding pairs channels: the width of a head must be even"
    precision = torch.promote_types(x.dtype, torch.float32)
    exponent = torch.arange(half, device=x.device, dtype=precision) / half
    angle = positions.to(precision)[:, None, :, None] * _BASE**-exponent
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
