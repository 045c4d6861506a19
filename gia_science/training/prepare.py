"""From a recipe to the rows of an experiment: recognised, read, checked and split before any training."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gia_science.data.record import LoadedTable
from gia_science.data.rows import (
    BadRow,
    Columns,
    Duplicates,
    Row,
    find_duplicates,
    read_rows,
    refuse_bad_rows,
)
from gia_science.data.source import open_source, resolve_input, table_hash
from gia_science.data.split import Split, column_split, fold_split, random_split
from gia_science.data.targets import Targets, TaskKind, find_labels, infer_kind
from gia_science.errors import RecipeError, TableError, Where
from gia_science.settings import validate
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS
from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.featurizer import read_within
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.recipe import Recipe

logger = logging.getLogger("gia_science")
GUESS_ROWS = 200


@dataclass(frozen=True)
class Prepared:
    """The rows of an experiment, ready for training.

    Parameters
    ----------
    recipe : Recipe
        With everything filled in that was recognised.
    tokenizer : DomainTokenizer
    targets : Targets
        Scaling is learnt later, from training rows only.
    rows : list of Row
        Rows that can be read and have at least one target.
    split : Split
        Indices into `rows`.
    left_out : tuple of BadRow
        Rows that were dropped, with reasons.
    duplicates : Duplicates
    """

    recipe: Recipe
    tokenizer: DomainTokenizer[Any]
    targets: Targets
    rows: list[Row]
    split: Split
    left_out: tuple[BadRow, ...]
    duplicates: Duplicates


def prepare(recipe: Recipe, *, table: LoadedTable | None = None) -> Prepared:
    """Read and check the rows of a recipe.

    Parameters
    ----------
    recipe : Recipe
    table : LoadedTable, optional
        Rows that are already in memory, instead of the recipe's file or dataset.

    Raises
    ------
    TableError
        When the data cannot be read, a column is missing, or rows cannot be used and are not to be dropped: all of
        them are listed.
    RecipeError
        When the recipe does not fit the data.
    """
    table = open_source(recipe.data) if table is None else table
    for note in table.notes:
        logger.info("%s: %s", table.source, note)
    if not table.records:
        raise TableError("no rows to train on", where=Where(file=table.source))
    recipe = _resolve(recipe, table)
    tokenizer = make_tokenizer(str(recipe.data.domain), options=recipe.tokens)
    targets = _targets(recipe, table)
    recipe = recipe.updated({"target.kind": targets.kind, "target.labels": targets.labels})
    rows, left_out, order = _read(recipe, table, tokenizer=tokenizer, targets=targets)
    duplicates = find_duplicates(rows)
    _tell_duplicates(duplicates)
    split = _split(recipe, table, rows=rows, order=order, kind=targets.kind)
    logger.info("split: %s", split.describe)
    return Prepared(recipe, tokenizer, targets, rows, split, left_out, duplicates)


def _resolve(recipe: Recipe, table: LoadedTable) -> Recipe:
    texts = [cell for record in table.records[:GUESS_ROWS] for cell in record.cells]
    column, domain = resolve_input(table, input=recipe.data.input, domain=recipe.data.domain, texts=texts)
    if column in recipe.target.names:
        raise RecipeError(
            "a column cannot be input and target at once", got=repr(column), hint="say the input with --input"
        )
    noun = DOMAINS[domain].noun if domain in DOMAINS else domain
    logger.info("input: column %r, read as %s (%s)", column, domain, noun)
    digest = table_hash(table)
    if recipe.data.sha256 not in (None, digest):
        logger.warning("the data is not what the recipe was written for: its hash differs")
    descriptors = recipe.descriptors if recipe.descriptors is not None else DOMAIN_DEFAULTS.get(domain, ())
    return recipe.updated(
        {"data.input": column, "data.domain": domain, "data.sha256": digest, "descriptors": list(descriptors)}
    )


def _targets(recipe: Recipe, table: LoadedTable) -> Targets:
    names = recipe.target.names
    cells = [table.column(name) for name in names]
    kind: TaskKind = recipe.target.kind or infer_kind(cells)
    count = len(names)
    units = recipe.target.units or ("",) * count
    if kind == "regression":
        logger.info("target: %s, numbers", ", ".join(names))
        return Targets(names=names, kind=kind, mean=(0.0,) * count, scale=(1.0,) * count, units=units)
    if count > 1 and kind != "multilabel":
        raise RecipeError(f"a {kind} task has one target", got=", ".join(names))
    labels = recipe.target.labels or find_labels(kind, cells, names=names)
    shown = ", ".join(labels[:10]) + (", ..." if len(labels) > 10 else "")
    logger.info("target: %s, %s with labels %s", ", ".join(names), kind, shown)
    described = {"names": names, "kind": kind, "labels": labels, "units": units}
    return validate(Targets, described, error=RecipeError, what="the target")


def _read(
    recipe: Recipe, table: LoadedTable, *, tokenizer: DomainTokenizer[Any], targets: Targets
) -> tuple[list[Row], tuple[BadRow, ...], list[int]]:
    """Usable rows, rows left out, and the place of each usable row in the table."""
    data = recipe.data
    columns = Columns.find(table, input=str(data.input), numbers=data.columns, targets=targets.names)
    limit = recipe.network.max_length
    rows, bad = read_rows(
        table.records,
        columns=columns,
        read=lambda text: read_within(tokenizer, text, max_length=limit),
        targets=targets,
    )
    if bad and data.bad_rows == "stop":
        raise refuse_bad_rows(bad, total=len(table), source=table.source)
    for row in bad:
        logger.warning("dropped: %s", row)
    _tell_notes(rows)
    bad_lines = {row.line for row in bad}
    places = [place for place, record in enumerate(table.records) if record.line not in bad_lines]
    measured = [not np.isnan(row.target).all() for row in rows]
    empty = [
        BadRow(row.line, row.id, "no target") for row, has in zip(rows, measured, strict=True) if not has
    ]
    if empty:
        logger.info("%d rows have no target and are left out", len(empty))
    kept = [index for index, has in enumerate(measured) if has]
    if len(kept) < 3:
        raise TableError(
            "too few rows to train on",
            got=str(len(kept)),
            expected="3 or more",
            where=Where(file=table.source),
        )
    return [rows[index] for index in kept], (*bad, *empty), [places[index] for index in kept]


def _tell_notes(rows: Sequence[Row]) -> None:
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
            f" and {len(which) - 1} more rows" if len(which) > 1 else "",
        )
    if len(told) > 20:
        logger.info("... and %d more notes of this sort", len(told) - 20)


def _tell_duplicates(duplicates: Duplicates) -> None:
    if duplicates.rows:
        logger.info("%d rows repeat an input; they stay on one side of the split", duplicates.rows)
    for lines in duplicates.conflicts[:10]:
        logger.warning("lines %s are one input with different targets", ", ".join(map(str, lines)))
    if len(duplicates.conflicts) > 10:
        logger.warning("... and %d more such inputs", len(duplicates.conflicts) - 10)


def _split(
    recipe: Recipe, table: LoadedTable, *, rows: Sequence[Row], order: Sequence[int], kind: TaskKind
) -> Split:
    how = recipe.split
    groups = [row.reading.identity for row in rows]
    strata = [_stratum(row) for row in rows] if kind in ("binary", "multiclass") else None
    if how.method == "column":
        assert how.column is not None
        values = table.column(how.column)
        return column_split([values[place] for place in order], groups)
    if how.method == "folds":
        return fold_split(
            groups, folds=how.folds, fold=how.fold, seed=how.seed, validation=how.validation, strata=strata
        )
    return random_split(groups, fractions=how.fractions, seed=how.seed, strata=strata)


def _stratum(row: Row) -> int:
    return -1 if math.isnan(row.target[0]) else int(row.target[0])
