"""From hidden states to outputs, from outputs to a loss, and from outputs to what users read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from gia_science.adapters import attach
from gia_science.data.batching import Batch
from gia_science.data.target_spec import TaskKind
from gia_science.model.backbone import GIATransformer, Pool
from gia_science.model.config import NetworkConfig, Pooling
from gia_science.model.embedding import read_blocks
from gia_science.model.losses import NumberLoss
from gia_science.model.mixing import Mixing, draw_mixing

if TYPE_CHECKING:
    from gia_science.model.huggingface import HuggingFaceBackbone

ROBUST = NumberLoss()


class Head(nn.Module):
    """Small perceptron on pooled vectors ``(B, d)`` or on tokens ``(B, N, d)``; the last axis becomes the outputs."""

    def __init__(self, width: int, *, outputs: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, outputs)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d)`` to ``(..., outputs)``."""
        out: Tensor = self.out(self.dropout(functional.silu(self.hidden(self.dropout(x)))))
        return out


class NumberAddition(nn.Module):
    """What a row's descriptors add to its pooled vector, by a learned projection; it starts with nothing.

    A sum, as the head's first layer is linear: it makes of the sum what it would make of both side by side. A missing
    descriptor counts as its training mean.
    """

    def __init__(self, size: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(size, width)
        nn.init.zeros_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, descriptors: Tensor) -> Tensor:
        """Descriptors ``(B, D)`` to ``(B, d)``."""
        out: Tensor = self.project(self.dropout(torch.nan_to_num(descriptors)))
        return out


class PropertyNetwork(nn.Module):
    """Backbone, pooling and head: the whole network of a property predictor.

    Descriptors are tokens of the backbone of this package; beside a model from elsewhere, which has no tokens for them,
    they join its vectors before the head.

    Parameters
    ----------
    config : NetworkConfig
        Architecture.
    base : torch.nn.Module, optional
        Model from elsewhere, without heads, where `config` has one.
    """

    def __init__(self, config: NetworkConfig, *, base: nn.Module | None = None) -> None:
        super().__init__()
        self.config = config
        self.backbone: GIATransformer | HuggingFaceBackbone
        self.numbers: NumberAddition | None = None
        if config.base is None:
            self.backbone = GIATransformer(config)
        else:
            # transformers is imported only for models that are built on one of its own.
            from gia_science.model.huggingface import HuggingFaceBackbone

            assert base is not None
            self.backbone = HuggingFaceBackbone(config.base, model=base)
            size = sum(block.size for block in config.blocks if block.tokens)
            if size:
                self.numbers = NumberAddition(size, width=config.width, dropout=config.descriptor_dropout)
        self.pool = Pool(config.width, kind=config.pooling)
        self.number_loss = NumberLoss.of(config)
        self.head = Head(config.width, outputs=config.channels, dropout=config.dropout)

    def adapt(self, *, new: Sequence[nn.Parameter] = ()) -> None:
        """Put the adapter of the configuration on the backbone, which is frozen but for it.

        Parameters
        ----------
        new : sequence of torch.nn.Parameter
            Parameters of a backbone of this package that were not pretrained: they are trained too.
        """
        adapter = self.config.adapter
        if adapter is None:
            return
        if not isinstance(self.backbone, GIATransformer):
            self.backbone.adapt(adapter)
        elif adapter.kind != "full":
            attach(self.backbone, adapter)
            for parameter in new:
                parameter.requires_grad_(True)

    def forward(self, batch: Batch) -> Tensor:
        """Outputs ``(B, channels)``, or ``(B, N, channels)`` for per-token tasks: scaled values or logits."""
        return self._outputs(batch, None)

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Mean loss over the targets that are there, as `task_loss` has it; in training of mixed rows, if asked for."""
        mixing = None
        if self.training and self.config.mixup > 0 and self.config.kind != "per_token":
            mixing = draw_mixing(len(batch), alpha=self.config.mixup, device=targets.device)
        outputs = self._outputs(batch, mixing)
        loss = self._task_loss(outputs, targets, batch.weights)
        if mixing is None:
            return loss
        weights = None if batch.weights is None else batch.weights[mixing.partners]
        return mixing.of(loss, self._task_loss(outputs, targets[mixing.partners], weights))

    def activated(self, batch: Batch) -> Tensor:
        """Outputs of `forward` as `activate` has them."""
        return activate(self.config.kind, self(batch), gates=len(self.config.gates))

    def _outputs(self, batch: Batch, mixing: Mixing | None) -> Tensor:
        hidden, mask = self.backbone(batch)
        if self.config.kind == "per_token":
            read: Tensor = hidden[:, : batch.ids.shape[1]]
            if self.numbers is not None:
                read = read + self._numbers(batch).unsqueeze(1)
        else:
            read = self._pooled(batch, hidden, mask)
        out: Tensor = self.head(read if mixing is None else mixing.of(read, read[mixing.partners]))
        return out

    def _task_loss(self, outputs: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        return task_loss(
            self.config.kind,
            outputs,
            targets,
            numbers=self.number_loss,
            training=self.training,
            weights=weights,
        )

    def embed(self, batch: Batch, *, layer: int | None = None, pooling: Pooling | None = None) -> Tensor:
        """Pooled vectors ``(B, d)``: by default what the head sees; `layer` as in `GIATransformer.forward`."""
        hidden, mask = self.backbone(batch, layer=layer)
        return self._pooled(batch, hidden, mask, kind=pooling)

    def embed_tokens(self, batch: Batch, *, layer: int | None = None) -> Tensor:
        """Hidden states ``(B, N, d)`` of the tokens of the stream, those of descriptors left out."""
        hidden: Tensor = self.backbone(batch, layer=layer)[0]
        return hidden[:, : batch.ids.shape[1]]

    def _pooled(self, batch: Batch, hidden: Tensor, mask: Tensor, *, kind: Pooling | None = None) -> Tensor:
        pooled: Tensor = self.pool(hidden, mask, kind=kind)
        return pooled if self.numbers is None else pooled + self._numbers(batch)

    def _numbers(self, batch: Batch) -> Tensor:
        assert self.numbers is not None
        read = read_blocks(batch.descriptors, self.config.blocks)
        out: Tensor = self.numbers(torch.cat(read, dim=1))
        return out


def task_loss(
    kind: TaskKind,
    outputs: Tensor,
    targets: Tensor,
    *,
    numbers: NumberLoss = ROBUST,
    training: bool = True,
    weights: Tensor | None = None,
) -> Tensor:
    """Mean loss over the targets that are there.

    Parameters
    ----------
    kind : TaskKind
        Numbers by `NumberLoss`, classes by binary or multi-class cross-entropy.
    outputs : (B, channels) or (B, N, C) float
        From `PropertyNetwork`.
    targets : (B, T) or (B, N) float
        Scaled values as of `Targets.encode`, 0/1, or class indices; NaN where missing.
    numbers : NumberLoss
        By default the robust one.
    training : bool, default True
        As of `NumberLoss`.
    weights : (B,) float, optional
        How much each row counts, 1 on average over all rows of a training: the sum is divided by the number of
        targets, not by that of the batch's own weights, so that a row of weight 2 descends as it would standing twice.

    Returns
    -------
    () float
        Zero, with zero gradients, when every target is missing.
    """
    known = ~torch.isnan(targets)
    count = known.sum().clamp_min(1)
    filled = torch.where(known, targets, 0.0)
    if kind == "regression":
        each = numbers(outputs, filled, training=training)
    elif kind in ("binary", "multilabel"):
        each = functional.binary_cross_entropy_with_logits(outputs, filled, reduction="none")
    else:
        if kind == "multiclass":
            filled, known = filled.squeeze(1), known.squeeze(1)
        each = functional.cross_entropy(outputs.movedim(-1, 1), filled.long(), reduction="none")
    if weights is not None:
        each = each * weights.view(-1, *(1,) * (each.ndim - 1))
    return (each * known).sum() / count


def activate(kind: TaskKind, outputs: Tensor, *, gates: int = 0) -> Tensor:
    """Outputs as scaled values (numbers) or probabilities (classes, and the last `gates`), of the same shape."""
    if kind == "regression":
        if not gates:
            return outputs
        return torch.cat((outputs[:, :-gates], outputs[:, -gates:].sigmoid()), dim=1)
    if kind in ("binary", "multilabel"):
        return outputs.sigmoid()
    return outputs.softmax(dim=-1)
