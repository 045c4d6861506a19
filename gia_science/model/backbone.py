"""The Transformer: blocks of graph attention and SwiGLU feed-forward, pre-norm and residual."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gia_science.attention import AttentionConfig, build_attention, edge_matrix, with_hops
from gia_science.data.batching import Batch
from gia_science.model.config import BackboneConfig
from gia_science.model.embedding import StreamEmbedding


class SwiGLU(nn.Module):
    """Gated feed-forward ``W_out (silu(W_gate x) * W_in x)`` (Shazeer 2020, arXiv 2002.05202)."""

    def __init__(self, width: int, *, expansion: float) -> None:
        super().__init__()
        hidden = max(1, round(expansion * width))
        self.gate_and_in = nn.Linear(width, 2 * hidden, bias=False)
        self.out = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d)`` to ``(..., d)``."""
        gate, value = self.gate_and_in(x).chunk(2, dim=-1)
        out: Tensor = self.out(nn.functional.silu(gate) * value)
        return out


class Block(nn.Module):
    """One layer: ``x + attention(norm(x))``, then ``x + feedforward(norm(x))``."""

    def __init__(
        self,
        width: int,
        *,
        attention: AttentionConfig,
        expansion: float,
        dropout: float,
        depth: int,
        skipped: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width)
        self.attention = build_attention(width, attention, depth=depth)
        self.feedforward_norm = nn.RMSNorm(width)
        self.feedforward = SwiGLU(width, expansion=expansion)
        # Dropout acts on the branches, not on attention weights: those would lose the fused kernel on CPU.
        self.dropout = nn.Dropout(dropout)
        self.skipped = skipped

    def forward(self, x: Tensor, *, positions: Tensor, mask: Tensor, edges: Tensor | None = None) -> Tensor:
        """``(B, N, d)`` to ``(B, N, d)``; ``edges`` as in `GraphAttention.forward`."""
        attended = self.attention(self.attention_norm(x), positions=positions, mask=mask, edges=edges)
        x = x + self._kept(self.dropout(attended))
        out: Tensor = x + self._kept(self.dropout(self.feedforward(self.feedforward_norm(x))))
        return out

    def _kept(self, branch: Tensor) -> Tensor:
        """The branch, left out for some rows in training: stochastic depth (Huang et al. 2016, arXiv 1603.09382)."""
        if not self.training or self.skipped == 0:
            return branch
        kept = torch.rand(len(branch), 1, 1, device=branch.device) >= self.skipped
        return branch * kept / (1 - self.skipped)


class GIATransformer(nn.Module):
    """Backbone: a batch of token streams to hidden states.

    Parameters
    ----------
    config : BackboneConfig
        Architecture.
    """

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.embedding = StreamEmbedding(config)
        self.reads_edges = config.attention.edge_kinds > 0
        self.hops, self.bonds = config.hops, config.attention.edge_kinds - (config.hops - 1)
        self.blocks = nn.ModuleList(
            Block(
                config.width,
                attention=config.attention,
                expansion=config.expansion,
                dropout=config.dropout,
                depth=config.layers,
                # Later blocks are skipped more often: those after them rely on them less.
                skipped=config.stochastic_depth * (number + 1) / config.layers,
            )
            for number in range(config.layers)
        )
        self.norm = nn.RMSNorm(config.width)

    def forward(self, batch: Batch, *, layer: int | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states of all tokens.

        Parameters
        ----------
        batch : Batch
        layer : int, optional
            Number of blocks that are run, 0 to L: 0 gives what the first block is given. After all L blocks, as by
            default, follows the norm that the head needs; states of other layers are as the next block takes them.

        Returns
        -------
        hidden : (B, N + M, d) float
            The N stream tokens, then the M descriptor tokens.
        mask : (B, N + M) bool
            True for tokens.
        """
        x, inputs = self._nodes(batch)
        depth = len(self.blocks) if layer is None else layer
        for block in self.blocks[:depth]:
            x = block(x, **inputs)
        return (self.norm(x) if depth == len(self.blocks) else x), inputs["mask"]

    def adjacencies(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Graphs that the blocks aggregate over, at the memory cost of N x N numbers per block and head.

        Returns
        -------
        adjacency : (B, L, H, N + M, N + M) float
            As of `GraphAttention.adjacency`, block by block.
        mask : (B, N + M) bool
            As of `forward`.
        """
        x, inputs = self._nodes(batch)
        found = []
        for block in self.blocks:
            assert isinstance(block, Block)
            found.append(block.attention.adjacency(block.attention_norm(x), **inputs))
            x = block(x, **inputs)
        return torch.stack(found, dim=1), inputs["mask"]

    def _nodes(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Embedded tokens ``(B, N + M, d)``, and what the blocks are told of them."""
        x, positions, mask = self.embedding(batch)
        inputs = {"positions": positions, "mask": mask}
        if self.reads_edges:
            # Once for all blocks, as each adds its own bias to the same pairs.
            edges = edge_matrix(batch.edges, batch.edge_kinds, nodes=x.shape[1])
            inputs["edges"] = with_hops(edges, known=self.bonds, hops=self.hops)
        return x, inputs


def masked_mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """Mean of ``(B, N, d)`` over the tokens where ``(B, N)`` is True; zeros where there are none."""
    weight = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1.0)


class Pool(nn.Module):
    """One vector per row from its tokens: the mean of all, the first (``<cls>``), or an attention-weighted mean."""

    def __init__(self, width: int, *, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.score = nn.Linear(width, 1, bias=False) if kind == "attention" else None

    def forward(self, hidden: Tensor, mask: Tensor, *, kind: str | None = None) -> Tensor:
        """``(B, N, d)`` and ``(B, N)`` bool to ``(B, d)``; another kind only where it needs no learnt weights."""
        kind = kind or self.kind
        if kind == "first":
            return hidden[:, 0]
        if kind == "mean":
            return masked_mean(hidden, mask)
        assert self.score is not None, "attention pooling is learnt"
        score = self.score(hidden).squeeze(-1).masked_fill(~mask, -torch.inf)
        return torch.einsum("bn,bnd->bd", score.softmax(dim=-1), hidden)
