"""The saved model: a folder of JSON, text and safetensors. Nothing in it is ever executed or unpickled."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import safetensors.torch
from pydantic import Field

from gia_science.data.source import DataSource
from gia_science.data.targets import Targets
from gia_science.errors import DefinitionError, ModelFolderError, Where
from gia_science.model.config import NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.files import checksum, read_bytes, read_json, read_text, write_json
from gia_science.model.weights import read_network
from gia_science.settings import Strict, validate
from gia_science.tokens.featurizer import Featurizer
from gia_science.tokens.vocabulary import Vocabulary

FORMAT = 1
"""Version of the folder's layout. A folder with a higher one was made by a newer release and is refused."""
MODEL_TYPE = "gia-science"
CONFIG = "config.json"
CHECKED = (
    "featurizer.json",
    "tokenizer.json",
    "recipe.yaml",
    "split.json",
    "metrics.json",
    "model.safetensors",
)
"""Files whose checksums are kept in ``config.json``."""
FILES = (CONFIG, *CHECKED, "README.md")
"""Files that every model folder has."""
ATTACHMENTS = ("report.png", "predictions.csv")
"""Files that may lie in the folder beside the model itself."""
_MADE_WITH = ("gia-science", "torch", "rdkit", "pymatgen", "biopython", "numpy")


class FolderConfig(Strict):
    """Contents of ``config.json``."""

    format_version: int = Field(ge=1)
    model_type: str = MODEL_TYPE
    made_with: dict[str, str]
    data: DataSource
    network: NetworkConfig
    targets: Targets
    checksums: dict[str, str] = Field(default_factory=dict, description="SHA-256 of the files of `CHECKED`.")


@dataclass(frozen=True)
class SavedModel:
    """Everything a model folder holds.

    Parameters
    ----------
    network : PropertyEnsemble
        With its weights, in evaluation mode.
    targets : Targets
        Names, label map, scaling.
    featurizer : Featurizer
        Tokenizer and descriptor statistics.
    data : DataSource
        Where the training rows came from, and the columns that were read.
    recipe : str
        The exact recipe, as YAML.
    split : mapping
        Lines, ids and identities of training, validation and test rows.
    metrics : mapping
        Figures of the run that made the model.
    card : str
        The model card, Markdown.
    attachments : mapping of str to bytes
        Files of `ATTACHMENTS` that are there: the figure of the report, the predictions it was made from.
    """

    network: PropertyEnsemble
    targets: Targets
    featurizer: Featurizer
    data: DataSource
    recipe: str = ""
    split: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    card: str = ""
    attachments: Mapping[str, bytes] = field(default_factory=dict)


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
    check_free(Path(folder), overwrite=overwrite)
    final = Path(os.path.realpath(folder))
    unfinished = final.with_name(f".{final.name}-{secrets.token_hex(4)}.part")
    try:
        unfinished.mkdir(parents=True)
        _write_files(model, unfinished)
        _put_in_place(unfinished, final)
    except OSError as error:
        raise ModelFolderError(
            "the model folder cannot be written",
            got=error.strerror or str(error),
            where=Where(file=str(folder)),
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Path(folder)


def _put_in_place(unfinished: Path, final: Path) -> None:
    """Give a whole folder its name. What had the name before is there until then, and comes back on failure."""
    old = unfinished.with_suffix(".old")
    if final.exists():
        final.replace(old)
    try:
        unfinished.replace(final)
    finally:
        if old.exists() and not final.exists():
            old.replace(final)
    shutil.rmtree(old, ignore_errors=True)


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a target folder that holds something: told before any training, not after.

    Raises
    ------
    ModelFolderError
        When it exists and is no model folder, or holds files that a model folder has not, or `overwrite` is false;
        or when it cannot be made there.
    """
    above = next(place for place in folder.absolute().parents if place.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        reason = "is not writable" if above.is_dir() else "is not a folder"
        raise ModelFolderError(
            "the model folder cannot be written", got=f"{above} {reason}", where=Where(str(folder))
        )
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not _is_ours(folder):
        raise ModelFolderError("the output exists and is not a model folder", got=str(folder))
    if not overwrite:
        raise ModelFolderError("the model folder exists", got=str(folder), hint="--overwrite replaces it")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in (*FILES, *ATTACHMENTS))
    if foreign:
        raise ModelFolderError(
            "the model folder holds other files, which would be lost",
            got=", ".join(foreign[:5]),
            hint="move them away first",
            where=Where(file=str(folder)),
        )


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds a config.json of ours, be the rest of it whole or not."""
    try:
        return read_json(folder / CONFIG).get("model_type") == MODEL_TYPE
    except ModelFolderError:
        return False


def load_model(folder: str | Path) -> SavedModel:
    """Read a model folder strictly.

    Raises
    ------
    ModelFolderError
        When a file is missing or damaged, a key or tensor is unknown or missing, or the folder was made by a
        newer release.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFolderError("no such model folder", got=str(folder))
    config = _read_config(folder)
    featurizer = _read_featurizer(folder)
    _check_fit(config, featurizer, where=Where(file=str(folder / CONFIG)))
    network = read_network(config.network, folder / "model.safetensors")
    saved = SavedModel(
        network=network.eval(),
        targets=config.targets,
        featurizer=featurizer,
        data=config.data,
        recipe=read_text(folder / "recipe.yaml"),
        split=read_json(folder / "split.json"),
        metrics=read_json(folder / "metrics.json"),
        card=read_text(folder / "README.md"),
        attachments={name: read_bytes(folder / name) for name in ATTACHMENTS if (folder / name).is_file()},
    )
    _check_sums(config, folder)
    return saved


def _write_files(model: SavedModel, folder: Path) -> None:
    write_json(folder / "featurizer.json", model.featurizer.to_json())
    (folder / "tokenizer.json").write_text(model.featurizer.tokenizer.vocabulary.raw, encoding="utf-8")
    (folder / "recipe.yaml").write_text(model.recipe, encoding="utf-8")
    write_json(folder / "split.json", model.split)
    write_json(folder / "metrics.json", model.metrics)
    (folder / "README.md").write_text(model.card, encoding="utf-8")
    for name, content in model.attachments.items():
        assert name in ATTACHMENTS
        (folder / name).write_bytes(content)
    weights = {name: value.detach().cpu().contiguous() for name, value in model.network.state_dict().items()}
    # Written as bytes: `save_file` makes files that only their owner can read.
    (folder / "model.safetensors").write_bytes(safetensors.torch.save(weights, metadata={"format": "pt"}))
    config = FolderConfig(
        format_version=FORMAT,
        made_with={name: installed for name in _MADE_WITH if (installed := _version(name))},
        data=model.data,
        network=model.network.config,
        targets=model.targets,
        checksums={name: checksum(folder / name) for name in CHECKED},
    )
    write_json(folder / CONFIG, config.model_dump(mode="json"))


def _read_config(folder: Path) -> FolderConfig:
    path = folder / CONFIG
    data = read_json(path)
    where = Where(file=str(path))
    if data.get("model_type") != MODEL_TYPE:
        raise ModelFolderError(
            "not a model folder of gia-science", got=repr(data.get("model_type")), where=where
        )
    made = data.get("format_version")
    if isinstance(made, int) and made > FORMAT:
        raise ModelFolderError(
            "the folder's format is newer than this release",
            got=str(made),
            expected=f"at most {FORMAT}",
            hint="update gia-science",
            where=where,
        )
    return validate(FolderConfig, data, error=ModelFolderError, what=CONFIG, where=where)


def _read_featurizer(folder: Path) -> Featurizer:
    """Tokenizer and descriptors; whatever is wrong with them is wrong with the folder."""
    name = "tokenizer.json"
    try:
        read_json(folder / name)  # what is no JSON at all is told like that of other files
        vocabulary = Vocabulary.parse(read_text(folder / name))
        name = "featurizer.json"
        return Featurizer.from_json(read_json(folder / name), vocabulary=vocabulary)
    except DefinitionError as error:
        raise ModelFolderError(
            error.what,
            got=error.got,
            expected=error.expected,
            hint=error.hint,
            where=Where(str(folder / name)),
        ) from error


def _check_fit(config: FolderConfig, featurizer: Featurizer, *, where: Where) -> None:
    """Hold the sizes in config.json against the tokenizer, the descriptors and the targets beside it."""
    network, tokenizer, targets = config.network, featurizer.tokenizer, config.targets
    pairs: dict[str, tuple[object, object]] = {
        "vocabulary": (network.vocabulary, len(tokenizer.vocabulary)),
        "features": (network.features, len(tokenizer.feature_names)),
        "context_buckets": (network.context_buckets, tokenizer.context_buckets),
        "blocks": (
            [(block.name, block.size) for block in network.blocks],
            [(block.name, block.size) for block in featurizer.blocks if block.size],
        ),
        "kind": (network.kind, targets.kind),
        "outputs": (network.outputs, targets.outputs),
    }
    for name, (got, expected) in pairs.items():
        if got != expected:
            raise ModelFolderError(
                f"network.{name} of {CONFIG} does not fit the other files",
                got=str(got),
                expected=str(expected),
                where=where,
            )


def _check_sums(config: FolderConfig, folder: Path) -> None:
    """Find damage that leaves a file readable, such as a digit or a weight that changed."""
    changed = [
        name for name in CHECKED if config.checksums.get(name, "") not in ("", checksum(folder / name))
    ]
    if changed:
        raise ModelFolderError(
            "files changed since the model was saved", got=", ".join(changed), where=Where(file=str(folder))
        )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
