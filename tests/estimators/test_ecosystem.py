"""The estimators inside the tools that users already have."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from crepes import WrapRegressor
from mapie.regression import SplitConformalRegressor
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gia_science.estimators import SequenceEmbedder, SequenceRegressor


def test_columns_of_a_frame_go_their_own_ways(model_folder, molecules) -> None:
    X = pd.DataFrame(
        {"smiles": molecules.X, "T": molecules.y}, index=[f"m{n}" for n in range(len(molecules.X))]
    )
    columns = ColumnTransformer(
        [("text", SequenceEmbedder(model_folder), "smiles"), ("number", StandardScaler(), ["T"])]
    ).set_output(transform="pandas")
    frame = columns.fit_transform(X)
    assert frame.index.tolist() == X.index.tolist()
    assert frame.columns[0] == "text__sequenceembedder0"
    assert make_pipeline(columns, Ridge()).fit(X, molecules.y).score(X, molecules.y) > 0.9


@pytest.mark.slow
def test_parameters_are_searched_in_parallel(regressor, molecules) -> None:
    search = GridSearchCV(regressor, {"width": [8, 16]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(molecules.X, molecules.y)
    assert search.best_params_["width"] in (8, 16)
    assert search.predict(["CCO"]).shape == (1,)


def test_parameters_are_searched_in_a_pipeline(embedder, molecules) -> None:
    pipeline = make_pipeline(embedder, Ridge())
    grid = {"sequenceembedder__layer": [0, 1], "ridge__alpha": [1.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(molecules.X, molecules.y)
    assert set(search.best_params_) == set(grid)


def test_cross_validation_by_groups(regressor, molecules) -> None:
    scores = cross_val_score(regressor, molecules.X, molecules.y, groups=molecules.groups, cv=GroupKFold(2))
    assert np.isfinite(scores).all()


def test_weights_and_groups_are_routed_to_fit(regressor, molecules) -> None:
    with config_context(enable_metadata_routing=True):
        asking = regressor.set_fit_request(sample_weight=True, groups=True).set_score_request(
            sample_weight=True
        )
        params = {"sample_weight": np.ones(len(molecules.X)), "groups": molecules.groups}
        scores = cross_val_score(
            asking, molecules.X, molecules.y, params=params, cv=GroupKFold(2), error_score="raise"
        )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kind", [StackingRegressor, VotingRegressor])
def test_it_is_one_of_several(kind, regressor, model_folder, molecules) -> None:
    members = [("network", regressor), ("vectors", make_pipeline(SequenceEmbedder(model_folder), Ridge()))]
    options = {"cv": 2} if kind is StackingRegressor else {}
    together = kind(members, **options).fit(molecules.X, molecules.y)
    assert np.isfinite(together.predict(molecules.X)).all()


def test_probabilities_are_calibrated(classifier, molecules) -> None:
    calibrated = CalibratedClassifierCV(classifier, cv=2).fit(molecules.X, molecules.kinds)
    assert calibrated.predict_proba(["CCO"]).shape == (1, 2)


def test_targets_are_transformed(regressor, molecules) -> None:
    model = TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp)
    assert (model.fit(molecules.X, molecules.y).predict(molecules.X) > 0).all()


def test_a_column_that_matters_is_told_from_one_that_does_not(frame, learner) -> None:
    X = frame[["formula", "temperature"]].assign(noise=np.arange(len(frame)) % 2)
    model = SequenceRegressor(**learner).fit(X, frame["gap"])
    found = permutation_importance(model, X, frame["gap"], n_repeats=2, random_state=0)
    assert found.importances_mean[1] > found.importances_mean[2]


def test_predictions_out_of_fold(classifier, molecules) -> None:
    shares = cross_val_predict(classifier, molecules.X, molecules.kinds, cv=2, method="predict_proba")
    assert shares.shape == (len(molecules.X), 2)


def test_intervals_by_mapie(regressor, molecules) -> None:
    X = np.array(molecules.X, dtype=object)
    fitted = regressor.fit(X, molecules.y)
    intervals = SplitConformalRegressor(fitted, confidence_level=0.8, prefit=True).conformalize(
        X, molecules.y
    )
    values, bounds = intervals.predict_interval(X)
    assert (bounds[:, 0, 0] <= values).all()
    assert (values <= bounds[:, 1, 0]).all()


def test_intervals_by_crepes(regressor, molecules) -> None:
    X = np.array(molecules.X, dtype=object)
    wrapped = WrapRegressor(regressor)
    wrapped.fit(X, molecules.y)
    wrapped.calibrate(X, molecules.y)
    bounds = wrapped.predict_int(X, confidence=0.8)
    assert bounds.shape == (len(X), 2)
    assert (bounds[:, 0] <= bounds[:, 1]).all()


def test_optuna_proposes_parameters(regressor, molecules) -> None:
    def score(trial: optuna.Trial) -> float:
        width = trial.suggest_categorical("width", [8, 16])
        return cross_val_score(regressor.set_params(width=width), molecules.X, molecules.y, cv=2).mean()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(score, n_trials=2)
    assert study.best_params["width"] in (8, 16)
