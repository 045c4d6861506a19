"""Lightning around the network: the loss of a batch, the optimiser and its schedule, and the averaged weights."""

from __future__ import annotations

import math
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from gia_science.data.batching import Batch
from gia_science.errors import TrainingError
from gia_science.model.heads import PropertyNetwork
from gia_science.model.language import LanguageModel
from gia_science.training.distributed import BatchLoss, batch_loss
from gia_science.training.optimizer_recipe import OptimizerRecipe

# One row per head: matrices in shape, but gains and biases in meaning.
_UNDECAYED = frozenset({"sharpening", "epsilon", "bias_in", "bias_out", "gain", "name"})


class NetworkModule(pl.LightningModule):
    """Trains a network by its own loss.

    Parameters
    ----------
    network : PropertyNetwork or LanguageModel
    optimizer : OptimizerRecipe
        Learning rate, weight decay, warm-up.
    steps : int
        Number of optimiser steps that the schedule spans.
    """

    def __init__(
        self, network: PropertyNetwork | LanguageModel, *, optimizer: OptimizerRecipe, steps: int
    ) -> None:
        super().__init__()
        # Plain types only: hyper-parameters end up in checkpoints, which are read without unpickling.
        self.save_hyperparameters(
            {
                "network": network.config.model_dump(mode="json"),
                "optimizer": optimizer.model_dump(mode="json"),
                "steps": steps,
            }
        )
        self.optimizer_recipe = optimizer
        self.steps = steps
        self.network = network
        self.processes = 1

    def setup(self, stage: str) -> None:
        """Learn how many processes share each batch."""
        del stage
        self.processes = self.trainer.world_size

    def on_train_start(self) -> None:
        """Let every process hide something else of its rows."""
        if self.processes > 1:
            torch.manual_seed(torch.initial_seed() + self.global_rank)

    def training_step(self, batch: tuple[Batch, Tensor], _: int) -> Tensor:
        """Loss of a training batch; a non-finite one stops training with a reason."""
        loss = self._loss(batch, "training")
        # The same number on all processes: nothing is left for Lightning to reduce.
        size = max(1, loss.known)
        self.log("train_loss", loss.whole, batch_size=size, on_step=False, on_epoch=True, prog_bar=True)
        return loss.descended

    def validation_step(self, batch: tuple[Batch, Tensor], _: int) -> None:
        """Log the validation loss, weighted by the number of known targets; a non-finite one stops training."""
        loss = self._loss(batch, "validation")
        if loss.known:
            self.log("val_loss", loss.whole, batch_size=loss.known, prog_bar=True)

    def transfer_batch_to_device(
        self, batch: tuple[Batch, Tensor], device: torch.device, _: int
    ) -> tuple[Batch, Tensor]:
        """Move a batch and its targets."""
        return batch[0].to(device), batch[1].to(device)

    def configure_optimizers(self) -> Any:
        """AdamW with a linear warm-up, then a cosine to a hundredth; no decay on gains, biases and sharpening."""
        recipe = self.optimizer_recipe
        named = [(name, weight) for name, weight in self.named_parameters() if weight.requires_grad]
        decayed = [p for name, p in named if p.ndim > 1 and name.rsplit(".", 1)[-1] not in _UNDECAYED]
        others = [p for name, p in named if p.ndim <= 1 or name.rsplit(".", 1)[-1] in _UNDECAYED]
        groups = [
            {"params": decayed, "weight_decay": recipe.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), fused=True)
        warmup = max(1, round(recipe.warmup * self.steps))

        def factor(step: int) -> float:
            if step < warmup:
                return (step + 1) / warmup
            done = min(1.0, (step - warmup) / max(1, self.steps - warmup))
            return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _loss(self, batch: tuple[Batch, Tensor], part: str) -> BatchLoss:
        """Loss of a batch of which this process may have a share; non-finite, it is so on all of them."""
        inputs, targets = batch
        known = (~torch.isnan(targets)).sum()
        loss = batch_loss(self.network.loss(inputs, targets), known=known, processes=self.processes)
        if not torch.isfinite(loss.whole):
            raise TrainingError(
                f"the {part} loss is no longer finite",
                got=f"{loss.whole.item()} in epoch {self.current_epoch + 1}",
                hint="lower training.learning_rate, or look for extreme target values",
            )
        return loss


class WeightAverage(pl.Callback):
    """Exponential moving average of the weights that are trained.

    Its memory grows to `decay`, so that the random start is forgotten. Validation sees the averaged weights, and the
    end of training leaves them in the module. Frozen weights, of which there may be many more, are neither copied nor
    averaged; that is why Lightning's own callback is not used.

    Parameters
    ----------
    decay : float
    """

    def __init__(self, decay: float) -> None:
        self._decay = decay
        self._averages: list[Tensor] = []
        self._updates = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin with the weights as they are."""
        del trainer
        self._averages = [weight.detach().clone() for weight in trained_weights(pl_module)]

    @torch.no_grad()
    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Move the average after a step of the optimiser."""
        if trainer.global_step <= self._updates:
            return
        currents = [weight.detach() for weight in trained_weights(pl_module)]
        if self._updates == 0:
            torch._foreach_copy_(self._averages, currents)
        else:
            step = self._updates
            torch._foreach_lerp_(self._averages, currents, 1 - min(self._decay, (1 + step) / (10 + step)))
        self._updates = trainer.global_step

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Put the average in the place of the weights."""
        del trainer
        self._swap(pl_module)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Put the weights back."""
        del trainer
        self._swap(pl_module)

    @torch.no_grad()
    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Leave the average in the module."""
        del trainer
        for weight, average in zip(trained_weights(pl_module), self._averages, strict=True):
            weight.copy_(average)

    @torch.no_grad()
    def _swap(self, module: pl.LightningModule) -> None:
        for weight, average in zip(trained_weights(module), self._averages, strict=True):
            current = weight.clone()
            weight.copy_(average)
            average.copy_(current)


def trained_weights(module: nn.Module) -> list[nn.Parameter]:
    """Parameters that are not frozen."""
    return [weight for weight in module.parameters() if weight.requires_grad]


class BestWeights(pl.Callback):
    """Keeps the weights of the best validation loss in memory, and puts them back when training ends.

    It must stand before the weight average among the callbacks: then what it sees at the end of validation are
    the averaged weights, and what it puts back at the end of training is not overwritten.
    """

    def __init__(self) -> None:
        self.loss = math.inf
        self.epoch = -1
        self.history: list[tuple[float, float]] = []
        self._weights: dict[str, Tensor] = {}

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Remember the weights when they are the best so far."""
        loss = float(trainer.callback_metrics.get("val_loss", torch.tensor(math.inf)))
        if loss < self.loss or not self._weights:
            self.loss, self.epoch = loss, trainer.current_epoch
            frozen = {name for name, weight in pl_module.named_parameters() if not weight.requires_grad}
            self._weights = {
                name: value.detach().clone()
                for name, value in pl_module.state_dict().items()
                if name not in frozen
            }

    def on_train_epoch_end(self, trainer: pl.Trainer, _: pl.LightningModule) -> None:
        """Keep the curve of training and validation loss."""
        metrics = trainer.callback_metrics
        self.history.append((float(metrics["train_loss"]), float(metrics.get("val_loss", math.nan))))

    def restore(self, module: pl.LightningModule) -> None:
        """Put the best weights into the module."""
        if self._weights:
            found = module.load_state_dict(self._weights, strict=False)
            frozen = {name for name, weight in module.named_parameters() if not weight.requires_grad}
            assert frozen.issuperset(found.missing_keys)
            assert not found.unexpected_keys
