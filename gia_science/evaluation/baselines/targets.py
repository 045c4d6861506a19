"""What all baselines share: checked targets, and one scikit-learn estimator for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gia_science.data.targets import every_class
from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.metrics import ScoreKind

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Predictor(Protocol):
    """A fitted baseline."""

    def predict(self, inputs: Inputs) -> FloatArray:
        """Predict n inputs.

        Returns
        -------
        (n, T) or (n, T, C) float64
            Values; the probability of class 1 of a binary target; those of all C classes of a multi-class target.
            NaN for a target that was never measured.
        """
        ...


class Fit(Protocol):
    """How a baseline is fitted: each target on the rows that have it."""

    def __call__(
        self, kind: ScoreKind, inputs: Inputs, y: FloatArray, *, classes: int | None, seed: int, jobs: int
    ) -> Predictor:
        """Fit.

        Parameters
        ----------
        kind : str
            ``"regression"``, ``"binary"`` (targets 0 or 1) or ``"multiclass"`` (class indices).
        inputs : Inputs
            The n training inputs.
        y : (n,) or (n, T) float64
            Targets; NaN where missing.
        classes : int or None
            Number of classes of a multi-class target; None for the largest index and one.
        seed : int
            Seed of whatever is random.
        jobs : int
            Threads.

        Raises
        ------
        EvaluationError
            When a target is no class index.
        """
        ...


@dataclass(frozen=True)
class EstimatorPerTarget:
    """A fitted scikit-learn estimator for each target.

    Parameters
    ----------
    kind : str
    estimators : tuple
        One for each target; None for a target that was never measured.
    table : callable
        Inputs to the numbers ``(n, D)`` that the estimators were fitted on.
    classes : int
        Number of classes C; 2 for a binary target.
    """

    kind: ScoreKind
    estimators: tuple[Any, ...]
    table: Callable[[Inputs], FloatArray]
    classes: int

    def predict(self, inputs: Inputs) -> FloatArray:
        """See `Predictor`."""
        x = self.table(inputs)
        return np.stack([self._predict_target(estimator, x) for estimator in self.estimators], axis=1)

    def _predict_target(self, estimator: Any, x: FloatArray) -> FloatArray:
        columns = () if self.kind == "regression" else (self.classes,)
        if estimator is None or not len(x):
            result = np.full((len(x), *columns), np.nan)
        elif self.kind == "regression":
            result = np.asarray(estimator.predict(x), dtype=np.float64)
        else:
            # A class that the target's training rows lack has no column of its own in the estimator.
            shares = np.asarray(estimator.predict_proba(x), dtype=np.float64)
            result = every_class(shares, seen=estimator.classes_, classes=self.classes)
        return result[:, 1] if self.kind == "binary" else result


def fit_each(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None,
    table: Callable[[Inputs], FloatArray],
    fit: Callable[[FloatArray, FloatArray, Mask], Any],
) -> EstimatorPerTarget:
    """Fit an estimator for each target, on its own rows.

    Parameters
    ----------
    kind, inputs, y, classes
        As of `Fit`.
    table : callable
        As of `EstimatorPerTarget`.
    fit : callable
        ``(x (m, D), target (m,), rows (n,)) -> estimator``; the mask says which of the n rows the m are.
    """
    targets, count = checked_targets(kind, y, classes)
    assert len(inputs) == len(targets), "inputs and targets need the same rows"
    x = table(inputs)
    estimators = []
    for target in targets.T:
        rows = np.isfinite(target)
        estimators.append(fit(x[rows], target[rows], rows) if rows.any() else None)
    return EstimatorPerTarget(kind=kind, estimators=tuple(estimators), table=table, classes=count)


def checked_targets(kind: ScoreKind, y: FloatArray, classes: int | None) -> tuple[FloatArray, int]:
    """Targets as (n, T), and the number of classes: 0 for values."""
    targets = np.asarray(y, dtype=np.float64)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if kind == "regression":
        return targets, 0
    present = targets[np.isfinite(targets)]
    largest = int(present.max()) if len(present) else 0
    count = 2 if kind == "binary" else (classes or largest + 1)
    if not np.isin(present, np.arange(count)).all():
        raise EvaluationError(
            "a class index does not fit the target", expected=f"whole numbers from 0 to {count - 1}"
        )
    return targets, count
