"""From options of a command to settings of a recipe."""

from __future__ import annotations

from typing import Any


def split_settings(split: str | None, fold: int | None) -> dict[str, Any]:
    """Settings of ``--split`` and ``--fold``; raises `RecipeError` where they do not go together.

    What a recipe says of another method is taken back.
    """
    from gia_science.data.splits.recipe import OPTIONS, default_of, method_options, read_split
    from gia_science.errors import RecipeError

    if split is None and fold is None:
        return {}
    asked = read_split("folds" if split is None else split)
    if fold is not None:
        if asked["method"] != "folds":
            raise RecipeError("--fold goes with --split folds", got=f"--split {split}")
        asked["fold"] = fold
    others = sorted(method_options() - {*OPTIONS[asked["method"]]})
    # What is asked for must not keep the column of something else; a fold alone is one of the recipe's folds.
    optional = {"column": None} if split is not None and asked["method"] in ("folds", "leave_out") else {}
    settings = {**{name: default_of(name) for name in others}, **optional, **asked}
    return {f"split.{name}": value for name, value in settings.items()}


def read_settings(items: list[str]) -> dict[str, Any]:
    """``key=value`` pairs; values are read as YAML, so that numbers, lists and null are what they look like."""
    import yaml

    from gia_science.errors import RecipeError

    settings = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            raise RecipeError("a setting needs a value", got=repr(item), expected="key=value")
        if not key.strip():
            raise RecipeError("a setting needs a name", got=repr(item), expected="key=value")
        try:
            settings[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise RecipeError("the value of a setting cannot be read", got=repr(item)) from error
    return settings
