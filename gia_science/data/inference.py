"""What is to be learnt, from the cells of the target columns."""

from __future__ import annotations

from collections.abc import Sequence

from gia_science.data.targets import Targets, TaskKind, find_labels, infer_kind, is_missing, is_number
from gia_science.errors import RecipeError
from gia_science.settings import validate


def infer_targets(
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    domain: str,
    lengths: Sequence[int],
    kind: TaskKind | None = None,
    labels: Sequence[str] = (),
    units: Sequence[str] = (),
) -> Targets:
    """Kind of task and labels of some target columns.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    cells : sequence of sequences of str
        Cells of each column, one for each row.
    domain : str
        Of the input: residues may have labels of their own.
    lengths : sequence of int
        Characters of each row's input.
    kind, labels, units
        What is known; recognised where not given.

    Returns
    -------
    Targets
        Not scaled yet: mean 0 and scale 1 for numbers.

    Raises
    ------
    RecipeError
        When the cells do not fit the kind, or no kind fits them.
    """
    names, count = tuple(names), len(names)
    per_token = domain == "protein" and count == 1 and _label_per_residue(cells[0], lengths)
    kind = kind or ("per_token" if per_token else infer_kind(cells))
    if kind == "per_token" and domain != "protein":
        raise RecipeError("labels for each residue need protein input", got=domain, hint="--kind multiclass?")
    units = tuple(units) or ("",) * count
    if kind == "regression":
        return Targets(names=names, kind=kind, mean=(0.0,) * count, scale=(1.0,) * count, units=units)
    if count > 1 and kind != "multilabel":
        raise RecipeError(f"a {kind} task has one target", got=", ".join(names))
    labels = tuple(labels) or find_labels(kind, cells, names=names)
    described = {"names": names, "kind": kind, "labels": labels, "units": units}
    return validate(Targets, described, error=RecipeError, what="the target")


def _label_per_residue(cells: Sequence[str], lengths: Sequence[int]) -> bool:
    """Whether nearly all cells are a word as long as the input beside it, as labels of residues are."""
    pairs = [(cell.strip(), length) for cell, length in zip(cells, lengths, strict=True)]
    known = [(cell, length) for cell, length in pairs if not is_missing(cell) and length > 1]
    if len({length for _, length in known}) < 2 or any(is_number(cell) for cell, _ in known):
        return False
    return sum(len(cell) == length for cell, length in known) >= 0.9 * len(known)
