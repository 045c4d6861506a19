"""A table, or a single input, as a trained model reads it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Literal

from gia_science.data.record import Record, Table, cell_text
from gia_science.data.rows import BadRow, Columns, read_row
from gia_science.data.source import resolve_input
from gia_science.errors import UnreadableInputError
from gia_science.model.folder import SavedModel
from gia_science.prediction.outcomes import Compute, Outcome, outcomes
from gia_science.tokens.featurizer import Example
from gia_science.tokens.long import Long, check_long
from gia_science.tokens.stream import Reading


def find_columns(
    saved: SavedModel, table: Table, *, input: str | None, targets: tuple[str, ...] = ()
) -> Columns:
    """Places of the columns that a model reads, `input` as of `Model.predict`; `TableError` when one is missing."""
    trained, domain = saved.data.input, saved.featurizer.tokenizer.domain
    # An SDF file may hold a field of that name; its molecules are the input all the same.
    molecules = table.format == "sdf" and domain == "smiles"
    named = trained in table.columns and not molecules
    wanted = trained if input is None and named else input
    column, _ = resolve_input(table, input=wanted, domain=domain)
    return Columns.find(table, input=column, numbers=saved.featurizer.source.columns, targets=targets)


def read_one(
    saved: SavedModel, x: str | Mapping[str, object], *, input: str | None, long: Literal["error", "truncate"]
) -> tuple[Example, Reading[Any]]:
    """One input as the network sees it, and as it was read; parameters and errors as of `Model.graph`."""
    row = {"input": x} if isinstance(x, str) else x
    record = Record("<row>", 1, None, tuple(map(cell_text, row.values())))
    table = Table(tuple(row), (record,), "<row>", "memory", tuple(row))
    featurizer = saved.featurizer
    columns = find_columns(saved, table, input=input)
    found = read_row(record, columns=columns, read=lambda text: featurizer.read(text, long=long))
    if isinstance(found, BadRow):
        raise UnreadableInputError(found.reason)
    return featurizer.example(found.reading, numbers=found.numbers.tolist()), found.reading


def table_outcomes(
    saved: SavedModel,
    table: Table,
    compute: Compute,
    *,
    units: bool,
    input: str | None,
    long: Long,
    window: int | None,
    workers: int,
) -> Generator[Outcome, None, None]:
    """`outcomes` of the records of a table; what is wrong with the table or the options is told at once."""
    check_long(long, domain=saved.featurizer.tokenizer.domain)
    return outcomes(
        table.records,
        columns=find_columns(saved, table, input=input),
        featurizer=saved.featurizer,
        compute=compute,
        long=long,
        units=units,
        window=window,
        workers=workers,
    )
