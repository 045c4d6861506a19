"""Outputs come back one per example in the order given, however they were batched."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gia_science.data.batching import Batch
from gia_science.prediction.forward import embed_examples, forward, predict_examples

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
    assert vector.dtype == np.float64
    assert all(weight.grad is None for weight in molecules.saved.network.parameters())


def test_residues_have_probabilities_each(residues) -> None:
    given = examples(residues)
    together = predict_examples(residues.saved.network, given, kind="per_token")
    for text, example, probabilities in zip(SEQUENCES, given, together, strict=True):
        assert probabilities.shape == (len(text), 3)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
        (alone,) = predict_examples(residues.saved.network, [example], kind="per_token")
        np.testing.assert_allclose(probabilities, alone, atol=1e-5)
