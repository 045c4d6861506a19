"""From hidden states to outputs, from outputs to a loss, and from outputs to what users read."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gia_science.data.batching import Batch
from gia_science.data.targets import TaskKind
from gia_science.model.backbone import GIATransformer, Pool
from gia_science.model.config import NetworkConfig, Pooling

SMOOTH = 0.5
"""Error, in standard deviations of the target, from which on the loss of a number grows linearly."""


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


class PropertyNetwork(nn.Module):
    """Backbone, pooling and head: the whole network of a property predictor.

    Parameters
    ----------
    config : NetworkConfig
        Architecture.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = GIATransformer(config)
        self.pool = Pool(config.width, kind=config.pooling)
        self.head = Head(config.width, outputs=config.outputs, dropout=config.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Outputs ``(B, outputs)``, or ``(B, N, outputs)`` for per-token tasks: scaled values or logits."""
        hidden, mask = self.backbone(batch)
        if self.config.kind == "per_token":
            out: Tensor = self.head(hidden[:, : batch.ids.shape[1]])
        else:
            out = self.head(self.pool(hidden, mask))
        return out

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Mean loss over the targets that are there, as `task_loss` has it."""
        return task_loss(self.config.kind, self(batch), targets, weights=batch.weights)

    def embed(self, batch: Batch, *, layer: int | None = None, pooling: Pooling | None = None) -> Tensor:
        """Pooled vectors ``(B, d)``: by default what the head sees; `layer` as in `GIATransformer.forward`."""
        hidden, mask = self.backbone(batch, layer=layer)
        pooled: Tensor = self.pool(hidden, mask, kind=pooling)
        return pooled

    def embed_tokens(self, batch: Batch, *, layer: int | None = None) -> Tensor:
        """Hidden states ``(B, N, d)`` of the tokens of the stream, those of descriptors left out."""
        hidden: Tensor = self.backbone(batch, layer=layer)[0]
        return hidden[:, : batch.ids.shape[1]]


def task_loss(kind: TaskKind, outputs: Tensor, targets: Tensor, *, weights: Tensor | None = None) -> Tensor:
    """Mean loss over the targets that are there.

    Parameters
    ----------
    kind : TaskKind
        Smooth absolute error on scaled targets (square below `SMOOTH`, linear above: a few rows far off do not
        rule), binary or multi-class cross-entropy.
    outputs : (B, T), (B, C) or (B, N, C) float
        From `PropertyNetwork`.
    targets : (B, T) or (B, N) float
        Scaled values, 0/1, or class indices; NaN where missing.
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
        each = functional.smooth_l1_loss(outputs, filled, reduction="none", beta=SMOOTH)
    elif kind in ("binary", "multilabel"):
        each = functional.binary_cross_entropy_with_logits(outputs, filled, reduction="none")
    else:
        if kind == "multiclass":
            filled, known = filled.squeeze(1), known.squeeze(1)
        each = functional.cross_entropy(outputs.movedim(-1, 1), filled.long(), reduction="none")
    if weights is not None:
        each = each * weights.view(-1, *(1,) * (each.ndim - 1))
    return (each * known).sum() / count


def activate(kind: TaskKind, outputs: Tensor) -> Tensor:
    """Outputs as scaled values (regression) or probabilities (all others), of the same shape."""
    if kind == "regression":
        return outputs
    if kind in ("binary", "multilabel"):
        return outputs.sigmoid()
    return outputs.softmax(dim=-1)
