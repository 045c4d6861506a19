"""From options of a command to settings of a recipe."""

from __future__ import annotations

from typing import Any


def split_settings(split: str | None, fold: int | None) -> dict[str, Any]:
    """Settings of ``--split`` and ``--fold``; raises `RecipeError` where they do not go together."""
    from gia_science.errors import RecipeError

    folds = {} if fold is None else {"split.fold": fold}
    if split == "folds":
        return {"split.method": "folds", "split.column": None, **folds}
    if split is None and folds:
        return {"split.method": "folds", **folds}
    if folds:
        raise RecipeError("--fold goes with --split folds", got=f"--split {split}")
    if split is None:
        return {}
    if split == "random":
        return {"split.method": "random", "split.column": None}
    return {"split.method": "column", "split.column": split}


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
