"""Forward passes over many examples, in batches of similar length, in the order given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gia_science.data.batching import Batch, batches_by_tokens, collate
from gia_science.data.targets import TaskKind
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.tokens.featurizer import Example

FloatArray = npt.NDArray[np.float64]
BATCH_TOKENS = 16384
BATCH_ROWS = 512


@torch.inference_mode()
def forward(
    examples: Sequence[Example],
    *,
    run: Callable[[Batch], Tensor],
    tokens: int = BATCH_TOKENS,
    rows: int = BATCH_ROWS,
) -> list[FloatArray]:
    """Run a function of batches over examples.

    Parameters
    ----------
    examples : sequence of Example
    run : callable
        From a `Batch` to ``(B, ...)``; a result with a token axis is padded as the batch is.
    tokens, rows : int
        Most padded tokens and most rows in a batch.

    Returns
    -------
    list of arrays
        One per example, in the order given.
    """
    results: list[FloatArray | None] = [None] * len(examples)
    for index in batches_by_tokens([len(example) for example in examples], tokens=tokens, rows=rows):
        output = run(collate([examples[row] for row in index])).double().numpy()
        for row, values in zip(index, output, strict=True):
            results[row] = values
    return [values for values in results if values is not None]


def predict_examples(
    network: PropertyEnsemble, examples: Sequence[Example], *, kind: TaskKind
) -> list[FloatArray]:
    """Scaled values or probabilities per example: ``(outputs,)``, or ``(L, C)`` per token in the order of `units`."""
    outputs = forward(examples, run=network)
    if kind != "per_token":
        return outputs
    return [
        output[: len(example)][example.stream.units >= 0]
        for output, example in zip(outputs, examples, strict=True)
    ]


def embed_examples(network: PropertyEnsemble, examples: Sequence[Example]) -> list[FloatArray]:
    """Pooled vector ``(d,)`` of each example."""
    return forward(examples, run=network.embed)
