"""One batch over several processes: each takes a share of its rows, and the sum is what one process would compute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed
from torch import Tensor


def deal(batch: npt.NDArray[np.int64], *, rank: int, processes: int) -> list[int]:
    """Rows of a batch for one process; every row goes to one of them.

    Parameters
    ----------
    batch : (B,) int64
        Indices of rows, by length: every share holds short and long ones.
    rank : int
        Number of the process, from 0.
    processes : int

    Returns
    -------
    list of int
        Never empty, as every process has to take every step: one that gets no row gets ``~i``, the complement of
        the first index. It stands for the row without its targets, whose loss and gradients are zero.
    """
    return batch[rank::processes].tolist() or [~int(batch[0])]


class BatchLoss(NamedTuple):
    """Loss of a batch that several processes share.

    Parameters
    ----------
    descended : () float
        What this process differentiates: the mean of its gradients over the processes is that of `whole`.
    whole : () float
        Mean over all known targets of the batch, the same number on every process.
    known : int
        Number of these targets.
    """

    descended: Tensor
    whole: Tensor
    known: int


def batch_loss(share: Tensor, *, known: Tensor, processes: int) -> BatchLoss:
    """Loss of a batch from those of its shares; all processes have to call it together.

    The mean m_r over the c_r known targets of share r makes up the whole as sum_r c_r m_r / sum_r c_r. Gradients are
    averaged over the R processes, so that each descends R c_r / sum_r c_r times its own mean.

    Parameters
    ----------
    share : () float
        Mean over the known targets of this process's rows; zero where there are none.
    known : () int
        Number of these targets.
    processes : int
    """
    if processes == 1:
        return BatchLoss(share, share.detach(), int(known))
    sums = torch.stack((share.detach().double() * known, known.double()))
    torch.distributed.all_reduce(sums)
    total, count = sums[0], sums[1]
    weight = (known * processes / count.clamp_min(1)).to(share.dtype)
    return BatchLoss(share * weight, (total / count.clamp_min(1)).to(share.dtype), int(count))
