"""What a cell of a target column says: nothing, a number, or a label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gia_science.errors import UnreadableInputError, Where
from gia_science.tokens.descriptors import numeric_cell
from gia_science.tokens.scaling import QUANTITY

MISSING = frozenset({"", "na", "n/a", "nan", "none", "null"})
"""Cells, in lower case, that stand for a target that was not measured."""
NEGATIVE_WORDS = frozenset(
    {"0", "no", "n", "false", "f", "inactive", "negative", "neg", "decoy", "insoluble", "nonbinder"}
)
"""Labels, in lower case, that name the negative class of two."""
MOST_NAMED = 10
"""Most whole numbers with a word behind them that are taken for names."""


def is_missing(cell: str) -> bool:
    """Whether a target cell is empty or says that there is no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is written as a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def are_quantities(cells: Sequence[str]) -> bool:
    """Whether at least half of the cells are numbers or begin with one, and mean amounts: ``5.2 nM``, ``>10``, ``12%``.

    Words that begin with a whole number can be names as well, such as ``24h`` and ``48h``; more than `MOST_NAMED` of
    them are not.
    """
    found = [QUANTITY.fullmatch(cell.strip()) for cell in cells]
    known = [match for match in found if match is not None]
    if 2 * len(known) < len(cells):
        return False
    if len({match["number"] for match in known}) > MOST_NAMED:
        return True
    return any(match["bound"] or match["unit"] == "%" or not match["number"].isdigit() for match in known)


def named_number(cell: str, *, column: str | None) -> float:
    """Number in a cell as `numeric_cell` reads it; the error names the column."""
    try:
        return numeric_cell(cell)
    except UnreadableInputError as error:
        error.where = Where(column=column)
        raise


def canonical_label(cell: str) -> str:
    """A label as text; ``1.0`` and ``1`` are one label."""
    text = cell.strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number == int(number) else text


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in a fixed order: numbers by size, words by alphabet; of two, a word that says no comes first."""
    distinct = set(labels)
    try:
        # Two spellings of one number must not stand in the order of a set.
        ordered = sorted(distinct, key=lambda label: (float(label), label))
    except ValueError:
        ordered = sorted(distinct)
    if (
        len(ordered) == 2
        and ordered[1].lower() in NEGATIVE_WORDS
        and ordered[0].lower() not in NEGATIVE_WORDS
    ):
        ordered.reverse()
    return tuple(ordered)
