"""``gia embed``: one vector per row, or per residue, atom or element."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gia_science.cli.output import FORMATS, TABLES
from gia_science.cli.predict import LONG_HELP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gia_science.prediction.outcomes import Outcome
    from gia_science.tokens.long import Long


def embed(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    data: Annotated[str, typer.Argument(help=TABLES)],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Parquet, CSV, TSV or NPZ file; - for CSV on stdout.")
    ] = "-",
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    format: Annotated[str | None, typer.Option(help=FORMATS)] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = True,
    pooling: Annotated[
        str,
        typer.Option(
            help="model: the vector that the model predicts from. mean: of all tokens, descriptors among them. first: "
            "that of the first token. attention: by learnt weights, where the model has them."
        ),
    ] = "model",
    layer: Annotated[
        int, typer.Option(help="0 for the embedded tokens, 1 to the number of layers; -1 for the last.")
    ] = -1,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens", help="One vector for each residue, atom or element, instead of a pooled one."
        ),
    ] = False,
    long: Annotated[str, typer.Option(help=LONG_HELP)] = "error",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    """Write the embedding of every row beside its columns; a row that cannot be read keeps an empty vector.

    gia embed model/ proteins.fasta -o vectors.parquet

    With --tokens there is a line for each residue, atom or element: position and id of its row, its place in the text,
    its letter or symbol, and its vector. A row that cannot be read has one line.
    """
    from gia_science.cli.output import Tally, check_choice, use_threads
    from gia_science.data.table import open_table
    from gia_science.data.vectors import check_embedding_target
    from gia_science.data.writer import output_columns, refuse_overwrite
    from gia_science.prediction.columns import outcome_columns
    from gia_science.prediction.embedding import POOLINGS, EmbeddingChoice
    from gia_science.prediction.model import Model
    from gia_science.tokens.long import CHOICES

    when_long = check_choice("--long", long, CHOICES)
    choice = EmbeddingChoice(check_choice("--pooling", pooling, POOLINGS), layer, tokens)
    workers = use_threads(threads)
    refuse_overwrite(out, [data])
    check_embedding_target(out)
    loaded = Model.load(model)
    table = open_table(data, header=header, format=format)
    found = loaded.embedding_outcomes(table, input=input, long=when_long, choice=choice, workers=workers)
    tally = Tally("embedded")
    told = outcome_columns(when_long)
    with closing(found):
        if tokens:
            _write_tokens(out, tally.watch(found), told, width=loaded.width, long=when_long)
        else:
            columns = output_columns(table.header, told)
            _write_rows(out, tally.watch(found), columns, width=loaded.width, long=when_long)
    tally.finish(out)


def _write_rows(
    out: str, outcomes: Iterable[Outcome], columns: tuple[str, ...], *, width: int, long: Long
) -> None:
    from gia_science.data.vectors import EmbeddingWriter
    from gia_science.prediction.columns import outcome_cells

    with EmbeddingWriter(out, columns, width=width) as writer:
        for outcome in outcomes:
            told = outcome_cells(outcome, long=long)
            writer.write_row((*outcome.record.cells, *told), outcome.output)


def _write_tokens(
    out: str, outcomes: Iterable[Outcome], columns: tuple[str, ...], *, width: int, long: Long
) -> None:
    import numpy as np

    from gia_science.data.vectors import TokenEmbeddingWriter
    from gia_science.prediction.columns import outcome_cells

    none = np.zeros((0, width), dtype=np.float32)
    with TokenEmbeddingWriter(out, columns, width=width) as writer:
        for row, outcome in enumerate(outcomes, start=1):
            writer.write_row(
                outcome_cells(outcome, long=long),
                none if outcome.output is None else outcome.output,
                row=row,
                id=outcome.record.id,
                units=np.zeros(0, dtype=np.int64) if outcome.units is None else outcome.units + 1,
                tokens=outcome.names,
            )
