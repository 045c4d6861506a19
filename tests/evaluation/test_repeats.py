"""Over folds or seeds: mean and deviation of what is defined, and in how many runs the model is better."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pytest

from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.repeats import repeat_scores
from gia_science.evaluation.report import BaselinePrediction, Evaluation, evaluate_predictions

NUMBERS = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))


def evaluation(error: float, *, constant: float = 1.0, names: tuple[str, ...] = ("constant",)) -> Evaluation:
    truth = np.array([[0.0], [1], [2], [3]])
    beside = [BaselinePrediction(name, name, truth + constant) for name in names]
    return evaluate_predictions(NUMBERS, truth=truth, prediction=truth + error, baselines=beside)


def test_mean_and_deviation_are_those_of_a_sample() -> None:
    repeats = repeat_scores([evaluation(error) for error in (0.5, 0.25, 1.5)])
    score = repeats.score()
    assert score.values == (0.5, 0.25, 1.5)
    assert score.mean == pytest.approx(0.75)
    assert score.deviation == pytest.approx(statistics.stdev([0.5, 0.25, 1.5]))
    assert str(score) == "0.750 ± 0.661"
    assert repeats.won("constant") == 2
    assert repeats.won("constant", "mae") == 2
    assert repeats.won("constant", "r2") == 2
    assert repeats.head == ("metric", "model, mean ± deviation of 3 runs", "constant")
    assert repeats.table()[0] == ("RMSE", "0.750 ± 0.661", "1.00 ± 0")
    assert json.loads(json.dumps(repeats.to_json(), allow_nan=False))["runs"] == 3


def test_a_tie_is_no_win_and_one_run_has_no_deviation() -> None:
    repeats = repeat_scores([evaluation(1.0)])
    assert repeats.won("constant") == 0
    assert repeats.score().deviation is None
    assert str(repeats.score()) == "1.00"


def test_what_is_undefined_in_some_runs_is_a_mean_over_the_others_and_says_so() -> None:
    flat = evaluate_predictions(NUMBERS, truth=np.ones((4, 1)), prediction=np.arange(4.0)[:, None])
    score = repeat_scores([flat, evaluation(0.0)]).score("r2")
    assert score.values == (None, 1.0)
    assert str(score) == "1.00 (defined in 1 of 2 runs)"
    assert str(repeat_scores([flat, flat]).score("r2")) == "undefined: defined in 0 of 2 runs"


def test_baselines_that_stand_beside_every_run_are_kept() -> None:
    repeats = repeat_scores(
        [evaluation(0.5, names=("constant", "linear")), evaluation(0.5, names=("linear",))]
    )
    assert list(repeats.baselines) == ["linear"]
    with pytest.raises(EvaluationError, match="no such baseline beside every run: got 'constant'"):
        repeats.score(baseline="constant")


def test_figures_from_a_file_can_be_repeated() -> None:
    runs = [evaluation(error) for error in (0.5, 1.0)]
    assert repeat_scores([Evaluation.from_json(run.to_json()) for run in runs]) == repeat_scores(runs)


def test_runs_must_be_there_and_of_one_task() -> None:
    with pytest.raises(EvaluationError, match="no runs"):
        repeat_scores([])
    other = NUMBERS.model_copy(update={"names": ("z",)})
    truth = np.zeros((2, 1))
    with pytest.raises(EvaluationError, match="not of the same targets"):
        repeat_scores([evaluation(1.0), evaluate_predictions(other, truth=truth, prediction=truth)])
