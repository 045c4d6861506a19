"""What every run does with its table: open it, recognise the input, read the rows and split them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from gia_science.data.cards import load_card
from gia_science.data.record import LoadedTable
from gia_science.data.rows import (
    BadRow,
    Columns,
    Row,
    read_rows,
    refuse_bad_rows,
    training_reader,
)
from gia_science.data.source import DataSource, open_source, resolve_input, table_hash
from gia_science.data.splits.base import Split
from gia_science.data.splits.methods import SplitInput, make_split
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError, Where
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.notices import tell_bad, tell_notes, tell_repeated_ids

logger = logging.getLogger("gia_science")
GUESS_ROWS = 200
STDIN = "-"
"""The file that cannot be read again: a recipe does not keep it."""
FEWEST_ROWS = 3
"""One row each for training, validation and test."""


def open_rows(data: DataSource, table: LoadedTable | None) -> LoadedTable:
    """The table of a source, or the one that is given; raises `TableError` where it has no rows."""
    table = open_source(data) if table is None else table
    for note in table.notes:
        logger.info("%s: %s", table.source, note)
    if not table.records:
        raise TableError("no rows to train on", got="a header only", where=Where(file=table.source))
    tell_repeated_ids(table)
    return table


def recognise(data: DataSource, table: LoadedTable, *, input: str | None) -> dict[str, str | None]:
    """Settings of a recipe's ``data`` that follow from the table.

    Parameters
    ----------
    data : DataSource
    table : LoadedTable
    input : str, optional
        Input column where it is known. A dataset's card knows it.

    Raises
    ------
    TableError
        When the input column or its domain is not clear.
    """
    wanted, domain = input, data.domain
    if data.dataset is not None and data.input is None:
        card = load_card(data.dataset)
        wanted, domain = card.input, domain or card.domain
    texts = [cell for record in table.records[:GUESS_ROWS] for cell in record.cells]
    column, domain = resolve_input(table, input=wanted, domain=domain, texts=texts)
    logger.info("input: column %r, read as %s (%s)", column, domain, DOMAINS[domain].noun)
    digest = table_hash(table)
    if data.sha256 not in (None, digest):
        logger.warning("the data is not what the recipe was written for: its hash differs")
    return {
        "data.file": None if data.file == STDIN else data.file,
        "data.input": column,
        "data.domain": domain,
        "data.sha256": digest,
    }


def read_usable(
    data: DataSource,
    table: LoadedTable,
    *,
    tokenizer: DomainTokenizer[Any],
    max_length: int,
    targets: Targets | None = None,
) -> tuple[list[Row], list[BadRow], list[int]]:
    """Rows that can be read, those that cannot, and the place in the table of each that can.

    Raises
    ------
    TableError
        When some cannot be read and are not to be dropped: all of them are listed before.
    """
    names = () if targets is None else targets.names
    columns = Columns.find(table, input=str(data.input), numbers=data.columns, targets=names)
    read = training_reader(tokenizer, max_length=max_length)
    rows, bad = read_rows(table.records, columns=columns, read=read, targets=targets)
    if bad and data.bad_rows == "stop":
        tell_bad("cannot be used", bad, total=len(table))
        raise refuse_bad_rows(bad, total=len(table), source=table.source)
    tell_bad("dropped", bad, total=len(table))
    tell_notes(rows)
    bad_lines = {row.line for row in bad}
    return rows, bad, [place for place, record in enumerate(table.records) if record.line not in bad_lines]


def require_rows(rows: Sequence[Row], what: str, table: LoadedTable) -> None:
    """Raise `TableError` where there are too few rows to split; `what` says of which kind."""
    if len(rows) < FEWEST_ROWS:
        raise TableError(
            f"too few rows{what}",
            got=str(len(rows)),
            expected=f"{FEWEST_ROWS} or more",
            where=Where(file=table.source),
        )


def split_rows(how: SplitRecipe, data: SplitInput) -> Split:
    """Split rows and say how; raises `RecipeError` where none are held out."""
    split = make_split(how, data)
    if not len(split.validation) + len(split.test):
        raise RecipeError(
            "the split leaves no rows to judge the model by", expected="validation or test rows"
        )
    sizes = f"{len(split.train)} training, {len(split.validation)} validation, {len(split.test)} test rows"
    logger.info("split: %s; %s", split.describe, sizes)
    for note in split.notes:
        logger.warning("split: %s", note)
    return split
