"""What is learnt of targets comes from training rows, is told, stored in the folder, and undone in the output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.prediction.model import Model
from gia_science.training.encode import encode
from gia_science.training.prepare import prepare
from gia_science.training.recipe import Recipe
from gia_science.training.run import run

Write = Callable[..., Path]
Build = Callable[..., Recipe]
SMILES = [
    f"{'C' * n}{end}"
    for n in range(1, 21)
    for end in ("O", "C(=O)O", "N")
]  # fmt: skip
ZEROS = [0.0 if text.endswith("N") else 1.0 + len(text) for text in SMILES]
SKEWED = [float(np.exp(len(text) / 2)) for text in SMILES]


def learnt(recipe: Recipe) -> Targets:
    return encode(prepare(recipe)).targets


def test_the_form_is_chosen_by_training_rows_and_told(
    table: Write, recipe: Build, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="gia_science")
    built = recipe(table(smiles=SMILES, y=ZEROS))
    targets = learnt(built)
    assert [form.name for form in targets.forms] == ["zero_inflated"]
    assert "target y: zero-inflated" in caplog.text
    prepared = prepare(built)
    known = np.array([prepared.rows[index].target[0] for index in prepared.split.train])
    assert targets.mean[0] == pytest.approx(known[known > 0].mean())
    assert targets.scale[0] == pytest.approx(known[known > 0].std())


def test_training_rows_alone_have_a_say(table: Write, recipe: Build) -> None:
    """Zeros that are held out do not make a gate."""
    parts = [
        "test" if text.endswith("N") else "validation" if n % 8 == 0 else "train"
        for n, text in enumerate(SMILES)
    ]
    path = table(smiles=SMILES, y=ZEROS, part=parts)
    assert learnt(recipe(path, split__column="part", split__method="column")).gates == ()


@pytest.mark.parametrize(
    ("form", "name"), [("auto", "log"), ("plain", "plain"), ("log", "log"), ("box_cox", "log")]
)
def test_a_recipe_can_name_the_form(table: Write, recipe: Build, form: str, name: str) -> None:
    targets = learnt(recipe(table(smiles=SMILES, y=SKEWED), target__form=form))
    assert targets.forms[0].name == name


def test_a_form_that_does_not_fit_is_refused(table: Write, recipe: Build) -> None:
    path = table(smiles=SMILES, y=[-value for value in SKEWED])
    with pytest.raises(RecipeError, match=r"target\.form: log"):
        learnt(recipe(path, target__form="log"))
    with pytest.raises(RecipeError, match="does not go with"):
        recipe(path, target__form="zero_inflated", target__loss="quantile")
    with pytest.raises(RecipeError, match="quantiles go with"):
        recipe(path, target__quantiles=[0.5])
    with pytest.raises(RecipeError, match=r"0\.5 among them"):
        recipe(path, target__loss="quantile", target__quantiles=[0.1, 0.9])


@pytest.mark.parametrize(
    "settings",
    [
        {"values": ZEROS},
        {"values": ZEROS, "target__loss": "absolute"},
        {"values": SKEWED},
        {"values": SKEWED, "target__loss": "quantile", "target__quantiles": [0.25, 0.5]},
    ],
    ids=["zeros", "absolute", "skewed", "quantiles"],
)
def test_a_model_with_a_form_goes_through_its_folder(
    table: Write, recipe: Build, tmp_path: Path, settings: dict
) -> None:
    changes = dict(settings)
    path = table(smiles=SMILES, y=changes.pop("values"))
    model = run(recipe(path, network__members=2, **changes)).model
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.targets == model.targets
    found = loaded.predict(SMILES)
    assert found.equals(model.predict(SMILES))
    numbers = found.drop(columns=["status", "reason"]).select_dtypes("number")
    assert next(iter(numbers)) == "y_pred"
    assert list(numbers)[-1] == "y_std"
    assert ("y_q25" in numbers) == bool(model.targets.quantiles)
    assert np.isfinite(numbers.to_numpy()).all()
    assert (numbers["y_pred"] >= 0).all()
    assert ("target.form" in model.saved.card) == (model.targets.forms[0].name != "plain")


def test_zeros_can_be_learnt(table: Write, recipe: Build) -> None:
    built = recipe(
        table(smiles=SMILES, y=ZEROS),
        target__loss="absolute",
        training__epochs=60,
        training__learning_rate=1e-2,
        training__patience=1.0,
    )
    found = run(built).model.predict(SMILES)["y_pred"].to_numpy()
    assert np.mean((found == 0) == (np.array(ZEROS) == 0)) > 0.9


def test_several_targets_have_forms_of_their_own(table: Write, recipe: Build) -> None:
    missing = [value if place % 3 else "" for place, value in enumerate(SKEWED)]
    path = table(smiles=SMILES, y=ZEROS, z=missing, w=[float(len(text)) for text in SMILES])
    model = run(recipe(path, target__names=["y", "z", "w"])).model
    assert [form.name for form in model.targets.forms] == ["zero_inflated", "log", "plain"]
    assert model.saved.network.config.gates == (0,)
    assert np.isfinite(model.predict(SMILES)[["y_pred", "z_pred", "w_pred"]].to_numpy()).all()


@pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
def test_labels_for_balanced_accuracy(table: Write, recipe: Build, labels: tuple[str, ...]) -> None:
    """Probabilities stay as they are, and so does what is scored by them."""
    cells = [labels[-1] if n % 6 == 0 else labels[n % (len(labels) - 1)] for n in range(len(SMILES))]
    path = table(smiles=SMILES, y=cells)
    plain, balanced = (run(recipe(path, target__decision=how)) for how in ("likeliest", "balanced"))
    priors = balanced.model.targets.priors
    assert len(priors) == balanced.model.targets.outputs
    assert priors[-1] == pytest.approx(1 / 6, abs=0.1)
    first, second = (result.model.predict(SMILES) for result in (plain, balanced))
    chances = [name for name in first if "_prob_" in name]
    assert first[chances].equals(second[chances])
    shares = np.array(priors) if len(labels) > 2 else np.array([1 - priors[0], priors[0]])
    chance = second[chances].to_numpy()
    chance = chance if len(labels) > 2 else np.concatenate([1 - chance, chance], axis=1)
    assert [labels[place] for place in (chance / shares).argmax(axis=1)] == list(second["y_pred"])
    assert "balanced accuracy" in balanced.model.saved.card
    if len(labels) == 2:
        assert balanced.evaluation.score("roc_auc") == plain.evaluation.score("roc_auc")
