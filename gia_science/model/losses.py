"""Losses of numbers: robust, absolute, squared, of quantiles, and of numbers that are often exactly 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gia_science.model.config import Loss, NetworkConfig

SMOOTH = 0.5
"""Error, in standard deviations of the target, from which on the smooth loss of a number grows linearly."""
AUXILIARY = 0.3
"""Weight of what a gate and a value are taught by themselves, beside the error of what they say together.

By the validation rows of band gaps: with the parts alone the gate is learnt by heart before the value is learnt.
"""


@dataclass(frozen=True)
class NumberLoss:
    """Loss of each number.

    Parameters
    ----------
    loss : {"smooth", "absolute", "squared", "quantile"}
        Smooth: square below `SMOOTH`, linear above, so that a few rows far off do not rule. Quantile: the mean of the
        pinball losses of all levels (Koenker and Bassett 1978), twice each, so that that of the median is the
        absolute error.
    quantiles : tuple of float
        Levels, for the quantile loss.
    gates : tuple of int
        Places of the targets whose zeros have a gate.
    zeros : tuple of float
        Where 0 lies among the scaled values of each of these.
    """

    loss: Loss = "smooth"
    quantiles: tuple[float, ...] = ()
    gates: tuple[int, ...] = ()
    zeros: tuple[float, ...] = ()

    @classmethod
    def of(cls, config: NetworkConfig) -> NumberLoss:
        """That of a network."""
        return cls(config.loss, config.quantiles, config.gates, config.zeros)

    def __call__(self, outputs: Tensor, targets: Tensor, *, training: bool = True) -> Tensor:
        """Loss of each target.

        Parameters
        ----------
        outputs : (B, T * Q + G) float
            Scaled values of the T targets, each with its Q quantiles (1 without), then the logits of the G gates: that
            the target is not 0.
        targets : (B, T) float
            Scaled values; minus infinity for a zero that has a gate.
        training : bool, default True
            Whether gates and values are taught by themselves too. A validation loss leaves that out: an epoch is
            judged by its predictions.

        Returns
        -------
        (B, T) float
            With a gate: the loss of the value times the probability that it is not 0, and in training `AUXILIARY`
            times the cross-entropy of the gate and the loss of a value that is not 0, as of a two-part model (Duan et
            al. 1983).
        """
        count = targets.shape[1]
        if self.loss == "quantile":
            return _pinball(outputs.reshape(len(outputs), count, -1), targets, self.quantiles)
        if not self.gates:
            return self._of_error(outputs, targets)
        places = torch.tensor(self.gates, device=outputs.device)
        at_zero = torch.zeros(count, dtype=outputs.dtype, device=outputs.device)
        at_zero[places] = torch.tensor(self.zeros, dtype=outputs.dtype, device=outputs.device)
        values, logits = outputs[:, :count], outputs[:, count:]
        chance = torch.ones_like(values).index_copy(1, places, logits.sigmoid())
        zero = torch.isneginf(targets)
        filled = torch.where(zero, at_zero, targets)
        together = self._of_error(at_zero + chance * (values - at_zero), filled)
        if not training:
            return together
        there = (~zero[:, places]).to(logits.dtype)
        gate = functional.binary_cross_entropy_with_logits(logits, there, reduction="none")
        own = self._of_error(values[:, places], filled[:, places]) * there
        return together.index_add(1, places, AUXILIARY * (gate + own))

    def _of_error(self, values: Tensor, targets: Tensor) -> Tensor:
        if self.loss == "smooth":
            return functional.smooth_l1_loss(values, targets, reduction="none", beta=SMOOTH)
        error = values - targets
        return error.abs() if self.loss == "absolute" else error.square()


def _pinball(values: Tensor, targets: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Twice the mean pinball loss of ``(B, T, Q)`` values: ``(B, T)``."""
    levels = torch.tensor(quantiles, dtype=values.dtype, device=values.device)
    under = targets.unsqueeze(-1) - values
    return 2 * torch.maximum(levels * under, (levels - 1) * under).mean(dim=-1)
