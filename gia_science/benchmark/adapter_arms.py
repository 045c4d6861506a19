"""The arms of the comparison of adapters, and how they get equally many parameters."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from gia_science.adapters import (
    AdapterConfig,
    BottleneckConfig,
    FrozenConfig,
    FullConfig,
    LoRAConfig,
    SparseGINConfig,
    attach,
    rank_for,
)

_RATES = (1e-3, 4e-3)
RAMP = 0.5
"""Where lambda starts in the last layer, as in the paper: from 0 it moves little in as few steps as are taken here."""
REFERENCE = LoRAConfig(rank=8)
"""Its number of parameters is that of all adapters."""


@dataclass(frozen=True)
class AdapterArm:
    """One way to fine-tune under comparison.

    Parameters
    ----------
    name : str
        Short, for tables.
    about : str
        What it is, in words.
    config : AdapterConfig
        Its rank is set by `matched`.
    rates : tuple of float
        Peak learning rates that are tried; the validation rows choose.
    """

    name: str
    about: str
    config: AdapterConfig
    rates: tuple[float, ...] = _RATES


ARMS = (
    AdapterArm(
        "LoRA",
        "low-rank updates of all projections of the attention",
        REFERENCE,
        # At 0.004 it learnt less than the head alone.
        rates=(1e-4, 3e-4, 1e-3),
    ),
    AdapterArm("Sparse-GIN", "messages over the edges that the attention gives", SparseGINConfig(ramp=RAMP)),
    AdapterArm(
        "Sparse-GIN, identity",
        "the same modules, each token its own only neighbour: no messages",
        SparseGINConfig(adjacency="identity", ramp=RAMP),
    ),
    AdapterArm("bottleneck", "down, SiLU, up at the same place, token by token", BottleneckConfig()),
    AdapterArm("frozen", "the head alone is trained", FrozenConfig()),
    AdapterArm("full", "base and head are trained", FullConfig(), rates=(5e-5, 2e-4)),
)
"""LoRA first: all others are compared with it. The head is trained in every arm."""


def matched(model: nn.Module, arm: AdapterArm) -> AdapterConfig:
    """The arm's adapter with as many parameters as the reference, within 5 %; as it is where it has no rank.

    Raises
    ------
    AdapterError
        When no rank comes that near, or the model cannot be adapted.
    """
    if arm.config is REFERENCE:
        return arm.config
    reference = attach(model, REFERENCE)
    wanted = reference.parameters_count()
    reference.remove()
    return rank_for(model, arm.config, parameters=wanted)
