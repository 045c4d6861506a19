"""Language models: networks that score the tokens of the vocabulary, such as the one a backbone is pretrained as."""

from __future__ import annotations

from abc import abstractmethod

import torch
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn import functional

from gia_science.data.batching import Batch
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import LanguageConfig


class LanguageModel(nn.Module):
    """A network that scores the tokens of the vocabulary at each place.

    Attributes
    ----------
    config : pydantic model
        Architecture.
    """

    config: BaseModel

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Logits ``(B, N, V)`` over the vocabulary at each token."""

    def token_losses(self, batch: Batch, targets: Tensor) -> Tensor:
        """Cross-entropy, in nats, of each predicted token.

        Parameters
        ----------
        batch : Batch
        targets : (B, N) float
            Id of the token to predict at each place; NaN where nothing is predicted.

        Returns
        -------
        (B, N) float
            0 where nothing is predicted.
        """
        known = ~torch.isnan(targets)
        ids = torch.where(known, targets, 0.0).long()
        return functional.cross_entropy(self(batch).movedim(-1, 1), ids, reduction="none") * known

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Mean of `token_losses` over the predicted tokens; zero, with zero gradients, where there are none."""
        return self.token_losses(batch, targets).sum() / (~torch.isnan(targets)).sum().clamp_min(1)


class LanguageNetwork(LanguageModel):
    """Backbone with a head that scores the tokens of the vocabulary.

    The head shares the embedding of the tokens (Press and Wolf 2017, arXiv 1608.05859) and has a bias of its own.

    Parameters
    ----------
    config : LanguageConfig
        Architecture.
    """

    config: LanguageConfig

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = GIATransformer(config)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``(B, N, V)`` over the vocabulary at each token."""
        hidden, _ = self.backbone(batch)
        return functional.linear(hidden, self.backbone.embedding.token.weight, self.bias)
