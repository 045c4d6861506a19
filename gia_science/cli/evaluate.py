"""``gia evaluate``: a saved model on rows with measured targets, plain baselines beside, or another model."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.options import TABLES, Baselines, Format, Header, Input, ModelFolder, NoBaseline, Threads


def evaluate(
    model: ModelFolder,
    data: Annotated[str, typer.Argument(help=f"Table with the input and the measured targets: {TABLES}")],
    input: Input = None,
    format: Format = None,
    header: Header = True,
    baseline: Baselines = None,
    no_baseline: NoBaseline = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Score groups of the rows besides: a column, or scaffold, chemical_system, length, target_range; "
            "repeat it for several."
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another model folder, to compare with on the same rows.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="JSON file for all figures.")] = None,
    threads: Threads = None,
) -> None:
    """Score a model on measured rows it was not trained on.

    gia evaluate model/ new_measurements.csv --by scaffold

    gia evaluate model/ new_measurements.csv --against other/

    The exit code is 0 when all rows are scored, 1 when some cannot be used, 2 when the request cannot be carried out.
    """
    from gia_science.cli.output import asked_baselines, print_comparison, print_evaluation, use_threads
    from gia_science.data.table import load_table, open_table
    from gia_science.data.writer import atomic_file, refuse_overwrite
    from gia_science.errors import counted
    from gia_science.evaluation.baselines import DEFAULT, check_names
    from gia_science.evaluation.compare import compare
    from gia_science.prediction.model import Model

    jobs = use_threads(threads)
    asked = asked_baselines(baseline, none=no_baseline)
    names = check_names(DEFAULT if asked is None else asked)
    if out is not None:
        refuse_overwrite(out, [data])
    loaded = Model.load(model)
    other = None if against is None else Model.load(against)
    table = load_table(open_table(data, header=header, format=format))
    with atomic_file(out) if out is not None else nullcontext() as stream:
        evaluation = loaded.evaluate(table, input=input, baselines=names, by=by or (), jobs=jobs)
        figures = evaluation.to_json()
        comparison = None
        if other is not None:
            comparison = compare(evaluation, other.evaluate(table, input=input, baselines=()))
            figures["comparison"] = {"against": str(against), **comparison.to_json()}
        if stream is not None:
            text = json.dumps(figures, indent=1, ensure_ascii=False, allow_nan=False)
            stream.write(text.encode() + b"\n")
    print_evaluation(evaluation)
    if comparison is not None:
        print_comparison(comparison, model=str(model), against=str(against))
    if evaluation.left_out:
        typer.echo(f"{counted(evaluation.left_out)} not scored, listed above", err=True)
        raise typer.Exit(1)
