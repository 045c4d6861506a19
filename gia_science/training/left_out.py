"""Rows left out, as the network of every epoch sees them.

The epoch of a network is the one at which it errs least on the rows that it has left out. Of few rows this is a choice
among many, by which the network looks better on them than on any others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytorch_lightning as pl

from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.prediction.forward import all_computed, forward
from gia_science.tokens.featurizer import Example
from gia_science.training.module import NetworkModule

FloatArray = npt.NDArray[np.float64]


class EveryEpoch(pl.Callback):
    """Keeps what the averaged weights say of some rows after each epoch.

    Parameters
    ----------
    examples : sequence of Example
        The n rows, of a task with one output for each row.

    Attributes
    ----------
    outputs : list of (n, C) float64
        Of each epoch, as `Targets.decode` reads them.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self.outputs: list[FloatArray] = []
        self._examples = examples

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Predict them."""
        del trainer
        assert isinstance(pl_module, NetworkModule)
        network, device = pl_module.network, pl_module.device
        assert isinstance(network, PropertyNetwork)
        alone = PropertyEnsemble.of([network])
        found = forward(self._examples, run=lambda batch: alone.each(batch.to(device)).double().cpu())
        self.outputs.append(np.stack(all_computed(found)))


def by_others(outputs: Sequence[FloatArray], best: Sequence[int], *, number: int) -> FloatArray:
    """Mean of the outputs ``(n, C)`` of a network at the best epoch of each other one; its own where it is alone.

    Parameters
    ----------
    outputs : sequence of (n, C) float64
        Of each of its epochs; what it would have said later than its last is taken from that.
    best : sequence of int
        Best epoch of every network.
    number : int
        Which of them it is.
    """
    others = [epoch for place, epoch in enumerate(best) if place != number] or [best[number]]
    mean: FloatArray = np.mean([outputs[min(epoch, len(outputs) - 1)] for epoch in others], axis=0)
    return mean
