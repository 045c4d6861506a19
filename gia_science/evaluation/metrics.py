"""Metrics of one task with bootstrap intervals; what is not defined says so and is never a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gia_science.catalog import suggestion
from gia_science.errors import EvaluationError
from gia_science.evaluation import weighted
from gia_science.evaluation.bootstrap import percentile_interval, resample_weights

FloatArray = npt.NDArray[np.float64]

ScoreKind = Literal["regression", "binary", "multiclass"]
Requirement = Literal[
    "truth varies", "prediction varies", "two classes", "two predicted classes", "a positive"
]
WeightedMetric = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""``(truth (n,), prediction (n,), weights (R, n)) -> (R,)``, NaN where the metric is not defined."""


@dataclass(frozen=True)
class Metric:
    """One way to compare predictions with what was measured.

    Parameters
    ----------
    name, title : str
        Name in files, and in print.
    kind : str
        Kind of task it belongs to.
    greater_is_better : bool
        Whether a larger value means a better model.
    function : callable
        ``(truth (n,), prediction (n,), weights (R, n)) -> (R,)``; a weight is how often a row counts.
    needs : str
        What of the prediction it looks at: the value, the probability of class 1, or the class.
    requires : tuple of str
        What must hold for the metric to be defined.
    """

    name: str
    title: str
    kind: ScoreKind
    greater_is_better: bool
    function: WeightedMetric
    needs: Literal["value", "probability", "label"]
    requires: tuple[Requirement, ...] = ()

    def seen(self, prediction: FloatArray, *, priors: Sequence[float] = ()) -> FloatArray:
        """What it looks at of predictions (n,) or (n, C): themselves, or the predicted classes (n,)."""
        return prediction if self.needs != "label" else predicted_label(prediction, priors=priors)


@dataclass(frozen=True)
class Score:
    """A metric on some rows.

    Parameters
    ----------
    metric : str
        Name of the metric.
    value : float or None
        None where the metric is not defined on these rows.
    low, high : float or None
        Bounds of the bootstrap interval; None where there is none.
    n : int
        Rows that were scored: those with a target and a prediction.
    reason : str or None
        Why there is no value or no interval, or which rows were left out.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined: {self.reason}"
        if self.low is None or self.high is None:
            return three_digits(self.value)
        return f"{three_digits(self.value)} [{three_digits(self.low)}, {three_digits(self.high)}]"


def three_digits(x: float) -> str:
    """Three significant digits, whole numbers in full and no exponent where it can be avoided."""
    if x == 0 or not 1e-4 <= abs(x) < 1e6:
        return f"{x:.3g}"
    return f"{x:.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"


METRICS: dict[ScoreKind, tuple[Metric, ...]] = {
    "regression": (
        Metric("rmse", "RMSE", "regression", False, weighted.rmse, "value"),
        Metric("mae", "MAE", "regression", False, weighted.mae, "value"),
        Metric("r2", "R²", "regression", True, weighted.r2, "value", ("truth varies",)),
        Metric(
            "pearson",
            "Pearson r",
            "regression",
            True,
            weighted.pearson,
            "value",
            ("truth varies", "prediction varies"),
        ),
        Metric(
            "spearman",
            "Spearman ρ",
            "regression",
            True,
            weighted.spearman,
            "value",
            ("truth varies", "prediction varies"),
        ),
    ),
    "binary": (
        Metric("roc_auc", "ROC-AUC", "binary", True, weighted.roc_auc, "probability", ("two classes",)),
        Metric(
            "average_precision",
            "Average precision",
            "binary",
            True,
            weighted.average_precision,
            "probability",
            ("two classes",),
        ),
        Metric(
            "balanced_accuracy",
            "Balanced accuracy",
            "binary",
            True,
            weighted.balanced_accuracy,
            "label",
            ("two classes",),
        ),
        Metric("mcc", "MCC", "binary", True, weighted.mcc, "label", ("two classes", "two predicted classes")),
        Metric("f1", "F1", "binary", True, weighted.f1, "label", ("a positive",)),
        Metric("brier", "Brier score", "binary", False, weighted.brier, "probability"),
        Metric("accuracy", "Accuracy", "binary", True, weighted.accuracy, "label"),
    ),
    "multiclass": (
        Metric(
            "balanced_accuracy",
            "Balanced accuracy",
            "multiclass",
            True,
            weighted.balanced_accuracy,
            "label",
            ("two classes",),
        ),
        Metric("accuracy", "Accuracy", "multiclass", True, weighted.accuracy, "label"),
        Metric("f1_macro", "Macro F1", "multiclass", True, weighted.f1_macro, "label", ("two classes",)),
        Metric(
            "mcc", "MCC", "multiclass", True, weighted.mcc, "label", ("two classes", "two predicted classes")
        ),
    ),
}
"""Metrics of each kind of task, the primary one first.

The balanced accuracy of a binary task is what the leaderboard of matbench calls ``rocauc``: the area under the curve of
hard labels, which has one corner. The area under the curve of the probabilities is `roc_auc`.
"""


def primary_metric(kind: ScoreKind) -> Metric:
    """The metric a task of this kind is judged by: RMSE, ROC-AUC or balanced accuracy."""
    return METRICS[kind][0]


def find_metric(kind: ScoreKind, name: str) -> Metric:
    """Metric of a kind of task by its name.

    Raises
    ------
    EvaluationError
        When there is none of that name. The message suggests the nearest one.
    """
    known = {metric.name: metric for metric in METRICS[kind]}
    if name not in known:
        raise EvaluationError(
            f"no such metric for a {kind} task",
            got=repr(name),
            hint=suggestion(name, known) or f"there are: {', '.join(known)}",
        )
    return known[name]


def score_task(
    kind: ScoreKind,
    truth: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    priors: Sequence[float] = (),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Score, ...]:
    """Every metric of one task, with a bootstrap interval over its rows.

    All metrics see the same resamples, whose cost grows as rows times resamples.

    Parameters
    ----------
    kind : str
        ``"regression"``, ``"binary"`` or ``"multiclass"``.
    truth : (n,) array
        Measured value, 0 or 1, or class index; NaN where it is missing.
    prediction : (n,) or (n, C) array
        Value, probability of class 1, or probabilities of the C classes; the predicted class is the likeliest
        one, of two classes 1 from 0.5 on. A row without a target or without a finite prediction is left out;
        the latter is said in `Score.reason`.
    priors : sequence of float, optional
        As of `predicted_label`, where labels are chosen for balanced accuracy.
    resamples : int, default 1000
        Bootstrap resamples; 0 for no intervals.
    confidence : float, default 0.95
        Nominal coverage of the intervals.
    seed : int, default 0
        Seed of the resamples.

    Raises
    ------
    EvaluationError
        When shapes do not fit, or a target or probability is impossible.
    """
    rows = _scored_rows(
        kind, np.asarray(truth, dtype=np.float64), np.asarray(prediction, dtype=np.float64), priors
    )
    metrics = METRICS[kind]
    # A squared error may overflow; that is told as a reason below.
    with np.errstate(over="ignore", invalid="ignore"):
        points = [_point(metric, rows) for metric in metrics]
        draws = _draws(
            [m for m, (value, _) in zip(metrics, points, strict=True) if value is not None],
            rows,
            resamples,
            seed,
        )
    return tuple(
        _score(metric, value, reason, rows, draws.get(metric.name, np.empty(0)), confidence)
        for metric, (value, reason) in zip(metrics, points, strict=True)
    )


@dataclass(frozen=True)
class _Rows:
    """The rows that can be scored, and how many were measured but not predicted."""

    truth: FloatArray
    prediction: FloatArray
    label: FloatArray
    unpredicted: int

    def seen_by(self, metric: Metric) -> FloatArray:
        return self.label if metric.needs == "label" else self.prediction


def _scored_rows(
    kind: ScoreKind, truth: FloatArray, prediction: FloatArray, priors: Sequence[float]
) -> _Rows:
    expected = "one line of class probabilities per row" if kind == "multiclass" else "one number per row"
    if (
        truth.ndim != 1
        or prediction.ndim != (2 if kind == "multiclass" else 1)
        or len(prediction) != len(truth)
    ):
        raise EvaluationError(
            "targets and predictions do not fit",
            got=f"{truth.shape} and {prediction.shape}",
            expected=expected,
        )
    measured = np.isfinite(truth)
    predicted = np.isfinite(prediction) if prediction.ndim == 1 else np.isfinite(prediction).all(axis=1)
    both = measured & predicted
    truth, prediction = truth[both], prediction[both]
    if kind != "regression":
        _check_classes(truth, prediction, classes=2 if kind == "binary" else prediction.shape[1])
    label = predicted_label(prediction, priors=priors)
    return _Rows(truth, prediction, label, unpredicted=int((measured & ~predicted).sum()))


def predicted_label(probability: FloatArray, *, priors: Sequence[float] = ()) -> FloatArray:
    """Likeliest class (n,) of probabilities (n, C); of those of class 1 (n,), 1 from 0.5 on.

    With the shares of the classes (of two, that of class 1) as `priors`, the class whose probability is the largest
    multiple of its share: of class 1 (n,), 1 from its share on.
    """
    if probability.ndim == 1:
        return (probability >= (priors[0] if priors else 0.5)).astype(np.float64)
    if not probability.size:
        return np.zeros(len(probability))
    odds = probability / np.asarray(priors) if priors else probability
    label: FloatArray = odds.argmax(axis=1).astype(np.float64)
    return label


def _check_classes(truth: FloatArray, probability: FloatArray, *, classes: int) -> None:
    if not np.isin(truth, np.arange(classes)).all():
        raise EvaluationError("a target is no class index", expected=f"whole numbers from 0 to {classes - 1}")
    tolerance = 1e-6
    if ((probability < -tolerance) | (probability > 1 + tolerance)).any():
        raise EvaluationError("a prediction is no probability", expected="numbers from 0 to 1")


def _point(metric: Metric, rows: _Rows) -> tuple[float | None, str | None]:
    reason = _undefined(metric, rows)
    if reason is not None:
        return None, reason
    value = float(metric.function(rows.truth, rows.seen_by(metric), np.ones((1, len(rows.truth))))[0])
    return (value, None) if np.isfinite(value) else (None, "not a finite number on these rows")


def _undefined(metric: Metric, rows: _Rows) -> str | None:
    """Why the metric has no value on these rows, or None."""
    truth, prediction = rows.truth, rows.seen_by(metric)
    if not len(truth):
        return "no row has both a target and a prediction" if rows.unpredicted else "no row has a target"
    reasons: dict[Requirement, tuple[bool, str]] = {
        "truth varies": (_varies(truth), "every target is the same" if len(truth) > 1 else "only one row"),
        "prediction varies": (_varies(prediction), "every prediction is the same"),
        "two classes": (_varies(truth), "only one class among the targets"),
        "two predicted classes": (_varies(prediction), "only one class among the predictions"),
        "a positive": (bool((truth == 1).any()), "no target is of class 1"),
    }
    return next((text for need in metric.requires for holds, text in [reasons[need]] if not holds), None)


def _varies(x: FloatArray) -> bool:
    return bool(np.ptp(x) > weighted.RELATIVE_NOISE * np.abs(x).max())


def _draws(metrics: Sequence[Metric], rows: _Rows, resamples: int, seed: int) -> dict[str, FloatArray]:
    """Value of each metric on each resample (R,), NaN where it is not defined."""
    parts: dict[str, list[FloatArray]] = {metric.name: [] for metric in metrics}
    if len(rows.truth) < 2 or not metrics:
        return {}
    for weights in resample_weights(len(rows.truth), resamples=resamples, seed=seed):
        for metric in metrics:
            parts[metric.name].append(metric.function(rows.truth, rows.seen_by(metric), weights))
    return {name: np.concatenate(values) for name, values in parts.items() if values}


def _score(
    metric: Metric, value: float | None, reason: str | None, rows: _Rows, draws: FloatArray, confidence: float
) -> Score:
    interval = percentile_interval(draws, confidence=confidence)
    reasons = [reason] if reason is not None else []
    if value is not None and len(rows.truth) == 1:
        reasons.append("only one row: no interval")
    elif len(draws) and interval is None:
        reasons.append(f"no interval: undefined in {np.sum(~np.isfinite(draws))} of {len(draws)} resamples")
    if rows.unpredicted:
        rows_left = "1 row" if rows.unpredicted == 1 else f"{rows.unpredicted} rows"
        reasons.append(f"{rows_left} with a target left out for want of a prediction")
    low, high = interval if interval is not None else (None, None)
    return Score(metric.name, value, low, high, len(rows.truth), "; ".join(reasons) or None)


def mean_score(scores: Sequence[Score]) -> Score:
    """Mean of one metric over several tasks, without those where it is not defined.

    Parameters
    ----------
    scores : sequence of Score
        The same metric on each task.

    Returns
    -------
    Score
        Without an interval; `reason` says over how many tasks the mean was taken, `n` is their rows in all.
    """
    assert scores, "a mean needs at least one score"
    assert len({score.metric for score in scores}) == 1, "a mean over different metrics has no meaning"
    defined = [(score.value, score.n) for score in scores if score.value is not None]
    value = float(np.mean([value for value, _ in defined])) if defined else None
    reason = f"mean over {len(defined)} of {len(scores)} tasks"
    return Score(scores[0].metric, value, None, None, sum(n for _, n in defined), reason)
