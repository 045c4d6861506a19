"""Weights from a file into a network, tensor by tensor held against what the configuration asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from gia_science.data.tensors import misfit_of
from gia_science.errors import ModelFolderError, RecipeError, Where
from gia_science.model.config import BackboneConfig

ConfigT = TypeVar("ConfigT", bound=BackboneConfig)
NetworkT = TypeVar("NetworkT", bound=nn.Module)


def read_network(
    build: Callable[[ConfigT], NetworkT], config: ConfigT, path: Path, *, backbones: int = 1
) -> NetworkT:
    """Network of a configuration with the weights of a file.

    Memory for the network is taken only when each tensor of the file has the shape that the configuration asks for,
    so that no number in it, however large, does harm.

    Parameters
    ----------
    build : callable
        Makes the network of a configuration.
    config : BackboneConfig
    path : Path
        A safetensors file.
    backbones : int, default 1
        Number of backbones in the network.

    Raises
    ------
    ModelFolderError
        When the file is missing or damaged, or a tensor is missing, unknown, or of another shape or type.
    """
    where = Where(file=str(path))
    found = read_tensors(path)
    # A network of L layers has more than L tensors, one of width d more than d numbers: no loop runs away.
    tensors, numbers = len(found), sum(value.numel() for value in found.values())
    if config.layers * backbones > tensors or config.width > numbers:
        raise misfit("sizes far beyond the file", where)
    network = _skeleton(build, config, where=where)
    require_same(found, network.state_dict(), where=where)
    network.to_empty(device="cpu").load_state_dict(found)
    return network


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file; raises `ModelFolderError` where it is missing or damaged."""
    where = Where(file=str(path))
    if not path.is_file():
        raise ModelFolderError("the folder is incomplete", got=f"no {path.name}", where=where)
    try:
        found: dict[str, Tensor] = safetensors.torch.load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelFolderError("damaged weights", got=str(error), where=where) from error
    return found


def require_same(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], *, where: Where) -> None:
    """Raise `ModelFolderError` unless tensors have the names, shapes and types that a network asks for."""
    got = misfit_of(found, wanted)
    if got is not None:
        raise misfit(got, where)


def _skeleton(build: Callable[[ConfigT], NetworkT], config: ConfigT, *, where: Where) -> NetworkT:
    """The network without memory for its weights."""
    try:
        with torch.device("meta"):
            return build(config)
    except RecipeError as error:
        raise ModelFolderError(error.what, got=error.got, expected=error.expected, where=where) from error
    except (RuntimeError, TypeError, OverflowError) as error:  # sizes beyond what torch can count
        raise misfit("sizes far beyond the file", where) from error


def misfit(got: str, where: Where) -> ModelFolderError:
    """The error for weights that are not those of the configuration."""
    return ModelFolderError("the weights do not fit config.json", got=got, where=where)
