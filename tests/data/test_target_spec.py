"""Cells of targets become numbers; what is not known is refused, never guessed, and so are contradictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from gia_science.data.cells import is_missing
from gia_science.data.forms import TargetForm
from gia_science.data.target_spec import TargetSpec
from gia_science.errors import UnreadableInputError

NUMBERS = TargetSpec(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "nan", "NaN", "None", "null"])
def test_cells_that_say_there_is_no_value(cell: str) -> None:
    assert is_missing(cell)
    assert math.isnan(NUMBERS.parse([cell])[0])
    assert math.isnan(TargetSpec(names=("y",), kind="binary", labels=("0", "1")).parse([cell])[0])


def test_labels_the_user_gave_are_recognised_however_a_number_is_written() -> None:
    targets = TargetSpec(names=("y",), kind="binary", labels=("1.0", "2.0"))
    assert [targets.parse([cell])[0] for cell in ("1", "2.0", "1.00")] == [0, 1, 0]


def test_an_unknown_label_is_refused_with_the_labels_there_are() -> None:
    targets = TargetSpec(names=("y",), kind="multiclass", labels=("0", "1", "2"))
    with pytest.raises(
        UnreadableInputError, match=r"column 'y': unknown label: got '3', expected 0 or 1 or 2"
    ):
        targets.parse(["3"])


def test_a_decimal_comma_is_refused_with_its_column_and_a_hint() -> None:
    with pytest.raises(UnreadableInputError, match=r"column 'y': not a finite number: got '1,5'.*a point"):
        NUMBERS.parse(["1,5"])


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999", "1_000", "12 %", ">10"])
def test_what_is_not_one_finite_number_is_refused(cell: str) -> None:
    with pytest.raises(UnreadableInputError, match="not a finite number"):
        NUMBERS.parse([cell])


def test_several_targets_are_read_each_with_its_own_gaps() -> None:
    targets = TargetSpec(names=("a", "b"), kind="multilabel", labels=("no", "yes"))
    np.testing.assert_array_equal(targets.parse(["yes", ""]), [1, np.nan])
    assert targets.outputs == 2


def test_labels_of_residues_are_read_one_by_one() -> None:
    targets = TargetSpec(names=("ss",), kind="per_token", labels=("C", "E", "H"))
    np.testing.assert_array_equal(targets.parse_tokens(" HE-C? "), [2, 1, np.nan, 0, np.nan])
    assert targets.outputs == 3
    with pytest.raises(UnreadableInputError, match="column 'ss': unknown label: got 'X'"):
        targets.parse_tokens("HXE")


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
        TargetSpec.model_validate({"names": ("y",), **changes})


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
        TargetSpec.model_validate(
            {"names": ("y",), "kind": "regression", "mean": (0,), "scale": (1,), **changes}
        )
