"""Figures over seeds: means, intervals and paired changes as a statistician would have them."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from scipy import stats

from gia_science.benchmark.curves import curves_figure
from gia_science.benchmark.summary import Estimate, summarise, summary_csv, summary_markdown, trials_csv
from gia_science.benchmark.trial import Trial


def _trial(arm: str, seed: int, val: tuple[float, ...], test: float) -> Trial:
    best = int(np.argmin(val))
    return Trial(
        task="toy",
        arm=arm,
        seed=seed,
        parameters=100,
        metric="RMSE",
        greater_is_better=False,
        best_epoch=best + 1,
        train_loss=tuple(0.5 * loss for loss in val),
        val_loss=val,
        val_metric=val[best] ** 0.5,
        test_metric=test,
    )


TRIALS = [
    _trial("plain", 0, (1.0, 0.8, 0.9), 0.95),
    _trial("plain", 1, (1.2, 1.0, 1.1), 1.15),
    _trial("plain", 2, (0.9, 0.7, 0.8), 0.85),
    _trial("gin", 0, (1.0, 0.7, 0.7), 0.9),
    _trial("gin", 1, (1.1, 0.9, 0.88), 1.05),
    _trial("gin", 2, (0.8, 0.6, 0.7), 0.9),
]
SECONDS = {("toy", "plain"): [0.1, 0.2, 0.1], ("toy", "gin"): [0.2, 0.3, 0.1]}


def test_the_interval_is_that_of_students_t() -> None:
    values = [0.3, 0.5, 0.4, 0.9]
    estimate = Estimate.of(values)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert estimate.mean - estimate.half == pytest.approx(low)
    assert estimate.mean + estimate.half == pytest.approx(high)


def test_one_seed_has_no_interval_and_settles_nothing() -> None:
    estimate = Estimate.of([3.0])
    assert math.isnan(estimate.half)
    assert estimate.is_zero


def test_changes_are_paired_by_seed() -> None:
    """Seeds differ by more than arms: only within a seed can arms be compared."""
    plain, gin = summarise(TRIALS, seconds=SECONDS, first="plain")
    assert plain.val_loss_change.mean == 0
    assert gin.val_loss_change.mean == pytest.approx(np.mean([-0.1, -0.12, -0.1]))
    assert gin.val_loss_change.half < gin.val_loss.half
    assert gin.test_change.mean == pytest.approx(np.mean([-0.05, -0.1, 0.05]))
    assert gin.test_change.is_zero


def test_gaps_are_validation_minus_training_loss() -> None:
    _, gin = summarise(TRIALS, seconds=SECONDS, first="plain")
    assert gin.gap_at_best.mean == pytest.approx(np.mean([0.35, 0.44, 0.3]))
    assert gin.gap_at_end.mean == pytest.approx(np.mean([0.35, 0.44, 0.35]))


def test_step_times_are_compared_round_by_round() -> None:
    _, gin = summarise(TRIALS, seconds=SECONDS, first="plain")
    assert gin.step_ratio == pytest.approx(1.5)
    assert gin.step == pytest.approx(200)


def test_tables_hold_every_arm_and_every_epoch() -> None:
    rows = summarise(TRIALS, seconds=SECONDS, first="plain")
    summary = list(csv.DictReader(io.StringIO(summary_csv(rows))))
    assert [row["arm"] for row in summary] == ["plain", "gin"]
    assert float(summary[1]["test_change"]) == pytest.approx(rows[1].test_change.mean, rel=1e-4)
    curves = list(csv.DictReader(io.StringIO(trials_csv(TRIALS))))
    assert len(curves) == 18
    assert [row["epoch"] for row in curves if row["best"] == "1"] == ["2", "2", "2", "2", "3", "2"]
    text = summary_markdown(rows, about={"plain": "as ever"})
    assert text.count("\n| ") == 4


def test_only_a_change_beyond_its_interval_is_bold() -> None:
    rows = summarise(TRIALS, seconds=SECONDS, first="plain")
    line = next(line for line in summary_markdown(rows, about={}).splitlines() if line.startswith("| gin"))
    cells = line.split(" | ")
    assert cells[2].startswith("**-0.10")
    assert not cells[5].startswith("**")


def test_the_figure_is_a_picture() -> None:
    assert curves_figure(TRIALS).startswith(b"\x89PNG")
