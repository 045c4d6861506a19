"""Padding examples to tensors, and batches of about equally long examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gia_science.tokens.featurizer import Example
from gia_science.tokens.stream import IntArray


@dataclass(frozen=True)
class Batch:
    """Padded examples, padding on the right.

    Parameters
    ----------
    ids, positions, units : (B, N) int64
        As in `TokenStream`; padding has id 0 and unit -1.
    values : (B, N) float32
    features : (B, N, F) float32
    contexts : (B, N, K) int64
    mask : (B, N) bool
        True for tokens, False for padding.
    descriptors : (B, D) float32
        NaN where a number is missing.
    edges : (B, E, 2) int64
        Known graph as pairs of token indices; padding is 0, 0.
    edge_kinds : (B, E) int64
        Kind of each edge, counted from 0; -1 for padding.
    weights : (B,) float32 or None
        How much each row counts in the loss; None where all count alike.
    """

    ids: Tensor
    values: Tensor
    positions: Tensor
    features: Tensor
    contexts: Tensor
    units: Tensor
    mask: Tensor
    descriptors: Tensor
    edges: Tensor
    edge_kinds: Tensor
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        tensors = {item.name: getattr(self, item.name) for item in fields(self)}
        return Batch(**{name: tensor.to(device) for name, tensor in tensors.items() if tensor is not None})


def collate(examples: Sequence[Example]) -> Batch:
    """Pad examples to the longest of them."""
    streams = [example.stream for example in examples]

    def padded(name: str, fill: float) -> Tensor:
        arrays = [getattr(stream, name) for stream in streams]
        longest = max(len(array) for array in arrays)
        out = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, dtype=arrays[0].dtype)
        for row, array in enumerate(arrays):
            out[row, : len(array)] = array
        return torch.from_numpy(out)

    lengths = np.array([len(stream) for stream in streams])
    weights = np.array([example.weight for example in examples], dtype=np.float32)
    return Batch(
        ids=padded("ids", 0),
        values=padded("values", 0),
        positions=padded("positions", 0),
        features=padded("features", 0),
        contexts=padded("contexts", 0),
        units=padded("units", -1),
        mask=torch.from_numpy(np.arange(lengths.max()) < lengths[:, None]),
        descriptors=torch.from_numpy(np.stack([example.descriptors for example in examples])),
        edges=padded("edges", 0),
        edge_kinds=padded("edge_kinds", -1),
        weights=None if (weights == 1).all() else torch.from_numpy(weights),
    )


def batches_by_tokens(lengths: Sequence[int] | IntArray, *, tokens: int, rows: int) -> Iterator[IntArray]:
    """Indices of batches of similar length.

    Parameters
    ----------
    lengths : (n,) int
        Number of tokens of each example.
    tokens : int
        Most padded tokens in a batch; a single example longer than this makes a batch of its own.
    rows : int
        Most examples in a batch.

    Yields
    ------
    (B,) int64
        Indices into `lengths`, shortest examples first.
    """
    order = np.argsort(lengths, kind="stable")
    batch: list[int] = []
    for index in order:
        # In ascending order the newest example is the longest and sets the padded width.
        if batch and ((len(batch) + 1) * lengths[index] > tokens or len(batch) == rows):
            yield np.array(batch, dtype=np.int64)
            batch = []
        batch.append(int(index))
    if batch:
        yield np.array(batch, dtype=np.int64)


class TrainingBatches:
    """Batches of similar length, drawn anew for every epoch.

    Examples are shuffled, sorted by length within pools of several batches, cut into batches, and the batches
    shuffled: padding stays small, and neighbours differ from epoch to epoch.

    Parameters
    ----------
    lengths : (n,) int
        Number of tokens of each example.
    tokens, rows : int
        As in `batches_by_tokens`.
    seed : int
        Seed of the order; the order of an epoch depends on nothing else.
    """

    POOL = 16

    def __init__(self, lengths: Sequence[int], *, tokens: int, rows: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._tokens = tokens
        self._rows = rows
        self._seed = seed

    def epoch(self, number: int) -> list[npt.NDArray[np.int64]]:
        """Batches of one epoch, counted from 0."""
        rng = np.random.default_rng((self._seed, number))
        order = rng.permutation(len(self._lengths))
        mean = max(1.0, float(self._lengths.mean()))
        pool = max(1, int(self.POOL * min(self._rows, self._tokens / mean)))
        batches: list[npt.NDArray[np.int64]] = []
        for start in range(0, len(order), pool):
            part = order[start : start + pool]
            lengths = self._lengths[part]
            batches.extend(
                part[index] for index in batches_by_tokens(lengths, tokens=self._tokens, rows=self._rows)
            )
        return [batches[index] for index in rng.permutation(len(batches))]
