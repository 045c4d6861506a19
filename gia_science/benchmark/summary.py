"""Mean and interval over seeds, and each arm against the first."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scipy import stats

from gia_science.benchmark.trial import Trial

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds with its interval.

    Parameters
    ----------
    mean : float
    half : float
        Half the width of the 95 % interval of the mean by Student's t; NaN for a single seed.
    seeds : int
    """

    mean: float
    half: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Estimate from one value per seed."""
        n = len(values)
        if n < 2:
            return cls(statistics.fmean(values), math.nan, n)
        error = statistics.stdev(values) / math.sqrt(n)
        return cls(statistics.fmean(values), float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * error, n)

    @property
    def is_zero(self) -> bool:
        """Whether the interval holds 0."""
        return not abs(self.mean) > self.half

    def text(self, *, signed: bool = False) -> str:
        """The mean and half its interval, to two digits of the latter."""
        if not math.isfinite(self.half) or self.half == 0:
            return f"{self.mean:{'+' if signed else ''}.3g}"
        digits = min(6, max(0, 1 - math.floor(math.log10(self.half))))
        return f"{self.mean:{'+' if signed else ''}.{digits}f} ± {self.half:.{digits}f}"


@dataclass(frozen=True)
class ArmSummary:
    """One arm on one task, over all seeds.

    Parameters
    ----------
    parameters : int
    val_loss, val_metric, test_metric, gap_at_best, gap_at_end, best_epoch : Estimate
    val_loss_change, test_change : Estimate
        Against the first arm with the same seed.
    step : float
        Median time of a training step, in milliseconds.
    step_ratio : float
        Median over rounds of the ratio of the time of a step to that of the first arm.
    """

    task: str
    arm: str
    metric: str
    greater_is_better: bool
    parameters: int
    val_loss: Estimate
    val_metric: Estimate
    test_metric: Estimate
    gap_at_best: Estimate
    gap_at_end: Estimate
    best_epoch: Estimate
    val_loss_change: Estimate
    test_change: Estimate
    step: float
    step_ratio: float


def summarise(
    trials: Iterable[Trial], *, seconds: dict[tuple[str, str], list[float]], first: str
) -> list[ArmSummary]:
    """One summary per task and arm, in the order in which they appear.

    Parameters
    ----------
    trials : iterable of Trial
    seconds : mapping of (task, arm) to list of float
        Times of a step, round by round in the same order for every arm.
    first : str
        Name of the arm that the others are compared with.
    """
    groups: dict[tuple[str, str], dict[int, Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.task, trial.arm), {})[trial.seed] = trial
    return [
        _arm_summary(list(group.values()), groups[task, first], seconds[task, arm], seconds[task, first])
        for (task, arm), group in groups.items()
    ]


def _arm_summary(
    trials: Sequence[Trial], first: dict[int, Trial], seconds: list[float], beside: list[float]
) -> ArmSummary:
    def over_seeds(value: Callable[[Trial], float]) -> Estimate:
        return Estimate.of([value(trial) for trial in trials])

    one = trials[0]
    return ArmSummary(
        task=one.task,
        arm=one.arm,
        metric=one.metric,
        greater_is_better=one.greater_is_better,
        parameters=round(statistics.fmean(trial.parameters for trial in trials)),
        val_loss=over_seeds(lambda trial: trial.best_val_loss),
        val_metric=over_seeds(lambda trial: trial.val_metric),
        test_metric=over_seeds(lambda trial: trial.test_metric),
        gap_at_best=over_seeds(lambda trial: trial.gap_at_best),
        gap_at_end=over_seeds(lambda trial: trial.gap_at_end),
        best_epoch=over_seeds(lambda trial: trial.best_epoch),
        val_loss_change=over_seeds(lambda trial: trial.best_val_loss - first[trial.seed].best_val_loss),
        test_change=over_seeds(lambda trial: trial.test_metric - first[trial.seed].test_metric),
        step=1e3 * statistics.median(seconds),
        step_ratio=statistics.median(a / b for a, b in zip(seconds, beside, strict=True)),
    )


_ESTIMATES = (
    "val_loss",
    "val_loss_change",
    "val_metric",
    "test_metric",
    "test_change",
    "gap_at_best",
    "gap_at_end",
    "best_epoch",
)


def summary_csv(rows: Sequence[ArmSummary]) -> str:
    """All figures, one row per task and arm; ``_half`` is half the width of the 95 % interval over seeds."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = [name for key in _ESTIMATES for name in (key, f"{key}_half")]
    writer.writerow(["task", "arm", "seeds", "parameters", "metric", *head, "step_ms", "step_ratio"])
    for row in rows:
        figures = [
            f"{value:.6g}" for key in _ESTIMATES for value in (getattr(row, key).mean, getattr(row, key).half)
        ]
        step = [f"{row.step:.4g}", f"{row.step_ratio:.4g}"]
        writer.writerow([row.task, row.arm, row.val_loss.seeds, row.parameters, row.metric, *figures, *step])
    return stream.getvalue()


def trials_csv(trials: Iterable[Trial]) -> str:
    """The curves, one row per epoch of each trial, with the trial's scores in the row of its best epoch."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ["task", "arm", "seed", "parameters", "epoch", "train_loss", "val_loss", "best"]
    writer.writerow([*head, "metric", "val_metric", "test_metric"])
    for trial in trials:
        for epoch, losses in enumerate(zip(trial.train_loss, trial.val_loss, strict=True), start=1):
            best = epoch == trial.best_epoch
            scores = (f"{trial.val_metric:.6g}", f"{trial.test_metric:.6g}") if best else ("", "")
            shown = [f"{loss:.6g}" for loss in losses]
            named = [trial.task, trial.arm, trial.seed, trial.parameters, epoch]
            writer.writerow([*named, *shown, int(best), trial.metric, *scores])
    return stream.getvalue()


def scores_csv(trials: Iterable[Trial]) -> str:
    """The scores, one row per trial; losses are those of its best epoch."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ["task", "arm", "seed", "parameters", "best_epoch", "train_loss", "val_loss", "gap"]
    writer.writerow([*head, "metric", "val_metric", "test_metric"])
    for trial in trials:
        losses = trial.train_loss[trial.best_epoch - 1], trial.best_val_loss, trial.gap_at_best
        named = [trial.task, trial.arm, trial.seed, trial.parameters, trial.best_epoch]
        scores = trial.val_metric, trial.test_metric
        writer.writerow([*named, *(f"{x:.6g}" for x in losses), trial.metric, *(f"{x:.6g}" for x in scores)])
    return stream.getvalue()


def summary_markdown(rows: Sequence[ArmSummary], *, about: dict[str, str], sizes: bool = False) -> str:
    """Tables for people, one per task: mean over seeds ± half the 95 % interval.

    Changes are against the first arm with the same seed; those whose interval leaves out 0 are in bold.

    Parameters
    ----------
    rows : sequence of ArmSummary
    about : mapping of str to str
        What each arm is.
    sizes : bool, default False
        Whether arms differ in size on purpose: then each row has its own number of parameters.
    """
    lines = []
    for task in dict.fromkeys(row.task for row in rows):
        mine = [row for row in rows if row.task == task]
        metric = mine[0].metric
        lines += [
            f"### {task}",
            "",
            f"{mine[0].val_loss.seeds} seeds, {min(row.parameters for row in mine):,} to "
            f"{max(row.parameters for row in mine):,} parameters.",
            "",
            f"| arm {'| trained parameters ' if sizes else ''}| validation loss "
            f"| against {mine[0].arm} | validation {metric} | test {metric} "
            f"| against {mine[0].arm} | gap at best | gap at end | best epoch | time per step |",
            "|" + " --- |" * (11 if sizes else 10),
            *(_markdown_row(row, is_first=row is mine[0], sizes=sizes) for row in mine),
            "",
        ]
    lines += [f"- {name}: {words}" for name, words in about.items()]
    return "\n".join(lines) + "\n"


def _markdown_row(row: ArmSummary, *, is_first: bool, sizes: bool) -> str:
    cells = [
        row.arm,
        *([f"{row.parameters:,}"] if sizes else []),
        row.val_loss.text(),
        "" if is_first else _change(row.val_loss_change),
        row.val_metric.text(),
        row.test_metric.text(),
        "" if is_first else _change(row.test_change),
        row.gap_at_best.text(signed=True),
        row.gap_at_end.text(signed=True),
        row.best_epoch.text(),
        f"{row.step:.0f} ms ({row.step_ratio:.2f}x)",
    ]
    return "| " + " | ".join(cells) + " |"


def _change(change: Estimate) -> str:
    text = change.text(signed=True)
    return text if change.is_zero else f"**{text}**"
