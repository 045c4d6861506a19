"""``gia evaluate``: a saved model on rows with measured targets, the plain baseline beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    data: Annotated[str, typer.Argument(help="Table with the input and the measured targets.")],
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
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
    """
    from gia_science.cli.output import print_evaluation, use_threads
    from gia_science.data.table import open_table
    from gia_science.data.writer import atomic_file
    from gia_science.prediction.model import Model

    jobs = use_threads(threads)
    loaded = Model.load(model)
    evaluation = loaded.evaluate(open_table(data, header=header), input=input, baseline=baseline, jobs=jobs)
    print_evaluation(evaluation)
    if out is not None:
        with atomic_file(out) as stream:
            stream.write(json.dumps(evaluation.to_json(), indent=1, ensure_ascii=False).encode() + b"\n")
