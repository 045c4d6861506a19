"""Losses of numbers: robust, absolute, squared, of quantiles, and of numbers that are often exactly 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from gia_science.model.config import Loss

SMOOTH = 0.5
"""Error, in standard deviations of the target, from which on the smooth loss of a number grows linearly."""


def number_losses(
    outputs: Tensor,
    targets: Tensor,
    *,
    loss: Loss = "smooth",
    quantiles: Sequence[float] = (),
    gates: Sequence[int] = (),
) -> Tensor:
    """Loss of each number.

    Parameters
    ----------
    outputs : (B, T * Q + G) float
        Scaled values of the T targets, each with its Q quantiles (1 without), then the logits of the G gates: that the
        target is not 0.
    targets : (B, T) float
        Scaled values; minus infinity for a zero that has a gate.
    loss : {"smooth", "absolute", "squared", "quantile"}
        Smooth: square below `SMOOTH`, linear above, so that a few rows far off do not rule. Quantile: the mean of the
        pinball losses of all levels (Koenker and Bassett 1978), twice each, so that that of the median is the
        absolute error.
    quantiles : sequence of float
        Levels, for the quantile loss.
    gates : sequence of int
        Places of the targets that have one.

    Returns
    -------
    (B, T) float
        A target with a gate has the cross-entropy of the gate, and where it is not 0 the loss of its value besides:
        a two-part model (Duan et al. 1983).
    """
    count = targets.shape[1]
    zero = torch.isneginf(targets)
    values, logits = outputs[:, : outputs.shape[1] - len(gates)], outputs[:, outputs.shape[1] - len(gates) :]
    filled = torch.where(zero, 0.0, targets)
    if loss == "quantile":
        each = _pinball(values.reshape(len(values), count, -1), filled, quantiles)
    elif loss == "smooth":
        each = functional.smooth_l1_loss(values, filled, reduction="none", beta=SMOOTH)
    else:
        error = values - filled
        each = error.abs() if loss == "absolute" else error.square()
    if not len(gates):
        return each
    places = torch.as_tensor(list(gates), device=outputs.device)
    there = (~zero[:, places]).to(logits.dtype)
    gate = functional.binary_cross_entropy_with_logits(logits, there, reduction="none")
    return torch.where(zero, 0.0, each).index_add(1, places, gate)


def _pinball(values: Tensor, targets: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Twice the mean pinball loss of ``(B, T, Q)`` values: ``(B, T)``."""
    levels = torch.as_tensor(quantiles, dtype=values.dtype, device=values.device)
    under = targets.unsqueeze(-1) - values
    return 2 * torch.maximum(levels * under, (levels - 1) * under).mean(dim=-1)
