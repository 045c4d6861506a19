"""Percentile bootstrap over rows.

A resample is not an array of rows but a vector of weights: how often each row was drawn. A metric that
accepts weights then scores all resamples in one sweep and sorts its rows once, not once per resample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

CHUNK_ELEMENTS = 1 << 21
"""Weights held at a time: 16 MiB, whatever the number of rows and resamples."""


def resample_weights(n: int, *, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Draw rows with replacement, as often as there are rows, and count them.

    Parameters
    ----------
    n : int
        Number of rows.
    resamples : int
        Number of resamples R.
    seed : int
        The same seed gives the same resamples, however they fall into chunks.

    Yields
    ------
    (r, n) float64
        How often each row was drawn in each of the next r resamples; each line sums to n.
    """
    rng = np.random.default_rng(seed)
    size = max(1, CHUNK_ELEMENTS // max(n, 1))
    for start in range(0, resamples, size):
        r = min(size, resamples - start)
        drawn = rng.integers(0, n, size=(r, n)) + n * np.arange(r)[:, None]
        yield np.bincount(drawn.ravel(), minlength=r * n).reshape(r, n).astype(np.float64)


def percentile_interval(draws: FloatArray, *, confidence: float) -> tuple[float, float] | None:
    """Central interval of bootstrap draws.

    The percentile interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13) is for
    tens of rows or more; on a handful of rows it comes out too narrow.

    Parameters
    ----------
    draws : (R,) float64
        The metric on each resample, NaN where it is not defined; such resamples are skipped.
    confidence : float
        Nominal coverage, such as 0.95.

    Returns
    -------
    tuple of float or None
        Lower and upper bound; None where half of the resamples or more are undefined, or there are none.
    """
    assert 0 < confidence < 1
    defined = draws[np.isfinite(draws)]
    if 2 * len(defined) <= len(draws):
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
