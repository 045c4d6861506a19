"""The graph of one forward pass: sums over its neighbourhoods by the cheapest exact way there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import torch
from torch import Tensor

from gia_science.attention.adjacency import degrees, edge_weights, visible_rows
from gia_science.attention.aggregation import (
    STD_EPSILON,
    centre,
    moments,
    weighted_mean,
    weighted_mean_and_variance,
)
from gia_science.attention.config import Aggregator, AttentionConfig
from gia_science.attention.extrema import best_rank, ranks, values_of_rank, visible_extremum
from gia_science.attention.prior import edge_bias
from gia_science.attention.sparsify import sparsify
from gia_science.attention.tiles import Tiling, join, recomputed


@dataclass(frozen=True)
class AttentionGraph:
    """Edges between tokens, given by what their weights are made of.

    Where softmax weights are used as they are, sums over neighbours are calls of the fused kernel. Elsewhere the
    weights are made for some rows at a time, and made again in the backward pass.

    Parameters
    ----------
    config : AttentionConfig
    queries, keys : tuple of (B, H, N, d_h)
        One set, or two for the differential adjacency; queries are already sharpened.
    mask : (B, N) bool, optional
        True for real tokens; none means all.
    threshold, lambdas : (H,), optional
        Learned threshold, and factor of the second set of queries and keys.
    bias : (H, K), optional
        What a known edge of each kind adds to the scores, to those of the first set where there are two.
    edges : (B, N, N) int, optional
        Kind of the known edge plus 1, 0 for none.
    """

    config: AttentionConfig
    queries: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    mask: Tensor | None = None
    threshold: Tensor | None = None
    lambdas: Tensor | None = None
    bias: Tensor | None = None
    edges: Tensor | None = None

    @property
    def biased(self) -> bool:
        """Whether known edges change the scores."""
        return self.bias is not None and self.edges is not None

    @property
    def fused(self) -> bool:
        """Whether sums with the weights as they are need no weights outside the kernel."""
        plain = self.config.adjacency in ("softmax", "differential")
        return plain and self.config.sparsifier == "none" and not self.biased

    def weights(self, rows: slice) -> Tensor:
        """Return the weights A' of the edges into some nodes.

        Parameters
        ----------
        rows : slice
            Of t nodes.

        Returns
        -------
        (B, H, t, M)
            M is N, or the end of the rows in causal attention; in float32 at least.
        """
        config, last = self.config, self._columns(rows)
        seen = visible_rows(self.mask, rows, last, causal=config.causal, device=self.queries[0].device)
        scores = self._scores(0, rows)
        if self.bias is not None and self.edges is not None:
            scores = scores + edge_bias(self.edges[:, rows, :last], self.bias)
        if config.adjacency == "differential":
            assert self.lambdas is not None
            first = edge_weights(scores, seen, adjacency="softmax")
            second = edge_weights(self._scores(1, rows), seen, adjacency="softmax")
            weights = first - self.lambdas[:, None, None] * second
        else:
            weights = edge_weights(scores, seen, adjacency=config.adjacency)
        return sparsify(weights, seen, config=config, threshold=self.threshold)

    def weighted_sum(self, values: Tensor) -> Tensor:
        """Return `sum_j A'[i, j] v_j`.

        Parameters
        ----------
        values : (B, H, N, d_h)

        Returns
        -------
        (B, H, N, d_h)
            0 for a node without edges.
        """
        if not self.fused:
            return self._in_tiles(values)
        means = [
            weighted_mean(queries, keys, values, mask=self.mask, causal=self.config.causal)
            for queries, keys in zip(self.queries, self.keys, strict=True)
        ]
        if self.lambdas is None:
            return means[0]
        return means[0] - self.lambdas.to(means[1].dtype)[:, None, None] * means[1]

    def moments(self, values: Tensor, *, variance: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Return sum, mean and variance of the neighbours' values, weighted by A'.

        Neighbours are the tokens with A' > 0; a negative weight counts as 0.

        Parameters
        ----------
        values : (B, H, N, d_h)
        variance : bool
            Whether it is wanted; otherwise the third result is the second.

        Returns
        -------
        sum, mean, variance : (B, H, N, d_h)
            0 for a node without neighbours.
        """
        causal = self.config.causal
        if self.fused and self.config.adjacency == "softmax":
            (queries,), (keys,) = self.queries, self.keys
            if not variance:
                mean = weighted_mean(queries, keys, values, mask=self.mask, causal=causal)
                return mean, mean, mean
            mean, found = weighted_mean_and_variance(queries, keys, values, mask=self.mask, causal=causal)
            return mean, mean, found
        middle = centre(values.detach(), self.mask, causal=causal)
        offsets = values - middle
        ones = torch.ones_like(offsets[..., :1])
        basis = torch.cat([offsets, offsets * offsets, ones] if variance else [offsets, ones], dim=-1)
        sums = self._in_tiles(basis, positive=True)
        return moments(sums, middle, variance=variance)

    def statistics(self, values: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the statistics that the configuration names, side by side, and the number of neighbours.

        Parameters
        ----------
        values : (B, H, N, d_h)

        Returns
        -------
        columns : (B, H, N, A * d_h)
            0 for a node without neighbours, but for the standard deviation, `sqrt(variance + 1e-5)`.
        degree : (B, N) or (B, H, N) int64, or None
            The former where it is the same for all heads; None where no scaler needs it.
        """
        names = self.config.aggregators
        ends = tuple(name for name in names if name in ("max", "min"))
        found: dict[Aggregator, Tensor] = {}
        degree = None
        if ends or self.config.scales:
            found, degree = self._extrema(values, ends)
        if len(ends) < len(names):
            spread = not {"var", "std"}.isdisjoint(names)
            found["sum"], found["mean"], found["var"] = self.moments(values, variance=spread)
        if "std" in names:
            found["std"] = (found["var"] + STD_EPSILON).sqrt()
        return torch.cat([found[name] for name in names], dim=-1), degree

    def _extrema(
        self, values: Tensor, ends: tuple[Aggregator, ...]
    ) -> tuple[dict[Aggregator, Tensor], Tensor]:
        """Largest and smallest of the neighbours' values, channel by channel, and the number of neighbours."""
        causal = self.config.causal
        if self.config.everyone_is_a_neighbour:
            found = {
                name: visible_extremum(values, mask=self.mask, causal=causal, largest=name == "max")
                for name in ends
            }
            return found, self._visible_degrees()
        orders = [ranks(values, largest=name == "max") for name in ends]
        tiling = Tiling.of(self.queries[0])
        with torch.no_grad():
            parts = [
                part._best_rows(ranked, tiling)
                for part, ranked in self._parts(tiling, *(ranked for ranked, _ in orders))
            ]
        counts, *best = (tiling.join(column, heads=self.config.heads) for column in zip(*parts, strict=True))
        found = {
            name: values_of_rank(values, holders, places)
            for name, places, (_, holders) in zip(ends, best, orders, strict=True)
        }
        return found, counts

    def _best_rows(self, ranked: tuple[Tensor, ...], tiling: Tiling) -> list[Tensor]:
        """Number of neighbours, then their best rank in each ranking, tile by tile."""
        columns: list[list[Tensor]] = [[] for _ in range(1 + len(ranked))]
        for rows in tiling.row_slices(self.queries[0].shape[2]):
            keep = self.weights(rows) > 0
            columns[0].append(keep.sum(dim=-1))
            for column, ranking in zip(columns[1:], ranked, strict=True):
                column.append(best_rank(keep, ranking[:, :, : self._columns(rows)]))
        return [join(column, dim=2) for column in columns]

    def _visible_degrees(self) -> Tensor:
        B, _, N, _ = self.queries[0].shape
        mask = self.mask
        if mask is None:
            mask = torch.ones(B, N, dtype=torch.bool, device=self.queries[0].device)
        return degrees(mask, causal=self.config.causal)

    def _scores(self, index: int, rows: slice) -> Tensor:
        """Scores of some rows before known edges and masks, (B, H, t, M)."""
        queries = self.queries[index][:, :, rows] / sqrt(self.queries[index].shape[-1])
        return queries @ self.keys[index][:, :, : self._columns(rows)].mT

    def _sum_rows(self, values: Tensor, rows: slice, positive: bool) -> Tensor:
        weights = self.weights(rows)
        if positive:
            # `clamp`, unlike `relu`, lets a straight-through gradient pass where an edge was cut.
            weights = weights.clamp(min=0)
        return weights.to(values.dtype) @ values[:, :, : self._columns(rows)]

    def _columns(self, rows: slice) -> int:
        """Number of nodes, from the first, that some rows may see."""
        last: int = rows.stop if self.config.causal else self.queries[0].shape[2]
        return last

    def _in_tiles(self, values: Tensor, *, positive: bool = False) -> Tensor:
        """Weighted sums, with the weights of a tile made at a time, and again in the backward pass."""
        tiling = Tiling.of(self.queries[0])
        H, N = values.shape[1:3]
        parts = [
            join([recomputed(part._sum_rows, own, rows, positive) for rows in tiling.row_slices(N)], dim=2)
            for part, (own,) in self._parts(tiling, values)
        ]
        return tiling.join(parts, heads=H).to(values.dtype)

    def _parts(self, tiling: Tiling, *arrays: Tensor) -> Iterator[tuple[AttentionGraph, tuple[Tensor, ...]]]:
        """The graph, and arrays (B, H, N, ...) with it, by batch and heads."""
        sets = len(self.queries)
        pieces = zip(*(tiling.split(array) for array in (*self.queries, *self.keys, *arrays)), strict=True)
        places = tiling.places(self.queries[0])
        for (some, heads), tensors in zip(places, pieces, strict=True):
            part = replace(
                self,
                queries=tensors[:sets],
                keys=tensors[sets : 2 * sets],
                mask=None if self.mask is None else self.mask[some],
                threshold=None if self.threshold is None else self.threshold[heads],
                lambdas=None if self.lambdas is None else self.lambdas[heads],
                bias=None if self.bias is None else self.bias[heads],
                edges=None if self.edges is None else self.edges[some],
            )
            yield part, tensors[2 * sets :]
