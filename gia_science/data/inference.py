"""What is to be learnt, from the cells of the target columns."""

from __future__ import annotations

from collections.abc import Sequence

from gia_science.data.cells import are_quantities, canonical_label, is_missing, is_number, sorted_labels
from gia_science.data.target_spec import TaskKind
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.settings import validate

MOST_CLASSES = 100
"""Most classes that are recognised without being asked for."""


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


def infer_kind(columns: Sequence[Sequence[str]]) -> TaskKind:
    """Kind of task from the cells of its target columns, missing ones left out.

    Two distinct values are yes and no; more than two are numbers when at least half of the cells are written as
    numbers, and class names otherwise. Numbers with a decimal comma, a bound or a unit count as numbers here, so that
    they are refused one by one instead of being taken for names.
    """
    known = [[cell for cell in cells if not is_missing(cell)] for cells in columns]
    distinct = [len({canonical_label(cell) for cell in cells}) for cells in known]
    if all(count <= 2 for count in distinct) and max(distinct) == 2:
        return "binary" if len(columns) == 1 else "multilabel"
    cells = [cell for column in known for cell in column]
    if 2 * sum(map(is_number, cells)) >= len(cells) or are_quantities(cells):
        return "regression"
    if len(columns) > 1:
        raise RecipeError(
            "several targets must all be numbers, or all have two labels", got=f"{max(distinct)} labels"
        )
    if distinct[0] > min(MOST_CLASSES, len(cells) // 2):
        raise RecipeError(
            "the target is neither numbers nor classes",
            got=f"{distinct[0]} distinct values in {len(cells)} rows",
        )
    return "multiclass"


def find_labels(kind: TaskKind, columns: Sequence[Sequence[str]], *, names: Sequence[str]) -> tuple[str, ...]:
    """Labels found in the target columns, in their fixed order.

    Raises
    ------
    RecipeError
        When there are too few labels, or more than two where two are meant.
    """
    cells = [cell for column in columns for cell in column if not is_missing(cell)]
    if kind == "per_token":
        return sorted_labels({letter for cell in cells for letter in cell.strip()} - {"-", "?"})
    # As the user writes them; where one number is written in several ways, in the plainest.
    spellings: dict[str, set[str]] = {}
    for cell in cells:
        spellings.setdefault(canonical_label(cell), set()).add(cell.strip())
    labels = sorted_labels(
        label if len(written) > 1 else written.pop() for label, written in spellings.items()
    )
    shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
    if len(labels) < 2:
        raise RecipeError(
            f"the target {', '.join(names)} has a single class",
            got=shown or "no value",
            expected="two or more",
        )
    if kind != "multiclass" and len(labels) > 2:
        raise RecipeError(
            f"a {kind} target has two labels", got=f"{len(labels)}: {shown}", hint="--kind multiclass?"
        )
    return labels


def _label_per_residue(cells: Sequence[str], lengths: Sequence[int]) -> bool:
    """Whether nearly all cells are a word as long as the input beside it, as labels of residues are."""
    pairs = [(cell.strip(), length) for cell, length in zip(cells, lengths, strict=True)]
    known = [(cell, length) for cell, length in pairs if not is_missing(cell) and length > 1]
    if len({length for _, length in known}) < 2 or any(is_number(cell) for cell, _ in known):
        return False
    return sum(len(cell) == length for cell, length in known) >= 0.9 * len(known)
