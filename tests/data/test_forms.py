"""The form of a target follows from its training values, and every transform is undone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gia_science.data.forms import FEWEST, PLAIN, TargetForm, choose_form, describe_form
from gia_science.errors import RecipeError

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=400)
LOG_NORMAL = np.exp(NORMAL)


def test_many_exact_zeros_among_positive_values_get_a_gate() -> None:
    values = np.where(RNG.random(400) < 0.3, 0.0, LOG_NORMAL)
    choice = choose_form(values)
    assert choice.form == TargetForm(name="zero_inflated")
    assert "exactly 0" in choice.reason
    assert choose_form(values, gate=False).form == PLAIN, "where there can be no gate"


@pytest.mark.parametrize(
    "values",
    [
        np.where(RNG.random(400) < 0.5, 0.0, NORMAL),
        np.where(RNG.random(400) < 0.1, 0.0, LOG_NORMAL),
        np.where(RNG.random(400) < 0.5, 0.0, RNG.integers(1, FEWEST, size=400)),
        NORMAL,
        5 + np.abs(NORMAL) / 5,
        np.full(20, 3.0),
        np.full(20, np.nan),
    ],
    ids=["some negative", "few zeros", "few values", "normal", "far from zero", "constant", "none"],
)
def test_other_values_are_learnt_as_they_are(values: np.ndarray) -> None:
    assert choose_form(values) == choose_form(values, choice="auto")
    assert choose_form(values).form == PLAIN


@pytest.mark.parametrize(("power", "name"), [(0.0, "log"), (0.5, "box_cox")])
def test_skewed_positive_values_are_made_straight(power: float, name: str) -> None:
    values = LOG_NORMAL if power == 0 else np.maximum(1 + 0.4 * NORMAL, 0.05) ** (1 / power)
    values = np.concatenate([values, [np.nan]])
    form = choose_form(values, choice="auto" if power == 0 else "box_cox").form
    assert form.name == name
    assert form.power == pytest.approx(power, abs=0.15)
    assert abs(stats.skew(form.transform(values), nan_policy="omit")) < 0.5


def test_the_choice_does_not_depend_on_the_unit() -> None:
    for values in (LOG_NORMAL, np.where(RNG.random(400) < 0.4, 0.0, LOG_NORMAL)):
        assert choose_form(values).form.power == choose_form(1e6 * values).form.power


def test_the_likeliest_exponent_is_that_of_scipy() -> None:
    values = stats.gamma(3).rvs(300, random_state=1)
    assert choose_form(values, choice="box_cox").form.power == pytest.approx(
        stats.boxcox(values)[1], abs=0.01
    )


@given(
    values=st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=30),
    zero=st.booleans(),
    choice=st.sampled_from(["log", "box_cox"]),
)
def test_a_transform_is_undone(values: list[float], zero: bool, choice: str) -> None:
    known = np.array([*values, *([0.0] if zero else [])])
    form = choose_form(known, choice=choice).form
    np.testing.assert_allclose(form.restore(form.transform(known)), known, rtol=1e-6, atol=1e-9 * known.max())


@given(st.floats(allow_nan=False))
def test_whatever_the_network_says_is_a_finite_value(output: float) -> None:
    for choice in ("log", "box_cox"):
        form = choose_form(LOG_NORMAL, choice=choice).form
        value = form.restore(np.array([output]))
        assert np.isfinite(value).all()
        assert (value >= 0).all()


def test_a_value_that_the_transform_cannot_take_counts_as_the_smallest() -> None:
    """Validation and test rows may hold what no training row does."""
    form = choose_form(LOG_NORMAL).form
    assert form.transform(np.array([-1.0, 0.0])).tolist() == [form.low, form.low]
    assert np.isnan(form.transform(np.array([np.nan]))).all()


@pytest.mark.parametrize(
    ("choice", "values", "message"),
    [
        ("log", [-1.0, 2.0], "log needs values of 0 or more"),
        ("box_cox", [np.nan], "no value"),
        ("zero_inflated", [1.0, 2.0], "exactly 0"),
    ],
)
def test_a_form_that_does_not_go_with_the_values_is_refused(choice, values, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        choose_form(np.array(values), choice=choice)


def test_forms_are_told_in_words() -> None:
    assert describe_form(PLAIN) == "as it is"
    assert "log(value + 2)" in describe_form(TargetForm(name="log", power=0, shift=2))
    assert "value^0.5" in describe_form(TargetForm(name="box_cox", power=0.5)).replace("(value)", "value")
