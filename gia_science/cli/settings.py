"""From options of a command to settings of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gia_science.cli.output import asked_baselines

SETTINGS = {
    "data": "data.file",
    "input": "data.input",
    "domain": "data.domain",
    "column": "data.columns",
    "bad_rows": "data.bad_rows",
    "duplicates": "data.duplicates",
    "header": "data.header",
    "format": "data.format",
    "target": "target.names",
    "kind": "target.kind",
    "start": "pretrained.folder",
    "base": "backbone.pretrained",
    "members": "network.members",
    "blend": "network.blend",
    "time": "training.time",
    "objective": "objective",
    "seed": "seed",
}
"""Setting of a recipe that an option stands for, by the name of its parameter."""


def option_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that the options of a command ask for: those of `SETTINGS` that are not None, and the baselines.

    Parameters
    ----------
    options : mapping
        All options by the names of their parameters, as ``locals()`` has them in a command.
    """
    given = {setting: options[name] for name, setting in SETTINGS.items() if options.get(name) is not None}
    baselines = asked_baselines(options.get("baseline"), none=options.get("no_baseline", False))
    return given if baselines is None else {**given, "baselines": baselines}


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
