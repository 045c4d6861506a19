"""Weights from a file into a network, tensor by tensor held against what the configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from gia_science.errors import ModelFolderError, RecipeError, Where
from gia_science.model.config import NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble


def read_network(config: NetworkConfig, path: Path) -> PropertyEnsemble:
    """Networks of a configuration with the weights of a file.

    Memory for the network is taken only when each tensor of the file has the shape that the configuration asks for,
    so that no number in it, however large, does harm.

    Parameters
    ----------
    config : NetworkConfig
    path : Path
        A safetensors file.

    Raises
    ------
    ModelFolderError
        When the file is missing or damaged, or a tensor is missing, unknown, or of another shape or type.
    """
    where = Where(file=str(path))
    if not path.is_file():
        raise ModelFolderError("the folder is incomplete", got=f"no {path.name}", where=where)
    try:
        found: dict[str, Tensor] = safetensors.torch.load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelFolderError("damaged weights", got=str(error), where=where) from error
    network = _skeleton(config, found, where=where)
    wanted = network.state_dict()
    problems = [f"{name} is missing" for name in wanted if name not in found]
    problems += [f"{name} is not known" for name in found if name not in wanted]
    problems += [
        f"{name} is {_kind(found[name])}, not {_kind(wanted[name])}"
        for name in wanted
        if name in found and _kind(found[name]) != _kind(wanted[name])
    ]
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise ModelFolderError("the weights do not fit config.json", got=problems[0] + more, where=where)
    network.to_empty(device="cpu").load_state_dict(found)
    return network


def _skeleton(config: NetworkConfig, found: Mapping[str, Tensor], *, where: Where) -> PropertyEnsemble:
    """The network without memory for its weights."""
    misfit = ModelFolderError(
        "the weights do not fit config.json", got="sizes far beyond the file", where=where
    )
    # A network of L layers has more than L tensors, one of width d more than d numbers: no loop runs away.
    if config.layers * config.members > len(found) or config.width > sum(
        value.numel() for value in found.values()
    ):
        raise misfit
    try:
        with torch.device("meta"):
            return PropertyEnsemble(config)
    except RecipeError as error:
        raise ModelFolderError(error.what, got=error.got, expected=error.expected, where=where) from error
    except (RuntimeError, TypeError, OverflowError) as error:  # sizes beyond what torch can count
        raise misfit from error


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
