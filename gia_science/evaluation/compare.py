"""Two models on the same rows: how far apart they are, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.errors import EvaluationError
from gia_science.evaluation.bootstrap import percentile_interval, resample_weights
from gia_science.evaluation.metrics import Metric, ScoreKind, find_metric, primary_metric, score_task
from gia_science.evaluation.report import Evaluation, ScoredRows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Comparison:
    """A metric of two models on the same rows.

    Parameters
    ----------
    metric : str
    first, second : float or None
        Its value for each model, over the same rows; None where it is not defined. The mean over targets where
        there are several.
    difference : float or None
        First less second.
    low, high : float or None
        Bounds of the bootstrap interval of the difference.
    rows : int
        Rows that both have predicted.
    verdict : str
        Which model is better, in words, or that it cannot be said.
    """

    metric: str
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    rows: int
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return asdict(self)

    def __str__(self) -> str:
        return self.verdict


def compare(
    first: Evaluation,
    second: Evaluation,
    *,
    metric: str | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two models on the rows that both were evaluated on.

    The rows are drawn with replacement, the same for both models, and the difference of the metric is taken on each
    draw. What is hard for one model is mostly hard for the other too: the interval of the difference is narrower
    than the intervals of the models tell.

    Parameters
    ----------
    first, second : Evaluation
        Of `Model.evaluate` on one table.
    metric : str, optional
        By default the primary one.
    resamples : int, default 2000
    confidence : float, default 0.95
        Nominal coverage of the interval.
    seed : int, default 0
        Seed of the resamples.

    Raises
    ------
    EvaluationError
        When the evaluations are not of the same targets and rows, or there is no such metric.
    """
    chosen = find_metric(first.kind, metric) if metric else primary_metric(first.kind)
    names = [target.target for target in first.targets]
    _check(first, second)
    pair = _common_rows(first.scored, second.scored)
    tasks = [_Task.of(first.kind, chosen, pair, index) for index in range(len(names))]
    defined = [task for task in tasks if task.defined]
    rows = len(pair[0].truth)
    if not defined:
        reason = tasks[0].reason or "not defined on these rows"
        return Comparison(chosen.name, None, None, None, None, None, rows, f"cannot be compared: {reason}")
    values = [float(np.mean([task.values[side] for task in defined])) for side in range(2)]
    draws = _draws(defined, rows, resamples=resamples, seed=seed)
    interval = percentile_interval(draws, confidence=confidence) if rows > 1 else None
    difference = values[0] - values[1]
    verdict = _verdict(chosen, difference, interval)
    if len(defined) < len(tasks):
        verdict += f"; mean over {len(defined)} of {len(tasks)} tasks"
    low, high = interval if interval is not None else (None, None)
    return Comparison(chosen.name, values[0], values[1], difference, low, high, rows, verdict)


def _check(first: Evaluation, second: Evaluation) -> None:
    names = [[target.target for target in evaluation.targets] for evaluation in (first, second)]
    if first.kind != second.kind or names[0] != names[1]:
        raise EvaluationError(
            "the models predict different things",
            got=f"{', '.join(names[0])} ({first.kind}) and {', '.join(names[1])} ({second.kind})",
        )


def _common_rows(first: ScoredRows | None, second: ScoredRows | None) -> tuple[ScoredRows, ScoredRows]:
    """The rows that both have, in the order of the first."""
    if first is None or second is None or not first.keys or not second.keys:
        raise EvaluationError(
            "the rows of an evaluation are not known", hint="compare what Model.evaluate gives"
        )
    if first.labels != second.labels:
        raise EvaluationError(
            "the models have different classes",
            got=f"{', '.join(first.labels)} and {', '.join(second.labels)}",
        )
    place = {key: row for row, key in enumerate(second.keys)}
    pairs = [(row, place[key]) for row, key in enumerate(first.keys) if key in place]
    parts = [_part(scored, [pair[side] for pair in pairs]) for side, scored in enumerate((first, second))]
    if not pairs or not np.array_equal(parts[0].truth, parts[1].truth, equal_nan=True):
        raise EvaluationError(
            "the models were not evaluated on the same rows", hint="evaluate both on one table"
        )
    return parts[0], parts[1]


def _part(scored: ScoredRows, rows: Sequence[int]) -> ScoredRows:
    index = np.array(rows, dtype=np.int64)
    keys = tuple(scored.keys[row] for row in rows)
    return ScoredRows(keys, scored.truth[index], scored.prediction[index], scored.labels, scored.priors)


@dataclass(frozen=True, eq=False)
class _Task:
    """One target: the rows that it can be scored on, and what the metric looks at of both models there."""

    metric: Metric
    rows: IntArray
    truth: FloatArray
    seen: tuple[FloatArray, FloatArray]
    values: tuple[float, float]
    reason: str | None

    @classmethod
    def of(cls, kind: ScoreKind, metric: Metric, pair: tuple[ScoredRows, ScoredRows], index: int) -> _Task:
        truth = pair[0].truth[:, index]
        predictions = [scored.column(index, kind=kind) for scored in pair]
        finite = [np.isfinite(values).reshape(len(values), -1).all(axis=1) for values in predictions]
        rows = np.flatnonzero(np.isfinite(truth) & finite[0] & finite[1])
        predictions = [values[rows] for values in predictions]
        priors = [scored.priors_of(index, kind=kind) for scored in pair]
        scores = [
            next(
                score
                for score in score_task(kind, truth[rows], values, priors=shares, resamples=0)
                if score.metric == metric.name
            )
            for values, shares in zip(predictions, priors, strict=True)
        ]
        first, second = (math.nan if score.value is None else score.value for score in scores)
        seen = [
            metric.seen(values, priors=shares) for values, shares in zip(predictions, priors, strict=True)
        ]
        reason = next((score.reason for score in scores if score.value is None), None)
        return cls(metric, rows, truth[rows], (seen[0], seen[1]), (first, second), reason)

    @property
    def defined(self) -> bool:
        return all(map(math.isfinite, self.values))

    def difference(self, weights: FloatArray) -> FloatArray:
        """First less second on each resample (R,); NaN where the metric is not defined."""
        own = weights[:, self.rows]
        # A resample may hold none of these rows.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            first, second = (self.metric.function(self.truth, seen, own) for seen in self.seen)
            difference: FloatArray = first - second
        return difference


def _draws(tasks: Sequence[_Task], rows: int, *, resamples: int, seed: int) -> FloatArray:
    """Mean difference over the targets on each resample (R,)."""
    parts = [
        np.mean([task.difference(weights) for task in tasks], axis=0)
        for weights in resample_weights(rows, resamples=resamples, seed=seed)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _verdict(metric: Metric, difference: float, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{metric.title} differs by {difference:+.3g}: too few rows to say whether by chance"
    low, high = interval
    told = f"{metric.title} {difference:+.3g} [{low:+.3g}, {high:+.3g}]"
    if low <= 0 <= high:
        return f"no clear difference: {told} for the first less the second, and 0 is in the interval"
    better = "first" if (difference > 0) == metric.greater_is_better else "second"
    return f"the {better} model is better: {told} for the first less the second"
