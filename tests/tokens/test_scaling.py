"""Cells to numbers, and descriptors to a common scale that is fixed at training."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from gia_science.errors import DefinitionError, UnreadableInputError
from gia_science.tokens.scaling import CLIP, DescriptorScaling, numeric_cell

NAN = float("nan")
NAMES = ("a", "constant", "absent", "b", "once")
MATRIX = np.array(
    [[1.0, 7.0, NAN, 10.0, NAN], [2.0, 7.0, np.inf, NAN, 3.0], [3.0, 7.0, NAN, 30.0, NAN]], dtype=np.float64
)


def test_constant_and_missing_columns_are_dropped_by_name():
    scaling = DescriptorScaling.fit(MATRIX, NAMES)
    assert scaling.names == ("a", "b")
    assert scaling.dropped == ("constant", "absent", "once")
    assert scaling.mean.tolist() == [2.0, 20.0]
    assert scaling.scale == pytest.approx([np.sqrt(2 / 3), 10.0])


def test_values_are_standardised_and_missing_stays_missing():
    scaled = DescriptorScaling.fit(MATRIX, NAMES).transform(MATRIX, names=NAMES)
    assert scaled.dtype == np.float32
    root = np.sqrt(1.5)
    np.testing.assert_allclose(scaled, [[-root, -1], [0, NAN], [root, 1]], atol=1e-6)


def test_one_row_equals_the_same_row_in_a_batch():
    rng = np.random.default_rng(0)
    matrix = rng.lognormal(sigma=3, size=(50, 8))
    scaling = DescriptorScaling.fit(matrix, [f"d{index}" for index in range(8)])
    batch = scaling.transform(matrix)
    for index, row in enumerate(matrix):
        np.testing.assert_array_equal(scaling.transform(row[None])[0], batch[index])


def test_values_far_from_the_training_are_clipped_and_infinite_ones_missing():
    scaling = DescriptorScaling.fit(MATRIX, NAMES)
    row = np.array([[1e300, 0.0, 0.0, -np.inf, 0.0], [-1e300, 0.0, 0.0, 20.0, 0.0]])
    np.testing.assert_allclose(scaling.transform(row), [[CLIP, NAN], [-CLIP, 0]])


def test_rounding_noise_is_constant_and_small_units_are_not():
    matrix = np.array([[0.1 + 0.2, 1e-20], [0.3, 3e-20]])
    assert DescriptorScaling.fit(matrix, ["noise", "small"]).names == ("small",)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_scaled_values_are_bounded_or_missing_whatever_comes(matrix: np.ndarray):
    scaling = DescriptorScaling.fit(matrix, [f"d{index}" for index in range(matrix.shape[1])])
    scaled = scaling.transform(matrix)
    known = np.isfinite(scaled)
    assert (np.abs(scaled[known]) <= CLIP * (1 + 1e-6)).all()
    kept = [scaling.columns.index(name) for name in scaling.names]
    np.testing.assert_array_equal(known, np.isfinite(matrix[:, kept]))


def test_no_columns_and_nothing_kept_are_allowed():
    assert DescriptorScaling.fit(np.zeros((3, 0)), []).transform(np.zeros((2, 0))).shape == (2, 0)
    assert DescriptorScaling.fit(np.ones((3, 1)), ["c"]).transform(np.zeros((2, 1))).shape == (2, 0)


def test_other_descriptors_are_refused():
    scaling = DescriptorScaling.fit(MATRIX, NAMES)
    with pytest.raises(DefinitionError, match="1 new, 1 gone; new"):
        scaling.transform(MATRIX, names=("a", "constant", "absent", "b", "new"))
    with pytest.raises(DefinitionError, match="another order"):
        scaling.transform(MATRIX, names=NAMES[::-1])
    with pytest.raises(DefinitionError, match="expected 5 columns"):
        scaling.transform(MATRIX[:, :4])


def test_json_round_trip_is_exact():
    scaling = DescriptorScaling.fit(MATRIX / 3, NAMES)
    again = DescriptorScaling.from_json(json.loads(json.dumps(scaling.to_json(), allow_nan=False)))
    assert (again.columns, again.names) == (scaling.columns, scaling.names)
    np.testing.assert_array_equal(again.transform(MATRIX), scaling.transform(MATRIX))


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"names": ["b", "a"]},
        {"names": ["a", "z"]},
        {"names": "ab"},
        {"mean": [1.0]},
        {"mean": [1.0, None]},
        {"scale": [1.0, 0.0]},
        {"scale": [1.0, NAN]},
        {"columns": ["a", "a", "b"]},
    ],
)
def test_damaged_json_is_refused(change: dict[str, object]):
    data = DescriptorScaling.fit(MATRIX, NAMES).to_json() | change
    with pytest.raises(DefinitionError):
        DescriptorScaling.from_json(data)


def test_json_without_a_key_is_refused():
    data = DescriptorScaling.fit(MATRIX, NAMES).to_json()
    del data["scale"]
    with pytest.raises(DefinitionError, match="wrong keys"):
        DescriptorScaling.from_json(data)


@pytest.mark.parametrize("text", ["", "  ", "NA", "na", "nan", "NaN", "N/A"])
def test_blank_cells_are_missing(text: str):
    assert np.isnan(numeric_cell(text))


@pytest.mark.parametrize(
    ("text", "value"), [("0.5", 0.5), (" -3 ", -3), ("1e-3", 0.001), ("+.5", 0.5), ("7.", 7), ("0", 0)]
)
def test_numbers_are_read(text: str, value: float):
    assert numeric_cell(text) == value


@pytest.mark.parametrize(
    "text", ["0,5", "1,000.5", "inf", "-Infinity", "1e999", "1_000", "five", "1 2", "٣", "-"]
)
def test_other_cells_are_refused(text: str):
    with pytest.raises(UnreadableInputError) as caught:
        numeric_cell(text)
    assert caught.value.what
    assert caught.value.got == repr(text)
    assert caught.value.expected


def test_what_is_nearly_a_number_is_told():
    for cell, hint in (
        (">10", "a bound is no value"),
        ("5.2 nM", "without a unit"),
        ("12%", "without a unit"),
        ("\N{MINUS SIGN}3.4", "the minus sign is a hyphen"),
        ("\N{EN DASH}3", "the minus sign is a hyphen"),
        ("-1,234.5", "nothing stands between thousands"),
        ("1,234,567", "nothing stands between thousands"),
    ):
        with pytest.raises(UnreadableInputError, match=hint):
            numeric_cell(cell)
    with pytest.raises(UnreadableInputError, match="decimal sign is a point"):
        numeric_cell("0,5")
