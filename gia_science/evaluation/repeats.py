"""Several evaluations of one recipe, over folds or seeds: mean and standard deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines import plain_name
from gia_science.evaluation.metrics import (
    METRICS,
    Score,
    ScoreKind,
    find_metric,
    primary_metric,
    three_digits,
)
from gia_science.evaluation.report import Evaluation


@dataclass(frozen=True)
class RepeatedScore:
    """A metric over several runs.

    Parameters
    ----------
    metric : str
    mean : float or None
        None where it is defined in no run.
    deviation : float or None
        Standard deviation between runs (of a sample: n - 1); None for fewer than two values.
    values : tuple of float or None
        Its value in each run, None where it is not defined.
    reason : str or None
        In how many runs it is defined, where that is not in all.
    """

    metric: str
    mean: float | None
    deviation: float | None
    values: tuple[float | None, ...]
    reason: str | None = None

    def __str__(self) -> str:
        if self.mean is None:
            return f"undefined: {self.reason}"
        spread = "" if self.deviation is None else f" ± {three_digits(self.deviation)}"
        return three_digits(self.mean) + spread + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True)
class Repeats:
    """Scores over several runs; of several targets the mean over targets in each run.

    Parameters
    ----------
    kind : ScoreKind
    runs : int
    model : tuple of RepeatedScore
        One per metric.
    baselines : mapping of str to tuple of RepeatedScore
        Those that stand beside every run.
    """

    kind: ScoreKind
    runs: int
    model: tuple[RepeatedScore, ...]
    baselines: Mapping[str, tuple[RepeatedScore, ...]]

    def score(self, metric: str | None = None, *, baseline: str | None = None) -> RepeatedScore:
        """One metric, by default the primary one, of the model or of a baseline.

        Raises
        ------
        EvaluationError
            When there is no such metric, or no such baseline beside every run.
        """
        wanted = find_metric(self.kind, metric).name if metric else primary_metric(self.kind).name
        if baseline is not None and baseline not in self.baselines:
            there = ", ".join(self.baselines) or "none"
            raise EvaluationError(
                "there is no such baseline beside every run", got=repr(baseline), hint=f"there are: {there}"
            )
        scores = self.model if baseline is None else self.baselines[baseline]
        return next(score for score in scores if score.metric == wanted)

    def won(self, baseline: str, metric: str | None = None) -> int:
        """Number of runs in which the model is strictly better than a baseline."""
        ours, theirs = self.score(metric), self.score(metric, baseline=baseline)
        sign = 1 if find_metric(self.kind, ours.metric).greater_is_better else -1
        pairs = zip(ours.values, theirs.values, strict=True)
        return sum(a is not None and b is not None and sign * (a - b) > 0 for a, b in pairs)

    def table(self) -> list[tuple[str, ...]]:
        """Rows (metric, model, a baseline each) for print, under the head of `head`."""
        columns = [self.model, *self.baselines.values()]
        return [
            (find_metric(self.kind, scores[0].metric).title, *map(str, scores))
            for scores in zip(*columns, strict=True)
        ]

    @property
    def head(self) -> tuple[str, ...]:
        """Head of `table`."""
        return ("metric", f"model, mean ± deviation of {self.runs} runs", *map(plain_name, self.baselines))

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return asdict(self)


def repeat_scores(evaluations: Sequence[Evaluation]) -> Repeats:
    """Mean and standard deviation of every metric over several runs, such as folds or seeds.

    The deviation tells how runs differ. It is no standard error: the training rows of folds overlap, and those of
    seeds are the same.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        One for each run.

    Raises
    ------
    EvaluationError
        When there are none, or they are not of the same targets.
    """
    if not evaluations:
        raise EvaluationError("no runs to take a mean over")
    tasks = {(one.kind, tuple(target.target for target in one.targets)) for one in evaluations}
    if len(tasks) > 1:
        raise EvaluationError("the runs are not of the same targets", got=f"{len(tasks)} different ones")
    kind = evaluations[0].kind
    common = [name for name in evaluations[0].baselines if all(name in one.baselines for one in evaluations)]
    return Repeats(
        kind=kind,
        runs=len(evaluations),
        model=_scores(kind, evaluations, None),
        baselines={name: _scores(kind, evaluations, name) for name in common},
    )


def _scores(
    kind: ScoreKind, evaluations: Sequence[Evaluation], baseline: str | None
) -> tuple[RepeatedScore, ...]:
    return tuple(
        _repeated([one.score(metric.name, baseline=baseline) for one in evaluations])
        for metric in METRICS[kind]
    )


def _repeated(scores: Sequence[Score]) -> RepeatedScore:
    values = tuple(score.value for score in scores)
    defined = [value for value in values if value is not None]
    return RepeatedScore(
        metric=scores[0].metric,
        mean=float(np.mean(defined)) if defined else None,
        deviation=float(np.std(defined, ddof=1)) if len(defined) > 1 else None,
        values=values,
        reason=None if len(defined) == len(values) else f"defined in {len(defined)} of {len(values)} runs",
    )
