"""A whole run: it learns, it repeats to the bit, it leaves the random state alone, it keeps what it promised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.model.heads import PropertyNetwork
from gia_science.model.losses import SMOOTH
from gia_science.training.encode import encode
from gia_science.training.members import SEEDS_APART, WORTH_PROCESSES, make_member
from gia_science.training.network_recipe import ALIGNED, REGULARISATION
from gia_science.training.prepare import prepare
from gia_science.training.recipe import Recipe
from gia_science.training.run import run
from tests.training.conftest import ACIDS, ALCOHOLS

Write = Callable[..., Path]
Build = Callable[..., Recipe]


@pytest.fixture
def lengths(table: Write) -> Path:
    smiles = ALCOHOLS + ACIDS
    return table(id=[f"m{i}" for i in range(20)], smiles=smiles, y=[float(len(text)) for text in smiles])


def test_twenty_rows_can_be_learnt_by_heart(lengths: Path, recipe: Build) -> None:
    result = run(
        recipe(
            lengths,
            training__epochs=150,
            training__learning_rate=1e-2,
            training__patience=1.0,
            network__dropout=0.0,
            network__context_dropout=0.0,
        )
    )
    assert result.model.metrics["members"][0]["history"][-1]["train_loss"] < 0.01, "of a variance of 1"


def test_the_same_recipe_twice_gives_the_same_bits(lengths: Path, recipe: Build) -> None:
    first, second = (run(recipe(lengths, training__respell=0.5)).model.saved for _ in range(2))
    for name, weight in first.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[name]), name
    assert first.metrics == second.metrics
    other = run(recipe(lengths, seed=1)).model.saved.network.state_dict()
    assert any(not torch.equal(weight, other[name]) for name, weight in first.network.state_dict().items())


def test_training_leaves_the_random_state_of_the_process_alone(lengths: Path, recipe: Build) -> None:
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 - the global state is what is looked at
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    run(recipe(lengths))
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


def test_the_stored_recipe_reproduces_the_model(lengths: Path, recipe: Build, tmp_path: Path) -> None:
    model = run(recipe(lengths)).model
    model.save(tmp_path / "model")
    again = run(Recipe.load(tmp_path / "model" / "recipe.yaml")).model
    for name, weight in model.saved.network.state_dict().items():
        assert torch.equal(weight, again.saved.network.state_dict()[name]), name


def test_the_kept_weights_are_those_of_the_best_epoch(lengths: Path, recipe: Build) -> None:
    """The validation loss of the saved network is the lowest of the curve, not the last."""
    result = run(recipe(lengths, training__epochs=30, training__learning_rate=3e-2))
    model, rows = result.model, result.prepared
    chosen = [rows.rows[index] for index in rows.split.validation]
    predicted = model.predict([row.reading.identity for row in chosen])["y_pred"].to_numpy()
    truth = np.array([row.target[0] for row in chosen])
    error = np.abs(predicted - truth) / model.targets.scale[0]
    loss = np.mean(np.where(error < SMOOTH, error**2 / (2 * SMOOTH), error - SMOOTH / 2))
    member = model.metrics["members"][0]
    curve = [point["val_loss"] for point in member["history"]]
    assert loss == pytest.approx(min(curve), rel=1e-3)
    assert curve[member["best_epoch"]] == min(curve)


def test_a_member_is_the_network_that_its_seed_gives_alone(lengths: Path, recipe: Build) -> None:
    both = run(recipe(lengths, network__members=2, network__rotate=False)).model
    for number, member in enumerate(both.saved.network.members):
        alone = run(recipe(lengths, seed=SEEDS_APART * number)).model.saved.network.members[0]
        for name, weight in alone.state_dict().items():
            assert torch.equal(weight, member.state_dict()[name]), (number, name)
    assert len(both.metrics["members"]) == 2
    assert both.embed(["CCO"]).shape == (1, 32)


def test_members_in_other_processes_are_the_same_networks(
    lengths: Path, recipe: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = recipe(lengths, network__members=2)
    serial = run(settings).model.saved
    monkeypatch.setattr("gia_science.training.members.WORTH_PROCESSES", 0)
    parallel = run(settings, jobs=2).model.saved
    for name, weight in serial.network.state_dict().items():
        torch.testing.assert_close(weight, parallel.network.state_dict()[name], msg=name)
    assert [member["best_epoch"] for member in serial.metrics["members"]] == [
        member["best_epoch"] for member in parallel.metrics["members"]
    ]


def test_many_steps_are_worth_processes_however_few_their_tokens(table: Write, recipe: Build) -> None:
    """A step takes some time for itself: 1,500 of formulas are a minute's work, a single epoch is none."""
    path = table(formula=[f"Fe{n}O{m}" for n in range(1, 9) for m in range(1, 9)], y=[*range(64)])

    def work(**length: int) -> int:
        prepared = prepare(recipe(path, data__input="formula", network__members=2, **length))
        rows = prepared.member_rows[0]
        return 2 * make_member(prepared, encode(prepared), rows, build=PropertyNetwork, number=0).work

    assert work(training__epochs=1, training__min_steps=1) < WORTH_PROCESSES
    assert work(training__epochs=60, training__min_steps=1500) > WORTH_PROCESSES


def test_members_share_training_and_validation_rows_but_no_test_row(lengths: Path, recipe: Build) -> None:
    """What scaling and all members have learnt from is everything but the test rows; without these, nobody rotates."""
    rotated = run(recipe(lengths, network__members=2)).prepared
    split = rotated.split
    assert sorted(rotated.learnt) == sorted([*split.train, *split.validation])
    alone = run(recipe(lengths, network__members=2, split__fractions=[0.8, 0.2, 0.0])).prepared
    assert not alone.rotated
    assert list(alone.learnt) == list(alone.split.train)


def test_scaling_is_learnt_from_training_rows_only(lengths: Path, recipe: Build) -> None:
    result = run(recipe(lengths))
    values = [result.prepared.rows[index].target[0] for index in result.prepared.split.train]
    assert result.model.targets.mean == (pytest.approx(np.mean(values)),)
    assert result.model.targets.scale == (pytest.approx(np.std(values)),)


def test_a_constant_target_is_predicted_as_that_constant(table: Write, recipe: Build) -> None:
    path = table(smiles=ALCOHOLS, y=[1.5] * 10)
    result = run(recipe(path))
    assert result.model.predict(["c1ccccc1", "CC"])["y_pred"].tolist() == [1.5, 1.5]
    assert result.evaluation.score("r2").value is None
    assert np.isfinite([point["train_loss"] for point in result.model.metrics["members"][0]["history"]]).all()


def test_pna_learns_its_delta_from_the_training_rows(lengths: Path, recipe: Build) -> None:
    result = run(recipe(lengths, network__attention={"kind": "pna", "heads": 2}))
    streams = [
        len(result.model.saved.featurizer.example(result.prepared.rows[index].reading))
        for index in result.prepared.split.train
    ]
    config = result.model.saved.network.config
    seen = np.array(streams) + sum(block.tokens for block in config.blocks)
    # Each token counts, and each sees all tokens of its row.
    assert config.attention.delta == pytest.approx(np.average(np.log1p(seen), weights=seen))


def test_small_tables_get_more_epochs(lengths: Path, recipe: Build) -> None:
    few = run(recipe(lengths, training__epochs=2, training__min_steps=1)).model
    many = run(
        recipe(
            lengths, training__epochs=2, training__min_steps=9, training__batch_rows=8, training__patience=1
        )
    ).model
    assert len(few.metrics["members"][0]["history"]) == 2
    assert len(many.metrics["members"][0]["history"]) == 5, (
        "16 rows are 2 steps an epoch: 5 epochs for 9 steps"
    )


def test_the_split_is_stored_with_lines_ids_and_a_hash(lengths: Path, recipe: Build) -> None:
    split = run(recipe(lengths)).model.saved.split
    lines = [line for part in split["lines"].values() for line in part]
    assert sorted(lines) == list(range(2, 22))
    assert {name for part in split["ids"].values() for name in part} == {f"m{i}" for i in range(20)}
    assert len(split["sha256"]) == 64


def test_without_test_rows_the_report_says_that_scores_flatter(table: Write, recipe: Build) -> None:
    path = table(smiles=ALCOHOLS, y=list(range(10)))
    result = run(recipe(path, split__fractions=[0.7, 0.3, 0.0]))
    assert any("flatter" in note for note in result.evaluation.notes)
    assert "validation" in result.model.metrics
    assert "flatter" in result.model.saved.card


def test_the_report_has_a_figure_and_the_evaluated_rows(lengths: Path, recipe: Build, tmp_path: Path) -> None:
    run(recipe(lengths, baselines=["linear", "constant"])).model.save(tmp_path / "model")
    assert (tmp_path / "model" / "report.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "model" / "predictions.csv").read_text().splitlines()
    assert lines[0] == "line,id,identity,y,y_pred"
    assert len(lines) == 3
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| target | metric | model [95 % interval] | constant | linear |" in card
    assert "- linear: ridge or logistic regression on Morgan counts and RDKit 2D descriptors" in card
    assert (
        "- isotopes: each is read as its element, deuterium as any other hydrogen (`isotopes: fold`)" in card
    )


def test_labels_of_residues_are_for_proteins_only(table: Write, recipe: Build) -> None:
    """In a SMILES they would count characters, while the network counts atoms."""
    path = table(smiles=ALCOHOLS, y=["a" * len(text) for text in ALCOHOLS])
    with pytest.raises(RecipeError, match="need protein input"):
        run(recipe(path, target__kind="per_token"))


def test_sequences_of_one_length_have_their_places_told_apart(table: Write, recipe: Build) -> None:
    """Variants of one protein need that; sequences of several lengths have no common places."""
    pool = np.random.default_rng(0).choice(list("ACDEFGHIKL"), size=(60, 8))
    variants = ["".join(residues) for residues in pool]
    y = [float(index % 7) for index in range(len(variants))]
    aligned = prepare(recipe(table(sequence=variants, y=y))).recipe
    assert aligned.tokens == {"sites": 8}
    assert aligned.network.token_dropout == ALIGNED["token_dropout"]
    ragged = prepare(recipe(table(sequence=[*variants[:-1], "MKTA"], y=y))).recipe
    assert not {"sites", "template", "reference"} & set(ragged.tokens)
    assert ragged.network.token_dropout == REGULARISATION["protein"]["token_dropout"]
    assert prepare(recipe(table(sequence=variants, y=y), tokens__sites=0)).recipe.tokens == {"sites": 0}


def test_of_variants_with_few_mutations_each_only_these_are_read(table: Write, recipe: Build) -> None:
    """Also where some end early, as with a stop codon; the wild type itself has nothing to be read."""
    wild = "MKTAYLLACDEFGHIK"
    variants = [wild[:place] + residue + wild[place + 1 :] for place in range(1, 16) for residue in "WYVR"]
    sequences = [*variants, wild, wild[:9], variants[0][:12] + "*"]
    y = [float(index % 7) for index in range(len(sequences))]
    prepared = prepare(recipe(table(sequence=sequences, y=y)))
    assert prepared.recipe.tokens == {"reference": wild}
    assert prepared.recipe.network.token_dropout == ALIGNED["token_dropout"]
    assert sorted({row.reading.length for row in prepared.rows}) == [0, 1]
    without = prepare(recipe(table(sequence=sequences, y=y), tokens__sites=0)).recipe
    assert without.tokens == {"sites": 0}
    blanks = table(sequence=[*sequences, *[""] * 20], y=[*y, *[1.0] * 20])
    blank = prepare(recipe(blanks, data__bad_rows="drop")).recipe
    assert blank.tokens == {"reference": wild}, "cells with nothing in them say nothing of lengths"
    model = run(recipe(table(sequence=sequences, y=y), training__epochs=1, training__min_steps=1)).model
    found = model.predict([wild, "M" * 16, wild[:5]])
    assert np.isfinite(found["y_pred"]).all()
    assert "only the residues that differ from the reference are read" in model.saved.card
    assert [len(vectors) for vectors in model.embed([wild, variants[0]], tokens=True)] == [0, 1]
    with pytest.raises(UnreadableInputError, match="no graph"):
        model.graph(wild)


def test_of_variants_that_differ_at_few_places_only_these_are_read(table: Write, recipe: Build) -> None:
    variants = ["MKT" + residue + "LLA" + other for residue in "ACDEFGHI" for other in "KLMNPQR"]
    y = [float(index % 7) for index in range(len(variants))]
    prepared = prepare(recipe(table(sequence=["mkt ALLAK", *variants[1:]], y=y)))
    assert prepared.recipe.tokens == {"template": "MKT?LLA?"}
    assert prepared.recipe.network.token_dropout == ALIGNED["token_dropout"]
    assert {row.reading.length for row in prepared.rows} == {2}
    assert prepare(recipe(table(sequence=variants, y=y), tokens__sites=8)).recipe.tokens == {"sites": 8}
    labels = ["h" * len(variant) for variant in variants[:-1]] + ["ch" * 4]
    by_residue = recipe(table(sequence=variants, y=labels), target__kind="per_token")
    assert prepare(by_residue).recipe.tokens == {"sites": 8}


def test_trees_beside_networks_of_variants_need_columns_or_a_wish(table: Write, recipe: Build) -> None:
    """The descriptors of a sequence say nothing of places; the user's columns may say anything."""
    variants = ["MKT" + residue + "LLA" + other for residue in "ACDEFGHI" for other in "KLMNPQR"]
    y = [float(index % 7) for index in range(len(variants))]
    path = table(sequence=variants, y=y, ph=[value + 1 for value in y])

    def blended(**options: object) -> bool | None:
        return prepare(recipe(path, **options)).recipe.network.blend

    named = {"descriptors": ["protparam"]}
    assert not blended(**named)
    assert blended(**named, tokens__sites=8)
    assert blended(**named, network__blend=True)
    assert blended(**named, data__columns=["ph"])
