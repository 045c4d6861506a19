"""A forest beside the networks: its share is chosen by rows that neither has seen, told and stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gia_science.errors import ModelFolderError, RecipeError
from gia_science.prediction.model import Model
from gia_science.training.recipe import Recipe
from gia_science.training.run import run
from tests.training.conftest import ACIDS, ALCOHOLS

Write = Callable[..., Path]
Build = Callable[..., Recipe]
CARBONS = [f"{'C' * n}{end}" for n in range(1, 31) for end in ("O", "N", "Cl", "C(=O)O")]
DESCRIBED = {"descriptors": ["rdkit2d"], "network__blend": True, "network__members": 2}


@pytest.fixture
def chains(table: Write) -> Path:
    return table(smiles=CARBONS, y=[len(text) + 3.0 * text.endswith("N") for text in CARBONS])


def test_a_network_that_has_learnt_nothing_leaves_it_to_the_forest(chains: Path, recipe: Build) -> None:
    result = run(recipe(chains, training__learning_rate=1e-9, **{**DESCRIBED, "network__members": 6}))
    targets = result.model.targets
    assert targets.blend > 0.8
    assert "rows that neither had seen" in targets.blended_with
    score = result.evaluation.to_json()["targets"][0]["model"][0]
    assert score["metric"] == "rmse"
    assert score["value"] < 4, "of a spread of about 9"
    assert targets.blended_with in result.model.saved.card


def test_a_blend_comes_back_from_its_folder(chains: Path, recipe: Build, tmp_path: Path) -> None:
    model = run(recipe(chains, **DESCRIBED)).model
    model.save(tmp_path / "model")
    asked = ["CCCO", "c1ccccc1", "CCCCCCCCN"]
    np.testing.assert_array_equal(
        Model.load(tmp_path / "model").predict(asked)["y_pred"], model.predict(asked)["y_pred"]
    )
    path = tmp_path / "model" / "config.json"
    path.write_text(path.read_text().replace('"forest"', '"forrest"'))
    with pytest.raises(ModelFolderError):
        Model.load(tmp_path / "model")


def test_the_prediction_is_the_weighted_mean_of_forest_and_networks(chains: Path, recipe: Build) -> None:
    blended = run(recipe(chains, **DESCRIBED)).model
    plain = run(recipe(chains, **{**DESCRIBED, "network__blend": False})).model
    asked = ["CCCO", "CCCCCCCCN"]
    examples = [blended.saved.featurizer.example(blended.saved.featurizer.read(text)) for text in asked]
    outputs = np.stack([example.descriptors for example in examples])
    import torch

    forest = blended.saved.network.forest
    assert forest is not None
    share = blended.targets.blend
    expected = (
        share * forest(torch.from_numpy(outputs)).numpy()[:, 0] + (1 - share) * plain.predict(asked)["y_pred"]
    )
    np.testing.assert_allclose(blended.predict(asked)["y_pred"], expected, rtol=1e-5)
    np.testing.assert_allclose(blended.predict(asked)["y_std"], plain.predict(asked)["y_std"])


def test_classes_are_blended_by_their_probabilities(table: Write, recipe: Build) -> None:
    path = table(smiles=CARBONS, y=["long" if len(text) > 14 else "short" for text in CARBONS])
    model = run(recipe(path, **DESCRIBED)).model
    assert model.targets.blend > 0
    found = model.predict(["C" * 25 + "O", "CO"])
    assert found["y_pred"].tolist() == ["long", "short"]
    # Two labels that are asked for as classes like any others have a probability each.
    model = run(recipe(path, target__kind="multiclass", **DESCRIBED)).model
    assert model.targets.blend > 0
    assert model.predict(["C" * 25 + "O", "CO"])["y_pred"].tolist() == ["long", "short"]
    three = table(smiles=CARBONS, y=["abc"[min(len(text) // 12, 2)] for text in CARBONS])
    model = run(recipe(three, **DESCRIBED)).model
    probabilities = (
        model.predict(["CO", "C" * 15 + "N", "C" * 28 + "N"]).filter(like="y_").filter(regex="_(a|b|c)")
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)


def test_few_rows_share_half_and_half(table: Write, recipe: Build) -> None:
    smiles = ALCOHOLS + ACIDS
    model = run(recipe(table(smiles=smiles, y=[float(len(text)) for text in smiles]), **DESCRIBED)).model
    assert model.targets.blend == 0.5
    assert "too few rows" in model.targets.blended_with


def test_networks_of_compositions_leave_statistics_to_the_trees(table: Write, recipe: Build) -> None:
    """But they read the balance of charges, the user's own columns, and descriptors that a recipe names."""
    formulas = [f"{metal}{n}O{m}" for metal in ("Fe", "Ti", "Mg") for n in range(1, 6) for m in range(1, 6)]
    path = table(formula=formulas, heat=list(range(75)), y=[float(len(text)) for text in formulas])

    def tokens(**changes: object) -> dict[str, int]:
        made = run(recipe(path, data__input="formula", data__columns=["heat"], **changes)).model
        return {block.name: block.tokens for block in made.saved.network.config.blocks}

    unnamed = {"descriptors": None, "network__blend": True, "network__members": 2}
    read = tokens(**unnamed)
    assert read.pop("charge_balance") > 0
    assert read == {"element_stats": 0, "element_fractions": 0, "columns": 1}
    assert tokens(**unnamed, network__descriptors=["element_stats"])["element_stats"] > 0
    assert tokens(**unnamed | {"descriptors": ["element_stats"]})["element_stats"] > 0
    without_trees = {**unnamed, "network__blend": False}
    assert tokens(**without_trees).keys() == {"charge_balance", "columns"}, "the others are not computed"
    assert tokens(**without_trees, network__descriptors=[]) == {"columns": 1}
    with pytest.raises(RecipeError, match="element_stats"):
        tokens(**unnamed | {"descriptors": ["charge_balance"]}, network__descriptors=["element_stats"])


def test_what_cannot_be_blended_is_refused(chains: Path, recipe: Build) -> None:
    with pytest.raises(RecipeError, match="descriptors"):
        run(recipe(chains, descriptors=[], network__blend=True))
    with pytest.raises(RecipeError, match="quantiles"):
        run(recipe(chains, target__loss="quantile", **DESCRIBED))
