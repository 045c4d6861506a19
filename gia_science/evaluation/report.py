"""One evaluation: metrics of every target with intervals, those of plain baselines beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gia_science.catalog import suggestion
from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines import plain_name
from gia_science.evaluation.groups import Grouping
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
RowKey: TypeAlias = tuple[int, ...]
"""What tells a scored row from the others of its file: its line, and the place of a residue."""
NOT_ASKED = "not asked for"


@dataclass(frozen=True)
class TargetScores:
    """Scores of one target.

    Parameters
    ----------
    target : str
        Its name.
    model : tuple of Score
        One per metric.
    baselines : mapping of str to tuple of Score
        The same metrics of each baseline on the same rows.
    """

    target: str
    model: tuple[Score, ...]
    baselines: Mapping[str, tuple[Score, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "target": self.target,
            "model": [asdict(score) for score in self.model],
            "baselines": {
                name: [asdict(score) for score in scores] for name, scores in self.baselines.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TargetScores:
        """Inverse of `to_json`."""
        return cls(
            data["target"],
            tuple(Score(**score) for score in data["model"]),
            {name: tuple(Score(**score) for score in scores) for name, scores in data["baselines"].items()},
        )


@dataclass(frozen=True)
class GroupScores:
    """Scores of one target on the rows of one group.

    Parameters
    ----------
    by : str
        What the rows were grouped by.
    group : str
        Which group.
    scores : TargetScores
    """

    by: str
    group: str
    scores: TargetScores


@dataclass(frozen=True, eq=False)
class BaselinePrediction:
    """What a baseline predicts for the rows of an evaluation.

    Parameters
    ----------
    name : str
    title : str
        What it is, in words.
    values : (n, T) or (n, T, C) float64
        As `gia_science.evaluation.baselines.targets.Predictor` gives it.
    """

    name: str
    title: str
    values: FloatArray


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of an evaluation, so that another model can be compared on them.

    Parameters
    ----------
    keys : tuple of RowKey
        One for each of the n rows; empty where they are not known.
    truth : (n, T) float64
        Values or label indices; NaN where missing.
    prediction : (n, T) or (n, C) float64
        Values or probabilities.
    labels : tuple of str
        Names of the classes.
    priors : tuple of float
        As of `Targets`: how labels are chosen.
    """

    keys: tuple[RowKey, ...]
    truth: FloatArray
    prediction: FloatArray
    labels: tuple[str, ...] = ()
    priors: tuple[float, ...] = ()

    def column(self, index: int, *, kind: ScoreKind) -> FloatArray:
        """Prediction of one target: (n,), or (n, C) of a multi-class target."""
        return self.prediction if kind == "multiclass" else self.prediction[:, index]

    def priors_of(self, index: int, *, kind: ScoreKind) -> tuple[float, ...]:
        """As `predicted_label` takes them for one target."""
        return self.priors if kind == "multiclass" else self.priors[index : index + 1]


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
    baselines : mapping of str to str
        What stands beside, by name, in words.
    no_baselines : str
        Why there are none, where there are none.
    notes : tuple of str
        What the reader must know: rows left out, rows seen in training.
    left_out : int
        Rows that could not be used.
    groups : tuple of GroupScores
        Scores of groups of the rows, where they were asked for.
    scored : ScoredRows or None
        The rows themselves; they do not go into files.
    """

    kind: ScoreKind
    targets: tuple[TargetScores, ...]
    rows: int
    baselines: Mapping[str, str] = field(default_factory=dict)
    no_baselines: str = NOT_ASKED
    notes: tuple[str, ...] = ()
    left_out: int = 0
    groups: tuple[GroupScores, ...] = ()
    scored: ScoredRows | None = field(default=None, compare=False, repr=False)

    def score(self, metric: str | None = None, *, baseline: str | None = None) -> Score:
        """One metric, by default the primary one; the mean over targets where there are several.

        Parameters
        ----------
        metric : str, optional
        baseline : str, optional
            Name of the baseline whose score is asked for; by default it is the model's.

        Raises
        ------
        EvaluationError
            When there is no such metric or baseline.
        """
        wanted = find_metric(self.kind, metric).name if metric else primary_metric(self.kind).name
        if baseline is not None and baseline not in self.baselines:
            there = ", ".join(self.baselines) or f"none: {self.no_baselines}"
            raise EvaluationError(
                "there is no such baseline beside this evaluation",
                got=repr(baseline),
                hint=suggestion(baseline, self.baselines) or f"there are: {there}",
            )
        scores = [
            score
            for target in self.targets
            for score in (target.model if baseline is None else target.baselines[baseline])
            if score.metric == wanted
        ]
        return scores[0] if len(scores) == 1 else mean_score(scores)

    def to_json(self) -> dict[str, Any]:
        """Plain types, for ``metrics.json``."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "baselines": dict(self.baselines),
            "no_baselines": None if self.baselines else self.no_baselines,
            "left_out": self.left_out,
            "notes": list(self.notes),
            "targets": [target.to_json() for target in self.targets],
            "groups": [{"by": item.by, "group": item.group, **item.scores.to_json()} for item in self.groups],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evaluation:
        """An evaluation from what `to_json` wrote, without its rows."""
        return cls(
            kind=data["kind"],
            targets=tuple(map(TargetScores.from_json, data["targets"])),
            rows=data["rows"],
            baselines=data["baselines"],
            no_baselines=data["no_baselines"] or NOT_ASKED,
            notes=tuple(data["notes"]),
            left_out=data["left_out"],
            groups=tuple(
                GroupScores(item["by"], item["group"], TargetScores.from_json(item))
                for item in data["groups"]
            ),
        )

    @property
    def head(self) -> tuple[str, ...]:
        """Head of `table`."""
        return ("target", "metric", "model [95 % interval]", *map(plain_name, self.baselines))

    def table(self) -> list[tuple[str, ...]]:
        """Rows (target, metric, model, a baseline each) for print; several targets end in a row of means."""
        rows = [
            (target.target, find_metric(self.kind, score.metric).title, *self._cells(target, score.metric))
            for target in self.targets
            for score in target.model
        ]
        if len(self.targets) > 1:
            for metric in METRICS[self.kind]:
                score = self.score(metric.name)
                beside = [
                    _mean_text(self.score(metric.name, baseline=name), score) for name in self.baselines
                ]
                rows.append((score.reason or "mean", metric.title, str(score), *beside))
        return rows

    @property
    def group_head(self) -> tuple[str, ...]:
        """Head of `group_table`."""
        metric = primary_metric(self.kind).title
        return ("by", "group", "target", "rows", f"{metric} of the model", *map(plain_name, self.baselines))

    def group_table(self) -> list[tuple[str, ...]]:
        """Rows (by, group, target, rows, model, a baseline each) of the primary metric, for print."""
        metric = primary_metric(self.kind).name
        return [
            (item.by, item.group, item.scores.target, str(item.scores.model[0].n), *self._cells(item.scores, metric))
            for item in self.groups
        ]  # fmt: skip

    def _cells(self, target: TargetScores, metric: str) -> list[str]:
        columns = [target.model, *(target.baselines[name] for name in self.baselines)]
        return [str(next(score for score in column if score.metric == metric)) for column in columns]


def _mean_text(score: Score, beside: Score) -> str:
    """A mean, with the tasks it is over where the model's is over others."""
    over = f" ({score.reason})" if score.value is not None and score.reason != beside.reason else ""
    return f"{score}{over}"


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
    keys: Sequence[RowKey] = (),
    baselines: Sequence[BaselinePrediction] = (),
    no_baselines: str = NOT_ASKED,
    groupings: Sequence[Grouping] = (),
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
    keys : sequence of RowKey, optional
        Tell the rows apart, for comparisons with other models.
    baselines : sequence of BaselinePrediction
    no_baselines : str
        Why there are none.
    groupings : sequence of Grouping
        Groups of the rows to score besides.
    notes, left_out
        Kept with the evaluation.
    seed : int
        Seed of the bootstrap.
    """
    kind = score_kind(targets)
    scored = ScoredRows(tuple(keys), truth, prediction, targets.labels, targets.priors)
    assert len(prediction) == len(truth), "one prediction for each row"
    assert not keys or len(keys) == len(truth), "one key for each row"

    def scores(index: int, rows: npt.NDArray[np.int64] | slice) -> TargetScores:
        priors = scored.priors_of(index, kind=kind)
        score = partial(score_task, kind, truth[rows, index], seed=seed)
        # Labels of all are chosen alike, or a model would be praised for the choice; the constant's probability is
        # the share itself, which leaves it nothing to choose by.
        beside = {
            baseline.name: score(
                baseline.values[rows, index], priors=() if baseline.name == "constant" else priors
            )
            for baseline in baselines
        }
        ours = score(scored.column(index, kind=kind)[rows], priors=priors)
        return TargetScores(targets.names[index], ours, beside)

    everything = range(len(targets.names))
    return Evaluation(
        kind,
        tuple(scores(index, slice(None)) for index in everything),
        rows=len(truth),
        baselines={baseline.name: baseline.title for baseline in baselines},
        no_baselines=no_baselines,
        notes=tuple(notes),
        left_out=left_out,
        groups=tuple(
            GroupScores(grouping.by, name, scores(index, rows))
            for grouping in groupings
            for index in everything
            for name, rows in grouping.pooled(index, measured=np.isfinite(truth[:, index]))
        ),
        scored=scored,
    )
