"""Bootstrap intervals agree with scipy, cover the truth as often as they say, and repeat by seed."""

import numpy as np
import pytest
from scipy import stats

from gia_science.evaluation import bootstrap
from gia_science.evaluation.bootstrap import percentile_interval, resample_weights


def mean_draws(x, *, resamples, seed):
    parts = [w @ x / w.sum(axis=1) for w in resample_weights(len(x), resamples=resamples, seed=seed)]
    return np.concatenate(parts)


def test_interval_of_a_mean_is_scipys_percentile_interval():
    x = np.random.default_rng(3).gamma(2.0, size=25)
    ours = percentile_interval(mean_draws(x, resamples=2000, seed=11), confidence=0.9)
    theirs = stats.bootstrap(
        (x,),
        np.mean,
        n_resamples=2000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(11),
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-12)


@pytest.mark.parametrize(
    ("statistic", "truth"),
    [(lambda x, w: w @ x / w.sum(axis=1), 0.0), (lambda x, w: np.sqrt(w @ x**2 / w.sum(axis=1)), 1.0)],
    ids=["mean", "rmse"],
)
def test_nominal_95_percent_interval_covers_the_truth_about_95_times_in_100(statistic, truth):
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(400):
        x = rng.normal(size=80)
        draws = np.concatenate([statistic(x, w) for w in resample_weights(80, resamples=400, seed=seed)])
        low, high = percentile_interval(draws, confidence=0.95)
        hits += low <= truth <= high
    # Binomial standard error 1.1 %, and the percentile interval is known to be a little narrow.
    assert 0.90 <= hits / 400 <= 0.985


def test_every_resample_draws_as_many_rows_as_there_are():
    weights = np.concatenate(list(resample_weights(7, resamples=50, seed=0)))
    assert weights.shape == (50, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights >= 0).all()
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.5)


def test_resamples_do_not_depend_on_the_chunks_they_come_in(monkeypatch):
    whole = np.concatenate(list(resample_weights(11, resamples=30, seed=5)))
    monkeypatch.setattr(bootstrap, "CHUNK_ELEMENTS", 45)
    chunks = list(resample_weights(11, resamples=30, seed=5))
    assert len(chunks) > 1
    np.testing.assert_array_equal(np.concatenate(chunks), whole)


def test_same_seed_same_resamples_other_seed_others():
    first, again, other = (next(resample_weights(20, resamples=5, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_undefined_resamples_are_skipped_until_they_are_half():
    draws = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    assert percentile_interval(draws, confidence=0.5) == (1.5, 2.5)
    assert percentile_interval(np.array([1.0, 2.0, np.nan, np.nan]), confidence=0.5) is None
    assert percentile_interval(np.empty(0), confidence=0.5) is None
