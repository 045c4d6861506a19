"""``gia predict``: every input row back, in order, with predictions."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

LONG_HELP = "error: refuse inputs longer than the model allows. truncate: use their first part."


def predict(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV, FASTA or Parquet file, plain or gzip; - for stdin.")],
    out: Annotated[str, typer.Option("--out", "-o", help="CSV, TSV or Parquet file; - for stdout.")] = "-",
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = True,
    long: Annotated[str, typer.Option(help=LONG_HELP)] = "error",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    """Predict every row of a table; a row that cannot be read comes back with its reason.

    gia predict model/ candidates.csv -o out.csv

    The exit code is 0 when all rows are predicted, 1 when some are not, 2 when the request cannot be carried out.
    """
    from gia_science.cli.output import Tally, check_choice, use_threads
    from gia_science.data.table import open_table
    from gia_science.data.writer import TableWriter, output_columns, refuse_overwrite
    from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
    from gia_science.prediction.model import Model

    truncate = check_choice("--long", long, ("error", "truncate")) == "truncate"
    workers = use_threads(threads)
    refuse_overwrite(out, [data])
    loaded = Model.load(model)
    table = open_table(data, header=header)
    columns = output_columns(table.header, prediction_columns(loaded.targets))
    cells = prediction_cells(loaded.targets)
    added = zip(columns[len(table.header) :], numeric_columns(loaded.targets), strict=True)
    numeric = [name for name, is_number in added if is_number]
    tally = Tally("predicted")
    with (
        closing(loaded.outcomes(table, input=input, truncate=truncate, workers=workers)) as results,
        TableWriter(out, columns, numbers=numeric) as writer,
    ):
        for outcome in tally.watch(results):
            writer.write_row((*outcome.record.cells, *cells(outcome)))
    tally.finish(out)
