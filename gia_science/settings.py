"""Settings that are stored or typed by users: strict, unchangeable, and refused in one plain line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from gia_science.catalog import suggestion
from gia_science.errors import GiaError, Where

ModelT = TypeVar("ModelT", bound=BaseModel)


class Strict(BaseModel):
    """Base of all settings: unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def validate(
    model: type[ModelT],
    data: Mapping[str, Any],
    *,
    error: type[GiaError],
    what: str,
    where: Where | None = None,
) -> ModelT:
    """Make settings from plain types.

    Parameters
    ----------
    model : type of pydantic model
        What to make.
    data : mapping
        Values as read from YAML or JSON.
    error : type of GiaError
        Raised when a key is unknown or missing or a value is not allowed; the message names the first one.
    what : str
        What the settings are, in the user's words: ``"the recipe"``.
    where : Where, optional
        File they came from.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as problem:
        raise _explain(problem, model, error=error, what=what, where=where) from problem


def _explain(
    problem: ValidationError, model: type[BaseModel], *, error: type[GiaError], what: str, where: Where | None
) -> GiaError:
    first = problem.errors()[0]
    location = [str(part) for part in first["loc"] if not isinstance(part, int)]
    key = ".".join(location)
    if first["type"] == "extra_forbidden":
        fields = _fields_at(model, location[:-1])
        near = suggestion(location[-1], fields)
        return error(
            f"unknown key in {what}",
            got=repr(key),
            hint=near or f"there are: {', '.join(fields)}",
            where=where,
        )
    missing = first["type"] == "missing"
    if missing and not isinstance(first["loc"][-1], int):
        return error(f"{what} lacks a key", expected=repr(key), where=where)
    message = "too few values" if missing else first["msg"].removeprefix("Value error, ")
    got = None if isinstance(first["input"], dict) else repr(first["input"])
    return error(f"{key or 'a setting'} of {what} is not valid", got=got, hint=message, where=where)


def _fields_at(model: type[BaseModel], location: list[str]) -> list[str]:
    """Keys that are allowed at a place in nested settings."""
    models = [model]
    for name in location:
        # The tag of a union stands in the location too; it is no field.
        tagged = [item for item in models if name in _tags(item)]
        models = tagged or [inner for item in models for inner in _models_at(item, name)]
    return list(dict.fromkeys(field for item in models for field in item.model_fields))


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind is not None else ()


def _models_at(model: type[BaseModel], name: str) -> list[type[BaseModel]]:
    return _models_in(model.model_fields[name].annotation) if name in model.model_fields else []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]
