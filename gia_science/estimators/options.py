"""What parameters of an estimator stand for in training: settings of a recipe, a seed, threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from gia_science.data.record import LoadedTable
from gia_science.data.source import resolve_input
from gia_science.errors import RecipeError, TableError
from gia_science.tokens.domain import DOMAINS

SETTABLE = ("network", "training", "tokens", "descriptors", "objective", "mask_share")
"""Parts of a recipe that `settings` may change; the others follow from X and y and the parameters."""


def recipe_settings(
    *,
    named: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
    seed: int,
) -> dict[str, Any]:
    """Settings of a recipe by their dotted names.

    Parameters
    ----------
    named : mapping
        Those that parameters stand for; None for the default.
    settings : mapping, optional
        Others that the user names.
    seed : int

    Raises
    ------
    RecipeError
        For settings that follow from X, y or parameters.
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise RecipeError(
            "settings is not valid",
            got=repr(settings),
            expected="a mapping, as in {'network.pooling': 'attention'}",
        )
    given = {name: value for name, value in named.items() if value is not None}
    for name, value in (settings or {}).items():
        if name.split(".")[0] not in SETTABLE:
            raise RecipeError(
                f"{name} is no setting of an estimator",
                expected=f"keys that start with {', '.join(SETTABLE[:-1])} or {SETTABLE[-1]}",
                hint="X, y and the parameters decide the rest",
            )
        if name in given:
            raise RecipeError(f"{name} is set twice", hint="by its parameter, or in settings")
        given[name] = value
    return {**given, "seed": seed, "split.seed": seed}


def check_choices(*, on_error: str, validation_fraction: float) -> None:
    """Raise `RecipeError` for values that no estimator has."""
    if on_error not in ("raise", "nan"):
        raise RecipeError("on_error is not valid", got=repr(on_error), expected="'raise' or 'nan'")
    if not 0 <= validation_fraction < 1:
        raise RecipeError(
            "validation_fraction is not valid", got=repr(validation_fraction), expected="0 to below 1"
        )


def recognise_domain(table: LoadedTable, *, domain: str | None) -> str:
    """Domain of the first column of a table, as a user says it or as it is recognised.

    Raises
    ------
    TableError
        When it is not clear.
    """
    texts = [cell for record in table.records if record.problem is None for cell in record.cells]
    try:
        return resolve_input(table, input=table.columns[0], domain=domain, texts=texts)[1]
    except TableError as error:
        *others, last = map(repr, DOMAINS)
        raise TableError(
            "cannot tell what the inputs are",
            got=error.got,
            hint=f"say it: domain={', '.join(others)} or {last}",
        ) from error


def seed_of(random_state: Any) -> int:
    """Seed of a run: an integer as it is, one drawn from anything else that scikit-learn takes."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Compute with so many threads, all cores for -1; with as many as before for None."""
    if n_jobs is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(effective_n_jobs(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)
