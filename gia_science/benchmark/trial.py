"""One arm trained once: its curves, its scores, and the time of a step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice

import pytorch_lightning as pl
import torch
from pydantic import ConfigDict
from pytorch_lightning.callbacks import Callback
from torch import Tensor

from gia_science.benchmark.arms import Arm, matched_expansion
from gia_science.benchmark.experiment import AttentionExperiment, Experiment, Network
from gia_science.data.batching import Batch
from gia_science.settings import Strict
from gia_science.training.devices import Devices
from gia_science.training.fit import fit_network
from gia_science.training.module import NetworkModule

WATCHED_ROWS = 500
"""Training rows that the training loss is measured on after each epoch, in evaluation mode."""
ROUNDS = 7


class Trial(Strict):
    """What one training of one arm gave.

    Parameters
    ----------
    task, arm, metric : str
    seed : int
    parameters : int
        Number of trained parameters.
    best_epoch : int
        Epoch of the best validation loss, counted from 1.
    train_loss, val_loss : tuple of float
        Loss after each epoch, of the averaged weights without dropout: on some training rows, and on all
        validation rows.
    val_metric, test_metric : float
        Of the weights of the best epoch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)

    task: str
    arm: str
    seed: int
    parameters: int
    metric: str
    greater_is_better: bool
    best_epoch: int
    train_loss: tuple[float, ...]
    val_loss: tuple[float, ...]
    val_metric: float
    test_metric: float

    @property
    def best_val_loss(self) -> float:
        """Lowest validation loss."""
        return self.val_loss[self.best_epoch - 1]

    @property
    def gap_at_best(self) -> float:
        """Validation minus training loss at the best epoch: the generalisation gap."""
        return self.best_val_loss - self.train_loss[self.best_epoch - 1]

    @property
    def gap_at_end(self) -> float:
        """Validation minus training loss after the last epoch."""
        return self.val_loss[-1] - self.train_loss[-1]


class TrainingLoss(Callback):
    """Measures the loss on fixed training rows after each epoch, as validation does: averaged weights, no dropout."""

    def __init__(self, batches: Sequence[tuple[Batch, Tensor]]) -> None:
        self._batches = batches
        self.history: list[float] = []

    @torch.no_grad()
    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure it."""
        del trainer
        assert isinstance(pl_module, NetworkModule)
        total, count = 0.0, 0
        for batch, targets in self._batches:
            known = int((~torch.isnan(targets)).sum())
            total += float(pl_module.network.loss(batch, targets)) * known
            count += known
        self.history.append(total / count)


def expansions(item: AttentionExperiment, arms: Sequence[Arm]) -> dict[str, float | None]:
    """Expansion of the feed-forward of each arm, such that all are as large as the first."""
    first = arms[0].attention(item.attention)
    wanted = item.parameters(first, None)
    matched: dict[str, float | None] = {arms[0].name: None}
    for arm in arms[1:]:
        parameters = partial(item.parameters, arm.attention(item.attention))
        matched[arm.name] = matched_expansion(parameters, wanted=wanted, width=item.width)
    return matched


def run_trial(item: AttentionExperiment, arm: Arm, *, expansion: float | None) -> Trial:
    """Train an arm over the whole budget, and score the weights of its best epoch; see `train_and_score`."""
    attention = arm.attention(item.attention)
    return train_and_score(item, arm.name, lambda: item.build(attention, expansion))


def train_and_score(
    item: Experiment,
    arm: str,
    build: Callable[[], Network],
    *,
    watched_rows: int = WATCHED_ROWS,
    watch: Sequence[Callback] = (),
) -> Trial:
    """Train a network over the whole budget, and score the weights of its best epoch.

    Parameters
    ----------
    item : Experiment
    arm : str
        Name of the arm.
    build : callable
        Makes the network; called when the seed is set.
    watched_rows : int
        Training rows that the training loss is measured on.
    watch : sequence of Callback
        Called beside.

    Raises
    ------
    TrainingError
        When a loss is no longer finite.
    """
    data = item.data()
    watched = TrainingLoss(data.fixed_batches(rows=watched_rows, seed=item.seed))
    fitted = fit_network(
        build,
        data=data,
        optimizer=item.optimizer,
        validate=True,
        seed=item.seed,
        devices=Devices("cpu"),
        progress=False,
        watch=[watched, *watch],
    )
    return Trial(
        task=item.name,
        arm=arm,
        seed=item.seed,
        parameters=fitted.trained,
        metric=item.metric,
        greater_is_better=item.greater_is_better,
        best_epoch=fitted.best_epoch + 1,
        train_loss=tuple(watched.history),
        val_loss=tuple(loss for _, loss in fitted.history),
        val_metric=item.score(fitted.network, "validation"),
        test_metric=item.score(fitted.network, "test"),
    )


def step_times(
    item: AttentionExperiment,
    arms: Sequence[Arm],
    *,
    expansion: Mapping[str, float | None],
    rounds: int = ROUNDS,
) -> dict[str, list[float]]:
    """Seconds of a training step of each arm, taken in turns so that all meet the same machine.

    Returns
    -------
    dict of str to list of float
        For each arm the median over batches of each round.
    """
    batches = list(islice(item.data().train_dataloader(), 3))
    networks = {
        arm.name: item.build(arm.attention(item.attention), expansion[arm.name]).train() for arm in arms
    }
    optimizers = {name: torch.optim.AdamW(network.parameters()) for name, network in networks.items()}
    times: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for turn in range(rounds + 1):
        for name, network in networks.items():
            seconds = []
            for batch, targets in batches:
                start = time.perf_counter()
                optimizers[name].zero_grad()
                torch.autograd.backward(network.loss(batch, targets))
                optimizers[name].step()
                seconds.append(time.perf_counter() - start)
            # The first round warms up.
            if turn:
                times[name].append(statistics.median(seconds))
    return times
