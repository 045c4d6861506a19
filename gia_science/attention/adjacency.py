"""Which edges there are, and how scores become their weights.

An edge leads from neighbour j to node i; its weight is `A[i, j]`. Under plain softmax every visible token
is a neighbour, and the weights themselves live only inside the fused kernel or in `dense`.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def sharpen(queries: Tensor, alpha: Tensor | None, *, temperature: float) -> Tensor:
    """Fold sharpening and temperature into the queries.

    `(alpha / T) * (Q K^T)` equals `((alpha / T) * Q) K^T`, and a mask applied to the product comes
    after sharpening, so that a negative alpha cannot turn "hidden" into "seen".

    Parameters
    ----------
    queries : (B, H, N, d_h)
    alpha : (H,) or (1,), optional
        Sharpening per head or per layer; none means 1.
    temperature : float
        Fixed divisor T.

    Returns
    -------
    (B, H, N, d_h)
    """
    if alpha is None:
        return queries if temperature == 1.0 else queries / temperature
    return queries * (alpha / temperature).to(queries.dtype)[:, None, None]


def sdpa_mask(mask: Tensor | None, *, causal: bool) -> tuple[Tensor | None, bool]:
    """Return the two mask arguments of `scaled_dot_product_attention`.

    Parameters
    ----------
    mask : (B, N) bool, optional
        True for real tokens. None says that all are real, which lets the kernel skip the mask; whether
        a mask happens to be all True is not looked up, as that would halt a GPU and break tracing.
    causal : bool
        Whether a token sees only itself and what precedes it.

    Returns
    -------
    attn_mask : (B, 1, 1, N) or (B, 1, N, N) bool, or None
        True where the key may be seen.
    is_causal : bool
        For the kernel's own causal mask, used where there is no padding.
    """
    if mask is None:
        return None, causal
    keys = mask[:, None, None, :]
    if not causal:
        return keys, False
    n = mask.shape[1]
    return keys & torch.ones(n, n, dtype=torch.bool, device=mask.device).tril(), False


def visible(mask: Tensor, *, causal: bool) -> Tensor:
    """Tell which pairs (i, j) are edges: j is real and, in causal attention, not after i.

    Parameters
    ----------
    mask : (B, N) bool
        True for real tokens.
    causal : bool

    Returns
    -------
    (B, N, N) bool
        Rows of padding nodes are kept as they fall out; what they receive is finite and never read.
    """
    n = mask.shape[1]
    keys = mask[:, None, :].expand(-1, n, -1)
    return keys.tril() if causal else keys


def degrees(mask: Tensor, *, causal: bool) -> Tensor:
    """Count the neighbours of each node without forming pairs.

    Parameters
    ----------
    mask : (B, N) bool
        True for real tokens.
    causal : bool

    Returns
    -------
    (B, N) int64
        Row sums of `visible`.
    """
    if causal:
        return mask.cumsum(dim=1)
    return mask.sum(dim=1, keepdim=True).expand_as(mask)


def visible_rows(
    mask: Tensor | None, rows: slice, columns: int, *, causal: bool, device: torch.device
) -> Tensor | None:
    """Tell which of the first columns some rows may see.

    Parameters
    ----------
    mask : (B, N) bool, optional
        True for real tokens; none means all.
    rows : slice
        Of t nodes i.
    columns : int
        Number M of nodes j, from the first.
    causal : bool
    device : torch.device

    Returns
    -------
    (B or 1, 1, t or 1, M) bool, or None
        None where every row sees every column.
    """
    keys = None if mask is None else mask[:, None, None, :columns]
    if not causal:
        return keys
    past = torch.arange(columns, device=device) <= torch.arange(rows.start, rows.stop, device=device)[:, None]
    return past[None, None] if keys is None else keys & past


def edge_weights(
    scores: Tensor, seen: Tensor | None, *, adjacency: Literal["softmax", "relu", "sigmoid"]
) -> Tensor:
    """Turn scores into weights of edges.

    Parameters
    ----------
    scores : (B, H, t, M)
        Finite for hidden pairs too.
    seen : broadcastable to the scores, bool, optional
        True where there may be an edge; none means everywhere.
    adjacency : {"softmax", "relu", "sigmoid"}

    Returns
    -------
    (B, H, t, M)
        In float32 at least. Softmax leaves hidden pairs out of its sums; their own weights are not yet 0
        in rows that see nothing, nor under the other two.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if adjacency == "relu":
        return scores.relu()
    if adjacency == "sigmoid":
        return scores.sigmoid()
    if seen is not None:
        # The least finite number, as a row of -inf would be NaN throughout.
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)
