"""Metrics are scikit-learn's and scipy's, on data and on resamples; what is undefined is never a number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from gia_science.errors import EvaluationError
from gia_science.evaluation.bootstrap import resample_weights
from gia_science.evaluation.metrics import METRICS, Score, find_metric, mean_score, primary_metric, score_task

ORACLES = {
    ("regression", "rmse"): sk.root_mean_squared_error,
    ("regression", "mae"): sk.mean_absolute_error,
    ("regression", "r2"): sk.r2_score,
    ("regression", "pearson"): lambda t, p: stats.pearsonr(t, p).statistic,
    ("regression", "spearman"): lambda t, p: stats.spearmanr(t, p).statistic,
    ("binary", "roc_auc"): sk.roc_auc_score,
    ("binary", "average_precision"): sk.average_precision_score,
    ("binary", "balanced_accuracy"): sk.balanced_accuracy_score,
    ("binary", "mcc"): sk.matthews_corrcoef,
    ("binary", "f1"): sk.f1_score,
    ("binary", "brier"): sk.brier_score_loss,
    ("binary", "accuracy"): sk.accuracy_score,
    ("multiclass", "balanced_accuracy"): sk.balanced_accuracy_score,
    ("multiclass", "accuracy"): sk.accuracy_score,
    ("multiclass", "f1_macro"): lambda t, p: sk.f1_score(t, p, average="macro"),
    ("multiclass", "mcc"): sk.matthews_corrcoef,
}


def task(kind, *, n=60, seed=0):
    """Truth, prediction and predicted label, with ties."""
    rng = np.random.default_rng(seed)
    if kind == "regression":
        truth = rng.normal(size=n).round(1)
        return truth, (truth + rng.normal(size=n)).round(1), None
    if kind == "binary":
        truth = (rng.random(n) < 0.4).astype(float)
        probability = np.clip(0.3 * truth + 0.7 * rng.random(n), 0, 1).round(1)
        return truth, probability, (probability >= 0.5).astype(float)
    truth = rng.integers(0, 4, n).astype(float)
    probability = rng.dirichlet(np.ones(4), n)
    probability[np.arange(n), truth.astype(int)] += 0.4
    probability /= probability.sum(axis=1, keepdims=True)
    return truth, probability, probability.argmax(axis=1).astype(float)


def by_name(scores):
    return {score.metric: score for score in scores}


def test_there_is_an_oracle_for_every_metric():
    assert set(ORACLES) == {(kind, metric.name) for kind, metrics in METRICS.items() for metric in metrics}


@pytest.mark.parametrize(("kind", "name"), ORACLES)
def test_value_is_that_of_the_reference_library(kind, name):
    truth, prediction, label = task(kind)
    seen = label if find_metric(kind, name).needs == "label" else prediction
    score = by_name(score_task(kind, truth, prediction, resamples=0))[name]
    assert score.value == pytest.approx(ORACLES[kind, name](truth, seen), rel=1e-12)
    assert (score.low, score.high, score.reason, score.n) == (None, None, None, 60)


@pytest.mark.parametrize(("kind", "name"), ORACLES)
def test_weights_are_repeated_rows(kind, name):
    truth, prediction, label = task(kind, seed=1)
    metric = find_metric(kind, name)
    seen = label if metric.needs == "label" else prediction
    weights = next(resample_weights(60, resamples=20, seed=0))
    expected = [
        ORACLES[kind, name](np.repeat(truth, row), np.repeat(seen, row)) for row in weights.astype(np.int64)
    ]
    np.testing.assert_allclose(metric.function(truth, seen, weights), expected, rtol=1e-10)


@pytest.mark.parametrize("kind", METRICS)
def test_intervals_hold_the_value_narrow_with_rows_and_repeat(kind):
    def width(n):
        truth, prediction, _ = task(kind, n=n)
        scores = score_task(kind, truth, prediction, resamples=300)
        assert scores == score_task(kind, truth, prediction, resamples=300)
        assert all(score.low <= score.value <= score.high for score in scores)
        return scores[0].high - scores[0].low

    assert 1.5 * width(1600) < width(100)


def test_missing_targets_are_masked_and_rows_without_prediction_are_told():
    scores = score_task("regression", [1, np.nan, 3, 4, 5], [1, 7, 3, np.nan, 6], resamples=0)
    rmse = by_name(scores)["rmse"]
    assert rmse.n == 3
    assert rmse.value == pytest.approx(np.sqrt(1 / 3))
    assert "1 row with a target left out" in rmse.reason


@pytest.mark.parametrize(
    ("kind", "truth", "prediction", "undefined"),
    [
        ("regression", [0.1] * 5, [0.1, 0.2, 0.3, 0.4, 0.5], {"r2", "pearson", "spearman"}),
        ("regression", [1, 2, 3, 4, 5], [0.3] * 4 + [0.1 + 0.2], {"pearson", "spearman"}),
        ("regression", [2], [3], {"r2", "pearson", "spearman"}),
        (
            "binary",
            [0] * 4,
            [0.1, 0.2, 0.3, 0.9],
            {"roc_auc", "average_precision", "balanced_accuracy", "mcc", "f1"},
        ),
        (
            "binary",
            [1] * 4,
            [0.1, 0.2, 0.3, 0.9],
            {"roc_auc", "average_precision", "balanced_accuracy", "mcc"},
        ),
        ("binary", [0, 1, 1], [0.1, 0.2, 0.3], {"mcc"}),
        ("multiclass", [1, 1], [[0.2, 0.8], [0.6, 0.4]], {"balanced_accuracy", "f1_macro", "mcc"}),
        ("regression", [1, 2], [1e200, 1e200], {"rmse", "r2", "pearson", "spearman"}),
    ],
)
def test_an_undefined_metric_has_a_reason_and_no_number(kind, truth, prediction, undefined):
    scores = by_name(score_task(kind, truth, prediction, resamples=50))
    assert {name for name, score in scores.items() if score.value is None} == undefined
    for name in undefined:
        assert scores[name].reason
        assert (scores[name].low, scores[name].high) == (None, None)
        assert str(scores[name]).startswith("undefined: ")


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("n", [0, 3])
def test_no_measured_row_makes_every_metric_undefined(kind, n):
    prediction = np.full((n, 2) if kind == "multiclass" else n, 0.5)
    scores = score_task(kind, np.full(n, np.nan), prediction)
    assert all(score == Score(score.metric, None, None, None, 0, "no row has a target") for score in scores)


def test_one_row_has_a_value_but_no_interval():
    rmse = by_name(score_task("regression", [2], [3]))["rmse"]
    assert (rmse.value, rmse.low, rmse.high, rmse.n) == (1.0, None, None, 1)
    assert "only one row" in rmse.reason


def test_no_interval_where_most_resamples_are_undefined(monkeypatch):
    weights = np.array([[2.0, 0, 0], [0, 2, 1], [3, 0, 0]])
    monkeypatch.setattr("gia_science.evaluation.metrics.resample_weights", lambda n, **_: iter([weights]))
    auc = by_name(score_task("binary", [0, 1, 1], [0.1, 0.7, 0.9], resamples=3))["roc_auc"]
    assert (auc.value, auc.low) == (1.0, None)
    assert auc.reason == "no interval: undefined in 3 of 3 resamples"


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, np.nan]), st.floats(0, 1) | st.just(np.nan)),
        min_size=0,
        max_size=12,
    )
)
@settings(max_examples=150, deadline=None)
def test_binary_values_are_numbers_in_range_or_reasons(rows):
    truth, prediction = [row[0] for row in rows], [row[1] for row in rows]
    for score in score_task("binary", truth, prediction, resamples=5):
        assert (score.value is None) <= (score.reason is not None)
        if score.value is not None:
            assert -1 <= score.value <= 1
        if score.low is not None:
            assert score.low <= score.high


numbers = st.floats(-1e6, 1e6) | st.just(np.nan)


@given(st.lists(st.tuples(numbers, numbers), min_size=0, max_size=12))
@settings(max_examples=150, deadline=None)
def test_regression_values_are_finite_or_reasons(rows):
    truth, prediction = [row[0] for row in rows], [row[1] for row in rows]
    for score in score_task("regression", truth, prediction, resamples=5):
        assert (score.value is None) <= (score.reason is not None)
        if score.value is not None:
            assert np.isfinite(score.value)


def test_order_of_rows_does_not_matter_for_the_value():
    truth, prediction, _ = task("binary")
    order = np.random.default_rng(0).permutation(len(truth))
    first = score_task("binary", truth, prediction, resamples=0)
    second = score_task("binary", truth[order], prediction[order], resamples=0)
    assert [s.value for s in first] == pytest.approx([s.value for s in second])


def test_mean_leaves_undefined_tasks_out_and_says_so():
    scores = [Score("roc_auc", 0.8, 0.7, 0.9, 10), Score("roc_auc", None, None, None, 12, "only one class")]
    mean = mean_score(scores)
    assert (mean.value, mean.low, mean.high, mean.n) == (0.8, None, None, 10)
    assert mean.reason == "mean over 1 of 2 tasks"


def test_mean_of_nothing_defined_is_undefined():
    mean = mean_score([Score("r2", None, None, None, 1, "only one row")])
    assert (mean.value, mean.reason) == (None, "mean over 0 of 1 tasks")


@pytest.mark.parametrize(
    ("kind", "truth", "prediction", "message"),
    [
        ("regression", [1, 2], [1, 2, 3], "do not fit"),
        ("multiclass", [0, 1], [0.1, 0.9], "do not fit"),
        ("binary", [0, 2], [0.1, 0.9], "no class index"),
        ("multiclass", [0, 2], [[0.1, 0.9]] * 2, "no class index"),
        ("binary", [0, 1], [0.1, 1.9], "no probability"),
    ],
)
def test_what_cannot_be_scored_is_an_error(kind, truth, prediction, message):
    with pytest.raises(EvaluationError, match=message):
        score_task(kind, truth, prediction)


def test_primary_metrics_and_lookup():
    assert [primary_metric(kind).name for kind in METRICS] == ["rmse", "roc_auc", "balanced_accuracy"]
    assert not find_metric("regression", "rmse").greater_is_better
    with pytest.raises(EvaluationError, match="did you mean 'roc_auc'"):
        find_metric("binary", "rocauc")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.54996, "0.550"), (85.31, "85.3"), (1234.5, "1234"), (0.0, "0"), (1e-9, "1e-09"), (-0.2, "-0.200")],
)
def test_a_score_prints_three_digits(value, text):
    assert str(Score("rmse", value, None, None, 9)) == text
    assert str(Score("rmse", value, value, value, 9)) == f"{text} [{text}, {text}]"
