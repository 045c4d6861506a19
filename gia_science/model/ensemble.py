"""Several networks of one architecture, trained from different seeds, that answer as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from gia_science.data.batching import Batch
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import NetworkConfig, Pooling
from gia_science.model.forest import Forest
from gia_science.model.heads import PropertyNetwork


class PropertyEnsemble(nn.Module):
    """Mean of the outputs of its members.

    Networks that start from different seeds err in different places: their mean errs less than any of them
    (Lakshminarayanan et al. 2017, arXiv 1612.01474).

    Parameters
    ----------
    config : NetworkConfig
        Architecture of each member, the number of members, and the shape of the forest beside them, if there is one.
    members : sequence of PropertyNetwork, optional
        By default they are made, with random weights; those that are built on a model from elsewhere must be given.
    forest : Forest, optional
        Of the shape that `config` has; by default one without branches.
    """

    def __init__(
        self,
        config: NetworkConfig,
        *,
        members: Sequence[PropertyNetwork] | None = None,
        forest: Forest | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        if members is None:
            members = [PropertyNetwork(config) for _ in range(config.members)]
        assert len(members) == config.members
        self.members = nn.ModuleList(members)
        if forest is None and config.forest is not None:
            forest = Forest(config.forest)
        self.forest = forest

    @classmethod
    def of(cls, members: Sequence[PropertyNetwork], *, forest: Forest | None = None) -> Self:
        """An ensemble of trained networks, in evaluation mode; of some members of another ensemble too."""
        shape = None if forest is None else forest.config
        config = members[0].config.model_copy(update={"members": len(members), "forest": shape})
        return cls(config, members=members, forest=forest).eval()

    @property
    def width(self) -> int:
        """Number of dimensions of an embedding."""
        return self.config.width * self.config.members

    @property
    def numbers(self) -> int:
        """How many `each` gives of a row."""
        beside = 0 if self.forest is None else self.forest.config.outputs
        return self.config.channels * self.config.members + beside

    def forward(self, batch: Batch) -> Tensor:
        """Mean scaled values or probabilities: ``(B, channels)``, or ``(B, N, channels)`` for per-token tasks."""
        return torch.stack([member.activated(batch) for member in self._networks()]).mean(dim=0)

    def each(self, batch: Batch) -> Tensor:
        """What `Targets.decode` reads.

        Scaled values or probabilities of the members, one after another; then, of a blend, what the forest predicts, in
        the units of the targets: ``(B, members * channels)`` or ``(B, members * channels + outputs)``.
        """
        found = [member.activated(batch) for member in self._networks()]
        if self.forest is not None:
            found.append(self.forest(batch.descriptors))
        return torch.cat(found, dim=1)

    def embed(self, batch: Batch, *, layer: int | None = None, pooling: Pooling | None = None) -> Tensor:
        """Pooled vectors of the members, one after another: ``(B, members * d)``."""
        return torch.cat(
            [member.embed(batch, layer=layer, pooling=pooling) for member in self._networks()], dim=1
        )

    def embed_tokens(self, batch: Batch, *, layer: int | None = None) -> Tensor:
        """Vectors of each token of the members, one after another: ``(B, N, members * d)``."""
        return torch.cat([member.embed_tokens(batch, layer=layer) for member in self._networks()], dim=2)

    def adjacencies(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Graphs of the members ``(B, members, L, H, N, N)``, and the mask of the tokens ``(B, N)``."""
        backbones = [member.backbone for member in self._networks()]
        found = [
            backbone.adjacencies(batch) for backbone in backbones if isinstance(backbone, GIATransformer)
        ]
        assert len(found) == len(backbones), "the graphs of models from elsewhere are not shown"
        return torch.stack([adjacency for adjacency, _ in found], dim=1), found[0][1]

    def _networks(self) -> list[PropertyNetwork]:
        return [member for member in self.members if isinstance(member, PropertyNetwork)]
