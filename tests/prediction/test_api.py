"""Loading in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import gia_science
from gia_science.errors import ModelFolderError


def test_a_model_saved_is_the_model_loaded(molecules, tmp_path: Path) -> None:
    folder = molecules.save(tmp_path / "model")
    loaded = gia_science.load(str(folder))
    assert repr(loaded) == repr(molecules) == "Model(smiles: y, regression)"
    assert loaded.predict(["CCO", "C"]).equals(molecules.predict(["CCO", "C"]))
    assert loaded.metrics == molecules.metrics


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="no such model folder"):
        gia_science.load(tmp_path / "model")
