"""Training and validation rows for Lightning, in batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from gia_science.data.batching import Batch, TrainingBatches, batches_by_tokens, collate
from gia_science.tokens.featurizer import Example, Featurizer
from gia_science.tokens.stream import Reading
from gia_science.training.distributed import deal
from gia_science.training.optimizer_recipe import OptimizerRecipe

Pair = tuple[Example, npt.NDArray[np.float64]]


class Examples(Dataset[Pair]):
    """Encoded rows with their scaled targets.

    Parameters
    ----------
    examples : sequence of Example
    targets : sequence of (T,) or (L,) float64
        Scaled targets of each row; for per-token tasks one class index per residue.
    """

    def __init__(self, examples: Sequence[Example], *, targets: Sequence[npt.NDArray[np.float64]]) -> None:
        assert len(examples) == len(targets)
        self.examples = list(examples)
        self.targets = list(targets)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Pair:
        return self.examples[index], self.targets[index]

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each row."""
        return [len(example) for example in self.examples]


class RespelledExamples(Examples):
    """Rows that are now and then spelt another way: augmentation by random SMILES.

    Parameters
    ----------
    examples, targets
        As in `Examples`.
    readings : sequence of Reading
        What the examples were made from.
    featurizer : Featurizer
    chance : float
        Chance of another spelling each time that a row is drawn.
    seed : int
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        targets: Sequence[npt.NDArray[np.float64]],
        readings: Sequence[Reading[Any]],
        featurizer: Featurizer,
        chance: float,
        seed: int,
    ) -> None:
        super().__init__(examples, targets=targets)
        self.readings = list(readings)
        self.tokenizer = featurizer.tokenizer
        self.chance = chance
        self.rng = np.random.default_rng(seed)

    def __getitem__(self, index: int) -> Pair:
        example, target = super().__getitem__(index)
        if self.rng.random() < self.chance:
            stream = self.tokenizer.respell(self.readings[index], self.rng)
            example = replace(example, stream=stream)
        return example, target


def collate_pairs(pairs: Sequence[Pair], *, per_token: bool) -> tuple[Batch, Tensor]:
    """Batch and targets: ``(B, T)``, or ``(B, N)`` with NaN at tokens that stand for no residue."""
    batch = collate([example for example, _ in pairs])
    if not per_token:
        return batch, torch.from_numpy(np.stack([target for _, target in pairs]).astype(np.float32))
    targets = np.full(batch.units.shape, np.nan, dtype=np.float32)
    for row, (example, target) in enumerate(pairs):
        units = example.stream.units
        targets[row, : len(units)][units >= 0] = target[units[units >= 0]]
    return batch, torch.from_numpy(targets)


class _Dealt(Dataset[Pair]):
    """Rows by the numbers that `deal` gives: ``~i`` is row i without its targets."""

    def __init__(self, rows: Examples) -> None:
        self._rows = rows

    def __getitem__(self, index: int) -> Pair:
        if index >= 0:
            return self._rows[index]
        example, target = self._rows[~index]
        return example, np.full_like(target, np.nan)


class _EpochSampler:
    """Hands Lightning this process's share of the batches of one epoch after another."""

    def __init__(self, batches: TrainingBatches, *, rank: int, processes: int) -> None:
        self._batches = batches
        self._deal = partial(deal, rank=rank, processes=processes)
        self._epoch = 0

    def __iter__(self) -> Iterator[list[int]]:
        drawn = self._batches.epoch(self._epoch)
        self._epoch += 1
        return iter([self._deal(batch) for batch in drawn])

    def __len__(self) -> int:
        return len(self._batches.epoch(self._epoch))


class BatchedData(pl.LightningDataModule):
    """Training and validation batches of one run; of several processes, each has a share of every batch.

    Parameters
    ----------
    train, validation : Examples
        Validation may be empty.
    optimizer : OptimizerRecipe
        Sizes of the batches.
    collate : callable
        Makes a batch and its targets from rows.
    seed : int
        Seed of the order of training rows.
    """

    def __init__(
        self,
        *,
        train: Examples,
        validation: Examples,
        optimizer: OptimizerRecipe,
        collate: Callable[[Sequence[Pair]], tuple[Batch, Tensor]],
        seed: int,
    ) -> None:
        super().__init__()
        self._train = train
        self._validation = validation
        self._sizes = {"tokens": optimizer.batch_tokens, "rows": optimizer.batch_rows}
        self._collate = collate
        self._batches = TrainingBatches(train.lengths, **self._sizes, seed=seed)

    @property
    def steps_per_epoch(self) -> int:
        """Number of training batches in an epoch."""
        return len(self._batches.epoch(0))

    @property
    def tokens(self) -> int:
        """Number of tokens of all training rows, without padding."""
        return sum(self._train.lengths)

    def train_dataloader(self) -> DataLoader[Pair]:
        """Shuffled batches, another order each epoch."""
        return self._loader(self._train, _EpochSampler(self._batches, **self._process()))

    def val_dataloader(self) -> DataLoader[Pair]:
        """Batches by length."""
        batches = batches_by_tokens(self._validation.lengths, **self._sizes)
        return self._loader(self._validation, [deal(batch, **self._process()) for batch in batches])

    def _process(self) -> dict[str, int]:
        if self.trainer is None:
            return {"rank": 0, "processes": 1}
        return {"rank": self.trainer.global_rank, "processes": self.trainer.world_size}

    def fixed_batches(self, *, rows: int, seed: int) -> list[tuple[Batch, Tensor]]:
        """Some training rows in batches by length, the same for the same seed: to watch the training loss on."""
        chosen = np.random.default_rng(seed).permutation(len(self._train))[:rows]
        lengths = [self._train.lengths[index] for index in chosen]
        return [
            self._collate([self._train[chosen[place]] for place in batch])
            for batch in batches_by_tokens(lengths, **self._sizes)
        ]

    def _loader(self, rows: Examples, batches: Any) -> DataLoader[Pair]:
        return DataLoader(_Dealt(rows), batch_sampler=batches, collate_fn=self._collate)
