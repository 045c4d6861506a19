"""Mixup: training on mixtures of two rows, on the way from one to the other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Mixing:
    """A partner of each row of a batch, and the share of itself that the row keeps.

    Inputs that are sets or words of different lengths have no mixture; the vectors that the head sees do (manifold
    mixup, Verma et al. 2019, arXiv 1806.05236). The losses of the two targets are mixed in place of the targets, which
    are equal for cross-entropy, and mean something for missing targets and gates too.

    Parameters
    ----------
    partners : (B,) int64
    share : float
        From a half to 1.
    """

    partners: Tensor
    share: float

    def of(self, own: Tensor, others: Tensor) -> Tensor:
        """Mixture of what is a row's own and what is its partner's."""
        return self.share * own + (1 - self.share) * others


def draw_mixing(rows: int, *, alpha: float, device: torch.device) -> Mixing:
    """Partners at random, and one share for the batch from a beta law whose two parameters are `alpha`."""
    share = float(torch.distributions.Beta(alpha, alpha).sample())
    return Mixing(torch.randperm(rows, device=device), max(share, 1 - share))
