"""Largest and smallest value among the neighbours, with exact gradients and nothing of size N x N x d.

A value's rank in its channel stands for it: the best rank among the neighbours tells both the extremum and whose
it is, and ranks are small integers that take no part in differentiation.
"""

from __future__ import annotations

import torch
from torch import Tensor

_CELLS = 2**20
"""Number of pairs times channels compared at once on a processor; more would leave its cache."""
_CELLS_GPU = 2**28


def ranks(values: Tensor, *, largest: bool) -> tuple[Tensor, Tensor]:
    """Number the nodes in every channel from the worst, 1, to the best, N.

    Parameters
    ----------
    values : (B, H, N, d_h)
    largest : bool
        Whether large values are good.

    Returns
    -------
    ranked : (B, H, N, d_h) int16 or int32
        Rank of each node.
    holders : (B, H, N, d_h) int64
        The nodes in order of their ranks.
    """
    n = values.shape[2]
    kind = torch.int16 if n < torch.iinfo(torch.int16).max else torch.int32
    holders = values.detach().argsort(dim=2, descending=not largest)
    numbers = torch.arange(1, n + 1, dtype=kind, device=values.device)[:, None].expand(holders.shape)
    return torch.empty_like(holders, dtype=kind).scatter_(2, holders, numbers), holders


def best_rank(keep: Tensor, ranked: Tensor) -> Tensor:
    """Return the best rank among the kept neighbours.

    Parameters
    ----------
    keep : (B, H, t, M) bool
    ranked : (B, H, M, d_h) int16 or int32

    Returns
    -------
    (B, H, t, d_h)
        0 for a node without neighbours.
    """
    cells = _CELLS if keep.device.type == "cpu" else _CELLS_GPU
    size = max(1, cells // max(1, ranked.numel()))
    # All bits where kept and none elsewhere: `and` leaves a rank or 0.
    bits = -keep.to(ranked.dtype)
    found = [(part[..., None] & ranked[:, :, None]).amax(dim=3) for part in torch.split(bits, size, dim=2)]
    return torch.cat(found, dim=2)


def values_of_rank(values: Tensor, holders: Tensor, best: Tensor) -> Tensor:
    """Return the values that hold the given ranks; all gradient goes to the nodes that they belong to.

    Parameters
    ----------
    values : (B, H, N, d_h)
    holders : (B, H, N, d_h) int64
        From `ranks`.
    best : (B, H, N, d_h)
        From `best_rank`.

    Returns
    -------
    (B, H, N, d_h)
        0 for rank 0.
    """
    places = holders.gather(2, (best.long() - 1).clamp(min=0))
    return values.gather(2, places).masked_fill(best == 0, 0)


def visible_extremum(values: Tensor, *, mask: Tensor | None, causal: bool, largest: bool) -> Tensor:
    """Return the extremum over all visible nodes, in time linear in N.

    Parameters
    ----------
    values : (B, H, N, d_h)
    mask : (B, N) bool, optional
        True for real tokens.
    causal : bool
    largest : bool

    Returns
    -------
    (B, H, N, d_h)
        0 for a node that sees nothing.
    """
    signed = values if largest else -values
    if mask is not None:
        signed = signed.masked_fill(~mask[:, None, :, None], float("-inf"))
    if causal:
        found: Tensor = signed.cummax(dim=2).values
    else:
        found = signed.amax(dim=2, keepdim=True).expand_as(signed)
    if mask is not None:
        found = found.masked_fill(found == float("-inf"), 0)
    return found if largest else -found
