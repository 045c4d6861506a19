"""Forward passes over many examples, in batches of similar length, in the order given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gia_science.data.batching import Batch, batches_by_tokens, collate
from gia_science.data.target_spec import TaskKind
from gia_science.errors import UnreadableInputError
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.tokens.featurizer import Example

FloatArray = npt.NDArray[np.floating[Any]]
BATCH_TOKENS = 16384
BATCH_ROWS = 512
_CPU_OUT_OF_MEMORY = ("DefaultCPUAllocator", "can't allocate memory")


@torch.inference_mode()
def forward(
    examples: Sequence[Example],
    *,
    run: Callable[[Batch], Tensor],
    tokens: int = BATCH_TOKENS,
    rows: int = BATCH_ROWS,
) -> list[FloatArray | UnreadableInputError]:
    """Run a function of batches over examples.

    A batch that does not fit in memory is halved, and its halves again, down to single examples.

    Parameters
    ----------
    examples : sequence of Example
    run : callable
        From a `Batch` to ``(B, ...)``; a result with a token axis is padded as the batch is.
    tokens, rows : int
        Most padded tokens and most rows in a batch.

    Returns
    -------
    list of array or UnreadableInputError
        One per example, in the order given.
    """
    results: dict[int, FloatArray | UnreadableInputError] = {}
    for whole in batches_by_tokens([len(example) for example in examples], tokens=tokens, rows=rows):
        waiting = [whole]
        while waiting:
            index = waiting.pop()
            output = _run_if_it_fits([examples[row] for row in index], run)
            if output is not None:
                results.update(zip(index.tolist(), output, strict=True))
            elif len(index) > 1:
                half = len(index) // 2
                waiting += [index[half:], index[:half]]
            else:
                units = int((examples[index[0]].stream.units >= 0).sum())
                results[int(index[0])] = UnreadableInputError(
                    "too long for the memory of this machine", got=f"{units} units"
                )
    return [results[row] for row in range(len(examples))]


def _run_if_it_fits(examples: Sequence[Example], run: Callable[[Batch], Tensor]) -> FloatArray | None:
    """Output ``(B, ...)``; None where the memory does not suffice."""
    try:
        output: FloatArray = run(collate(examples)).numpy()
    except RuntimeError as error:
        # On a CPU PyTorch has no class of its own for this.
        lack = isinstance(error, torch.OutOfMemoryError)
        if not lack and not any(words in str(error) for words in _CPU_OUT_OF_MEMORY):
            raise
        return None
    return output


def all_computed(outputs: Sequence[FloatArray | UnreadableInputError]) -> list[FloatArray]:
    """The outputs, where every example must have one; raises the first `UnreadableInputError` otherwise."""
    for output in outputs:
        if isinstance(output, UnreadableInputError):
            raise output
    return [output for output in outputs if not isinstance(output, UnreadableInputError)]


def predict_examples(
    network: PropertyEnsemble, examples: Sequence[Example], *, kind: TaskKind
) -> list[FloatArray | UnreadableInputError]:
    """Scaled values or probabilities per example, which `Targets.decode` reads.

    ``(members * channels,)``, those of each member of the ensemble; or ``(L, C)``, their mean per unit in the order of
    the stream. In double precision, so that scaling back adds no rounding of its own.
    """
    if kind == "per_token":
        return units_only(forward(examples, run=lambda batch: network(batch).double()), examples)
    return forward(examples, run=lambda batch: network.each(batch).double())


def units_only(
    outputs: Sequence[FloatArray | UnreadableInputError], examples: Sequence[Example]
) -> list[FloatArray | UnreadableInputError]:
    """Of outputs ``(N, ...)`` per token those of residues, atoms and elements, ``(L, ...)``: no padding, no others."""
    return [
        output
        if isinstance(output, UnreadableInputError)
        else output[: len(example)][example.stream.units >= 0]
        for output, example in zip(outputs, examples, strict=True)
    ]
