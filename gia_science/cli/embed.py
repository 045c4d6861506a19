"""``gia embed``: one vector per row, or per residue, atom or element."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gia_science.cli.options import (
    Format,
    Header,
    Input,
    LongInputs,
    ModelFolder,
    PartRows,
    Resume,
    ShardOf,
    TableFile,
    Threads,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gia_science.cli.output import Tally
    from gia_science.data.vector_parts import VectorRow
    from gia_science.prediction.outcomes import Outcome
    from gia_science.tokens.long import Long


def embed(
    model: ModelFolder,
    data: TableFile,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Parquet, CSV, TSV or NPZ file; - for CSV on stdout.")
    ] = "-",
    input: Input = None,
    format: Format = None,
    header: Header = True,
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
    long: LongInputs = "error",
    threads: Threads = None,
    resume: Resume = False,
    shard: ShardOf = None,
    window: PartRows = None,
) -> None:
    """Write the embedding of every row beside its columns; a row that cannot be read keeps an empty vector.

    gia embed model/ proteins.fasta -o vectors.parquet

    With --tokens there is a line for each residue, atom or element: position and id of its row, its place in the text,
    its letter or symbol, and its vector. A row that cannot be read has one line.
    """
    from gia_science.cli.output import leave_cores_to_others

    leave_cores_to_others()
    from gia_science.cli.output import Tally, check_choice, count_rows, track, use_threads
    from gia_science.cli.resume import keep_parts, resumed_threads, shard_target, start_job
    from gia_science.data.shards import Stride
    from gia_science.data.table import open_table
    from gia_science.data.vector_parts import keep_vectors
    from gia_science.data.vectors import check_embedding_target, embedding_format
    from gia_science.data.writer import output_columns, refuse_overwrite
    from gia_science.prediction.columns import outcome_columns
    from gia_science.prediction.embedding import POOLINGS, EmbeddingChoice
    from gia_science.prediction.model import Model
    from gia_science.prediction.outcomes import WINDOW
    from gia_science.tokens.long import CHOICES

    when_long = check_choice("--long", long, CHOICES)
    choice = EmbeddingChoice(check_choice("--pooling", pooling, POOLINGS), layer, tokens)
    window = window or WINDOW
    check_embedding_target(out)
    if shard is not None:
        _check_shard(out, tokens=tokens)
    share, target = shard_target(shard, out)
    refuse_overwrite(target, [data])
    tally = Tally("embedded")
    with keep_parts(target, data, resume=resume) as parts:
        threads = use_threads(threads or resumed_threads(parts, resume=resume))
        loaded = Model.load(model)
        choice.check(loaded.saved.network.config)
        table = open_table(data, header=header, format=format)
        table = replace(table, records=share.records(table.records))
        told = outcome_columns(when_long)
        columns = told if tokens else output_columns(table.header, told)
        done = start_job(
            parts,
            model,
            data,
            resume=resume,
            window=window,
            format_of_the_input=table.format,
            format_of_the_output=embedding_format(target),
            columns=columns,
            input_column=input,
            header=header,
            pooling=pooling,
            layer=layer,
            vectors_of_tokens=tokens,
            long=long,
            shard=str(share),
            threads=threads,
        )
        total = count_rows(data, table.records)
        rest = replace(table, records=Stride(table.records, done))
        found = loaded.embedding_outcomes(
            rest, input=input, long=when_long, choice=choice, window=window, workers=threads
        )
        rows = _rows(track(found, "embedded", total=total, done=done), long=when_long, tokens=tokens)
        if parts is not None:
            rows = keep_vectors(parts, rows, size=window, target=target)
        staging = parts.folder if parts is not None else None
        write = _write_tokens if tokens else _write_rows
        with closing(found):
            write(target, _watched(rows, tally), columns, width=loaded.width, staging=staging)
    tally.finish(target)


def _check_shard(out: str, *, tokens: bool) -> None:
    from gia_science.data.shards import check_shard_target
    from gia_science.errors import RecipeError

    check_shard_target(out)
    if tokens:
        raise RecipeError(
            "--shard does not go with --tokens",
            got="several lines for a row, which gia merge could not put in order",
            hint="--resume does",
        )


def _rows(outcomes: Iterable[Outcome], *, long: Long, tokens: bool) -> Iterator[VectorRow]:
    """Rows of the output; with `tokens` the cells of the input are not among theirs."""
    import numpy as np

    from gia_science.data.vector_parts import VectorRow
    from gia_science.prediction.columns import outcome_cells

    none = np.zeros(0, dtype=np.int64)
    for outcome in outcomes:
        record = outcome.record
        cells = outcome_cells(outcome, long=long)
        yield VectorRow(
            replace(record, cells=cells if tokens else (*record.cells, *cells)),
            outcome.output,
            none if outcome.units is None else outcome.units + 1,
            outcome.names,
        )


def _watched(rows: Iterable[VectorRow], tally: Tally) -> Iterator[VectorRow]:
    for row in rows:
        yield row
        tally.see(row.record, done=row.vectors is not None, reason=row.record.cells[-1])


def _write_rows(
    out: str, rows: Iterable[VectorRow], columns: tuple[str, ...], *, width: int, staging: Path | None
) -> None:
    from gia_science.data.vectors import EmbeddingWriter

    with EmbeddingWriter(out, columns, width=width, staging=staging) as writer:
        for row in rows:
            writer.write_row(row.record.cells, row.vectors)


def _write_tokens(
    out: str, rows: Iterable[VectorRow], columns: tuple[str, ...], *, width: int, staging: Path | None
) -> None:
    import numpy as np

    from gia_science.data.vectors import TokenEmbeddingWriter

    none = np.zeros((0, width), dtype=np.float32)
    with TokenEmbeddingWriter(out, columns, width=width, staging=staging) as writer:
        for number, row in enumerate(rows, start=1):
            writer.write_row(
                row.record.cells,
                none if row.vectors is None else row.vectors,
                row=number,
                id=row.record.id,
                units=row.units,
                tokens=row.tokens,
            )
