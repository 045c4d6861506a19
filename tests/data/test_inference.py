"""What is to be learnt follows from the cells, and from what the user says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gia_science.data.inference import find_labels, infer_kind, infer_targets
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError


@pytest.mark.parametrize(
    ("cells", "kind", "labels"),
    [
        ([["1.5", "2", "3"]], "regression", ()),
        ([["1", "0", "1"]], "binary", ("0", "1")),
        ([["1", "0", ""], ["0", "0", "1"]], "multilabel", ("0", "1")),
        ([["a", "b", "c", "a", "b", "c"]], "multiclass", ("a", "b", "c")),
    ],
)
def test_the_kind_is_recognised(cells, kind, labels) -> None:
    names = [f"t{index}" for index in range(len(cells))]
    found = infer_targets(names, cells, domain="smiles", lengths=[3] * len(cells[0]))
    assert (found.kind, found.labels, found.names) == (kind, labels, tuple(names))


@pytest.mark.parametrize(
    ("domain", "cells", "lengths", "kind"),
    [
        ("protein", ["HHC", "HC", "C"], [3, 2, 1], "per_token"),
        ("protein", ["HHC", "CCC", "HHC", "CCC"], [3, 3, 3, 3], "binary"),  # all of one length: names
        ("protein", ["123", "12", "1"], [3, 2, 1], "regression"),
        ("smiles", ["HHC", "HC", "HHC", "HC"], [3, 2, 3, 2], "binary"),
    ],
)
def test_words_as_long_as_the_sequences_are_labels_of_residues(domain, cells, lengths, kind) -> None:
    assert infer_targets(["y"], [cells], domain=domain, lengths=lengths).kind == kind


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(RecipeError, match="need protein input"):
        infer_targets(["y"], [["HH", "C"]], domain="smiles", lengths=[2, 1], kind="per_token")
    with pytest.raises(RecipeError, match="a binary task has one target: got a, b"):
        infer_targets(["a", "b"], [["1"], ["0"]], domain="smiles", lengths=[1], kind="binary")
    with pytest.raises(RecipeError, match="a single class"):
        infer_targets(["y"], [["yes", "yes"]], domain="smiles", lengths=[1, 1], kind="binary")


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ([["0", "1", "0"]], "binary"),
        ([["1.0", "2.0", "1"]], "binary"),
        ([["active", "inactive", "active"]], "binary"),
        ([["0", "1", "NA", ""]], "binary"),
        ([["0.5", "1.5", "2.5"]], "regression"),
        ([["1", "2", "3", "oops"]], "regression"),
        ([["5.2 nM", "6.1 nM", "7.0 nM"] * 3], "regression"),
        ([["\N{MINUS SIGN}3.4", "\N{MINUS SIGN}2.1", "\N{MINUS SIGN}0.2"] * 3], "regression"),
        ([["12 %", "15%", "20 %"] * 3], "regression"),
        ([[">10", "5", "<0.1", "7"] * 3], "regression"),
        ([["5,2", "6,1", "7,0"] * 3], "regression"),
        ([[f"{number} nM" for number in range(11)] * 3], "regression"),
        ([["24h", "48h", "72h"] * 3], "multiclass"),
        ([["3A", "2B", "1C"] * 3], "multiclass"),
        ([["P21/c", "Fm-3m", "4/mmm"] * 3], "multiclass"),
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


def test_labels_are_read_back_as_they_were_found() -> None:
    cells = ["1.0", "2.0", "1", "NA", " 2 "]
    labels = find_labels("binary", [cells], names=["y"])
    targets = Targets(names=("y",), kind="binary", labels=labels)
    indices = [targets.parse([cell])[0] for cell in cells]
    np.testing.assert_array_equal(indices, [0, 1, 0, np.nan, 1])
    assert [targets.labels[int(index)] for index in indices if not math.isnan(index)] == ["1", "2", "1", "2"]


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
