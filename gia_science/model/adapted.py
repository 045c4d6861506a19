"""Networks on a frozen backbone: what of them a model folder keeps, and how they are put together again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gia_science.errors import BaseModelError, ModelFolderError, Where
from gia_science.model.backbone import GIATransformer
from gia_science.model.base_files import BaseFiles, find_base
from gia_science.model.base_weights import build_base, load_base
from gia_science.model.config import BaseConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.model.weights import misfit, read_network, read_tensors, require_same

MOVED = (
    "if it has moved, write where it is now as network.base.source into config.json of the model folder, or "
    "gia_science.load(folder, base=...): its hash is checked"
)


def stored_tensors(network: PropertyEnsemble) -> dict[str, Tensor]:
    """The weights that a model folder keeps: all, or without those of a base that stays where it is."""
    tensors: dict[str, Tensor] = network.state_dict()
    base = network.config.base
    if base is None or base.kept:
        return tensors
    left_out = set()
    for number, member in enumerate(network.members):
        assert isinstance(member, PropertyNetwork)
        assert not isinstance(member.backbone, GIATransformer)
        left_out |= {f"members.{number}.backbone.{name}" for name in member.backbone.frozen_names}
    return {name: value for name, value in tensors.items() if name not in left_out}


def read_ensemble(config: NetworkConfig, path: Path, *, base: str | None = None) -> PropertyEnsemble:
    """Networks of a configuration with the weights of a file, and those of the base where the file has not got them.

    Parameters
    ----------
    config : NetworkConfig
    path : Path
        A safetensors file.
    base : str, optional
        Where the base is, instead of where `config` says.

    Raises
    ------
    ModelFolderError
        As `read_network`.
    BaseModelError
        When the base is not there, is damaged, or is another one.
    """
    if config.base is None:
        if base is not None:
            raise ModelFolderError(
                "the model is built on no other pretrained model",
                got=base,
                where=Where(file=str(path.parent)),
            )
        return read_network(_adapted, config, path, backbones=config.members)
    if base is not None and not config.base.kept:
        # Saved again, the model names the place where its base is now.
        source = find_base(base).source
        config = config.model_copy(update={"base": config.base.model_copy(update={"source": source})})
    return _read_on_base(config, path)


def _adapted(config: NetworkConfig) -> PropertyEnsemble:
    ensemble = PropertyEnsemble(config)
    for member in ensemble.members:
        assert isinstance(member, PropertyNetwork)
        member.adapt()
    return ensemble


def _read_on_base(config: NetworkConfig, path: Path) -> PropertyEnsemble:
    assert config.base is not None
    where, found = Where(file=str(path)), read_tensors(path)
    numbers = sum(value.numel() for value in found.values())
    # Memory is taken only for sizes that the file can fill.
    if max(config.width, config.members, getattr(config.adapter, "rank", 1)) > numbers:
        raise misfit("sizes far beyond the file", where)
    members = []
    for _ in range(config.members):
        model = _kept_base(config.base, most=numbers, where=where) if config.base.kept else _base(config.base)
        sizes: Any = model.config
        if (sizes.num_hidden_layers, sizes.hidden_size) != (config.layers, config.width):
            raise misfit("another number of layers or width than the base has", where)
        member = PropertyNetwork(config, base=model)
        member.adapt()
        members.append(member)
    ensemble = PropertyEnsemble(config, members=members)
    require_same(found, stored_tensors(ensemble), where=where)
    ensemble.load_state_dict(found, strict=False)
    return ensemble


def _kept_base(base: BaseConfig, *, most: int, where: Where) -> nn.Module:
    """The network of the base, whose weights lie in the model folder."""
    with torch.device("meta"):
        weights = sum(parameter.numel() for parameter in build_base(base.architecture).parameters())
    if weights > most:
        raise misfit("sizes far beyond the file", where)
    return build_base(base.architecture)


def _base(base: BaseConfig) -> nn.Module:
    """The base from where it stays, if it is still the same."""
    try:
        files: BaseFiles = find_base(base.source)
    except BaseModelError as error:
        raise BaseModelError(
            f"the pretrained model that this one is built on: {error.what}",
            got=error.got,
            expected=error.expected,
            hint=MOVED,
            where=error.where,
        ) from error
    return load_base(replace(files, architecture=base.architecture), sha256=base.sha256)
