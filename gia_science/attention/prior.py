"""The known graph, such as a molecule's bonds, as a matrix that attention can start from."""

from __future__ import annotations

import torch
from torch import Tensor


def edge_matrix(edges: Tensor, kinds: Tensor, *, nodes: int) -> Tensor:
    """Spread a list of undirected edges over pairs of nodes.

    Parameters
    ----------
    edges : (B, E, 2) int64
        Pairs of nodes; each edge once.
    kinds : (B, E) int64
        Kind of each edge, counted from 0; -1 for padding.
    nodes : int
        N.

    Returns
    -------
    (B, N, N) uint8
        The kind plus 1, in both directions; 0 where there is no edge.
    """
    B = len(edges)
    real = kinds >= 0
    # Padding is written into a spare place behind the matrix: no selection, hence no wait for a GPU.
    spare = nodes * nodes
    matrix = torch.zeros(B, spare + 1, dtype=torch.uint8, device=edges.device)
    labels = (kinds + 1).to(torch.uint8)
    first, second = edges.unbind(dim=-1)
    for i, j in ((first, second), (second, first)):
        matrix.scatter_(1, torch.where(real, i * nodes + j, spare), labels)
    return matrix[:, :spare].view(B, nodes, nodes)


def with_hops(kinds: Tensor, *, known: int, hops: int) -> Tensor:
    """Name pairs of nodes that several steps along known edges join by the least number of steps.

    As the distance of two nodes biases attention in Graphormer (Ying et al. 2021, arXiv 2106.05234), but along known
    edges of every kind and up to a few steps. Takes ``hops - 1`` products of N x N matrices.

    Parameters
    ----------
    kinds : (B, N, N) uint8
        Known edges, as from `edge_matrix`.
    known : int
        Number of their kinds.
    hops : int
        Most steps; 1 names no further pairs.

    Returns
    -------
    (B, N, N) uint8
        As `kinds`; where there was no edge, ``known + h - 1`` for two nodes that 2 <= h <= `hops` steps join.
    """
    if hops == 1:
        return kinds
    adjacent = (kinds > 0).float()
    named, reached = kinds, adjacent
    new = torch.eye(kinds.shape[-1], device=kinds.device)  # a node is no neighbour of its own
    seen = (adjacent + new) > 0
    for steps in range(2, hops + 1):
        reached = ((reached @ adjacent) > 0) & ~seen
        named = named.masked_fill(reached, known + steps - 1)
        seen, reached = seen | reached, reached.float()
    return named


def edge_bias(kinds: Tensor, bias: Tensor) -> Tensor:
    """Return what known edges add to the scores.

    Parameters
    ----------
    kinds : (B, t, M) int
        Kind of the known edge plus 1, 0 for none. Kinds beyond those that have a bias add nothing.
    bias : (H, K)
        One per head and kind.

    Returns
    -------
    (B, H, t, M)
    """
    # As a product with indicators the gradient is a product too; that of a look-up would be a slow scatter.
    names = torch.arange(1, bias.shape[1] + 1, device=kinds.device)
    indicators = (kinds[:, None] == names[:, None, None]).to(bias.dtype)
    return torch.einsum("hk,bktm->bhtm", bias, indicators)
