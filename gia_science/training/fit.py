"""One training run of one network: seeded, averaged, stopped early, with the best weights kept."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, RichProgressBar

from gia_science.model.heads import PropertyNetwork
from gia_science.model.language import LanguageModel
from gia_science.training.datamodule import BatchedData
from gia_science.training.devices import ONE_DEVICE, Devices, working_together
from gia_science.training.module import BestWeights, NetworkModule, WeightAverage, trained_weights
from gia_science.training.optimizer_recipe import OptimizerRecipe

NetworkT = TypeVar("NetworkT", bound=PropertyNetwork | LanguageModel)


@dataclass(frozen=True)
class Fitted(Generic[NetworkT]):
    """A trained network and how it got there.

    Parameters
    ----------
    network : PropertyNetwork or LanguageModel
        With the best averaged weights, in evaluation mode.
    best_epoch : int
        Epoch of those weights, counted from 0.
    history : tuple of (float, float)
        Training and validation loss of every epoch.
    left_out : tuple of (n, C) float64
        What the network of every epoch says of the rows that chose the best one; empty where that was not kept.
    """

    network: NetworkT
    best_epoch: int
    history: tuple[tuple[float, float], ...]
    left_out: tuple[npt.NDArray[np.float64], ...] = ()

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.network.parameters())

    @property
    def trained(self) -> int:
        """Number of weights that were not frozen."""
        return sum(weight.numel() for weight in trained_weights(self.network))

    def to_json(self) -> dict[str, Any]:
        """Best epoch and curve as plain types; a validation loss that was not measured is null."""
        curve = [
            {"train_loss": train, "val_loss": loss if math.isfinite(loss) else None}
            for train, loss in self.history
        ]
        return {"best_epoch": self.best_epoch, "history": curve}


def fit_network(
    build: Callable[[], NetworkT],
    *,
    data: BatchedData,
    optimizer: OptimizerRecipe,
    validate: bool,
    seed: int,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
    watch: Sequence[Callback] = (),
) -> Fitted[NetworkT]:
    """Train a network.

    Parameters
    ----------
    build : callable
        Makes the network; called when the seed is set.
    data : BatchedData
    optimizer : OptimizerRecipe
    validate : bool
        Whether there are validation rows; without them the last averaged weights are kept.
    seed : int
        Seed of weights, dropout and order. On one CPU the same seed gives the same bits; on a GPU it does not have to.
    devices : Devices
        Of several processes, each calls this with the same arguments and gets the same network.
    progress : bool, optional
        Whether to draw a progress bar on standard error; by default where that is a terminal.
    watch : sequence of Callback
        Called beside; at the end of validation they see the averaged weights.

    Raises
    ------
    TrainingError
        When the loss is no longer finite, or one of several processes is gone.
    RecipeError
        When Lightning cannot use the devices.
    """
    with quiet_lightning(), torch.random.fork_rng():
        torch.manual_seed(seed)
        epochs = optimizer_epochs(optimizer, data)
        network = build()
        module = NetworkModule(network, optimizer=optimizer, steps=epochs * data.steps_per_epoch)
        best = BestWeights()
        callbacks: list[Callback] = [best, *watch]
        if validate:
            patience = max(1, round(optimizer.patience * epochs))
            callbacks.append(EarlyStopping(monitor="val_loss", patience=patience))
        drawn = sys.stderr.isatty() if progress is None else progress
        if drawn:
            # Lightning's own goes to standard output, into the user's file.
            callbacks.append(RichProgressBar(console_kwargs={"stderr": True}))
        trainer = devices.trainer(
            max_epochs=epochs,
            callbacks=[*callbacks, WeightAverage(optimizer.ema)],
            gradient_clip_val=optimizer.gradient_clip,
            limit_val_batches=1.0 if validate else 0,
            num_sanity_val_steps=0,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=drawn,
            log_every_n_steps=1,
        )
        with working_together(devices):
            trainer.fit(module, datamodule=data)
        best.restore(module)
    network.cpu().eval()
    return Fitted(network=network, best_epoch=best.epoch, history=tuple(best.history))


def optimizer_epochs(optimizer: OptimizerRecipe, data: BatchedData) -> int:
    """Most epochs of a training."""
    epochs, steps = optimizer.epochs, optimizer.min_steps
    assert epochs, "set where the domain is known"
    assert steps, "as above"
    return max(epochs, math.ceil(steps / data.steps_per_epoch))


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silence Lightning's advice on hardware and loaders, which is not for the user of a command."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning_fabric|torch)\..*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
