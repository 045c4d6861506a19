"""A recipe is strict, says what is wrong with it, and reads back as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gia_science import catalog
from gia_science.errors import RecipeError
from gia_science.training.recipe import Recipe


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_every_shipped_task_is_a_valid_recipe_of_its_own_name(name: str) -> None:
    recipe = Recipe.load(catalog.find("tasks", name))
    assert recipe.name == name
    assert recipe.data.dataset in catalog.names("datasets")


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_a_written_recipe_reads_back_equal(name: str, tmp_path: Path) -> None:
    recipe = Recipe.load(catalog.find("tasks", name))
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe.to_yaml())
    assert Recipe.load(path) == recipe


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target.names": ["y"], "training.epoch": 3}, "'training.epoch' (did you mean 'epochs'?)"),
        ({"target.names": ["y"], "training.epochs": 0}, "training.epochs of the recipe is not valid: got 0"),
        ({"target.names": []}, "target.names of the recipe is not valid"),
        ({"target.names": ["y", "y"]}, "a target is named twice"),
        ({"target.names": ["y"], "target.units": ["eV", "m"]}, "2 given for 1 targets"),
        ({"target.names": ["y"], "split.method": "folds", "split.fold": 5}, "with 5 folds it is at most 4"),
        (
            {"target.names": ["y"], "split.fractions": [0.5, 0.1, 0.1]},
            "fractions must be positive and sum to 1",
        ),
        ({"target.names": ["y"], "split.method": "column"}, "method: column needs column"),
        (
            {"target.names": ["y"], "split.column": "part"},
            "column goes with method: folds, column, leave_out",
        ),
        (
            {"target.names": ["y"], "data.file": "a", "data.dataset": "b"},
            "name a dataset or a file, not both",
        ),
        ({"target.names": ["y"], "baselines": ["forest"]}, "no such baseline: got 'forest'"),
        ({"target.names": ["y"], "baseline": True}, "did you mean 'baselines'?"),
        ({"target.names": ["y"], "name": "../evil"}, "name of the recipe is not valid"),
        ({"target.names": ["y"], "network.attention": {"kind": "gni"}}, "network.attention.kind"),
        ({"target.names": ["y"], "name.inner": 1}, "Input should be a valid string"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.build(settings)
    assert message in str(caught.value)
