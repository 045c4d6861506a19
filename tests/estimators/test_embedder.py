"""Vectors for other estimators: from a model's folder, or from a language model that is trained in fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import gia_science
from gia_science.errors import GiaError, RecipeError, TableError, UnreadableInputError
from gia_science.estimators import SequenceEmbedder, SequenceRegressor, precise
from gia_science.model.pretrained import SavedPretrained


def test_vectors_of_a_model_folder_are_those_of_the_model(model_folder: Path, molecules) -> None:
    vectors = SequenceEmbedder(model_folder).fit(molecules.X).transform(molecules.X)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, gia_science.load(model_folder).embed(molecules.X), atol=1e-4)


def test_a_pipeline_from_a_folder(model_folder: Path, molecules) -> None:
    pipeline = make_pipeline(SequenceEmbedder(str(model_folder)), Ridge()).fit(molecules.X, molecules.y)
    assert pipeline.predict(["CCO"]).shape == (1,)


def test_a_language_model_is_trained_on_inputs_alone(embedder, molecules) -> None:
    vectors = embedder.fit_transform(molecules.X)
    assert isinstance(embedder.saved_, SavedPretrained)
    assert vectors.shape == (len(molecules.X), 8)
    assert np.isfinite(vectors).all()
    assert not np.allclose(embedder.set_params(pooling="first").transform(molecules.X), vectors)
    assert not np.allclose(embedder.set_params(pooling="model", layer=0).transform(molecules.X), vectors)
    for wrong in ({"pooling": "attention"}, {"layer": 5}):
        with pytest.raises(RecipeError):
            embedder.set_params(pooling="model", layer=-1).set_params(**wrong).transform(molecules.X)


def test_a_pretrained_folder_gives_the_vectors_of_the_embedder_that_trained_it(
    embedder, molecules, tmp_path
) -> None:
    from gia_science.model.pretrained import save_pretrained

    vectors = embedder.fit_transform(molecules.X)
    folder = save_pretrained(embedder.saved_, tmp_path / "pretrained")
    np.testing.assert_array_equal(SequenceEmbedder(folder).fit_transform(molecules.X), vectors)


@pytest.mark.parametrize("output", ["pandas", "default"])
def test_the_index_and_named_columns_are_kept(model_folder: Path, output) -> None:
    X = pd.Series(["CCO", "CCN", "CCO"], index=["b", "a", "c"], name="smiles")
    embedder = SequenceEmbedder(model_folder).set_output(transform=output).fit(X)
    vectors = embedder.transform(X)
    names = embedder.get_feature_names_out()
    assert names[0] == "sequenceembedder0"
    assert vectors.shape == (3, len(names))
    if output == "pandas":
        assert vectors.index.tolist() == ["b", "a", "c"]
        assert vectors.columns.tolist() == list(names)
        assert embedder.transform(X.to_frame()).index.tolist() == ["b", "a", "c"]


def test_polars_frames_come_out_where_polars_is_installed(model_folder: Path) -> None:
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"smiles": ["CCO", "CCN"]})
    vectors = SequenceEmbedder(model_folder).set_output(transform="polars").fit(X).transform(X)
    assert isinstance(vectors, polars.DataFrame)


def test_bad_rows_are_named_or_nan(model_folder: Path, embedder, molecules) -> None:
    X = ["CCO", None, "C1CC"]
    with pytest.raises(UnreadableInputError, match=r"2 of 3 rows .*position 1, None: missing value"):
        SequenceEmbedder(model_folder).fit(X).transform(X)
    vectors = SequenceEmbedder(model_folder, on_error="nan").fit(X).transform(X)
    assert np.isnan(vectors).all(axis=1).tolist() == [False, True, True]
    with pytest.raises(UnreadableInputError, match="position 1, None"):
        embedder.fit([*X, *molecules.X])
    vectors = embedder.set_params(on_error="nan").fit_transform([*X, *molecules.X])
    assert np.isnan(vectors).all(axis=1).sum() == 2


def test_equal_inputs_are_encoded_once(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = precise.forward

    def counting(examples, **options):
        seen.append(len(examples))
        return real(examples, **options)

    monkeypatch.setattr(precise, "forward", counting)
    vectors = SequenceEmbedder(model_folder).fit_transform(["CCO", "CCN"] * 2000)
    assert sum(seen) == 2
    assert (vectors[0] == vectors[2]).all()


def test_a_model_with_numeric_columns_finds_them_by_name(frame, learner, tmp_path) -> None:
    fitted = SequenceRegressor(**{**learner, "min_steps": 3, "epochs": 1})
    folder = fitted.fit(frame[["formula", "temperature"]], frame["gap"]).model_.save(tmp_path / "model")
    embedder = SequenceEmbedder(folder).fit(frame)
    assert embedder.transform(frame).shape == (len(frame), 8)
    with pytest.raises(TableError, match="temperature"):
        embedder.transform(frame[["formula"]])


def test_numeric_columns_are_no_part_of_a_language_model(frame, embedder) -> None:
    embedder.set_params(domain=None)
    with pytest.raises(TableError, match="reads one column"):
        embedder.fit(frame)
    assert embedder.set_params(input="formula").fit_transform(frame).shape == (len(frame), 8)


@pytest.mark.parametrize(
    "changes",
    [{"model": "no/such/folder"}, {"validation_fraction": 0}, {"pooling": "median"}, {"long": "cut"}],
)
def test_wrong_parameters_are_told(embedder, molecules, changes) -> None:
    with pytest.raises(GiaError) as caught:
        embedder.set_params(**changes).fit(molecules.X).transform(molecules.X)
    assert "\n" not in str(caught.value)
