"""Where the rows of an experiment come from: a dataset card or the user's file, and which columns are read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from gia_science.data.cards import load_card, load_rows
from gia_science.data.duplicates import DuplicatePolicy
from gia_science.data.record import LoadedTable, Record, Table
from gia_science.data.table import read_table
from gia_science.errors import RecipeError, TableError, Where, listed
from gia_science.settings import Strict
from gia_science.tokens.domain import guess_column, guess_domain, readable_share, require_domain

BadRows = Literal["stop", "drop"]


LOOSE_NAMES = frozenset({"compound", "material", "molecule", "mol"})
"""Names of input columns that hold formulas with some and SMILES with others: the content decides."""
_SHORTEST_PEPTIDE = 5


class DataSource(Strict):
    """What was measured, and which columns of it are used."""

    dataset: str | None = Field(default=None, description="Name of a dataset card, instead of a file.")
    file: str | None = Field(
        default=None, description="Path of a table: CSV, TSV, FASTA, SMI, SDF, CIF or Parquet."
    )
    format: str | None = Field(default=None, description="Format of the file; recognised where not given.")
    header: bool = Field(default=True, description="Whether the first line names the columns.")
    input: str | None = Field(default=None, description="Input column; recognised by name where not given.")
    domain: str | None = Field(
        default=None, description="protein, smiles or composition; recognised where not given."
    )
    columns: tuple[str, ...] = Field(default=(), description="Numeric columns that go in beside the input.")
    bad_rows: BadRows = Field(
        default="stop", description="Stop at unreadable rows (after listing all), or drop them."
    )
    duplicates: DuplicatePolicy = Field(
        default="keep",
        description="Rows of one input: keep all; mean, median (for classes the most frequent label, ties left out) or "
        "first makes them one row; drop leaves inputs with different targets out; error stops at them.",
    )
    sha256: str | None = Field(default=None, description="Hash of the rows, written by each run.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.dataset is not None and self.file is not None:
            raise ValueError("name a dataset or a file, not both")
        return self


def open_source(source: DataSource) -> LoadedTable:
    """All rows of a source.

    Raises
    ------
    RecipeError
        When the source names neither a dataset nor a file.
    TableError, DefinitionError
        When it cannot be read.
    """
    if source.dataset is not None:
        return dataset_table(source.dataset)
    if source.file is None:
        raise RecipeError("no data", hint="name a dataset or a file")
    return read_table(source.file, header=source.header, format=source.format)


def dataset_table(name: str) -> LoadedTable:
    """The rows of a dataset card as a table."""
    card = load_card(name)
    rows = load_rows(card)
    place = None if card.id is None else rows.columns.index(card.id)
    records = tuple(
        Record(name, line, None if place is None else cells[place], cells) for line, cells in rows.rows
    )
    return LoadedTable(rows.columns, records, name, "memory", rows.columns)


def table_hash(table: LoadedTable) -> str:
    """SHA-256 over columns and cells: tells whether two tables hold the same text, however they were stored."""
    digest = hashlib.sha256()
    for cells in (table.columns, *(record.cells for record in table.records)):
        digest.update("\x1f".join(cells).encode("utf-8", errors="surrogatepass") + b"\x1e")
    return digest.hexdigest()


def resolve_input(
    table: Table, *, input: str | None, domain: str | None, texts: Sequence[str] = ()
) -> tuple[str, str]:
    """Input column and domain of a table: as asked for, by the columns' names, and by the column's content.

    Parameters
    ----------
    table : Table
    input, domain : str, optional
        What the user says.
    texts : sequence of str
        Cells of the first rows, all columns of a row one after another; looked at where names do not tell.

    Raises
    ------
    TableError
        When the column or the domain is not clear.
    DefinitionError
        When there is no such domain.
    """
    if domain is not None:
        require_domain(domain)
    if input is not None:
        table.position(input)
        return input, domain or _domain(table, input, texts)
    if table.format == "fasta":
        return "sequence", domain or "protein"
    if table.format == "sdf" and domain in (None, "smiles"):
        return "smiles", "smiles"
    guessed = guess_column(table.columns, domain=domain)
    if guessed is not None:
        return guessed[0], domain or _domain(table, guessed[0], texts)
    if len(table.columns) == 1:
        column = table.columns[0]
        domain = domain or _domain(table, column, texts)
        _refuse_data_as_name(table, column, domain)
        return column, domain
    raise TableError(
        "cannot tell which column is the input",
        got=listed(table.columns),
        hint="say it with --input",
        where=Where(file=table.source),
    )


def only_column(table: Table, used: Collection[str | None]) -> str | None:
    """The one column without another use, where no name tells which column is the input."""
    left = [column for column in table.columns if column not in used]
    return left[0] if len(left) == 1 and guess_column(table.columns) is None else None


def refuse_two_uses(input: str | None, used: Collection[str | None]) -> None:
    """Raise `RecipeError` where the input column is also a target or a numeric column."""
    if input in used:
        raise RecipeError(
            "a column cannot be input and something else at once",
            got=repr(input),
            hint="say the input column with --input",
        )


def _domain(table: Table, column: str, texts: Sequence[str]) -> str:
    """Domain of a column by its name and its content."""
    guessed = guess_column([column])
    if guessed is not None and column.strip().lower() not in LOOSE_NAMES:
        return guessed[1]
    cells = list(texts)[table.position(column) :: len(table.columns)]
    try:
        return guess_domain(cells, named=guessed[1] if guessed is not None else None)
    except TableError as error:
        error.where = Where(file=table.source, column=column)
        raise


def _refuse_data_as_name(table: Table, column: str, domain: str) -> None:
    """A file of one column without a header must not lose its first row to the header."""
    if table.format not in ("csv", "tsv") or readable_share(domain, [column]) == 0:
        return
    # Many words can be read as residues; few of them stand in capitals at the head of a column.
    if domain == "protein" and not (column.isupper() and len(column) >= _SHORTEST_PEPTIDE):
        return
    raise TableError(
        "the first row looks like data",
        got=repr(column[:80]),
        expected="the name of the column",
        hint="use --no-header; if it is the name, say so with --input",
        where=Where(file=table.source, line=1),
    )
