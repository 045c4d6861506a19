"""Fitted estimators travel as the files of a model folder."""

from __future__ import annotations

import pickle
import pickletools

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from gia_science.errors import ModelFolderError
from gia_science.estimators.stored import from_files, load_saved, to_files


@pytest.fixture
def fitted(regressor, molecules):
    return regressor.fit(molecules.X, molecules.y)


def test_pickle_and_joblib_give_the_same_predictions(fitted, molecules, tmp_path) -> None:
    expected = fitted.predict(molecules.X)
    joblib.dump(fitted, tmp_path / "model.joblib")
    for loaded in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(loaded.predict(molecules.X), expected)


def test_a_pickle_holds_no_tensors_but_files(fitted) -> None:
    modules = {
        argument.split()[0].split(".")[0]
        for code, argument, _ in pickletools.genops(pickle.dumps(fitted, protocol=2))
        if code.name == "GLOBAL"
    }
    assert "torch" not in modules
    assert "pymatgen" not in modules
    assert set(fitted.__getstate__()["saved_"]) >= {"config.json", "model.safetensors", "tokenizer.json"}


def test_an_unfitted_estimator_is_pickled_without_a_model(regressor) -> None:
    assert pickle.loads(pickle.dumps(regressor)).get_params() == regressor.get_params()


def test_a_pickled_embedder_of_a_language_model(embedder, molecules) -> None:
    vectors = embedder.fit_transform(molecules.X)
    loaded = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(loaded.transform(molecules.X), vectors)
    assert loaded.get_feature_names_out().tolist() == embedder.get_feature_names_out().tolist()


def test_a_clone_has_no_model(fitted) -> None:
    assert not hasattr(clone(fitted), "saved_")


def test_damaged_files_are_refused(fitted) -> None:
    files = to_files(fitted.saved_)
    with pytest.raises(ModelFolderError):
        from_files({**files, "model.safetensors": files["model.safetensors"][:-4]})
    with pytest.raises(ModelFolderError):
        from_files({"../elsewhere": b""})


def test_a_folder_that_is_not_there_is_told(tmp_path) -> None:
    with pytest.raises(ModelFolderError, match="no such model folder"):
        load_saved(tmp_path / "none")
