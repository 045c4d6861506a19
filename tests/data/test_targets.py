"""Numbers of targets are scaled for the network, and what it says comes back in the user's units."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.forms import TargetForm, choose_form
from gia_science.data.targets import Targets, every_class, fit_scaling


def test_scaling_ignores_missing_values() -> None:
    values = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    assert fit_scaling(values) == ((2.0, 0.0), (1.0, 0.0))


@given(st.floats(-1e300, 1e300), st.integers(1, 7))
def test_a_constant_target_has_no_scale_and_predicts_itself(value: float, rows: int) -> None:
    """Even where the mean of equal numbers differs from them in the last bit."""
    values = np.full((rows, 1), value)
    mean, scale = fit_scaling(values)
    assert scale == (0.0,)
    targets = Targets(names=("y",), kind="regression", mean=mean, scale=scale)
    np.testing.assert_allclose(targets.encode(values), 0.0, atol=1e-12 * max(1.0, abs(value)))
    np.testing.assert_allclose(targets.decode(np.array([[3.7]])), value, rtol=1e-12)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=9))
def test_scaling_is_finite_and_comes_back(numbers: list[float]) -> None:
    values = np.array(numbers)[:, None]
    mean, scale = fit_scaling(values)
    targets = Targets(names=("y",), kind="regression", mean=mean, scale=scale)
    back = targets.decode(targets.encode(values))
    # Below the smallest normal number there is no relative precision to keep.
    size, least = np.abs(values).max(), np.finfo(np.float64).tiny
    np.testing.assert_allclose(back, values, atol=least + (1e-11 * size if scale[0] else 2e-11 * size))


def test_classes_pass_scaling_unchanged() -> None:
    targets = Targets(names=("y",), kind="multiclass", labels=("a", "b", "c"))
    indices, probabilities = np.array([[0.0], [2.0]]), np.array([[0.5, 0.25, 0.25]])
    assert targets.encode(indices) is indices
    assert targets.decode(probabilities) is probabilities


GATED = Targets(
    names=("gap", "other"),
    kind="regression",
    mean=(2.0, 0.0),
    scale=(4.0, 1.0),
    forms=(TargetForm(name="zero_inflated"), TargetForm()),
)


def test_zeros_with_a_gate_are_told_from_values() -> None:
    encoded = GATED.encode(np.array([[0.0, 0.0], [6.0, np.nan]]))
    np.testing.assert_array_equal(encoded, [[-np.inf, 0.0], [1.0, np.nan]])


def test_what_is_probably_zero_is_predicted_as_zero() -> None:
    outputs = np.array([[1.0, 3.0, 0.5], [1.0, 3.0, 0.4], [-9.0, -9.0, 0.9]])
    assert GATED.decode(outputs).tolist() == [[6.0, 3.0], [0.0, 3.0], [0.0, -9.0]]
    mean = GATED.model_copy(update={"zeros": "mean"})
    np.testing.assert_allclose(mean.decode(outputs), [[3.0, 3.0], [2.4, 3.0], [0.0, -9.0]])


def test_members_are_averaged_before_zeros_are_told() -> None:
    """Two of three members in doubt do not outvote a certain one; the spread is that of their own predictions."""
    members = np.array([[1.0, 0.0, 0.4], [1.0, 0.0, 0.4], [2.0, 0.0, 1.0]])
    outputs = members.reshape(1, -1)
    np.testing.assert_allclose(GATED.decode(outputs), GATED.decode(members.mean(axis=0)[None]))
    np.testing.assert_allclose(GATED.decode(outputs)[0, 0], 2 + 4 * 4 / 3)
    alone = GATED.decode(members)
    np.testing.assert_allclose(GATED.spread(outputs)[0], alone.std(axis=0, ddof=1))


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=9, unique=True))
def test_transformed_values_come_back(numbers: list[float]) -> None:
    values = np.array(numbers)[:, None]
    form = choose_form(values[:, 0], choice="log").form
    mean, scale = fit_scaling(form.transform(values))
    targets = Targets(names=("y",), kind="regression", mean=mean, scale=scale, forms=(form,))
    if scale[0]:
        np.testing.assert_allclose(targets.decode(targets.encode(values)), values, rtol=1e-6)


def test_quantiles_rise_and_stand_around_the_prediction() -> None:
    targets = Targets(
        names=("y", "z"), kind="regression", mean=(10.0, 0.0), scale=(2.0, 1.0), quantiles=(0.1, 0.5, 0.9)
    )
    outputs = np.array([[-1.0, 0.0, 1.0, 3.0, 2.0, 1.0]])
    assert targets.channels == 6
    assert targets.decode(outputs).tolist() == [[10.0, 2.0]]
    assert targets.interval(outputs).tolist() == [[[8.0, 10.0, 12.0], [1.0, 2.0, 3.0]]]
    twice = np.concatenate([outputs, outputs + 1], axis=1)
    assert targets.interval(twice).tolist() == [[[9.0, 11.0, 13.0], [1.5, 2.5, 3.5]]]


def test_labels_for_balanced_accuracy_are_chosen_by_the_shares_of_classes() -> None:
    binary = Targets(names=("y",), kind="binary", labels=("no", "yes"))
    assert binary.label(np.array([[0.49], [0.5]])).tolist() == [[0], [1]]
    rare = binary.model_copy(update={"priors": (0.1,)})
    assert rare.label(np.array([[0.09], [0.11]])).tolist() == [[0], [1]]
    several = Targets(names=("y",), kind="multiclass", labels=("a", "b", "c"), priors=(0.8, 0.1, 0.1))
    assert several.label(np.array([[0.7, 0.2, 0.1], [0.9, 0.05, 0.05]])).tolist() == [1, 0]


def test_the_label_of_several_members_has_the_spread_of_its_probability() -> None:
    several = Targets(names=("y",), kind="multiclass", labels=("a", "b"))
    outputs = np.array([[0.2, 0.8, 0.4, 0.6]])
    np.testing.assert_allclose(several.spread(outputs), [[np.std([0.8, 0.6], ddof=1)]])


def test_a_class_that_was_not_seen_has_no_share() -> None:
    shares = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    found = every_class(shares, seen=np.array([3.0, 1.0]), classes=4)
    assert found.tolist() == [[0, 0.75, 0, 0.25], [0, 0, 0, 1]]
    assert found.dtype == np.float32
