"""What windows say of a long input is put together so that every unit counts once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.prediction.windows import combine
from gia_science.tokens.long import windows


def test_one_window_is_itself() -> None:
    output = np.array([1.0, 2.0])
    assert combine([output], windows(3, max_length=4)) is output


def test_values_are_a_mean_by_units_that_are_new_in_a_window() -> None:
    """Four units, then one more: weights 4/5 and 1/5."""
    outputs = [np.array([1.0, 0.0]), np.array([6.0, 1.0])]
    np.testing.assert_allclose(combine(outputs, windows(5, max_length=4)), [2.0, 0.2])


@given(st.integers(1, 300), st.integers(1, 50))
def test_probabilities_stay_probabilities(length: int, size: int) -> None:
    spans = windows(length, max_length=size)
    rng = np.random.default_rng(length)
    outputs = [rng.dirichlet([1.0, 1.0, 1.0]) for _ in spans]
    whole = combine(outputs, spans)
    assert whole.sum() == pytest.approx(1)
    np.testing.assert_allclose(combine([outputs[0]] * len(spans), spans), outputs[0])


@given(st.integers(1, 300), st.integers(1, 50))
def test_a_unit_has_the_output_of_the_window_in_which_it_lies_most_centrally(length: int, size: int) -> None:
    spans = windows(length, max_length=size)
    outputs = [
        np.array([[unit, index] for unit in span], dtype=np.float32) for index, span in enumerate(spans)
    ]
    whole = combine(outputs, spans)
    assert whole.dtype == np.float32
    assert whole[:, 0].tolist() == list(range(length)), "each once, in order"

    def depth(unit: int, index: int) -> int:
        return min(unit - spans[index].start, spans[index].stop - 1 - unit)

    for unit, chosen in whole.astype(int).tolist():
        holding = [index for index, span in enumerate(spans) if unit in span]
        assert chosen == max(holding, key=lambda index: (depth(unit, index), -index))
