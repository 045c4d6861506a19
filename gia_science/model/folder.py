"""The saved model: a folder of JSON, text and safetensors. Nothing in it is ever executed or unpickled."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from gia_science.data.source import DataSource
from gia_science.data.targets import Targets
from gia_science.errors import DefinitionError, ModelFolderError, Where
from gia_science.model.config import NetworkConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.settings import Strict, validate
from gia_science.tokens.featurizer import Featurizer
from gia_science.tokens.vocabulary import Vocabulary

FORMAT = 1
"""Version of the folder's layout. A folder with a higher one was made by a newer release and is refused."""
ATTACHMENTS = ("report.png", "predictions.csv")
"""Files that may lie in the folder beside the model itself."""
_MADE_WITH = ("gia-science", "torch", "rdkit", "pymatgen", "biopython", "numpy")


class FolderConfig(Strict):
    """Contents of ``config.json``."""

    format_version: int
    model_type: str = "gia-science"
    made_with: dict[str, str]
    data: DataSource
    network: NetworkConfig
    targets: Targets


@dataclass(frozen=True)
class SavedModel:
    """Everything a model folder holds.

    Parameters
    ----------
    network : PropertyNetwork
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

    network: PropertyNetwork
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
    overwrite : bool, default False
        Replace an existing model folder. Anything else that exists is never replaced.

    Raises
    ------
    ModelFolderError
        When the folder exists and may not be replaced.
    """
    folder = Path(folder)
    check_free(folder, overwrite=overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write_files(model, temporary)
        temporary.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a target folder that holds something: told before any training, not after."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / "config.json").is_file():
        raise ModelFolderError("the output exists and is not a model folder", got=str(folder))
    if not overwrite:
        raise ModelFolderError("the model folder exists", got=str(folder), hint="--overwrite replaces it")


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
    network = PropertyNetwork(config.network)
    _load_weights(network, folder / "model.safetensors")
    return SavedModel(
        network=network.eval(),
        targets=config.targets,
        featurizer=featurizer,
        data=config.data,
        recipe=_read_text(folder / "recipe.yaml"),
        split=_read_json(folder / "split.json"),
        metrics=_read_json(folder / "metrics.json"),
        card=_read_text(folder / "README.md"),
        attachments={name: (folder / name).read_bytes() for name in ATTACHMENTS if (folder / name).is_file()},
    )


def _write_files(model: SavedModel, folder: Path) -> None:
    config = FolderConfig(
        format_version=FORMAT,
        made_with={name: installed for name in _MADE_WITH if (installed := _version(name))},
        data=model.data,
        network=model.network.config,
        targets=model.targets,
    )
    _write_json(folder / "config.json", config.model_dump(mode="json"))
    _write_json(folder / "featurizer.json", model.featurizer.to_json())
    (folder / "tokenizer.json").write_text(model.featurizer.tokenizer.vocabulary.raw, encoding="utf-8")
    (folder / "recipe.yaml").write_text(model.recipe, encoding="utf-8")
    _write_json(folder / "split.json", model.split)
    _write_json(folder / "metrics.json", model.metrics)
    (folder / "README.md").write_text(model.card, encoding="utf-8")
    for name, content in model.attachments.items():
        assert name in ATTACHMENTS
        (folder / name).write_bytes(content)
    weights = {name: value.detach().cpu().contiguous() for name, value in model.network.state_dict().items()}
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _read_config(folder: Path) -> FolderConfig:
    path = folder / "config.json"
    data = _read_json(path)
    where = Where(file=str(path))
    if data.get("model_type") != "gia-science":
        raise ModelFolderError(
            "not a model folder of gia-science", got=repr(data.get("model_type")), where=where
        )
    made = data.get("format_version")
    if not isinstance(made, int) or made > FORMAT:
        raise ModelFolderError(
            "the folder's format is newer than this release",
            got=repr(made),
            expected=f"at most {FORMAT}",
            hint="update gia-science",
            where=where,
        )
    return validate(FolderConfig, data, error=ModelFolderError, what="config.json", where=where)


def _read_featurizer(folder: Path) -> Featurizer:
    vocabulary = Vocabulary.load(folder / "tokenizer.json") if (folder / "tokenizer.json").is_file() else None
    if vocabulary is None:
        raise ModelFolderError(
            "the folder is incomplete", got="no tokenizer.json", where=Where(file=str(folder))
        )
    path = folder / "featurizer.json"
    try:
        return Featurizer.from_json(_read_json(path), vocabulary=vocabulary)
    except (DefinitionError, KeyError, TypeError) as error:
        raise ModelFolderError("damaged", got=str(error), where=Where(file=str(path))) from error


def _load_weights(network: PropertyNetwork, path: Path) -> None:
    where = Where(file=str(path))
    try:
        found: dict[str, Tensor] = safetensors.torch.load_file(path)
    except FileNotFoundError as error:
        raise ModelFolderError("the folder is incomplete", got=f"no {path.name}", where=where) from error
    except (SafetensorError, OSError) as error:
        raise ModelFolderError("damaged weights", got=str(error), where=where) from error
    wanted = network.state_dict()
    problems = [f"{name} is missing" for name in wanted if name not in found]
    problems += [f"{name} is not known" for name in found if name not in wanted]
    problems += [
        f"{name} has shape {tuple(found[name].shape)}, not {tuple(wanted[name].shape)}"
        for name in wanted
        if name in found and found[name].shape != wanted[name].shape
    ]
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise ModelFolderError("the weights do not fit config.json", got=problems[0] + more, where=where)
    network.load_state_dict(found)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelFolderError(
            "the folder is incomplete", got=f"no {path.name}", where=Where(file=str(path))
        ) from error
    except UnicodeDecodeError as error:
        raise ModelFolderError("damaged: not text", where=Where(file=str(path))) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise ModelFolderError("damaged: not JSON", got=str(error), where=Where(file=str(path))) from error
    if not isinstance(data, dict):
        raise ModelFolderError("damaged", expected="a JSON object", where=Where(file=str(path)))
    return data


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
