"""Perplexity of a language model on held-out rows, with the unigram model beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.errors import EvaluationError
from gia_science.evaluation.bootstrap import percentile_interval, resample_weights

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Perplexity:
    """Perplexity of the tokens of some rows.

    Parameters
    ----------
    value : float
        Exponential of the mean loss of a token, in nats.
    interval : (float, float) or None
        95 % bootstrap interval over rows: the tokens of one row are not independent.
    """

    value: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"

    def to_json(self) -> dict[str, Any]:
        """Value and interval as plain types."""
        return {"value": self.value, "interval": None if self.interval is None else list(self.interval)}


def perplexity(losses: FloatArray, counts: FloatArray, *, seed: int = 0) -> Perplexity:
    """Perplexity over all tokens of some rows.

    Parameters
    ----------
    losses : (n,) float64
        Sum of the losses of the predicted tokens of each row, in nats.
    counts : (n,) float64
        Number of predicted tokens of each row; may be 0.
    seed : int, default 0
        Seed of the resamples.

    Raises
    ------
    EvaluationError
        When no row has a predicted token.
    """
    if not counts.sum():
        raise EvaluationError("no held-out row has a token to predict")
    draws = []
    for weights in resample_weights(len(counts), resamples=RESAMPLES, seed=seed):
        tokens = weights @ counts
        mean = np.divide(weights @ losses, tokens, out=np.full(len(tokens), np.nan), where=tokens > 0)
        draws.append(np.exp(mean))
    return Perplexity(
        value=float(np.exp(losses.sum() / counts.sum())),
        interval=percentile_interval(np.concatenate(draws), confidence=CONFIDENCE),
    )


def unigram_losses(train: Sequence[IntArray], *, vocabulary: int) -> FloatArray:
    """Loss of each token under its share in the training rows.

    One is added to the count of each token of the vocabulary, so that no loss is infinite (Laplace's rule).

    Parameters
    ----------
    train : sequence of (n,) int64
        Ids of the tokens of each training row.
    vocabulary : int
        Number V of tokens.

    Returns
    -------
    (V,) float64
        In nats.
    """
    ids = np.concatenate([np.zeros(0, dtype=np.int64), *train])
    counts = np.bincount(ids, minlength=vocabulary) + 1.0
    losses: FloatArray = np.log(counts.sum()) - np.log(counts)
    return losses
