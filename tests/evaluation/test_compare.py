"""Two models on the same rows: the sign is right, the interval is a paired one, and other rows are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.compare import compare
from gia_science.evaluation.report import Evaluation, evaluate_predictions

NUMBERS = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))
TWO = Targets(names=("a", "b"), kind="multilabel", labels=("0", "1"))
CLASSES = Targets(names=("y",), kind="multiclass", labels=("x", "y", "z"))


def rows(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 1)), rng.normal(size=(n, 1))


def scored(truth: np.ndarray, prediction: np.ndarray, *, targets: Targets = NUMBERS, keys=None) -> Evaluation:
    keys = [(row,) for row in range(len(truth))] if keys is None else keys
    return evaluate_predictions(targets, truth=truth, prediction=prediction, keys=keys)


def test_the_better_model_is_named_whichever_stands_first() -> None:
    truth, noise = rows()
    good, bad = scored(truth, truth + 0.3 * noise), scored(truth, truth + 0.5 * noise)
    found, turned = compare(good, bad), compare(bad, good)
    assert found.metric == "rmse"
    assert found.first == good.score().value
    assert found.difference == pytest.approx(good.score().value - bad.score().value)
    assert found.low < found.difference < found.high < 0
    assert found.verdict.startswith("the first model is better: RMSE -0.")
    assert turned.verdict.startswith("the second model is better: RMSE +0.")
    assert (turned.low, turned.high) == (-found.high, -found.low)
    assert compare(good, bad, metric="r2").verdict.startswith("the first model is better: R² +")
    assert str(found) == found.verdict
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["rows"] == 200


def test_the_interval_is_that_of_the_paired_bootstrap() -> None:
    """Drawing rows in a plain loop gives the same interval, up to the luck of the draw."""
    truth, noise = rows()
    first, second = truth + 0.5 * noise, truth + 0.55 * noise[::-1]
    found = compare(scored(truth, first), scored(truth, second))
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(2000):
        pick = rng.integers(0, 200, 200)
        errors = [np.sqrt(np.mean((p[pick] - truth[pick]) ** 2)) for p in (first, second)]
        draws.append(errors[0] - errors[1])
    np.testing.assert_allclose([found.low, found.high], np.quantile(draws, [0.025, 0.975]), atol=0.006)


def test_what_is_hard_for_both_models_does_not_widen_the_interval() -> None:
    truth, noise = rows()
    first, second = scored(truth, truth + noise), scored(truth, truth + 1.05 * noise)
    found = compare(first, second)
    assert found.high - found.low < 0.2 * (first.score().high - first.score().low)
    assert found.high < 0


def test_equal_models_differ_by_nothing() -> None:
    truth, noise = rows()
    found = compare(scored(truth, noise), scored(truth, noise))
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    assert found.verdict.startswith("no clear difference")


def test_rows_are_paired_by_key_whatever_their_order_and_only_common_ones_count() -> None:
    truth, noise = rows(20)
    keys = [(row,) for row in range(20)]
    whole = scored(truth, truth + noise, keys=keys)
    part = scored(truth[:4:-1], truth[:4:-1] + 2 * noise[:4:-1], keys=keys[:4:-1])
    found = compare(whole, part)
    assert found.rows == 15
    assert found.first == pytest.approx(np.sqrt(np.mean(noise[5:] ** 2)))
    assert found.second == pytest.approx(2 * found.first)


def test_a_row_that_one_model_did_not_predict_counts_for_neither() -> None:
    truth, noise = rows(20)
    holed = truth + noise
    holed[3] = np.nan
    found = compare(scored(truth, truth + noise), scored(truth, holed))
    assert found.difference == 0


def test_several_targets_are_compared_by_the_mean_over_those_that_are_defined() -> None:
    rng = np.random.default_rng(0)
    truth = np.column_stack([rng.integers(0, 2, 60), np.zeros(60)]).astype(float)
    good = np.clip(truth * 0.6 + rng.uniform(0, 0.4, (60, 2)), 0, 1)
    bad = rng.uniform(size=(60, 2))
    found = compare(scored(truth, good, targets=TWO), scored(truth, bad, targets=TWO))
    assert found.first == 1.0
    assert found.verdict.startswith("the first model is better: ROC-AUC +")
    assert found.verdict.endswith("; mean over 1 of 2 tasks")
    nothing = compare(scored(truth * 0, good, targets=TWO), scored(truth * 0, bad, targets=TWO))
    assert nothing.difference is None
    assert nothing.verdict == "cannot be compared: only one class among the targets"


def test_classes_are_compared_by_label() -> None:
    truth = np.array([[0.0], [1], [2], [0], [1], [2]])
    right = np.eye(3)[truth[:, 0].astype(int)]
    found = compare(scored(truth, right, targets=CLASSES), scored(truth, right[::-1], targets=CLASSES))
    assert (found.first, found.second) == (1.0, 1 / 3)


def test_one_row_tells_nothing() -> None:
    one = scored(np.array([[1.0]]), np.array([[2.0]]))
    other = scored(np.array([[1.0]]), np.array([[4.0]]))
    assert compare(one, other).verdict == "RMSE differs by -2: too few rows to say whether by chance"


def test_other_rows_targets_or_classes_are_refused() -> None:
    truth, noise = rows(5)
    ours = scored(truth, noise)
    with pytest.raises(EvaluationError, match="not evaluated on the same rows"):
        compare(ours, scored(truth + 1, noise))
    with pytest.raises(EvaluationError, match="not evaluated on the same rows"):
        compare(ours, scored(truth, noise, keys=[(row,) for row in range(9, 14)]))
    with pytest.raises(EvaluationError, match="rows of an evaluation are not known"):
        compare(ours, Evaluation.from_json(ours.to_json()))
    with pytest.raises(EvaluationError, match="predict different things"):
        compare(ours, scored(truth, noise, targets=NUMBERS.model_copy(update={"names": ("z",)})))
    with pytest.raises(EvaluationError, match="no such metric"):
        compare(ours, ours, metric="mea")
    labels = np.zeros((5, 1))
    chances = np.full((5, 3), 1 / 3)
    others = CLASSES.model_copy(update={"labels": ("x", "y", "w")})
    with pytest.raises(EvaluationError, match="different classes"):
        compare(scored(labels, chances, targets=CLASSES), scored(labels, chances, targets=others))
