"""Embedding of a token stream and its descriptors: the sum of all that a token has."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gia_science.data.batching import Batch
from gia_science.model.config import BackboneConfig, BlockConfig

_MISSING = 0.0


class ContextEmbedding(nn.Module):
    """Sum of the embeddings of a token's K contexts, each hidden at random in training.

    A context names the neighbourhood a token stands in; many occur once in the training data, so that hiding them
    keeps the network from leaning on what it will not see again.
    """

    def __init__(self, buckets: tuple[int, ...], *, width: int, dropout: float) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width, padding_idx=0) for size in buckets)
        self.dropout = dropout
        for table in self.tables:
            assert isinstance(table, nn.Embedding)
            nn.init.normal_(table.weight, std=0.02)
            with torch.no_grad():
                table.weight[0].zero_()

    def forward(self, contexts: Tensor) -> Tensor:
        """Contexts ``(B, N, K)`` int64 to ``(B, N, d)``."""
        if self.training and self.dropout > 0:
            contexts = contexts * (torch.rand(contexts.shape, device=contexts.device) >= self.dropout)
        total: Tensor = self.tables[0](contexts[..., 0])
        for index in range(1, len(self.tables)):
            total = total + self.tables[index](contexts[..., index])
        return total


class ValueEmbedding(nn.Module):
    """Embedding of the number that rides on a token; a token without a number (0) gets nothing.

    Fractions span orders of magnitude: the number enters on a linear, a square-root and a logarithmic scale.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(3, width)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        """Values ``(B, N)`` to ``(B, N, d)``."""
        size = values.abs()
        scales = torch.stack((values, torch.sqrt(size), torch.log1p(100.0 * size) / 5.0), dim=-1)
        embedded: Tensor = self.out(nn.functional.silu(self.hidden(scales)))
        return embedded * (values != 0).unsqueeze(-1)


class SingleDescriptors(nn.Module):
    """One token per descriptor: what it is, plus its value along a learned direction. A missing one is masked."""

    def __init__(self, size: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.name = nn.Parameter(torch.randn(size, width) * 0.02)
        self.direction = nn.Parameter(torch.randn(size, width) * 0.1)
        self.dropout = dropout

    def forward(self, descriptors: Tensor) -> tuple[Tensor, Tensor]:
        """Descriptors ``(B, D)`` to tokens ``(B, D, d)`` and their mask ``(B, D)``."""
        present = ~torch.isnan(descriptors)
        if self.training and self.dropout > 0:
            present = present & (torch.rand(present.shape, device=present.device) >= self.dropout)
        values = torch.where(present, descriptors, _MISSING).unsqueeze(-1)
        return self.name + values * self.direction, present


class PackedDescriptors(nn.Module):
    """Many descriptors in a few tokens, by a learned projection. A missing one counts as its training mean."""

    def __init__(self, size: int, *, tokens: int, width: int, dropout: float, bins: int) -> None:
        super().__init__()
        self.tokens = tokens
        self.bins = bins
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(size * (1 + bins), tokens * width)
        self.norm = nn.RMSNorm(width)

    def forward(self, descriptors: Tensor) -> tuple[Tensor, Tensor]:
        """Descriptors ``(B, D)`` to tokens ``(B, tokens, d)`` and their mask, all True."""
        known = torch.nan_to_num(descriptors, nan=_MISSING)
        if self.bins:
            known = torch.cat((known, piecewise(known, bins=self.bins)), dim=1)
        tokens = self.norm(self.project(self.dropout(known)).unflatten(-1, (self.tokens, -1)))
        return tokens, torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)


def piecewise(values: Tensor, *, bins: int) -> Tensor:
    """Piecewise linear encoding of standardised numbers (Gorishniy et al. 2022, arXiv 2203.05556).

    The range from -2.5 to 2.5 standard deviations is cut into equal bins; each gives how far the number reaches into
    it, less a half. Linear maps of these can step where trees can split.

    Parameters
    ----------
    values : (B, D) float
    bins : int

    Returns
    -------
    (B, D * bins) float
    """
    edges = torch.linspace(-2.5, 2.5, bins + 1, device=values.device, dtype=values.dtype)
    reach = (values.unsqueeze(-1) - edges[:-1]) / (edges[1] - edges[0])
    return (reach.clamp(0, 1) - 0.5).flatten(1)


def jittered(values: Tensor, size: float) -> Tensor:
    """Numbers ``(B, N)`` times log-normal noise of the given relative size, those of a row summing to what they did.

    Fractions of elements stay fractions, and an element that is not there stays out.
    """
    noisy = values * torch.exp(size * torch.randn_like(values))
    total = noisy.sum(dim=1, keepdim=True)
    return noisy * (values.sum(dim=1, keepdim=True) / torch.where(total == 0, 1.0, total))


def descriptor_tokens(block: BlockConfig, *, width: int, dropout: float) -> nn.Module:
    """Module for one block: single tokens, or packed ones."""
    if block.tokens == block.size:
        return SingleDescriptors(block.size, width=width, dropout=dropout)
    return PackedDescriptors(block.size, tokens=block.tokens, width=width, dropout=dropout, bins=block.bins)


def read_blocks(descriptors: Tensor, blocks: Sequence[BlockConfig]) -> list[Tensor]:
    """The descriptors ``(B, D)`` of each block that networks read, ``(B, D_block)``."""
    parts = torch.split(descriptors, [block.size for block in blocks], dim=1)
    return [part for part, block in zip(parts, blocks, strict=True) if block.tokens]


class StreamEmbedding(nn.Module):
    """Tokens of a batch, followed by the tokens of its descriptors.

    Parameters
    ----------
    config : BackboneConfig
        Sizes of the vocabulary, features, contexts and descriptor blocks.
    """

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.token_dropout = config.token_dropout
        self.jitter = config.jitter
        self.token = nn.Embedding(config.vocabulary, config.width)
        nn.init.normal_(self.token.weight, std=0.1)
        self.value = ValueEmbedding(config.width) if config.values else None
        self.feature = nn.Linear(config.features, config.width, bias=False) if config.features else None
        self.context = (
            ContextEmbedding(config.context_buckets, width=config.width, dropout=config.context_dropout)
            if config.context_buckets
            else None
        )
        self.blocks = nn.ModuleList(
            descriptor_tokens(block, width=config.width, dropout=config.descriptor_dropout)
            for block in config.blocks
            if block.tokens
        )
        self.config = config

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Embed a batch.

        Returns
        -------
        x : (B, N + M, d) float
            The N stream tokens, then the M descriptor tokens.
        positions : (B, N + M) int64
            Descriptor tokens have no order: they stand at position 0.
        mask : (B, N + M) bool
        """
        x = self.token(batch.ids)
        if self.value is not None:
            values = batch.values
            if self.training and self.jitter > 0:
                values = jittered(values, self.jitter)
            x = x + self.value(values)
        if self.feature is not None:
            x = x + self.feature(batch.features)
        if self.context is not None:
            x = x + self.context(batch.contexts)
        if self.training and self.token_dropout > 0:
            x = x * self._kept(batch).unsqueeze(-1)
        parts, masks = [x], [batch.mask]
        for block, numbers in zip(
            self.blocks, read_blocks(batch.descriptors, self.config.blocks), strict=True
        ):
            tokens, present = block(numbers)
            parts.append(tokens)
            masks.append(present)
        mask = torch.cat(masks, dim=1)
        positions = nn.functional.pad(batch.positions, (0, mask.shape[1] - batch.mask.shape[1]))
        return torch.cat(parts, dim=1), positions, mask

    def _kept(self, batch: Batch) -> Tensor:
        """``(B, N)`` bool: False for residues, atoms and elements whose embedding is hidden this time."""
        drawn = torch.rand(batch.ids.shape, device=batch.ids.device) >= self.token_dropout
        return drawn | (batch.units < 0)
