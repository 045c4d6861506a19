"""What is to be learnt follows from the cells, and from what the user says."""

from __future__ import annotations

import pytest

from gia_science.data.inference import infer_targets
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
