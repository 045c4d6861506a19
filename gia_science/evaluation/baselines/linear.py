"""Linear methods: ridge regression for values, logistic regression for classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.targets import EstimatorPerTarget, Mask, fit_each
from gia_science.evaluation.metrics import ScoreKind
from gia_science.tokens.residues import STANDARD
from gia_science.tokens.scaling import DescriptorScaling

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

PENALTIES = tuple(10.0**power for power in range(-2, 6))
"""Penalties of the ridge that are tried."""
STRENGTHS = tuple(10.0**power for power in range(-4, 2))
"""Inverse penalties of the logistic regression that are tried."""
INNER_FOLDS = 5
ITERATIONS = 500
LEAST_PROBABILITY = 1e-6
"""A probability counts as no less in the inner cross-validation: one blunder must not decide it."""


def fit_linear(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> EstimatorPerTarget:
    """Fit a ridge, or a logistic regression, for each target; parameters as of `Fit`.

    It sees of aligned proteins each residue at each place (one-hot, not scaled); of other proteins
    `Inputs.descriptors` and the fractions of pairs of residues; of molecules and compositions
    `Inputs.descriptors`. All but the one-hot columns are standardised and clipped by `DescriptorScaling`; a
    missing number is the mean, a column that is constant in training is left out.

    The penalty is chosen by five-fold cross-validation of the training rows that keeps equal inputs together: by the
    square error, or the logarithmic loss.
    """
    del jobs  # each fit is a matrix product, which the threads of the linear algebra share already
    identities = np.unique([reading.identity for reading in inputs.readings], return_inverse=True)[1]

    def fit(x: FloatArray, target: FloatArray, rows: Mask) -> Any:
        classified = target if kind != "regression" else np.zeros(len(target))
        folds = inner_folds(identities[rows], classified, seed=seed)
        return _search(kind, x, target, folds)

    return fit_each(kind, inputs, y, classes=classes, table=_LinearTable.fit(inputs), fit=fit)


def inner_folds(groups: IntArray, classes: FloatArray, *, seed: int) -> IntArray:
    """Fold of each row ``(n,)``: rows of one group share it, and each class is spread over the folds.

    -1, for always in training, for a class that only one group has: without it there is no fitting it.
    """
    distinct, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    shuffled = np.random.default_rng(seed).permutation(len(distinct))
    kind = classes[first][shuffled]
    order = shuffled[np.argsort(kind, kind="stable")]
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[order] = np.arange(len(distinct)) % INNER_FOLDS
    labels, counts = np.unique(classes[first], return_counts=True)
    fold[np.isin(classes[first], labels[counts < 2])] = -1
    return fold[inverse]


def _search(kind: ScoreKind, x: FloatArray, target: FloatArray, folds: IntArray) -> Any:
    if kind != "regression" and len(np.unique(target)) < 2:
        return DummyClassifier(strategy="prior").fit(x, target)
    estimator: Any
    score: Any
    if kind == "regression":
        estimator, grid, score = Ridge(), {"alpha": PENALTIES}, "neg_mean_squared_error"
    else:
        estimator, grid, score = LogisticRegression(max_iter=ITERATIONS), {"C": STRENGTHS}, _mean_log
    with warnings.catch_warnings():
        # A fit that is not converged to the last digit is a fit, and the inner folds have judged it.
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        if len(np.unique(folds[folds >= 0])) < 2:
            return estimator.fit(x, target)
        search = GridSearchCV(estimator, grid, scoring=score, cv=PredefinedSplit(folds))
        return search.fit(x, target).best_estimator_


def _mean_log(estimator: Any, x: FloatArray, target: FloatArray) -> float:
    """Mean logarithm of the probability of the true class, whichever classes these rows hold."""
    column = np.searchsorted(estimator.classes_, target)
    probability = estimator.predict_proba(x)[np.arange(len(x)), column]
    return float(np.log(np.maximum(probability, LEAST_PROBABILITY)).mean())


@dataclass(frozen=True)
class _LinearTable:
    """How inputs become the columns of a linear method.

    Parameters
    ----------
    length : int or None
        Number of residues of aligned training proteins: they are one-hot then.
    columns : (D,) int64
        One-hot columns that vary among the training proteins.
    scaling : DescriptorScaling
        Of all other columns.
    """

    length: int | None
    columns: IntArray
    scaling: DescriptorScaling

    @classmethod
    def fit(cls, inputs: Inputs) -> _LinearTable:
        length = inputs.aligned_length
        hot = _one_hot(inputs, length)
        varies = np.flatnonzero(np.ptp(hot, axis=0)) if len(hot) else np.arange(hot.shape[1])
        others = _others(inputs, length)
        return cls(length, varies, DescriptorScaling.fit(others, list(map(str, range(others.shape[1])))))

    def __call__(self, inputs: Inputs) -> FloatArray:
        """Columns ``(n, D)``, one of zeros where there would be none."""
        scaled = np.nan_to_num(self.scaling.transform(_others(inputs, self.length)).astype(np.float64))
        x = np.concatenate([_one_hot(inputs, self.length)[:, self.columns], scaled], axis=1)
        return x if x.shape[1] else np.zeros((len(x), 1))


def _one_hot(inputs: Inputs, length: int | None) -> FloatArray:
    """Whether each place holds each of the standard residues ``(n, length * 20)``; of the places both have."""
    table = np.zeros((len(inputs), length or 0, len(STANDARD)))
    if length is not None:
        index = {residue: position for position, residue in enumerate(STANDARD)}
        for row, residues in enumerate(inputs.sequences):
            for place, residue in enumerate(residues[:length]):
                if residue in index:
                    table[row, place, index[residue]] = 1.0
    return table.reshape(len(inputs), (length or 0) * len(STANDARD))


def _others(inputs: Inputs, length: int | None) -> FloatArray:
    if length is not None:
        return inputs.numbers
    if inputs.domain == "protein":
        return np.concatenate([inputs.descriptors, inputs.pairs], axis=1)
    return inputs.descriptors
