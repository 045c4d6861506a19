"""Outputs come back one per example in the order given, however they were batched."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gia_science.data.batching import Batch
from gia_science.errors import UnreadableInputError
from gia_science.prediction.embedding import embed_examples
from gia_science.prediction.forward import all_computed, forward, predict_examples

SEQUENCES = ("MKTAYIAKQR", "GLW", "ACDEFGHIKLMNPQRSTVWY" * 3, "AA", "MKTAY")


def examples(model, texts=SEQUENCES):
    featurizer = model.saved.featurizer
    return [featurizer.example(featurizer.read(text)) for text in texts]


@pytest.mark.parametrize(("tokens", "rows"), [(1, 1), (30, 2), (10_000, 100)])
def test_order_is_kept_and_limits_too(residues, tokens: int, rows: int) -> None:
    given, seen = examples(residues), []

    def first_ids(batch: Batch) -> torch.Tensor:
        seen.append(batch.ids.shape)
        return batch.mask.sum(dim=1).float()

    lengths = forward(given, run=first_ids, tokens=tokens, rows=rows)
    assert [int(length) for length in lengths] == [len(text) + 2 for text in SEQUENCES]
    assert all(count <= rows and (count == 1 or count * width <= tokens) for count, width in seen)


def test_nothing_in_nothing_out(molecules) -> None:
    assert forward([], run=molecules.saved.network) == []
    assert predict_examples(molecules.saved.network, [], kind="regression") == []


def test_no_gradient_is_kept(molecules) -> None:
    featurizer = molecules.saved.featurizer
    (vector,) = embed_examples(molecules.saved.network, [featurizer.example(featurizer.read("CCO"))])
    assert vector.shape == (16,)
    assert vector.dtype == np.float32
    assert all(weight.grad is None for weight in molecules.saved.network.parameters())


def test_residues_have_probabilities_each(residues) -> None:
    given = examples(residues)
    together = predict_examples(residues.saved.network, given, kind="per_token")
    for text, example, probabilities in zip(SEQUENCES, given, together, strict=True):
        assert probabilities.shape == (len(text), 3)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
        (alone,) = predict_examples(residues.saved.network, [example], kind="per_token")
        np.testing.assert_allclose(probabilities, alone, atol=1e-5)


class Narrow:
    """Stands for a network on a machine with room for some padded tokens; gives the number of tokens of each row."""

    def __init__(self, room: int, error: type[Exception], words: str) -> None:
        self.room = room
        self.error = error(words)
        self.tried: list[int] = []

    def __call__(self, batch: Batch) -> torch.Tensor:
        self.tried.append(batch.ids.numel())
        if batch.ids.numel() > self.room:
            raise self.error
        return batch.mask.sum(dim=1).float()


CPU_WORDS = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
)
LACKS = [(torch.OutOfMemoryError, "CUDA out of memory"), (RuntimeError, CPU_WORDS)]


@pytest.mark.parametrize(("error", "words"), LACKS)
def test_a_batch_that_does_not_fit_in_memory_is_halved(residues, error, words: str) -> None:
    given = examples(residues, [*SEQUENCES, "MKTAYIAKQ", "GLWA", "AAA"])
    run = Narrow(70, error, words)
    lengths = forward(given, run=run)
    assert [int(length) for length in lengths] == [len(example) for example in given]
    assert run.tried[0] == len(given) * 62, "first as one batch"
    assert run.tried[1] < run.tried[0]


@pytest.mark.parametrize(("error", "words"), LACKS)
def test_what_does_not_fit_alone_is_an_error_of_its_own(residues, error, words: str) -> None:
    given = examples(residues)
    found = forward(given, run=Narrow(30, error, words))
    assert [isinstance(output, UnreadableInputError) for output in found] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert found[2].reason == "too long for the memory of this machine: got 60 units"
    with pytest.raises(UnreadableInputError, match="too long for the memory"):
        all_computed(found)
    assert all_computed([found[0]]) == [found[0]]


@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyboardInterrupt])
def test_other_errors_are_not_swallowed(residues, error: type[Exception]) -> None:
    run = Narrow(0, error, "mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(error):
        forward(examples(residues), run=run)
    assert len(run.tried) == 1


def test_a_long_sequence_among_short_ones_has_a_batch_of_its_own(make_saved) -> None:
    """And no batch is wider than allowed but for that one."""
    featurizer = make_saved("protein", providers=(), layers=1).featurizer
    tokenizer = featurizer.tokenizer
    texts = ["MKTAYIAKQR" * 30] * 50
    texts[7] = "MKTAYIAKQR" * 470
    featurizer = type(featurizer)(tokenizer, source=featurizer.source, scalings=(), max_length=5000)
    run = Narrow(10**9, RuntimeError, "")
    forward([featurizer.example(featurizer.read(text)) for text in texts], run=run, tokens=4096)
    assert max(run.tried) == 4702
    assert sum(tried > 4096 for tried in run.tried) == 1
    assert sum(run.tried) == 49 * 302 + 4702
