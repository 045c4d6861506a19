"""The page of all settings of a recipe, from the classes that check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gia_science.tokens.domain import DOMAINS
from gia_science.training.recipe import PretrainRecipe, Recipe

HEAD = """# Settings

Every setting of a recipe by its dotted name, from the classes that check them. One is changed by `--set NAME=VALUE` on
the command line, by `settings={"NAME": value}` in Python, or in a YAML file that `--task` is given. `gia tasks show
nav17` prints a whole recipe.
"""


def fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Dotted name, default and description of every setting of a model and of those in it."""
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        if inner is not None:
            yield from fields(inner, f"{prefix}{name}.")
            continue
        default = field.get_default(call_default_factory=True)
        shown = "required" if default is PydanticUndefined else _plain(default)
        yield f"{prefix}{name}", shown, field.description or ""


def table(model: type[BaseModel]) -> str:
    """A Markdown table of the settings of a model."""
    rows = [f"| `{name}` | {default} | {_cell(text)} |" for name, default, text in fields(model)]
    return "\n".join(["| name | default | what it is |", "| --- | --- | --- |", *rows, ""])


def settings_page() -> str:
    """The page, as Markdown."""
    parts = [HEAD, "## gia train", "", table(Recipe), "## gia pretrain", "", table(PretrainRecipe)]
    for name, domain in DOMAINS.items():
        parts += [f"## tokens: {name}", "", table(domain.options)]
    return "\n".join(parts)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is Union or get_origin(annotation) is type(int | None):
        return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
    return None


def _plain(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, tuple | list):
        return ", ".join(f"`{item}`" for item in value) or "none"
    if value == "" or value == {}:
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
