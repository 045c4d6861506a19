"""How a recipe is written: as YAML, and with settings named by dotted keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from gia_science.errors import RecipeError, Where
from gia_science.settings import Strict, validate


class WrittenRecipe(Strict):
    """A recipe as YAML, and with settings named by dotted keys."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and validate a YAML recipe.

        Raises
        ------
        RecipeError
            For text that is not YAML, an unknown key, or a value that is not allowed.
        """
        path = Path(path)
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecipeError("cannot read the recipe", got=reason, where=Where(file=str(path))) from error
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            raise RecipeError(
                "cannot read the recipe", hint=str(error), where=Where(file=str(path))
            ) from error
        if not isinstance(data, dict):
            raise RecipeError("not a recipe", expected="a YAML mapping", where=Where(file=str(path)))
        return cls.parse(data, where=Where(file=str(path)))

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, where: Where | None = None) -> Self:
        """Validate a recipe given as plain types; raises `RecipeError` naming the first wrong key."""
        return validate(cls, data, error=RecipeError, what="the recipe", where=where)

    @classmethod
    def build(cls, settings: Mapping[str, Any]) -> Self:
        """A recipe from settings named by dotted keys such as ``"data.file"``; all others have their defaults."""
        return cls.parse(_nested({}, settings))

    def updated(self, settings: Mapping[str, Any]) -> Self:
        """The recipe with some settings changed, named by dotted keys such as ``"training.epochs"``."""
        # What was not set stays so: a pretrained network may decide it.
        return self.parse(_nested(self.model_dump(mode="json", exclude_unset=True), settings))

    def to_yaml(self) -> str:
        """The recipe as YAML text that `load` reads back to an equal recipe."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100)


def _nested(data: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Put values under their dotted keys into nested mappings, in place."""
    for key, value in settings.items():
        *parents, last = key.split(".")
        place = data
        for parent in parents:
            inner = place.setdefault(parent, {})
            if inner is None:
                inner = place[parent] = {}
            if not isinstance(inner, dict):
                raise RecipeError("unknown key in the recipe", got=repr(key))
            place = inner
        place[last] = value
    return data
