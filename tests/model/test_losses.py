"""Losses of numbers are their definitions, number by number."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.model.heads import task_loss
from gia_science.model.losses import AUXILIARY, NumberLoss

NUMBERS = st.floats(-5, 5, width=32)


@given(values=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4))
def test_absolute_and_squared(values: list[tuple[float, float]]) -> None:
    outputs, targets = (torch.tensor([[pair[side]] for pair in values]) for side in range(2))
    error = outputs - targets
    torch.testing.assert_close(NumberLoss(loss="absolute")(outputs, targets), error.abs())
    torch.testing.assert_close(NumberLoss(loss="squared")(outputs, targets), error**2)


def test_the_best_constant_of_a_quantile_loss_is_that_quantile() -> None:
    targets = torch.arange(101.0)[:, None]
    levels = (0.1, 0.5, 0.8)
    candidates = torch.arange(0.0, 101.0)
    for place, level in enumerate(levels):
        losses = []
        for candidate in candidates:
            outputs = torch.zeros(101, 3)
            outputs[:, place] = candidate
            losses.append(float(NumberLoss(loss="quantile", quantiles=levels)(outputs, targets).mean()))
        assert int(torch.tensor(losses).argmin()) == pytest.approx(100 * level, abs=1)


def test_the_loss_of_the_median_alone_is_the_absolute_error() -> None:
    outputs, targets = torch.tensor([[1.0], [-3.0]]), torch.tensor([[0.5], [2.0]])
    median = NumberLoss(loss="quantile", quantiles=(0.5,))(outputs, targets)
    torch.testing.assert_close(median, NumberLoss(loss="absolute")(outputs, targets))


def test_quantiles_of_two_targets_stand_target_by_target() -> None:
    outputs = torch.tensor([[0.0, 0.0, 7.0, 7.0]])
    targets = torch.tensor([[0.0, 7.0]])
    assert NumberLoss(loss="quantile", quantiles=(0.4, 0.5))(outputs, targets).tolist() == [[0.0, 0.0]]


GATED = NumberLoss(loss="absolute", gates=(1,), zeros=(-0.5,))


@given(value=NUMBERS, logit=NUMBERS, other=NUMBERS)
def test_gate_and_value_are_taught_together_and_by_themselves(
    value: float, logit: float, other: float
) -> None:
    """The second of two targets has a gate; the first is as it would be without one."""
    outputs = torch.tensor([[other, value, logit]] * 2)
    targets = torch.tensor([[1.0, -math.inf], [1.0, 2.0]])
    chance = 1 / (1 + math.exp(-logit))
    together = chance * value + (1 - chance) * -0.5
    first = abs(other - 1)
    judged = [[first, abs(together + 0.5)], [first, abs(together - 2)]]
    torch.testing.assert_close(
        GATED(outputs, targets, training=False), torch.tensor(judged), rtol=1e-4, atol=1e-5
    )
    judged[0][1] += AUXILIARY * -math.log(1 - chance)
    judged[1][1] += AUXILIARY * (-math.log(chance) + abs(value - 2))
    torch.testing.assert_close(GATED(outputs, targets), torch.tensor(judged), rtol=1e-4, atol=1e-5)


def test_gradients_are_finite_where_zeros_have_a_gate() -> None:
    outputs = torch.tensor([[3.0, 1.0], [2.0, -1.0]], requires_grad=True)
    loss = NumberLoss(gates=(0,), zeros=(-1.0,))
    loss(outputs, torch.tensor([[-math.inf], [0.5]])).sum().backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


def test_a_gated_loss_without_known_targets_is_zero() -> None:
    outputs = torch.randn(2, 2, requires_grad=True)
    numbers = NumberLoss(gates=(0,), zeros=(-1.0,))
    loss = task_loss("regression", outputs, torch.full((2, 1), math.nan), numbers=numbers)
    loss.backward()
    assert loss.item() == 0
    assert not outputs.grad.any()
