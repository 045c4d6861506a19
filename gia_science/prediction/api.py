"""Loading a model, as the package offers it."""

from __future__ import annotations

from pathlib import Path

from gia_science.prediction.model import Model


def load(folder: str | Path) -> Model:
    """Load a model folder.

    Parameters
    ----------
    folder : path
        As `train` or ``gia train`` wrote it.

    Raises
    ------
    ModelFolderError
        When it is missing, damaged, foreign or made by a newer release. No code in it is ever run.
    """
    return Model.load(folder)
