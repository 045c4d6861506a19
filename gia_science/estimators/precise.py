"""Outputs in double precision: those of a row do not depend, beyond rounding, on the rows beside it.

In single precision the last digits depend on how rows are batched. scikit-learn's tools compute the same rows in parts
and all at once, and expect the same numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TypeVar

import torch
from torch import Tensor, nn

from gia_science.data.batching import Batch
from gia_science.errors import UnreadableInputError
from gia_science.prediction.forward import FloatArray, forward
from gia_science.tokens.featurizer import Example

Compute = Callable[[Sequence[Example]], list[FloatArray | UnreadableInputError]]
NetworkT = TypeVar("NetworkT", bound=nn.Module)


def precise(network: NetworkT, run: Callable[[NetworkT, Batch], Tensor]) -> Compute:
    """Function from examples to one array each.

    Parameters
    ----------
    network : torch.nn.Module
        Copied to double precision, and left as it is.
    run : callable
        From the network and a batch, both in double precision, to ``(B, ...)``.
    """
    double = copy.deepcopy(network).double()
    return lambda examples: forward(examples, run=lambda batch: run(double, in_double(batch)))


def in_double(batch: Batch) -> Batch:
    """The batch with its numbers in double precision."""
    tensors = {item.name: getattr(batch, item.name) for item in fields(batch)}
    return Batch(
        **{
            name: tensor.double() if tensor is not None and tensor.dtype == torch.float32 else tensor
            for name, tensor in tensors.items()
        }
    )
