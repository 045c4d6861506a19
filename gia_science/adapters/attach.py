"""Putting an adapter on a model."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn

from gia_science.adapters.attached import (
    Attached,
    AttachedFull,
    AttachedNothing,
    AttachedSites,
    chosen,
    require_free,
)
from gia_science.adapters.config import (
    AdapterConfig,
    BottleneckConfig,
    FrozenConfig,
    FullConfig,
    LoRAConfig,
    SparseGINConfig,
)
from gia_science.adapters.layers import Bottleneck, SparseGIN
from gia_science.adapters.lora import AttachedLoRA
from gia_science.adapters.places import Place, find_places
from gia_science.adapters.site import Site
from gia_science.attention import GraphAttention
from gia_science.errors import AdapterError


def attach(model: nn.Module, config: AdapterConfig, *, seed: int | None = None) -> Attached:
    """Freeze a model and give it trainable modules, in place.

    Parameters
    ----------
    model : torch.nn.Module
        A transformers model or a network of this package.
    config : AdapterConfig
        With `FullConfig` nothing is frozen.
    seed : int, optional
        Of the modules' first weights; by default they come from torch's global generator.

    Returns
    -------
    Attached
        The adapter on the model, which computes with it from now on.

    Raises
    ------
    AdapterError
        When the model has an adapter already, when it is of a kind that the adapter cannot be put on, or when
        transformers or peft is not installed.
    """
    require_free(model)
    with nullcontext() if seed is None else torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        if isinstance(config, FrozenConfig):
            return AttachedNothing(model, config)
        if isinstance(config, FullConfig):
            return AttachedFull(model, config)
        if isinstance(config, LoRAConfig):
            return AttachedLoRA(model, config)
        return _attach_sites(model, config)


def inject(model: nn.Module, config: SparseGINConfig, *, seed: int | None = None) -> Attached:
    """Put a Sparse-GIN adapter on a model.

    Parameters
    ----------
    model, config, seed
        As of `attach`, which does the same for every kind of adapter.
    """
    return attach(model, config, seed=seed)


def _attach_sites(model: nn.Module, config: SparseGINConfig | BottleneckConfig) -> Attached:
    places = find_places(model)
    graph = config if isinstance(config, SparseGINConfig) and config.adjacency == "attention" else None
    sites = {}
    for layer in chosen(config.layers, len(places)):
        adapter = make_adapter(places[layer], config, depth=layer / max(1, len(places) - 1))
        like = next(item for item in places[layer].layer.parameters() if item.is_floating_point())
        adapter.to(device=like.device, dtype=like.dtype)
        sites[layer] = Site(places[layer], adapter, graph=graph)
    seen = graph is not None and not isinstance(places[0].core, GraphAttention)
    return AttachedSites(model, config, sites, dispatched=seen)


def make_adapter(
    place: Place, config: SparseGINConfig | BottleneckConfig, *, depth: float = 0.0
) -> SparseGIN | Bottleneck:
    """The modules for one place.

    Parameters
    ----------
    place : Place
    config : SparseGINConfig or BottleneckConfig
    depth : float, default 0
        0 for the first layer, 1 for the last.
    """
    if isinstance(config, BottleneckConfig):
        made: SparseGIN | Bottleneck = Bottleneck(place.width, rank=config.rank)
    else:
        if config.heads == "per_head" and config.rank % place.heads:
            raise AdapterError(
                "the heads do not divide the rank",
                got=f"rank {config.rank}, {place.heads} heads",
                expected=f"a multiple of {place.heads}",
            )
        made = SparseGIN(place.width, rank=config.rank, start=config.ramp * depth)
    return made
