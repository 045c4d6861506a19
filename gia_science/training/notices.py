"""What the user is told about the rows before training: one line for each thing, on the package's log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from gia_science.data.duplicates import (
    DuplicatePolicy,
    Duplicates,
    Resolved,
    describe_conflict,
    describe_spread,
    shown_lines,
)
from gia_science.data.ids import RepeatedIds
from gia_science.data.notes import NoteTally
from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Row
from gia_science.data.targets import Targets
from gia_science.errors import counted

logger = logging.getLogger("gia_science")
SHOWN = 10
"""Most conflicts, and examples of other things, that are named one by one."""
MOST_NOTES = 20
STAYING = ("keep", "drop", "error")
"""Policies under which rows of one input that agree all stay."""


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
    tally = NoteTally()
    for row in rows:
        tally.see(row.line, row.reading.notes)
    notes = tally.counts()
    for note in notes[:MOST_NOTES]:
        more = f" and {counted(note.rows - 1, 'more row')}" if note.rows > 1 else ""
        logger.info("%s (line %d%s)", note.text, note.line, more)
    if len(notes) > MOST_NOTES:
        logger.info("... and %d more notes of this sort", len(notes) - MOST_NOTES)


def tell_repeats(duplicates: Duplicates) -> None:
    """Say how many rows repeat an input."""
    if duplicates.rows:
        told = "repeats an input; it stays" if duplicates.rows == 1 else "repeat an input; they stay"
        logger.info("%s %s on one side of the split", counted(duplicates.rows), told)


def tell_duplicates(duplicates: Duplicates, *, targets: Targets, policy: DuplicatePolicy = "keep") -> None:
    """Say how many rows repeat an input, and which of them contradict each other by how much."""
    if policy in STAYING:
        tell_repeats(duplicates)
    elif duplicates.rows:
        word = "repeats" if duplicates.rows == 1 else "repeat"
        logger.info("%s %s an input", counted(duplicates.rows), word)
    for conflict in duplicates.conflicts[:SHOWN]:
        values = describe_conflict(conflict, targets)
        logger.warning(
            "lines %s are one input, %.60s, with different targets%s; %s",
            shown_lines(conflict.lines),
            conflict.identity,
            f": {values}" if values else "",
            what_is_used(policy, targets),
        )
    if len(duplicates.conflicts) > SHOWN:
        logger.warning("... and %d more such inputs", len(duplicates.conflicts) - SHOWN)
    spread = describe_spread(duplicates.conflicts, targets)
    if spread:
        logger.info("inputs whose targets differ: %d; %s", len(duplicates.conflicts), spread)


def tell_resolved(resolved: Resolved, policy: DuplicatePolicy) -> None:
    """Say how many rows a policy made one, and which rows it left out."""
    if resolved.merged:
        went = "row went" if resolved.merged == 1 else "rows went"
        logger.info("duplicates: %s: %d %s into the first of the same input", policy, resolved.merged, went)
    for row in resolved.left_out:
        logger.warning("dropped: %s", row)


def what_is_used(policy: DuplicatePolicy, targets: Targets) -> str:
    """What becomes of rows of one input with different targets, in words."""
    if policy in ("mean", "median") and targets.kind != "regression":
        return "the most frequent label is used, and none where there is a tie"
    return {
        "keep": "all are used",
        "mean": "their mean is used",
        "median": "their median is used",
        "first": "the first is used",
        "drop": "none is used",
        "error": "training stops at them",
    }[policy]
