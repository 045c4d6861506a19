"""Settings refuse what they do not know, in one line that names the key and the nearest right one."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field

from gia_science.errors import RecipeError, Where
from gia_science.settings import Strict, validate


class Left(Strict):
    kind: Literal["left"]
    size: int = 1


class Right(Strict):
    kind: Literal["right"]
    width: int = 1


class Whole(Strict):
    count: int = Field(ge=1)
    parts: tuple[Left, ...] = ()
    side: Annotated[Left | Right, Field(discriminator="kind")] | None = None


def refused(data: dict[str, object]) -> str:
    with pytest.raises(RecipeError) as caught:
        validate(Whole, data, error=RecipeError, what="the recipe", where=Where(file="r.yaml"))
    return str(caught.value)


def test_valid_settings_pass() -> None:
    assert validate(Whole, {"count": 2}, error=RecipeError, what="the recipe").count == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"cuont": 1, "count": 1}, "r.yaml: unknown key in the recipe: got 'cuont' (did you mean 'count'?)"),
        ({}, "r.yaml: the recipe lacks a key: expected 'count'"),
        (
            {"count": 0},
            "count of the recipe is not valid: got 0 (Input should be greater than or equal to 1)",
        ),
        ({"count": 1, "parts": [{"kind": "left", "siez": 2}]}, "'parts.siez' (did you mean 'size'?)"),
        ({"count": 1, "side": {"kind": "right", "wdith": 2}}, "'side.right.wdith' (did you mean 'width'?)"),
    ],
)
def test_what_is_wrong_is_named(data: dict[str, object], message: str) -> None:
    assert message in refused(data)
