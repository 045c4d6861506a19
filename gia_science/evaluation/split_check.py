"""A split of a table tried out before any training: the rows that would be used, split, and what comes through."""

from __future__ import annotations

from typing import Any

import numpy as np

from gia_science.data.record import LoadedTable
from gia_science.data.rows import Columns, read_rows, training_reader
from gia_science.data.splits.methods import SplitInput, make_split
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.data.targets import Targets
from gia_science.evaluation.leakage import LeakageReport, leakage
from gia_science.tokens.tokenizer import DomainTokenizer


def check_split(
    how: SplitRecipe,
    table: LoadedTable,
    *,
    columns: Columns,
    tokenizer: DomainTokenizer[Any],
    max_length: int,
    targets: Targets | None,
) -> LeakageReport:
    """Split the rows of a table that can be read and have a target, and report on the split.

    Parameters
    ----------
    how : SplitRecipe
    table : LoadedTable
    columns : Columns
        Input, numeric and, where `targets` are given, target columns.
    tokenizer : DomainTokenizer
    max_length : int
        Longest input, in residues, atoms or elements.
    targets : Targets, optional
        What would be predicted; without it nothing is probed.

    Raises
    ------
    RecipeError
        When the split does not go with the rows.
    """
    read = training_reader(tokenizer, max_length=max_length)
    rows, _ = read_rows(table.records, columns=columns, read=read, targets=targets)
    if targets is not None:
        rows = [row for row in rows if not np.isnan(row.target).all()]
    place_of = {record.line: place for place, record in enumerate(table.records)}
    places = [place_of[row.line] for row in rows]
    split = make_split(how, SplitInput(rows, table, places, tokenizer.domain, targets))
    return leakage(rows, split, tokenizer=tokenizer, targets=targets, seed=how.seed)
