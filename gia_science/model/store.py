"""What folders of trained networks share: their files, how they are written, and how strictly they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
from pydantic import Field
from torch import Tensor, nn

from gia_science.data.folders import whole_folder
from gia_science.data.source import DataSource
from gia_science.errors import DefinitionError, ModelFolderError, Where
from gia_science.model.files import checksum, read_bytes, read_json, read_text, write_json
from gia_science.settings import Strict, validate
from gia_science.tokens.base_vocabulary import parse_vocabulary
from gia_science.tokens.featurizer import Featurizer, longest_of

FORMAT = 1
"""Version of the folder's layout. A folder with a higher one was made by a newer release and is refused."""
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
CHECKED = (
    "featurizer.json",
    "tokenizer.json",
    "recipe.yaml",
    "split.json",
    "metrics.json",
    WEIGHTS,
)
"""Files whose checksums are kept in ``config.json``."""
FILES = (CONFIG, *CHECKED, "README.md")
"""Files that every folder has."""
_MADE_WITH = ("gia-science", "torch", "transformers", "peft", "rdkit", "pymatgen", "biopython", "numpy")


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder.

    Parameters
    ----------
    model_type : str
        By which ``config.json`` tells it.
    noun : str
        What it is called in messages.
    attachments : tuple of str
        Files that may lie in it beside `FILES`.
    """

    model_type: str
    noun: str
    attachments: tuple[str, ...] = ()


MODEL = FolderKind("gia-science", "model folder", ("report.png", "predictions.csv", "leakage.json"))
PRETRAINED = FolderKind("gia-science-backbone", "folder of a pretrained network")


class StoredConfig(Strict):
    """Contents of ``config.json`` that every kind has."""

    format_version: int = Field(ge=1)
    model_type: str
    made_with: dict[str, str]
    data: DataSource
    checksums: dict[str, str] = Field(default_factory=dict, description="SHA-256 of the files of `CHECKED`.")


ConfigT = TypeVar("ConfigT", bound=StoredConfig)


@dataclass(frozen=True, kw_only=True)
class SavedNetwork:
    """What every kind of folder holds.

    Parameters
    ----------
    network : torch.nn.Module
        With its weights, in evaluation mode.
    featurizer : Featurizer
        Tokenizer and descriptor statistics.
    data : DataSource
        Where the training rows came from, and the columns that were read.
    recipe : str
        The exact recipe, as YAML.
    split : mapping
        Lines, ids and identities of training, validation and test rows.
    metrics : mapping
        Figures of the run that made the network.
    card : str
        The model card, Markdown.
    attachments : mapping of str to bytes
        Files beside these, as far as they are there.
    """

    network: nn.Module
    featurizer: Featurizer
    data: DataSource
    recipe: str = ""
    split: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    card: str = ""
    attachments: Mapping[str, bytes] = field(default_factory=dict)


def write_folder(
    saved: SavedNetwork,
    folder: str | Path,
    kind: FolderKind,
    *,
    config: Callable[..., StoredConfig],
    overwrite: bool,
    tensors: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write a folder. It appears under its name only when it is whole.

    Parameters
    ----------
    saved : SavedNetwork
    folder : path
        A link is followed: what it points to is written or replaced.
    kind : FolderKind
    config : callable
        Makes the contents of ``config.json`` from the fields of `StoredConfig`.
    overwrite : bool
        Replace an existing folder of the kind. Anything else that exists is never replaced.
    tensors : mapping of str to Tensor, optional
        The weights that the folder keeps; by default all of the network's.

    Raises
    ------
    ModelFolderError
        When the folder exists and may not be replaced, or cannot be written.
    """
    check_free(Path(folder), kind, overwrite=overwrite)
    kept = saved.network.state_dict() if tensors is None else tensors
    try:
        with whole_folder(folder) as unfinished:
            _write_files(saved, unfinished, kind, config, kept)
    except OSError as error:
        raise ModelFolderError(
            f"the {kind.noun} cannot be written",
            got=error.strerror or str(error),
            where=Where(file=str(folder)),
        ) from error
    return Path(folder)


def check_free(folder: Path, kind: FolderKind, *, overwrite: bool) -> None:
    """Refuse a target folder that holds something: told before any training, not after.

    Raises
    ------
    ModelFolderError
        When it exists and is no folder of the kind, or holds files that such a folder has not, or `overwrite` is false;
        or when it cannot be made there.
    """
    above = next(place for place in folder.absolute().parents if place.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        reason = "is not writable" if above.is_dir() else "is not a folder"
        raise ModelFolderError(
            f"the {kind.noun} cannot be written", got=f"{above} {reason}", where=Where(str(folder))
        )
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not _is_of_kind(folder, kind):
        raise ModelFolderError(f"the output exists and is not a {kind.noun}", got=str(folder))
    if not overwrite:
        raise ModelFolderError(f"the {kind.noun} exists", got=str(folder), hint="--overwrite replaces it")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in (*FILES, *kind.attachments))
    if foreign:
        raise ModelFolderError(
            f"the {kind.noun} holds other files, which would be lost",
            got=", ".join(foreign[:5]),
            hint="move them away first",
            where=Where(file=str(folder)),
        )


def _is_of_kind(folder: Path, kind: FolderKind) -> bool:
    """Whether a folder holds a config.json of the kind, be the rest of it whole or not."""
    try:
        return read_json(folder / CONFIG).get("model_type") == kind.model_type
    except ModelFolderError:
        return False


def _write_files(
    saved: SavedNetwork,
    folder: Path,
    kind: FolderKind,
    config: Callable[..., StoredConfig],
    tensors: Mapping[str, Tensor],
) -> None:
    write_json(folder / "featurizer.json", saved.featurizer.to_json())
    (folder / "tokenizer.json").write_text(saved.featurizer.tokenizer.vocabulary.raw, encoding="utf-8")
    (folder / "recipe.yaml").write_text(saved.recipe, encoding="utf-8")
    write_json(folder / "split.json", saved.split)
    write_json(folder / "metrics.json", saved.metrics)
    (folder / "README.md").write_text(saved.card, encoding="utf-8")
    for name, content in saved.attachments.items():
        assert name in kind.attachments
        (folder / name).write_bytes(content)
    weights = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    # Written as bytes: `save_file` makes files that only their owner can read.
    (folder / WEIGHTS).write_bytes(safetensors.torch.save(weights, metadata={"format": "pt"}))
    stored = config(
        format_version=FORMAT,
        model_type=kind.model_type,
        made_with=made_with(),
        data=saved.data,
        checksums={name: checksum(folder / name) for name in CHECKED},
    )
    write_json(folder / CONFIG, stored.model_dump(mode="json"))


def read_config(folder: Path, kind: FolderKind, contents: type[ConfigT]) -> ConfigT:
    """Contents of ``config.json``; raises `ModelFolderError` for a folder of another kind or a newer format."""
    if not folder.is_dir():
        raise ModelFolderError(f"no such {kind.noun}", got=str(folder))
    path = folder / CONFIG
    data = read_json(path)
    where = Where(file=str(path))
    found = data.get("model_type")
    if found != kind.model_type:
        known = next((other.noun for other in (MODEL, PRETRAINED) if other.model_type == found), None)
        hint = f"it is a {known}" if known else None
        raise ModelFolderError(f"not a {kind.noun} of gia-science", got=repr(found), hint=hint, where=where)
    made = data.get("format_version")
    if isinstance(made, int) and made > FORMAT:
        raise ModelFolderError(
            "the folder's format is newer than this release",
            got=str(made),
            expected=f"at most {FORMAT}",
            hint="update gia-science",
            where=where,
        )
    return validate(contents, data, error=ModelFolderError, what=CONFIG, where=where)


def read_featurizer(folder: Path) -> Featurizer:
    """Tokenizer and descriptors; whatever is wrong with them is wrong with the folder."""
    name = "tokenizer.json"
    try:
        read_json(folder / name)  # what is no JSON at all is told like that of other files
        stored = read_json(folder / "featurizer.json")
        vocabulary = parse_vocabulary(read_text(folder / name), most_tokens=longest_of(stored))
        name = "featurizer.json"
        return Featurizer.from_json(stored, vocabulary=vocabulary)
    except DefinitionError as error:
        raise ModelFolderError(
            error.what,
            got=error.got,
            expected=error.expected,
            hint=error.hint,
            where=Where(str(folder / name)),
        ) from error


def read_records(folder: Path, kind: FolderKind) -> dict[str, Any]:
    """Recipe, split, metrics, card and attachments by the names that `SavedNetwork` has for them."""
    return {
        "recipe": read_text(folder / "recipe.yaml"),
        "split": read_json(folder / "split.json"),
        "metrics": read_json(folder / "metrics.json"),
        "card": read_text(folder / "README.md"),
        "attachments": {
            name: read_bytes(folder / name) for name in kind.attachments if (folder / name).is_file()
        },
    }


def require_fit(pairs: Mapping[str, tuple[object, object]], *, where: Where) -> None:
    """Hold sizes in ``config.json`` against those that the files beside it ask for."""
    for name, (got, expected) in pairs.items():
        if got != expected:
            raise ModelFolderError(
                f"network.{name} of {CONFIG} does not fit the other files",
                got=str(got),
                expected=str(expected),
                where=where,
            )


def check_sums(config: StoredConfig, folder: Path) -> None:
    """Find damage that leaves a file readable, such as a digit or a weight that changed."""
    changed = [
        name for name in CHECKED if config.checksums.get(name, "") not in ("", checksum(folder / name))
    ]
    if changed:
        raise ModelFolderError(
            "files changed since the model was saved", got=", ".join(changed), where=Where(file=str(folder))
        )


def made_with() -> dict[str, str]:
    """Versions of this package and of those that decide what a network computes."""
    return {name: installed for name in _MADE_WITH if (installed := _version(name))}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
