"""Losses of numbers are their definitions, number by number."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.model.losses import number_losses

NUMBERS = st.floats(-5, 5, width=32)


@given(values=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4))
def test_absolute_and_squared(values: list[tuple[float, float]]) -> None:
    outputs, targets = (torch.tensor([[pair[side]] for pair in values]) for side in range(2))
    error = outputs - targets
    torch.testing.assert_close(number_losses(outputs, targets, loss="absolute"), error.abs())
    torch.testing.assert_close(number_losses(outputs, targets, loss="squared"), error**2)


def test_the_best_constant_of_a_quantile_loss_is_that_quantile() -> None:
    targets = torch.arange(101.0)[:, None]
    levels = (0.1, 0.5, 0.8)
    candidates = torch.arange(0.0, 101.0)
    for place, level in enumerate(levels):
        losses = []
        for candidate in candidates:
            outputs = torch.zeros(101, 3)
            outputs[:, place] = candidate
            losses.append(float(number_losses(outputs, targets, loss="quantile", quantiles=levels).mean()))
        assert int(torch.tensor(losses).argmin()) == pytest.approx(100 * level, abs=1)


def test_the_loss_of_the_median_alone_is_the_absolute_error() -> None:
    outputs, targets = torch.tensor([[1.0], [-3.0]]), torch.tensor([[0.5], [2.0]])
    median = number_losses(outputs, targets, loss="quantile", quantiles=(0.5,))
    torch.testing.assert_close(median, number_losses(outputs, targets, loss="absolute"))


def test_quantiles_of_two_targets_stand_target_by_target() -> None:
    outputs = torch.tensor([[0.0, 0.0, 7.0, 7.0]])
    targets = torch.tensor([[0.0, 7.0]])
    assert number_losses(outputs, targets, loss="quantile", quantiles=(0.4, 0.5)).tolist() == [[0.0, 0.0]]


@given(value=NUMBERS, logit=NUMBERS, other=NUMBERS)
def test_a_gate_has_its_cross_entropy_and_a_zero_no_loss_of_the_value(
    value: float, logit: float, other: float
) -> None:
    """The second of two targets has a gate; the first is as it would be without one."""
    outputs = torch.tensor([[other, value, logit]] * 2)
    targets = torch.tensor([[1.0, -math.inf], [1.0, 2.0]])
    found = number_losses(outputs, targets, loss="absolute", gates=(1,))
    chance = 1 / (1 + math.exp(-logit))
    expected = [[abs(other - 1), -math.log(1 - chance)], [abs(other - 1), -math.log(chance) + abs(value - 2)]]
    torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_gradients_are_finite_where_zeros_have_a_gate() -> None:
    outputs = torch.tensor([[3.0, 1.0], [2.0, -1.0]], requires_grad=True)
    number_losses(outputs, torch.tensor([[-math.inf], [0.5]]), gates=(0,)).sum().backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()
    assert outputs.grad[0, 0] == 0
