"""Forests on descriptors: random forests, and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from gia_science.tokens.descriptors import provider
from gia_science.tokens.stream import IntArray

FloatArray = npt.NDArray[np.float64]
View = Callable[[FloatArray], FloatArray]

TREES = 500
TREES_OF_CHOICE = 100
"""Trees whose error out of the bags says which of two forests is the better."""
FEWEST_FOR_CHOICE = 10
"""Rows for which the error out of the bags says anything."""
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

    Of aligned proteins it also sees the hydropathy and the volume of the residue at each place that differs.

    A regression tries a third of the features at a split, a classification their square root; everything else is
    scikit-learn's default. A missing descriptor has the training median. Of molecules a second forest sees only which
    Morgan environments there are, since descriptors help with some properties and hinder with others; the one is kept
    whose first 100 trees have the smaller squared error on rows out of their bags.
    """
    make: Callable[..., Any] = RandomForestClassifier
    if kind == "regression":
        make = partial(RandomForestRegressor, max_features=FOREST_FEATURE_SHARE)
    views = (_everything, _environments) if inputs.domain == "smiles" else (_everything,)
    return _fit(kind, inputs, y, classes=classes, seed=seed, jobs=jobs, make=make, views=views)


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
    views: Sequence[View] = (),
) -> EstimatorPerTarget:
    table = partial(_filled, medians=_medians(inputs.descriptors), places=inputs.differing_places)

    def fit(x: FloatArray, target: FloatArray, rows: Mask) -> Any:
        del rows
        forest = partial(make, random_state=seed, n_jobs=jobs)
        if len(views) < 2 or len(target) < FEWEST_FOR_CHOICE:
            return forest(n_estimators=TREES).fit(x, target)
        few = partial(forest, n_estimators=TREES_OF_CHOICE, oob_score=True, warm_start=True)
        fitted = [_Viewed(view, few().fit(view(x), target)) for view in views]
        chosen = min(fitted, key=lambda one: _error_out_of_bag(one.forest, target))
        # Its further trees are those that it would have had if they had been grown at once.
        chosen.forest.set_params(n_estimators=TREES, oob_score=False).fit(chosen.view(x), target)
        return chosen

    return fit_each(kind, inputs, y, classes=classes, table=table, fit=fit)


@dataclass(frozen=True)
class _Viewed:
    """A forest that sees a part of the descriptors."""

    view: View
    forest: Any

    @property
    def classes_(self) -> npt.NDArray[Any]:
        classes: npt.NDArray[Any] = self.forest.classes_
        return classes

    def predict(self, x: FloatArray) -> Any:
        return self.forest.predict(self.view(x))

    def predict_proba(self, x: FloatArray) -> Any:
        return self.forest.predict_proba(self.view(x))


def _everything(x: FloatArray) -> FloatArray:
    return x


def _environments(x: FloatArray) -> FloatArray:
    """Which Morgan environments a molecule has, and the user's numeric columns behind the descriptors."""
    counts, others = (len(provider(name).names) for name in ("morgan_counts", "rdkit2d"))
    return np.concatenate([x[:, :counts] > 0, x[:, counts + others :]], axis=1)


def _error_out_of_bag(forest: Any, target: FloatArray) -> float:
    """Mean squared error of values, or of the probabilities of all classes, on rows that a tree has not seen."""
    if hasattr(forest, "oob_prediction_"):
        return float(np.mean((forest.oob_prediction_ - target) ** 2))
    truth = target[:, None] == forest.classes_
    return float(np.mean(np.sum((forest.oob_decision_function_ - truth) ** 2, axis=1)))


def _filled(inputs: Inputs, *, medians: FloatArray, places: IntArray) -> FloatArray:
    filled = np.where(np.isfinite(inputs.descriptors), inputs.descriptors, medians)
    return np.concatenate([filled, inputs.residues_at(places)], axis=1)


def _medians(x: FloatArray) -> FloatArray:
    """Median of each column (D,) over its finite values; 0 for a column that has none."""
    finite = np.where(np.isfinite(x), x, np.nan)
    medians = np.zeros(x.shape[1])
    known = ~np.isnan(finite).all(axis=0) if len(x) else np.zeros(x.shape[1], dtype=bool)
    medians[known] = np.nanmedian(finite[:, known], axis=0) if known.any() else 0.0
    return medians
