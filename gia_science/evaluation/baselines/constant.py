"""The same prediction for every input: the mean, or the frequency of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.targets import checked_targets
from gia_science.evaluation.metrics import ScoreKind

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Constant:
    """The training mean of each target, or the training frequency of each class, whatever the input.

    The predicted class is then the most frequent one.

    Parameters
    ----------
    values : (T,) or (T, C) float64
        What is predicted; NaN for a target that was never measured.
    """

    values: FloatArray

    def predict(self, inputs: Inputs) -> FloatArray:
        """The same prediction for each of the n inputs: (n, T), or (n, T, C) of a multi-class target."""
        return np.broadcast_to(self.values, (len(inputs), *self.values.shape)).copy()


def fit_constant(
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Constant:
    """What a method must beat to have learnt anything; parameters as of `Fit`."""
    del inputs, seed, jobs  # nothing of them matters here
    targets, count = checked_targets(kind, y, classes)
    values = [_constant(kind, target[np.isfinite(target)], count) for target in targets.T]
    return Constant(values=np.array(values, dtype=np.float64))


def _constant(kind: ScoreKind, target: FloatArray, classes: int) -> FloatArray:
    if not len(target):
        return np.full(classes, np.nan) if kind == "multiclass" else np.array(np.nan)
    if kind == "multiclass":
        return np.bincount(target.astype(np.int64), minlength=classes) / len(target)
    return np.array(target.mean())
