"""``gia predict``: every input row back, in order, with predictions."""

from __future__ import annotations

from collections.abc import Generator
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
)

if TYPE_CHECKING:
    from gia_science.data.record import Record, Table
    from gia_science.prediction.model import Model
    from gia_science.tokens.long import Long

THREADS_HELP = "CPU threads; by default all cores. With --engine ray those of each worker, by default one."
ENGINE_HELP = (
    "local: this process. ray: worker processes on this machine, or on the cluster that RAY_ADDRESS names."
)
WORKERS_HELP = "Worker processes of --engine ray; by default as many as there are CPUs for their threads."


def predict(
    model: ModelFolder,
    data: TableFile,
    out: Annotated[str, typer.Option("--out", "-o", help="CSV, TSV or Parquet file; - for stdout.")] = "-",
    input: Input = None,
    format: Format = None,
    header: Header = True,
    long: LongInputs = "error",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    resume: Resume = False,
    shard: ShardOf = None,
    engine: Annotated[str, typer.Option(help=ENGINE_HELP)] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help=WORKERS_HELP)] = None,
    window: PartRows = None,
) -> None:
    """Predict every row of a table; a row that cannot be read comes back with its reason.

    gia predict model/ candidates.csv -o out.csv

    The exit code is 0 when all rows are predicted, 1 when some are not, 2 when the request cannot be carried out.
    """
    from gia_science.cli.output import leave_cores_to_others

    leave_cores_to_others()
    from gia_science.cli.output import Tally, check_choice, count_rows, track, use_threads
    from gia_science.cli.resume import keep_parts, resumed_threads, shard_target, start_job
    from gia_science.data.shards import Stride
    from gia_science.data.table import open_table
    from gia_science.data.writer import TableWriter, output_columns, output_format, refuse_overwrite
    from gia_science.prediction.columns import numeric_columns, prediction_columns
    from gia_science.prediction.model import Model
    from gia_science.prediction.outcomes import WINDOW
    from gia_science.prediction.ray_engine import predict_file
    from gia_science.tokens.long import CHOICES

    choice = check_choice("--long", long, CHOICES)
    _check_engine(engine, workers, data)
    window = window or WINDOW
    share, target = shard_target(shard, out)
    written_as = output_format(target)
    refuse_overwrite(target, [data])
    tally = Tally("predicted")
    with keep_parts(target, data, resume=resume) as parts:
        own = 1 if engine == "ray" else None
        threads = use_threads(threads or resumed_threads(parts, resume=resume) or own)
        loaded = Model.load(model)
        table = open_table(data, header=header, format=format)
        table = replace(table, records=share.records(table.records))
        columns = output_columns(
            table.header, prediction_columns(loaded.targets, members=loaded.members, long=choice)
        )
        done = start_job(
            parts,
            model,
            data,
            resume=resume,
            window=window,
            format_of_the_input=table.format,
            format_of_the_output=written_as,
            columns=columns,
            input_column=input,
            header=header,
            long=long,
            shard=str(share),
            threads=threads,
        )
        total = count_rows(data, table.records)
        if engine == "ray":
            found = predict_file(
                data,
                model=model,
                input=input,
                long=choice,
                format=format,
                header=header,
                share=share,
                done=done,
                workers=workers,
                threads=threads,
                window=window,
            )
        else:
            rest = replace(table, records=Stride(table.records, done))
            found = _predicted(loaded, rest, input=input, long=choice, window=window, workers=threads)
        rows = track(found, "predicted", total=total, done=done)
        if parts is not None:
            rows = parts.through(rows, size=window)
        added = zip(
            columns[len(table.header) :],
            numeric_columns(loaded.targets, members=loaded.members, long=choice),
            strict=True,
        )
        numbers = [name for name, is_number in added if is_number]
        staging = parts.folder if parts is not None else None
        with closing(found), TableWriter(target, columns, numbers=numbers, staging=staging) as writer:
            for row in rows:
                writer.write_row(row.cells)
                tally.see(row, done=row.cells[-2] == "ok", reason=row.cells[-1])
    tally.finish(target)


def _check_engine(engine: str, workers: int | None, data: str) -> None:
    """Refuse options of an engine that do not go together, or a Ray that is not there, before any work."""
    from gia_science.cli.output import check_choice
    from gia_science.errors import RecipeError
    from gia_science.prediction.ray_engine import check_ray

    if check_choice("--engine", engine, ("local", "ray")) == "local":
        if workers is not None:
            raise RecipeError("--workers goes with --engine ray")
        return
    if data == "-" or (Path(data).exists() and not Path(data).is_file()):
        raise RecipeError(
            "--engine ray reads files, not pipes", got=data, hint="save the input to a file first"
        )
    check_ray()


def _predicted(
    model: Model, table: Table, *, input: str | None, long: Long, window: int, workers: int
) -> Generator[Record, None, None]:
    """Rows of the output."""
    from gia_science.prediction.columns import prediction_cells

    cells = prediction_cells(model.targets, members=model.members, long=long)
    with closing(model.outcomes(table, input=input, long=long, window=window, workers=workers)) as found:
        for outcome in found:
            yield replace(outcome.record, cells=(*outcome.record.cells, *cells(outcome)))
