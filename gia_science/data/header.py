"""The row that names the columns of a delimited file, told from data and from a title above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gia_science.errors import TableError, Where, listed

_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


def read_header(
    cells: Sequence[str], body: Sequence[Sequence[str]], *, where: Where
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names as written, as many as the rows have cells, and notes.

    Parameters
    ----------
    cells : sequence of str
        The first row.
    body : sequence of sequence of str
        Cells of the first rows under it.
    where : Where
        Place of the first row.

    Raises
    ------
    TableError
        When the first row is data, or a title above the names.
    """
    names, notes = tuple(cells), tuple[str, ...]()
    _refuse_title(names, body, where)
    widths = {len(cells) for cells in body}
    width = widths.pop() if len(widths) == 1 else len(names)
    # A comma at the end of every row, or of the header alone, is a column without name and content.
    if width > len(names) and not any("".join(cells[len(names) :]).strip() for cells in body):
        notes = ("every row ends in an empty cell that the header does not name",)
        names += ("",) * (width - len(names))
    elif width < len(names) and not "".join(names[width:]).strip():
        notes = ("the header ends in a delimiter that the rows do not have",)
        names = names[:width]
    suspects = _data_in_header(names, body)
    if suspects:
        raise TableError(
            "the first row looks like data",
            got=listed(list(map(repr, suspects))),
            expected="names of columns",
            hint="use --no-header, or name the columns",
            where=where,
        )
    return names, notes


def _refuse_title(names: Sequence[str], body: Sequence[Sequence[str]], where: Where) -> None:
    """Refuse a first row that names one of at least three columns: spreadsheets have titles there."""
    width = min(map(len, body), default=0)
    filled = sum(any(cells[index].strip() for cells in body) for index in range(width))
    named = [name for name in names if name.strip()]
    if filled >= 3 and len(named) == 1:
        raise TableError(
            "the first row names one column only",
            got=f"{named[0]!r} above {filled} columns",
            expected="a name for each column",
            hint="remove what stands above the names, or name the columns",
            where=where,
        )


def _data_in_header(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Names that are numbers above columns of numbers, unless they count the columns, as 0, 1, 2, ... do."""
    suspects = []
    for index, name in enumerate(names):
        cells = [cells[index] for cells in body if index < len(cells) and cells[index].strip()]
        if _NUMBER.fullmatch(name) and all(map(_NUMBER.fullmatch, cells)):
            suspects.append(name)
    first = suspects[0].strip() if suspects else ""
    if len(suspects) >= 3 and first.isdecimal():
        counted = [str(int(first) + step) for step in range(len(suspects))]
        if [name.strip() for name in suspects] == counted:
            return []
    return suspects
