"""Batches hold every example once, within their limits, and padding is told from tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.batching import TrainingBatches, batches_by_tokens, collate
from gia_science.tokens.featurizer import Example
from gia_science.tokens.stream import TokenStream

LENGTHS = st.lists(st.integers(1, 60), max_size=80)


def example(length: int, *, first: int = 5, descriptors: tuple[float, ...] = (0.5, float("nan"))) -> Example:
    rows = np.arange(length)
    stream = TokenStream(
        ids=first + rows,
        values=np.full(length, 0.25, dtype=np.float32),
        positions=rows,
        features=np.full((length, 3), 1.5, dtype=np.float32),
        contexts=np.full((length, 2), 7),
        edges=np.zeros((0, 2), dtype=np.int64),
        edge_kinds=np.zeros(0, dtype=np.int64),
        units=rows - 1,
    )
    return Example(stream, np.array(descriptors, dtype=np.float32))


@given(LENGTHS, st.integers(1, 200), st.integers(1, 10))
def test_every_index_stands_in_one_batch_within_both_limits(
    lengths: list[int], tokens: int, rows: int
) -> None:
    batches = list(batches_by_tokens(lengths, tokens=tokens, rows=rows))
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= rows
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= tokens


def test_batches_run_from_short_to_long_and_equal_lengths_keep_their_order() -> None:
    batches = list(batches_by_tokens([3, 1, 3, 1, 2], tokens=6, rows=9))
    assert [batch.tolist() for batch in batches] == [[1, 3, 4], [0, 2]]


def test_an_example_longer_than_a_batch_stands_alone() -> None:
    batches = [batch.tolist() for batch in batches_by_tokens([300, 4700, 310], tokens=1000, rows=9)]
    assert batches == [[0, 2], [1]]


def test_no_examples_give_no_batches() -> None:
    assert list(batches_by_tokens([], tokens=10, rows=2)) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(0, 3))
def test_an_epoch_draws_every_example_once_within_the_limits(lengths: list[int], number: int) -> None:
    batches = TrainingBatches(lengths, tokens=100, rows=8, seed=1).epoch(number)
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) <= 8 for batch in batches)
    assert all(
        len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= 100 for batch in batches
    )


def test_an_epoch_depends_on_seed_and_number_alone() -> None:
    lengths = np.random.default_rng(0).integers(5, 90, 300).tolist()

    def order(seed: int, number: int) -> list[list[int]]:
        batches = TrainingBatches(lengths, tokens=400, rows=16, seed=seed)
        return [batch.tolist() for batch in batches.epoch(number)]

    assert order(3, 2) == order(3, 2)
    assert order(3, 2) != order(3, 1)
    assert order(3, 2) != order(4, 2)
    together = [sorted(map(sorted, order(3, number))) for number in (0, 1)]
    assert together[0] != together[1], "other neighbours, not only another order of the same batches"


def test_pools_keep_padding_small() -> None:
    lengths = np.random.default_rng(0).integers(5, 200, 2000)
    batches = TrainingBatches(lengths.tolist(), tokens=4000, rows=64, seed=0).epoch(0)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.15 * lengths.sum()


def test_collate_pads_on_the_right_and_masks_what_it_padded() -> None:
    batch = collate([example(2), example(4), example(1)])
    assert len(batch) == 3
    assert batch.ids.tolist() == [[5, 6, 0, 0], [5, 6, 7, 8], [5, 0, 0, 0]]
    assert batch.mask.tolist() == [[True, True, False, False], [True] * 4, [True, False, False, False]]
    assert batch.units.tolist()[0] == [-1, 0, -1, -1]
    padding = ~batch.mask
    for name in ("values", "positions", "features", "contexts"):
        assert not getattr(batch, name)[padding].any(), name
    assert batch.features.shape == (3, 4, 3)
    assert batch.contexts.shape == (3, 4, 2)


def test_known_edges_are_padded_apart_from_tokens() -> None:
    bonded = example(3)
    edges, kinds = np.array([[0, 1], [1, 2]]), np.array([0, 3])
    bonded = replace(bonded, stream=replace(bonded.stream, edges=edges, edge_kinds=kinds))
    batch = collate([example(4), bonded])
    assert batch.edges.tolist() == [[[0, 0], [0, 0]], [[0, 1], [1, 2]]]
    assert batch.edge_kinds.tolist() == [[-1, -1], [0, 3]]
    assert collate([example(4)]).edges.shape == (1, 0, 2)


def test_collate_keeps_types_and_missing_descriptors() -> None:
    batch = collate([example(2), example(3, descriptors=(float("nan"), 2.0))])
    assert batch.values.dtype == batch.features.dtype == batch.descriptors.dtype == torch.float32
    assert batch.ids.dtype == batch.contexts.dtype == batch.units.dtype == torch.int64
    assert batch.mask.dtype == torch.bool
    assert torch.isnan(batch.descriptors).tolist() == [[False, True], [True, False]]
    assert batch.descriptors[1, 1] == 2.0


def test_a_batch_moves_as_a_whole() -> None:
    moved = collate([example(2)]).to("meta")
    tensors = [getattr(moved, name) for name in moved.__dataclass_fields__ if name != "weights"]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    weighed = collate([replace(example(2), weight=2.0)]).to("meta")
    assert weighed.weights is not None
    assert weighed.weights.device.type == "meta"


def test_no_examples_cannot_be_padded() -> None:
    with pytest.raises(ValueError):
        collate([])
