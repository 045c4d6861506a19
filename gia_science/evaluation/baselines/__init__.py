"""Plain methods by name, fitted on the same rows as a model and printed beside it.

The names stand here, where no library is needed for them; `registry` holds the methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gia_science.catalog import suggestion
from gia_science.errors import EvaluationError

NAMES: Final = ("constant", "linear", "nearest", "random_forest", "extra_trees")
"""Names of the baselines, in the order in which they are printed."""
DEFAULT: Final = ("constant", "random_forest")
"""Those that stand beside every evaluation that asks for no others."""


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each once and in the order of `NAMES`.

    Raises
    ------
    EvaluationError
        For one that is no baseline, with the nearest that is.
    """
    wanted = set(names)
    for name in sorted(wanted - set(NAMES)):
        hint = suggestion(name, NAMES) or f"there are: {', '.join(NAMES)}"
        raise EvaluationError("no such baseline", got=repr(name), hint=hint)
    return tuple(name for name in NAMES if name in wanted)


def plain_name(name: str) -> str:
    """A name in words, for the head of a table: ``random forest``."""
    return name.replace("_", " ")
