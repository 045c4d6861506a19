"""Rotary encoding: relative positions, and none where all are equal."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gia_science.attention import rotary


def vectors(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(0))


@settings(max_examples=25, deadline=None)
@given(shift=st.integers(-500, 5000), half=st.integers(1, 9), n=st.integers(1, 6))
def test_products_depend_on_relative_positions_alone(shift: int, half: int, n: int) -> None:
    q, k = vectors(2, 2, 3, n, 2 * half)
    positions = torch.randint(0, 100, (2, n), generator=torch.Generator().manual_seed(n))

    def products(at: torch.Tensor) -> torch.Tensor:
        return rotary(q, at) @ rotary(k, at).transpose(-1, -2)

    torch.testing.assert_close(products(positions + shift), products(positions), rtol=1e-8, atol=1e-8)


def test_equal_positions_are_no_rotation() -> None:
    q, k = vectors(2, 2, 3, 5, 8)
    at = torch.full((2, 5), 17)
    torch.testing.assert_close(
        rotary(q, at) @ rotary(k, at).transpose(-1, -2), q @ k.transpose(-1, -2), rtol=1e-12, atol=1e-12
    )


def test_position_zero_is_the_identity() -> None:
    x = vectors(1, 2, 3, 8)
    assert torch.equal(rotary(x, torch.zeros(1, 3, dtype=torch.int64)), x)


def test_angle_of_each_pair_of_channels() -> None:
    """Channel c turns with channel c + d_h/2 by position * 10000^(-2c/d_h)."""
    x = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64).view(1, 1, 1, 4)
    angle = torch.tensor([3.0, 0.03], dtype=torch.float64)
    expected = torch.cat([angle.cos(), angle.sin()])
    torch.testing.assert_close(rotary(x, torch.tensor([[3]])).flatten(), expected)


def test_half_precision_keeps_its_type_and_the_angles_of_far_positions() -> None:
    """Position 2001 is not a bfloat16 number: angles computed in it would be wrong."""
    x = vectors(1, 1, 1, 8)
    at = torch.tensor([[2001]])
    got = rotary(x.bfloat16(), at)
    assert got.dtype is torch.bfloat16
    torch.testing.assert_close(got.double(), rotary(x, at), rtol=0.02, atol=0.03)
