"""Predictions in the user's words and units, in columns of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.forms import TargetForm
from gia_science.data.record import Record
from gia_science.data.targets import Targets
from gia_science.data.writer import output_columns
from gia_science.prediction.columns import (
    number_text,
    numeric_columns,
    prediction_cells,
    prediction_columns,
)
from gia_science.prediction.outcomes import Outcome

TARGETS = {
    "regression": Targets(names=("a", "b"), kind="regression", mean=(5.0, 0.0), scale=(2.0, 1.0)),
    "binary": Targets(names=("a",), kind="binary", labels=("inactive", "active")),
    "multilabel": Targets(names=("a", "b"), kind="multilabel", labels=("0", "1")),
    "multiclass": Targets(names=("a",), kind="multiclass", labels=("x", "y", "z")),
    "per_token": Targets(names=("ss",), kind="per_token", labels=("C", "E", "H")),
}
RECORD = Record("a.csv", 2, None, ("MKT",))


def cells(targets: Targets, output: object, *, reason: str = "", **place: object) -> tuple[str, ...]:
    outcome = Outcome(RECORD, np.asarray(output, dtype=np.float64), reason, **place)
    return prediction_cells(targets)(outcome)


@pytest.mark.parametrize(
    ("kind", "columns", "numeric"),
    [
        ("regression", "a_pred b_pred", "1 1"),
        ("binary", "a_pred a_prob_active", "0 1"),
        ("multilabel", "a_pred a_prob_1 b_pred b_prob_1", "0 1 0 1"),
        ("multiclass", "a_pred a_prob_x a_prob_y a_prob_z", "0 1 1 1"),
        ("per_token", "ss_pred", "0"),
    ],
)
def test_columns_of_each_kind_of_task(kind: str, columns: str, numeric: str) -> None:
    assert prediction_columns(TARGETS[kind]) == (*columns.split(), "status", "reason")
    assert numeric_columns(TARGETS[kind]) == (*(flag == "1" for flag in numeric.split()), False, False)


@pytest.mark.parametrize("long", ["truncate", "window"])
def test_whether_a_row_was_truncated_is_told_where_it_may_be(long: str) -> None:
    targets = TARGETS["regression"]
    assert prediction_columns(targets, long=long) == ("a_pred", "b_pred", "truncated", "status", "reason")
    assert numeric_columns(targets, long=long) == (True, True, False, False, False)
    cells = prediction_cells(targets, long=long)
    output = np.zeros(2)
    assert cells(Outcome(RECORD, output, truncated=True))[2:] == ("yes", "ok", "")
    assert cells(Outcome(RECORD, output))[2:] == ("no", "ok", "")
    assert cells(Outcome(RECORD, None, "no"))[2:] == ("", "error", "no")


@pytest.mark.parametrize(
    ("kind", "output", "expected"),
    [
        ("regression", [0.5, -1.25], ("6", "-1.25")),
        ("binary", [0.25], ("inactive", "0.25")),
        ("binary", [0.5], ("active", "0.5")),
        ("multilabel", [0.9, 0.1], ("1", "0.9", "0", "0.1")),
        ("multiclass", [0.2, 0.7, 0.1], ("y", "0.2", "0.7", "0.1")),
    ],
)
def test_cells_are_in_the_users_units_and_labels(kind: str, output: list[float], expected) -> None:
    assert cells(TARGETS[kind], output, reason="a note") == (*expected, "ok", "a note")


@pytest.mark.parametrize("kind", TARGETS)
def test_a_row_that_was_not_predicted_has_empty_cells(kind: str) -> None:
    found = prediction_cells(TARGETS[kind])(Outcome(RECORD, None, "no such letter"))
    assert found == (*[""] * (len(prediction_columns(TARGETS[kind])) - 2), "error", "no such letter")


def test_a_column_of_the_input_is_never_overwritten() -> None:
    taken = ("a", "a_pred", "status", "reason", "reason_2")
    added = output_columns(taken, prediction_columns(TARGETS["binary"]))[len(taken) :]
    assert added == ("a_pred_2", "a_prob_active", "status_2", "reason_3")


def one_hot(labels: str) -> np.ndarray:
    return np.eye(3)[["CEH".index(label) for label in labels]]


@pytest.mark.parametrize(
    ("units", "length", "labels", "text"),
    [
        ([0, 1, 2], 3, "HEC", "HEC"),
        ([0, 1, 3], 4, "HEC", "HE-C"),
        ([1, 2], 4, "HE", "-HE-"),
        ([], 2, "", "--"),
    ],
    ids=["whole", "gap", "ends left out", "nothing left"],
)
def test_there_is_one_label_for_each_letter_of_the_text(
    units: list[int], length: int, labels: str, text: str
) -> None:
    output = one_hot(labels) if labels else np.zeros((0, 3))
    found = cells(TARGETS["per_token"], output, units=np.array(units, dtype=np.int64), length=length)
    assert found == (text, "ok", "")


def test_numbers_have_the_digits_of_single_precision() -> None:
    assert number_text(1 / 3) == "0.333333"
    assert number_text(1234567.0) == "1.23457e+06"
    assert number_text(0.0) == "0"


@given(
    mean=st.floats(-1e9, 1e9), scale=st.floats(1e-6, 1e6), output=st.floats(-6, 6).map(np.float32).map(float)
)
def test_a_small_spread_far_from_zero_is_not_rounded_away(mean: float, scale: float, output: float) -> None:
    """What is lost in the text is no more than what single precision lost before."""
    targets = Targets(names=("y",), kind="regression", mean=(mean,), scale=(scale,))
    text = cells(targets, [output])[0]
    exact = output * scale + mean
    assert abs(float(text) - exact) <= 1e-5 * scale + 1e-14 * abs(exact)


def test_a_constant_target_is_written_as_it_was_measured() -> None:
    targets = Targets(names=("y",), kind="regression", mean=(0.1234567891,), scale=(0.0,))
    assert cells(targets, [3.0])[0] == "0.1234567891"


def test_a_number_that_is_none_is_told() -> None:
    targets = TARGETS["regression"]
    assert cells(targets, [math.nan, math.inf])[:2] == ("nan", "inf")


@pytest.mark.parametrize(
    ("kind", "columns", "numeric"),
    [
        ("regression", "a_pred a_std b_pred b_std", "1 1 1 1"),
        ("binary", "a_pred a_prob_active a_std", "0 1 1"),
        ("multiclass", "a_pred a_prob_x a_prob_y a_prob_z a_std", "0 1 1 1 1"),
        ("per_token", "ss_pred", "0"),
    ],
)
def test_several_members_tell_their_spread(kind: str, columns: str, numeric: str) -> None:
    assert prediction_columns(TARGETS[kind], members=2) == (*columns.split(), "status", "reason")
    flags = (*(flag == "1" for flag in numeric.split()), False, False)
    assert numeric_columns(TARGETS[kind], members=2) == flags


def test_the_spread_stands_behind_the_mean_of_the_members() -> None:
    found = prediction_cells(TARGETS["regression"], members=2)
    outcome = Outcome(RECORD, np.array([0.0, 1.0, 1.0, 1.0]))
    assert found(outcome) == ("6", "1.41421", "1", "0", "ok", "")
    found = prediction_cells(TARGETS["binary"], members=2)
    assert found(Outcome(RECORD, np.array([0.75, 0.25])))[:3] == ("active", "0.5", "0.353553")


def test_quantiles_stand_behind_the_median() -> None:
    changes = {"quantiles": (0.05, 0.5, 0.975)}
    targets = TARGETS["regression"].model_copy(update=changes)
    columns = "a_pred a_q5 a_q97.5 b_pred b_q5 b_q97.5 status reason"
    assert prediction_columns(targets) == tuple(columns.split())
    assert numeric_columns(targets) == (*(True,) * 6, False, False)
    found = prediction_cells(targets)(Outcome(RECORD, np.array([-1.0, 0.0, 1.0, 0.0, 0.5, 1.0])))
    assert found == ("5", "3", "7", "0.5", "0", "1", "ok", "")


def test_hard_labels_follow_the_shares_of_classes_where_they_are_stored() -> None:
    rare = TARGETS["binary"].model_copy(update={"priors": (0.1,)})
    assert cells(rare, [0.2])[:2] == ("active", "0.2")
    several = TARGETS["multiclass"].model_copy(update={"priors": (0.1, 0.8, 0.1)})
    assert cells(several, [0.3, 0.6, 0.1])[0] == "x"


def test_small_transformed_values_keep_their_digits() -> None:
    form = TargetForm(name="log", power=0, low=-20, high=2)
    targets = Targets(names=("y",), kind="regression", mean=(-10.0,), scale=(3.0,), forms=(form,))
    assert float(cells(targets, [-2.0])[0]) == pytest.approx(math.exp(-16), rel=1e-5)
