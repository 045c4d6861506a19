"""Forests on descriptors: random forests, and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.targets import EstimatorPerTarget, Mask, fit_each
from gia_science.evaluation.metrics import ScoreKind

FloatArray = npt.NDArray[np.float64]

TREES = 500
FOREST_FEATURE_SHARE = 1 / 3
"""Features that a regression forest tries at a split; extremely randomised trees try all.

Chosen on training rows, by cross-validation within them.
"""


def fit_forest(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> EstimatorPerTarget:
    """Fit a random forest of 500 trees on `Inputs.descriptors` for each target; parameters as of `Fit`.

    A regression tries a third of the features at a split, a classification their square root; everything else is
    scikit-learn's default. A missing descriptor has the training median.
    """
    make = RandomForestClassifier
    if kind == "regression":
        make = partial(RandomForestRegressor, max_features=FOREST_FEATURE_SHARE)
    return _fit(kind, inputs, y, classes=classes, seed=seed, jobs=jobs, make=make)


def fit_extra_trees(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> EstimatorPerTarget:
    """Fit 500 extremely randomised trees (Geurts et al., Mach. Learn. 2006, 63, 3); the rest as of `fit_forest`.

    A regression tries all features at a split.
    """
    make = ExtraTreesRegressor if kind == "regression" else ExtraTreesClassifier
    return _fit(kind, inputs, y, classes=classes, seed=seed, jobs=jobs, make=make)


def _fit(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None,
    seed: int,
    jobs: int,
    make: Callable[..., Any],
) -> EstimatorPerTarget:
    table = partial(_filled, medians=_medians(inputs.descriptors))

    def fit(x: FloatArray, target: FloatArray, rows: Mask) -> Any:
        del rows
        return make(n_estimators=TREES, random_state=seed, n_jobs=jobs).fit(x, target)

    return fit_each(kind, inputs, y, classes=classes, table=table, fit=fit)


def _filled(inputs: Inputs, *, medians: FloatArray) -> FloatArray:
    return np.where(np.isfinite(inputs.descriptors), inputs.descriptors, medians)


def _medians(x: FloatArray) -> FloatArray:
    """Median of each column (D,) over its finite values; 0 for a column that has none."""
    finite = np.where(np.isfinite(x), x, np.nan)
    medians = np.zeros(x.shape[1])
    known = ~np.isnan(finite).all(axis=0) if len(x) else np.zeros(x.shape[1], dtype=bool)
    medians[known] = np.nanmedian(finite[:, known], axis=0) if known.any() else 0.0
    return medians
