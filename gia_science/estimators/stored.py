"""Fitted estimators as bytes: the files of the model's folder, text and safetensors, and no pickled tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gia_science.errors import ModelFolderError
from gia_science.model.files import read_json
from gia_science.model.folder import ATTACHMENTS, FILES, SavedModel, load_model, save_model
from gia_science.model.pretrained import SavedPretrained, load_pretrained, save_pretrained
from gia_science.model.store import CONFIG, PRETRAINED

Saved = SavedModel | SavedPretrained


def load_saved(folder: str | Path) -> Saved:
    """Read a folder of a trained model or of a pretrained network, whichever it is.

    Raises
    ------
    ModelFolderError
        When it is missing, damaged, foreign or made by a newer release.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ModelFolderError("no such model folder", got=str(folder))
    if read_json(path / CONFIG).get("model_type") == PRETRAINED.model_type:
        return load_pretrained(path)
    return load_model(path)


def to_files(saved: Saved) -> dict[str, bytes]:
    """Files of the folder by name."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        if isinstance(saved, SavedModel):
            save_model(saved, folder)
        else:
            save_pretrained(saved, folder)
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def from_files(files: Mapping[str, bytes]) -> Saved:
    """Inverse of `to_files`; raises `ModelFolderError` for anything that a folder does not hold."""
    with TemporaryDirectory() as place:
        for name in (*FILES, *ATTACHMENTS):
            if name in files:
                (Path(place) / name).write_bytes(files[name])
        return load_saved(place)


class StoredInFiles:
    """Mixin of estimators that hold a `Saved` in ``saved_``: pickled and copied by way of the folder's files."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]  # a mapping, of BaseEstimator
        if "saved_" in state:
            state["saved_"] = to_files(state["saved_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "saved_" in state:
            state = {**state, "saved_": from_files(state["saved_"])}
        super().__setstate__(state)  # type: ignore[misc]  # that of BaseEstimator
