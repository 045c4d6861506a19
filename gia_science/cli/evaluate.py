"""``gia evaluate``: a saved model on rows with measured targets, the plain baseline beside."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.output import FORMATS, TABLES


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    data: Annotated[str, typer.Argument(help=f"Table with the input and the measured targets: {TABLES}")],
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    format: Annotated[str | None, typer.Option(help=FORMATS)] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = True,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Fit a random forest beside.")
    ] = True,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="JSON file for all figures.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    """Score a model on measured rows it was not trained on.

    gia evaluate model/ new_measurements.csv

    The exit code is 0 when all rows are scored, 1 when some cannot be used, 2 when the request cannot be carried out.
    """
    from gia_science.cli.output import print_evaluation, use_threads
    from gia_science.data.table import open_table
    from gia_science.data.writer import atomic_file, refuse_overwrite
    from gia_science.errors import counted
    from gia_science.prediction.model import Model

    jobs = use_threads(threads)
    if out is not None:
        refuse_overwrite(out, [data])
    loaded = Model.load(model)
    table = open_table(data, header=header, format=format)
    with atomic_file(out) if out is not None else nullcontext() as stream:
        evaluation = loaded.evaluate(table, input=input, baseline=baseline, jobs=jobs)
        if stream is not None:
            text = json.dumps(evaluation.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            stream.write(text.encode() + b"\n")
    print_evaluation(evaluation)
    if evaluation.left_out:
        typer.echo(f"{counted(evaluation.left_out)} not scored, listed above", err=True)
        raise typer.Exit(1)
