"""What the user is told about the rows before training: one line for each thing, on the package's log."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import numpy as np

from gia_science.data.ids import RepeatedIds
from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Duplicates, Row
from gia_science.data.targets import Targets
from gia_science.errors import counted

logger = logging.getLogger("gia_science")
SHOWN = 10
"""Most conflicts, and examples of other things, that are named one by one."""


def tell_repeated_ids(table: LoadedTable) -> None:
    """Say which identifiers stand in more than one row."""
    ids = RepeatedIds()
    for record in table.records:
        ids.see(record)
    repeated = ids.describe()
    if repeated is not None:
        logger.info("%s: %s", table.source, repeated)


def tell_bad(word: str, bad: Sequence[BadRow], *, total: int) -> None:
    """One line for every bad row; a few are enough where all are bad, since then the column is wrong, not the rows."""
    shown = bad[:SHOWN] if len(bad) == total else bad
    for row in shown:
        logger.warning("%s: %s", word, row)
    if len(bad) > len(shown):
        logger.warning("... and all of the other %d", len(bad) - len(shown))


def tell_missing(rows: Sequence[Row], targets: Targets) -> None:
    """Of several targets, how many rows have each."""
    if len(targets.names) == 1:
        return
    measured = (~np.isnan(np.stack([row.target for row in rows]))).sum(axis=0)
    for name, count in zip(targets.names, measured, strict=True):
        logger.info("target %s: measured in %d of %d rows", name, count, len(rows))


def tell_notes(rows: Sequence[Row]) -> None:
    """Say once what was changed in how many rows, with the first row as example."""
    told: dict[str, list[Row]] = {}
    for row in rows:
        for note in row.reading.notes:
            told.setdefault(note, []).append(row)
    for note, which in list(told.items())[:20]:
        logger.info(
            "%s (line %d%s)",
            note,
            which[0].line,
            f" and {counted(len(which) - 1, 'more row')}" if len(which) > 1 else "",
        )
    if len(told) > 20:
        logger.info("... and %d more notes of this sort", len(told) - 20)


def tell_repeats(duplicates: Duplicates) -> None:
    """Say how many rows repeat an input."""
    if duplicates.rows:
        told = "repeats an input; it stays" if duplicates.rows == 1 else "repeat an input; they stay"
        logger.info("%s %s on one side of the split", counted(duplicates.rows), told)


def tell_duplicates(duplicates: Duplicates, *, rows: Sequence[Row], targets: Targets) -> None:
    """Say how many rows repeat an input, and which of them contradict each other by how much."""
    tell_repeats(duplicates)
    at = {row.line: row for row in rows}
    for lines in duplicates.conflicts[:SHOWN]:
        logger.warning(
            "lines %s are one input, %.60s, with different targets%s; all are used",
            ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else ""),
            at[lines[0]].reading.identity,
            _spread([at[line] for line in lines], targets),
        )
    if len(duplicates.conflicts) > SHOWN:
        logger.warning("... and %d more such inputs", len(duplicates.conflicts) - SHOWN)


def _spread(rows: Sequence[Row], targets: Targets) -> str:
    """How far the targets of rows lie apart: the range of a number, the labels of a class."""
    if targets.kind == "per_token":
        return ""
    told = []
    for index, name in enumerate(targets.names):
        values = sorted({float(row.target[index]) for row in rows if not math.isnan(row.target[index])})
        if len(values) < 2:
            continue
        if targets.kind == "regression":
            told.append(f"{name} {values[0]:g} to {values[-1]:g}")
        else:
            told.append(f"{name} {' and '.join(targets.labels[int(value)] for value in values)}")
    return f": {', '.join(told)}" if told else ""
