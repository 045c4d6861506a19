"""Perplexity by hand, and its interval over rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gia_science.errors import EvaluationError
from gia_science.evaluation.perplexity import perplexity, unigram_losses


def test_perplexity_is_over_tokens_not_over_rows() -> None:
    """Nine tokens of loss log 2 and one of loss log 8: mean 1.2 log 2, whatever row they stand in."""
    found = perplexity(np.array([9 * math.log(2), math.log(8)]), np.array([9.0, 1.0]))
    assert found.value == pytest.approx(2**1.2)
    assert found.interval == (pytest.approx(2.0), pytest.approx(8.0))


def test_equal_rows_leave_no_doubt() -> None:
    found = perplexity(np.full(30, 4 * math.log(7)), np.full(30, 4.0))
    assert found.value == pytest.approx(7.0)
    assert found.interval == (pytest.approx(7.0), pytest.approx(7.0))
    assert str(found) == "7 [7, 7]"


def test_rows_without_tokens_count_for_nothing() -> None:
    found = perplexity(np.array([math.log(3), 0.0]), np.array([1.0, 0.0]))
    assert found.value == pytest.approx(3.0)
    with pytest.raises(EvaluationError, match="no held-out row has a token to predict"):
        perplexity(np.zeros(2), np.zeros(2))


def test_unigram_losses_by_hand() -> None:
    """Counts 3, 1, 0 of three tokens become shares 4/7, 2/7, 1/7."""
    losses = unigram_losses([np.array([0, 0]), np.array([0, 1])], vocabulary=3)
    np.testing.assert_allclose(losses, -np.log(np.array([4, 2, 1]) / 7))
    np.testing.assert_allclose(unigram_losses([], vocabulary=5), math.log(5))
