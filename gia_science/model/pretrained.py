"""The saved language model: a folder that the training of a property predictor can start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gia_science.errors import Where
from gia_science.model import store
from gia_science.model.config import LanguageConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.model.language import LanguageNetwork
from gia_science.model.store import CONFIG, PRETRAINED, WEIGHTS, SavedNetwork, StoredConfig
from gia_science.model.weights import read_network


class PretrainedConfig(StoredConfig):
    """Contents of ``config.json``."""

    network: LanguageConfig


@dataclass(frozen=True, kw_only=True)
class SavedPretrained(SavedNetwork):
    """Everything that the folder of a pretrained network holds; `SavedNetwork` has the rest of it.

    Parameters
    ----------
    network : LanguageNetwork
    """

    network: LanguageNetwork


def save_pretrained(saved: SavedPretrained, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write the folder, under the rules of `save_model`."""
    config = partial(PretrainedConfig, network=saved.network.config)
    return store.write_folder(saved, folder, PRETRAINED, config=config, overwrite=overwrite)


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a target folder that holds something, before any training; see `store.check_free`."""
    store.check_free(folder, PRETRAINED, overwrite=overwrite)


def load_pretrained(folder: str | Path) -> SavedPretrained:
    """Read the folder strictly; raises `ModelFolderError` as `load_model` does."""
    folder = Path(folder)
    config = store.read_config(folder, PRETRAINED, PretrainedConfig)
    featurizer = store.read_featurizer(folder)
    where = Where(file=str(folder / CONFIG))
    blocks = [block.name for block in featurizer.blocks]
    vocabulary = len(featurizer.tokenizer.vocabulary)
    store.require_fit(
        {"vocabulary": (config.network.vocabulary, vocabulary), "blocks": ([], blocks)}, where=where
    )
    network = read_network(LanguageNetwork, config.network, folder / WEIGHTS)
    saved = SavedPretrained(
        network=network.eval(),
        featurizer=featurizer,
        data=config.data,
        **store.read_records(folder, PRETRAINED),
    )
    store.check_sums(config, folder)
    return saved


def start_from(pretrained: LanguageNetwork, network: PropertyNetwork) -> None:
    """Put every tensor of the pretrained backbone into a network, whose other parts stay as they are.

    Parameters
    ----------
    pretrained : LanguageNetwork
    network : PropertyNetwork
        Of the same vocabulary, width, number of layers and attention; features, contexts, descriptors, known
        edges and the head are its own.
    """
    report = network.backbone.load_state_dict(pretrained.backbone.state_dict(), strict=False)
    assert not report.unexpected_keys, report.unexpected_keys
