"""``gia embed``: one vector per row."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.predict import LONG_HELP


def embed(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV, FASTA or Parquet file, plain or gzip; - for stdin.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Parquet, CSV, TSV or NPZ file; - for CSV on stdout.")
    ] = "-",
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = True,
    long: Annotated[str, typer.Option(help=LONG_HELP)] = "error",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    """Write the embedding of every row beside its columns; a row that cannot be read keeps an empty vector.

    gia embed model/ proteins.fasta -o vectors.parquet
    """
    import numpy as np

    from gia_science.cli.output import Tally, check_choice, use_threads
    from gia_science.data.table import open_table
    from gia_science.data.vectors import check_embedding_target, write_embeddings
    from gia_science.data.writer import output_columns, refuse_overwrite
    from gia_science.prediction.model import Model

    truncate = check_choice("--long", long, ("error", "truncate")) == "truncate"
    workers = use_threads(threads)
    refuse_overwrite(out, [data])
    check_embedding_target(out)
    loaded = Model.load(model)
    table = open_table(data, header=header)
    rows, vectors = [], []
    tally = Tally("embedded")
    with closing(
        loaded.embedding_outcomes(table, input=input, truncate=truncate, workers=workers)
    ) as results:
        for outcome in tally.watch(results):
            rows.append((*outcome.record.cells, outcome.status, outcome.reason))
            vectors.append(np.full(loaded.width, np.nan) if outcome.output is None else outcome.output)
    columns = output_columns(table.header, ("status", "reason"))
    write_embeddings(
        out,
        columns={name: [row[index] for row in rows] for index, name in enumerate(columns)},
        vectors=np.array(vectors, dtype=np.float32).reshape(len(rows), loaded.width),
    )
    tally.finish(out)
