"""Loading a model, as the package offers it."""

from __future__ import annotations

from pathlib import Path

from gia_science.prediction.model import Model


def load(folder: str | Path, *, base: str | Path | None = None) -> Model:
    """Load a model folder.

    Parameters
    ----------
    folder : path
        As `train` or ``gia train`` wrote it.
    base : path or str, optional
        Where the pretrained model that it is built on is now, where it is not in the folder: a folder, or an id on the
        Hugging Face hub. Its hash is checked.

    Raises
    ------
    ModelFolderError
        When it is missing, damaged, foreign or made by a newer release. No code in it is ever run.
    BaseModelError
        When the model that it is built on is not there, or is another one.
    """
    return Model.load(folder, base=base)
