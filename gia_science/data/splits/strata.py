"""Classes of rows that a stratified split gives equal shares of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gia_science.data.rows import Row
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError

BINS = 10


def class_strata(rows: Sequence[Row], targets: Targets | None) -> list[object] | None:
    """Class of each row of a task of one class each; None for any other task."""
    if targets is None or targets.kind not in ("binary", "multiclass"):
        return None
    return [float(row.target[0]) for row in rows]


def strata(rows: Sequence[Row], targets: Targets | None) -> list[object]:
    """What a stratified split balances: the class, all labels together, or the tenth in which the value lies.

    Of several numeric targets the first counts. A missing value is a class of its own.

    Raises
    ------
    RecipeError
        When there is nothing to balance: no target, or a label for each residue.
    """
    if targets is None or targets.kind == "per_token":
        kind = "rows without targets" if targets is None else "labels for each residue"
        raise RecipeError("nothing to stratify by", got=kind, hint="--split random")
    if targets.kind != "regression":
        return [str(row.target.tolist()) for row in rows]
    values = np.array([row.target[0] for row in rows], dtype=np.float64)
    known = values[~np.isnan(values)]
    if not len(known):
        return ["nan"] * len(rows)
    edges = np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])
    return [
        "nan" if np.isnan(value) else int(bin_)
        for value, bin_ in zip(values, np.searchsorted(edges, values), strict=True)
    ]
