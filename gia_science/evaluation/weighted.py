"""Metrics as functions of row weights.

Every public function here has the form ``(truth (n,), prediction (n,), weights (R, n)) -> (R,)``. A weight
says how often a row counts: with weights of 1 the result is the metric itself, with the counts of bootstrap
resamples it is the metric on each of them, at the price of one sort. It is NaN where a metric is not defined.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RELATIVE_NOISE = 1e-14
"""Numbers closer than this, relative to their size, differ by rounding only."""


def _weighted_mean(x: FloatArray, weights: FloatArray) -> FloatArray:
    mean: FloatArray = weights @ x / weights.sum(axis=1)
    return mean


def rmse(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Root mean square error."""
    return np.sqrt(_weighted_mean((prediction - truth) ** 2, weights))


def mae(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean absolute error."""
    return _weighted_mean(np.abs(prediction - truth), weights)


def _deviations(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Deviation of each row from the weighted mean of its resample (R, n), from `x` of (n,) or (R, n)."""
    total = weights.sum(axis=1)
    deviations: FloatArray = x - ((weights * x).sum(axis=1) / total)[:, None]
    return deviations


def _squares(deviations: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sum of squares (R,), exactly 0 where all that differs is rounding."""
    squares: FloatArray = (weights * deviations**2).sum(axis=1)
    noise = (RELATIVE_NOISE * np.abs(deviations).max(initial=0.0)) ** 2 * weights.shape[1]
    return np.where(squares > noise, squares, 0.0)


def r2(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Share of the variance that is explained; not defined where every target is the same."""
    residual = weights @ (prediction - truth) ** 2
    return 1 - _ratio(residual, _squares(_deviations(truth - truth[0], weights), weights))


def _correlation(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    x, y = _deviations(x, weights), _deviations(y, weights)
    covariance = (weights * x * y).sum(axis=1)
    return np.clip(_ratio(covariance, np.sqrt(_squares(x, weights)) * np.sqrt(_squares(y, weights))), -1, 1)


def pearson(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Linear correlation; not defined where targets or predictions are all the same."""
    return _correlation(truth - truth[0], prediction - prediction[0], weights)


def spearman(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Correlation of mid-ranks; not defined where targets or predictions are all the same."""
    return _correlation(_ranks(truth, weights), _ranks(prediction, weights), weights)


def _ranks(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Mid-rank of each row in each resample (R, n), where a row stands as often as its weight says."""
    groups, inverse = _tie_groups(x, weights)
    return (np.cumsum(groups, axis=1) - (groups - 1) / 2)[:, inverse]


def _tie_groups(x: FloatArray, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Summed weights of the rows of each distinct value, ascending (R, G), and the group of each row (n,)."""
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    inverse = np.empty(len(x), dtype=np.int64)
    inverse[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(x))))
    return np.add.reduceat(weights[:, order], first, axis=1), inverse


def roc_auc(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Area under the ROC curve with ties counted half; not defined for one class."""
    positive, _ = _tie_groups(prediction, weights * truth)
    negative, _ = _tie_groups(prediction, weights * (1 - truth))
    below = np.cumsum(negative, axis=1) - negative / 2
    return _ratio((positive * below).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1))


def average_precision(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean precision over the steps of recall, tied predictions taken together; not defined for one class."""
    positive, _ = _tie_groups(-prediction, weights * truth)
    drawn, _ = _tie_groups(-prediction, weights)
    found, seen = np.cumsum(positive, axis=1), np.cumsum(drawn, axis=1)
    precision = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0)
    total = positive.sum(axis=1)
    both = np.where(total < drawn.sum(axis=1), total, 0.0)
    return _ratio((positive * precision).sum(axis=1), both)


def brier(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean square error of the probability."""
    return _weighted_mean((prediction - truth) ** 2, weights)


def _confusion(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Confusion matrices (R, C, C), true class by predicted class."""
    classes = int(max(truth.max(), prediction.max(), 1)) + 1
    cell = truth * classes + prediction
    sums, inverse = _tie_groups(cell, weights)
    matrix = np.zeros((len(weights), classes * classes))
    matrix[:, cell.astype(np.int64)] = sums[:, inverse]
    return matrix.reshape(-1, classes, classes)


def accuracy(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Share of rows whose class is right."""
    return _weighted_mean((prediction == truth).astype(np.float64), weights)


def balanced_accuracy(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean recall of the classes among the targets; not defined for fewer than two of them."""
    matrix = _confusion(truth, prediction, weights)
    total = matrix.sum(axis=2)
    recall = _ratio(np.diagonal(matrix, axis1=1, axis2=2), total)
    return _mean_of_defined(recall, at_least_two=total > 0)


def f1(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Harmonic mean of precision and recall of class 1; not defined where no target is of class 1."""
    matrix = _confusion(truth, prediction, weights)
    scores: FloatArray = np.where(matrix[:, 1].sum(axis=1) > 0, _f1_of_classes(matrix)[:, 1], np.nan)
    return scores


def f1_macro(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean F1 of the classes among targets or predictions; not defined for fewer than two true classes."""
    matrix = _confusion(truth, prediction, weights)
    return _mean_of_defined(_f1_of_classes(matrix), at_least_two=matrix.sum(axis=2) > 0)


def _f1_of_classes(matrix: FloatArray) -> FloatArray:
    hits = np.diagonal(matrix, axis1=1, axis2=2)
    return _ratio(2 * hits, matrix.sum(axis=1) + matrix.sum(axis=2))


def _mean_of_defined(x: FloatArray, *, at_least_two: npt.NDArray[np.bool_]) -> FloatArray:
    """Mean (R,) over the classes where `x` (R, C) is defined, where at least two true classes are present."""
    known = np.isfinite(x)
    total = np.where(at_least_two.sum(axis=1) >= 2, known.sum(axis=1), 0)
    return _ratio(np.where(known, x, 0.0).sum(axis=1), total.astype(np.float64))


def mcc(truth: FloatArray, prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Correlation of true and predicted classes; not defined where either are all the same.

    For any number of classes (Gorodkin, Comput. Biol. Chem. 2004, 28, 367).
    """
    matrix = _confusion(truth, prediction, weights)
    true, predicted, n = matrix.sum(axis=2), matrix.sum(axis=1), matrix.sum(axis=(1, 2))
    covariance = np.trace(matrix, axis1=1, axis2=2) * n - (true * predicted).sum(axis=1)
    spread = (n**2 - (true**2).sum(axis=1)) * (n**2 - (predicted**2).sum(axis=1))
    return _ratio(covariance, np.sqrt(spread))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient, NaN where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full_like(denominator, np.nan), where=denominator > 0)
