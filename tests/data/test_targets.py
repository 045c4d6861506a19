"""Cells of targets become numbers and come back in the user's words; what is not known is refused, never guessed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gia_science.data.forms import TargetForm, choose_form
from gia_science.data.targets import (
    Targets,
    canonical_label,
    find_labels,
    fit_scaling,
    infer_kind,
    is_missing,
    sorted_labels,
)
from gia_science.errors import RecipeError, UnreadableInputError


def regression(*, mean: float = 0.0, scale: float = 1.0) -> Targets:
    return Targets(names=("y",), kind="regression", mean=(mean,), scale=(scale,))


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ([["0", "1", "0"]], "binary"),
        ([["1.0", "2.0", "1"]], "binary"),
        ([["active", "inactive", "active"]], "binary"),
        ([["0", "1", "NA", ""]], "binary"),
        ([["0.5", "1.5", "2.5"]], "regression"),
        ([["1", "2", "3", "oops"]], "regression"),
        ([["1e3", "-2", "0"]], "regression"),
        ([["1,5", "2,5", "3,5", "1,5", "2,5", "3,5"]], "regression"),
        ([["red", "green", "blue"] * 4], "multiclass"),
        ([["0", "1"], ["no", "no"]], "multilabel"),
        ([["0", "1", "1"], ["1", "0", ""]], "multilabel"),
        ([["1", "2", "3"], ["4", "5", "6"]], "regression"),
        ([["0", "1", "0"], ["4", "5", "6"]], "regression"),
        ([["", "NA", "nan"]], "regression"),
    ],
)
def test_the_kind_of_task_follows_from_the_cells(columns: list[list[str]], kind: str) -> None:
    assert infer_kind(columns) == kind


def test_names_without_repeats_are_no_classes() -> None:
    with pytest.raises(RecipeError, match="neither numbers nor classes: got 5 distinct values in 5 rows"):
        infer_kind([["a", "b", "c", "d", "e"]])


def test_several_columns_of_class_names_are_refused() -> None:
    with pytest.raises(RecipeError, match="several targets must all be numbers, or all have two labels"):
        infer_kind([["a", "b", "c"] * 3, ["x", "y", "x"] * 3])


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (["1", "-1"], ("-1", "1")),
        (["+1", "-1"], ("-1", "1")),
        (["active", "inactive"], ("inactive", "active")),
        (["1.0", "2.0"], ("1", "2")),
        (["yes", "no"], ("no", "yes")),
        (["True", "False"], ("False", "True")),
        (["b", "a"], ("a", "b")),
        (["10", "9", "2"], ("2", "9", "10")),
        (["3", "two", "1"], ("1", "3", "two")),
    ],
)
def test_labels_stand_in_a_fixed_order_with_the_positive_one_last(
    found: list[str], ordered: tuple[str, ...]
) -> None:
    canonical = [canonical_label(label) for label in found]
    assert sorted_labels(canonical) == sorted_labels(canonical[::-1]) == ordered


def test_two_spellings_of_a_number_have_a_fixed_order() -> None:
    assert sorted_labels(["1.50", "1.5", "0"]) == ("0", "1.5", "1.50")


@given(st.text())
def test_a_canonical_label_is_its_own_canonical_label(text: str) -> None:
    assert canonical_label(canonical_label(text)) == canonical_label(text)


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "nan", "NaN", "None", "null"])
def test_cells_that_say_there_is_no_value(cell: str) -> None:
    assert is_missing(cell)
    assert math.isnan(regression().parse([cell])[0])
    assert math.isnan(Targets(names=("y",), kind="binary", labels=("0", "1")).parse([cell])[0])


@pytest.mark.parametrize("cell", ["0", "no", "-", "N", "missing"])
def test_other_cells_are_values(cell: str) -> None:
    assert not is_missing(cell)


def test_labels_are_read_back_as_they_were_found() -> None:
    cells = ["1.0", "2.0", "1", "NA", " 2 "]
    labels = find_labels("binary", [cells], names=["y"])
    targets = Targets(names=("y",), kind="binary", labels=labels)
    indices = [targets.parse([cell])[0] for cell in cells]
    np.testing.assert_array_equal(indices, [0, 1, 0, np.nan, 1])
    assert [targets.labels[int(index)] for index in indices if not math.isnan(index)] == ["1", "2", "1", "2"]


def test_labels_the_user_gave_are_recognised_however_a_number_is_written() -> None:
    targets = Targets(names=("y",), kind="binary", labels=("1.0", "2.0"))
    assert [targets.parse([cell])[0] for cell in ("1", "2.0", "1.00")] == [0, 1, 0]


def test_an_unknown_label_is_refused_with_the_labels_there_are() -> None:
    targets = Targets(names=("y",), kind="multiclass", labels=("0", "1", "2"))
    with pytest.raises(
        UnreadableInputError, match=r"column 'y': unknown label: got '3', expected 0 or 1 or 2"
    ):
        targets.parse(["3"])


def test_a_decimal_comma_is_refused_with_its_column_and_a_hint() -> None:
    with pytest.raises(UnreadableInputError, match=r"column 'y': not a finite number: got '1,5'.*a point"):
        regression().parse(["1,5"])


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999", "1_000", "12 %", ">10"])
def test_what_is_not_one_finite_number_is_refused(cell: str) -> None:
    with pytest.raises(UnreadableInputError, match="not a finite number"):
        regression().parse([cell])


def test_several_targets_are_read_each_with_its_own_gaps() -> None:
    targets = Targets(names=("a", "b"), kind="multilabel", labels=("no", "yes"))
    np.testing.assert_array_equal(targets.parse(["yes", ""]), [1, np.nan])
    assert targets.outputs == 2


def test_labels_of_residues_are_read_one_by_one() -> None:
    targets = Targets(names=("ss",), kind="per_token", labels=("C", "E", "H"))
    np.testing.assert_array_equal(targets.parse_tokens(" HE-C? "), [2, 1, np.nan, 0, np.nan])
    assert targets.outputs == 3
    with pytest.raises(UnreadableInputError, match="column 'ss': unknown label: got 'X'"):
        targets.parse_tokens("HXE")


def test_labels_of_residues_are_found_without_the_marks_of_missing_ones() -> None:
    assert find_labels("per_token", [["HHE", "C-?"]], names=["ss"]) == ("C", "E", "H")


@pytest.mark.parametrize(
    ("kind", "cells", "message"),
    [
        ("binary", ["1", "1", ""], "the target y has a single class: got 1"),
        ("binary", ["", "NA"], "single class: got no value"),
        ("binary", ["a", "b", "c"], "a binary target has two labels: got 3: a, b, c .*multiclass"),
        ("multiclass", ["a", "a"], "single class"),
    ],
)
def test_too_few_or_too_many_labels_are_refused(kind: str, cells: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        find_labels(kind, [cells], names=["y"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "regression"}, "one mean and one scale each"),
        ({"kind": "regression", "mean": (0.0,), "scale": (-1.0,)}, "greater than or equal to 0"),
        ({"kind": "regression", "mean": (math.nan,), "scale": (1.0,)}, "finite"),
        ({"kind": "regression", "mean": (0.0,), "scale": (math.inf,)}, "finite"),
        ({"kind": "binary", "labels": ("a",)}, "at least two labels"),
        ({"kind": "binary", "labels": ("a", "b", "c")}, "have two labels"),
        ({"kind": "multiclass", "labels": ("1", "1.0")}, "a label stands twice"),
        ({"kind": "per_token", "labels": ("helix", "coil")}, "single letters"),
        ({"kind": "multiclass", "labels": ("a", "b"), "names": ("x", "y")}, "has one target"),
        ({"kind": "multilabel", "labels": ("a", "b"), "names": ("x", "x")}, "named twice"),
        ({"kind": "binary", "labels": ("a", "b"), "names": ()}, "at least 1"),
        ({"kind": "binary", "labels": ("a", "b"), "units": ("m", "s")}, "one unit each"),
    ],
)
def test_contradictory_targets_cannot_be_made(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Targets.model_validate({"names": ("y",), **changes})


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forms": (TargetForm(), TargetForm())}, "one form each"),
        ({"quantiles": (0.1, 0.9)}, "0.5 among them"),
        ({"quantiles": (0.9, 0.5)}, "must rise"),
        ({"quantiles": (0.5,), "forms": (TargetForm(name="zero_inflated"),)}, "without gates"),
        ({"priors": (0.5,)}, "shares of classes"),
    ],
)
def test_forms_and_levels_must_fit_the_targets(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Targets.model_validate(
            {"names": ("y",), "kind": "regression", "mean": (0,), "scale": (1,), **changes}
        )
