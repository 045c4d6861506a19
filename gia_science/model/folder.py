"""The saved model: a folder of JSON, text and safetensors. Nothing in it is ever executed or unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gia_science.data.targets import Targets
from gia_science.errors import ModelFolderError, Where
from gia_science.model import store
from gia_science.model.adapted import read_ensemble, stored_tensors
from gia_science.model.config import NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.forest import ForestConfig
from gia_science.model.store import CHECKED, CONFIG, FILES, MODEL, WEIGHTS, SavedNetwork, StoredConfig
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.featurizer import Featurizer

__all__ = ["ATTACHMENTS", "CHECKED", "FILES", "SavedModel", "check_free", "load_model", "save_model"]

ATTACHMENTS = MODEL.attachments
"""Files that may lie in the folder beside the model itself."""


class FolderConfig(StoredConfig):
    """Contents of ``config.json``."""

    network: NetworkConfig
    targets: Targets


@dataclass(frozen=True, kw_only=True)
class SavedModel(SavedNetwork):
    """Everything a model folder holds; `SavedNetwork` has the rest of it.

    Parameters
    ----------
    network : PropertyEnsemble
    targets : Targets
        Names, label map, scaling.
    """

    network: PropertyEnsemble
    targets: Targets


def save_model(model: SavedModel, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write a model folder. It appears under its name only when it is whole.

    Parameters
    ----------
    model : SavedModel
    folder : path
        A link is followed: what it points to is written or replaced.
    overwrite : bool, default False
        Replace an existing model folder. Anything else that exists is never replaced.

    Raises
    ------
    ModelFolderError
        When the folder exists and may not be replaced, or cannot be written.
    """
    config = partial(FolderConfig, network=model.network.config, targets=model.targets)
    tensors = stored_tensors(model.network)
    return store.write_folder(model, folder, MODEL, config=config, overwrite=overwrite, tensors=tensors)


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a target folder that holds something: told before any training, not after; see `store.check_free`."""
    store.check_free(folder, MODEL, overwrite=overwrite)


def load_model(folder: str | Path, *, base: str | Path | None = None) -> SavedModel:
    """Read a model folder strictly.

    Parameters
    ----------
    folder : path
    base : path or str, optional
        Where the pretrained model that it is built on is now, as a folder or an id.

    Raises
    ------
    ModelFolderError
        When a file is missing or damaged, a key or tensor is unknown or missing, or the folder was made by a
        newer release.
    BaseModelError
        When the model that it is built on is not there, or is another one.
    """
    folder = Path(folder)
    config = store.read_config(folder, MODEL, FolderConfig)
    featurizer = store.read_featurizer(folder)
    _check_fit(config, featurizer, where=Where(file=str(folder / CONFIG)))
    network = read_ensemble(config.network, folder / WEIGHTS, base=None if base is None else str(base))
    saved = SavedModel(
        network=network.eval(),
        targets=config.targets,
        featurizer=featurizer,
        data=config.data,
        **store.read_records(folder, MODEL),
    )
    store.check_sums(config, folder)
    if network.forest is not None and not network.forest.is_sound():
        raise ModelFolderError(
            "damaged weights", got="a forest with broken trees", where=Where(file=str(folder / WEIGHTS))
        )
    return saved


def _check_fit(config: FolderConfig, featurizer: Featurizer, *, where: Where) -> None:
    """Hold the sizes in config.json against the tokenizer, the descriptors and the targets beside it."""
    network, tokenizer, targets = config.network, featurizer.tokenizer, config.targets
    blocks = [(block.name, block.size) for block in featurizer.blocks if block.size]
    pairs: dict[str, tuple[object, object]] = {
        "vocabulary": (network.vocabulary, len(tokenizer.vocabulary)),
        "features": (network.features, len(tokenizer.feature_names)),
        "context_buckets": (network.context_buckets, tokenizer.context_buckets),
        "blocks": ([(block.name, block.size) for block in network.blocks], blocks),
        "base": (network.base is not None, isinstance(tokenizer.vocabulary, BaseVocabulary)),
        "kind": (network.kind, targets.kind),
        "outputs": (network.outputs, targets.outputs),
        "quantiles": (network.quantiles, targets.quantiles),
        "gates": (network.gates, targets.gates),
        "zeros": (network.zeros, targets.scaled_zeros),
        "forest": (_forest_shape(network.forest), _forest_wanted(targets, featurizer)),
    }
    store.require_fit(pairs, where=where)


def _forest_shape(forest: ForestConfig | None) -> tuple[int, int] | None:
    return None if forest is None else (forest.features, forest.outputs)


def _forest_wanted(targets: Targets, featurizer: Featurizer) -> tuple[int, int] | None:
    return (sum(block.size for block in featurizer.blocks), targets.outputs) if targets.blend else None
