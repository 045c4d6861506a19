"""A recipe is read from YAML and nothing else, and changes only where a dotted key says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from gia_science.errors import RecipeError
from gia_science.training.recipe import Recipe


@pytest.mark.parametrize("text", ["- a\n- b", "a: [", "\x00", ""])
def test_a_file_that_is_no_recipe_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=r"recipe\.yaml"):
        Recipe.load(path)


def test_a_recipe_executes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("!!python/object/apply:os.system ['touch owned']")
    with pytest.raises(RecipeError):
        Recipe.load(path)


def test_settings_change_only_what_they_name() -> None:
    recipe = Recipe.build({"target.names": ["y"]})
    changed = recipe.updated({"training.epochs": 7})
    assert changed.training.epochs == 7
    assert changed.updated({"training.epochs": recipe.training.epochs}) == recipe
