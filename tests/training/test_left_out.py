"""A network is judged beside trees as it was at an epoch that the rows left out have not chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gia_science.model.ensemble import PropertyEnsemble
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.training.blend import fit_blend
from gia_science.training.encode import encode
from gia_science.training.fit import Fitted
from gia_science.training.left_out import by_others
from gia_science.training.members import fit_members
from gia_science.training.prepare import prepare
from gia_science.training.recipe import Recipe

Write = Callable[..., Path]
Build = Callable[..., Recipe]
CARBONS = [f"{'C' * n}{end}" for n in range(1, 31) for end in ("O", "N", "Cl", "C(=O)O")]
DESCRIBED = {"descriptors": ["rdkit2d"], "network__blend": True, "network__members": 3, "training__epochs": 4}


def test_a_network_speaks_as_it_was_at_the_best_epochs_of_the_others() -> None:
    outputs = [np.full((2, 1), float(epoch)) for epoch in range(6)]
    assert by_others(outputs, [9, 1, 5, 3], number=0).tolist() == [[3.0], [3.0]]
    assert by_others(outputs, [9, 1, 5, 3], number=3).tolist() == [[11 / 3]] * 2, (
        "the last epoch is the fifth"
    )
    assert by_others(outputs, [4], number=0).tolist() == [[4.0], [4.0]]


def test_every_epoch_is_kept_and_the_best_is_the_network(table: Write, recipe: Build) -> None:
    prepared = prepare(recipe(table(smiles=CARBONS, y=[float(len(text)) for text in CARBONS]), **DESCRIBED))
    encoded = encode(prepared)
    members = fit_members(prepared, encoded)
    for member, rows in zip(members, prepared.member_rows, strict=True):
        assert len(member.left_out) == len(member.history)
        examples = [encoded.examples[row] for row in rows.validation]
        alone = predict_examples(PropertyEnsemble.of([member.network]), examples, kind="regression")
        np.testing.assert_array_equal(member.left_out[member.best_epoch], np.stack(all_computed(alone)))


def test_many_rows_or_no_trees_keep_nothing(
    table: Write, recipe: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(smiles=CARBONS, y=[float(len(text)) for text in CARBONS])
    plain = prepare(recipe(path, **{**DESCRIBED, "network__blend": False}))
    assert not any(member.left_out for member in fit_members(plain, encode(plain)))
    monkeypatch.setattr("gia_science.training.members.FEW_ROWS", 10)
    many = prepare(recipe(path, **DESCRIBED))
    assert not any(member.left_out for member in fit_members(many, encode(many)))


def test_rows_cannot_flatter_the_network_that_they_have_stopped(table: Write, recipe: Build) -> None:
    """Outputs that are perfect at each network's own best epoch, and at no other, get no share by it."""
    prepared = prepare(recipe(table(smiles=CARBONS, y=[float(len(text)) for text in CARBONS]), **DESCRIBED))
    encoded = encode(prepared)
    members = fit_members(prepared, encoded)
    flattered = []
    for number, (member, rows) in enumerate(zip(members, prepared.member_rows, strict=True)):
        wrong = np.full((len(rows.validation), 1), 50.0)
        truth = np.stack([encoded.targets.encode(prepared.rows[row].target) for row in rows.validation])
        outputs = [wrong] * 3
        outputs[number] = truth.astype(np.float64)
        flattered.append(Fitted(member.network, number, member.history, left_out=tuple(outputs)))
    found = fit_blend(prepared, encoded, flattered)
    assert found is not None
    assert found.share == 1


def test_the_share_of_trees_is_chosen_by_the_error_that_is_asked_for(table: Write, recipe: Build) -> None:
    """Networks that are right but for one row, far off: better by absolute errors, and worse by squared ones."""
    noise = np.random.default_rng(0).normal(size=len(CARBONS))
    path = table(smiles=CARBONS, y=noise.tolist())

    def share(loss: str) -> float:
        prepared = prepare(recipe(path, target__loss=loss, **{**DESCRIBED, "training__epochs": 1}))
        encoded = encode(prepared)
        members = []
        for member, rows in zip(fit_members(prepared, encoded), prepared.member_rows, strict=True):
            said = np.stack([encoded.targets.encode(prepared.rows[row].target) for row in rows.validation])
            if not members:
                said[0] += 15.0
            members.append(Fitted(member.network, 0, member.history, left_out=(said.astype(np.float64),)))
        found = fit_blend(prepared, encoded, members)
        return 0.0 if found is None else found.share

    assert share("absolute") < 0.1
    assert share("squared") > 0.5
