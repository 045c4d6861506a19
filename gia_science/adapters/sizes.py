"""Ranks at which adapters of different kinds train equally many parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from pydantic import BaseModel
from torch import nn

from gia_science.adapters.attach import make_adapter
from gia_science.adapters.attached import chosen
from gia_science.adapters.config import BottleneckConfig, LoRAConfig, SparseGINConfig
from gia_science.adapters.lora import find_targets
from gia_science.adapters.places import find_places
from gia_science.errors import AdapterError, counted

_TOLERANCE = 0.05
ConfigT = TypeVar("ConfigT", bound=BaseModel)


def rank_for(model: nn.Module, config: ConfigT, *, parameters: int) -> ConfigT:
    """The settings with the rank that comes nearest to a number of trained parameters.

    Parameters
    ----------
    model : torch.nn.Module
        Without an adapter.
    config : AdapterConfig
        Its rank is not looked at. Kinds without a rank come back as they are.
    parameters : int
        Wanted number.

    Raises
    ------
    AdapterError
        When no rank comes within 5 %.
    """
    if not isinstance(config, SparseGINConfig | BottleneckConfig | LoRAConfig):
        return config
    count, step = _counter(model, config)
    high = 1
    while count(step * high) < parameters:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(step * middle) < parameters else (low, middle)
    best = min((step * rank for rank in (low, high) if rank), key=lambda rank: abs(count(rank) - parameters))
    if abs(count(best) - parameters) > _TOLERANCE * parameters:
        raise AdapterError(
            f"no rank of a {config.kind} adapter gives this number of trained parameters",
            got=f"{parameters}",
            expected=f"about {counted(count(best), 'parameter')}, as rank {best} has",
        )
    return _ranked(config, best)


def _counter(
    model: nn.Module, config: SparseGINConfig | BottleneckConfig | LoRAConfig
) -> tuple[Callable[[int], int], int]:
    """Number of parameters by rank, and the number that ranks are multiples of."""
    if isinstance(config, LoRAConfig):
        ends = sum(target.inputs + target.outputs for target in find_targets(model, config))
        return (lambda rank: rank * ends), 1
    places = find_places(model)
    used = [places[layer] for layer in chosen(config.layers, len(places))]

    def count(rank: int) -> int:
        sized = _ranked(config, rank)
        with torch.device("meta"):
            made = [make_adapter(place, sized) for place in used]
        return sum(item.numel() for module in made for item in module.parameters())

    split = isinstance(config, SparseGINConfig) and config.heads == "per_head"
    return count, used[0].heads if split else 1


def _ranked(config: ConfigT, rank: int) -> ConfigT:
    return config.model_copy(update={"rank": rank})
