"""One evaluation: metrics of every target with intervals, the plain baseline's beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.metrics import (
    METRICS,
    Score,
    ScoreKind,
    find_metric,
    mean_score,
    primary_metric,
    score_task,
)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TargetScores:
    """Scores of one target.

    Parameters
    ----------
    target : str
        Its name.
    model : tuple of Score
        One per metric.
    baseline : tuple of Score
        The same metrics of the baseline on the same rows; empty where there is none.
    """

    target: str
    model: tuple[Score, ...]
    baseline: tuple[Score, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model on some rows.

    Parameters
    ----------
    kind : ScoreKind
        Kind of metric.
    targets : tuple of TargetScores
    rows : int
        Rows that were predicted.
    baseline_name : str
        What the baseline is; says why there is none where it is missing.
    notes : tuple of str
        What the reader must know: rows left out, rows seen in training.
    left_out : int
        Rows that could not be used.
    """

    kind: ScoreKind
    targets: tuple[TargetScores, ...]
    rows: int
    baseline_name: str = ""
    notes: tuple[str, ...] = ()
    left_out: int = 0

    def score(self, metric: str | None = None, *, baseline: bool = False) -> Score:
        """One metric, by default the primary one; the mean over targets where there are several.

        Raises
        ------
        EvaluationError
            When there is no such metric, or no baseline where its score is asked for.
        """
        wanted = find_metric(self.kind, metric).name if metric else primary_metric(self.kind).name
        scores = [
            score
            for target in self.targets
            for score in (target.baseline if baseline else target.model)
            if score.metric == wanted
        ]
        if not scores:
            raise EvaluationError(
                "there is no baseline beside this evaluation", got=self.baseline_name or None
            )
        return scores[0] if len(scores) == 1 else mean_score(scores)

    @property
    def has_baseline(self) -> bool:
        """Whether baseline scores stand beside the model's."""
        return all(target.baseline for target in self.targets)

    def to_json(self) -> dict[str, Any]:
        """Plain types, for ``metrics.json``."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "baseline": self.baseline_name,
            "left_out": self.left_out,
            "notes": list(self.notes),
            "targets": [
                {
                    "target": target.target,
                    "model": [asdict(score) for score in target.model],
                    "baseline": [asdict(score) for score in target.baseline],
                }
                for target in self.targets
            ],
        }

    def table(self) -> list[tuple[str, str, str, str]]:
        """Rows (target, metric, model, baseline) for print; several targets end in a row of means."""
        rows = [
            (
                target.target,
                find_metric(self.kind, score.metric).title,
                str(score),
                _baseline_text(target, score.metric),
            )
            for target in self.targets
            for score in target.model
        ]
        if len(self.targets) > 1:
            for metric in METRICS[self.kind]:
                score = self.score(metric.name)
                beside = str(self.score(metric.name, baseline=True)) if self.has_baseline else ""
                rows.append((score.reason or "mean", metric.title, str(score), beside))
        return rows


def score_kind(targets: Targets) -> ScoreKind:
    """Kind of metric that a kind of task is judged by."""
    if targets.kind == "regression":
        return "regression"
    return "binary" if targets.kind in ("binary", "multilabel") else "multiclass"


def evaluate_predictions(
    targets: Targets,
    *,
    truth: FloatArray,
    prediction: FloatArray,
    baseline: FloatArray | None = None,
    baseline_name: str = "",
    notes: Sequence[str] = (),
    left_out: int = 0,
    seed: int = 0,
) -> Evaluation:
    """Score predictions against what was measured.

    Parameters
    ----------
    targets : Targets
    truth : (n, T) float64
        Values in the user's units, or label indices; NaN where missing.
    prediction : (n, T) or (n, C) float64
        Values or probabilities of class 1, per target; or class probabilities of a multi-class target.
    baseline : (n, T) or (n, T, C) float64, optional
        As `fit_forest(...).predict` gives it.
    baseline_name : str
        What the baseline is, or why there is none.
    notes, left_out
        Kept with the evaluation.
    seed : int
        Seed of the bootstrap.
    """
    kind = score_kind(targets)
    names = targets.names
    scored = []
    for index, name in enumerate(names):
        ours = prediction if kind == "multiclass" else prediction[:, index]
        theirs = () if baseline is None else score_task(kind, truth[:, index], baseline[:, index], seed=seed)
        scored.append(
            TargetScores(name, model=score_task(kind, truth[:, index], ours, seed=seed), baseline=theirs)
        )
    return Evaluation(
        kind,
        tuple(scored),
        rows=len(truth),
        baseline_name=baseline_name,
        notes=tuple(notes),
        left_out=left_out,
    )


def _baseline_text(target: TargetScores, metric: str) -> str:
    return next((str(score) for score in target.baseline if score.metric == metric), "")
