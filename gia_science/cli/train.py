"""``gia train``: a model folder and a report from a table of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gia_science.cli.output import BASELINES, FORMATS, TABLES, asked_baselines
from gia_science.cli.settings import SPLITS


def train(
    data: Annotated[str | None, typer.Argument(help=TABLES)] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", help="Target column; repeat it for several.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the model to.")] = Path("model"),
    task: Annotated[
        str | None, typer.Option(help="Shipped task, or path of a recipe, to start from.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Folder of gia pretrain, to start from its network.")
    ] = None,
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    domain: Annotated[str | None, typer.Option(help="protein, smiles or composition.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="regression, binary, multilabel, multiclass or per_token.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="Numeric column to use beside the input.")
    ] = None,
    split: Annotated[str | None, typer.Option(help=SPLITS)] = None,
    fold: Annotated[int | None, typer.Option(min=0, help="Test fold, counted from 0, of five.")] = None,
    bad_rows: Annotated[
        str | None,
        typer.Option(help="stop (default): list rows that cannot be used and stop. drop: list and go on."),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="Rows of one input: keep (default), mean, median or first make them one row; drop leaves out inputs "
            "whose targets differ; error stops at them."
        ),
    ] = None,
    format: Annotated[str | None, typer.Option(help=FORMATS)] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns (default: yes)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the run.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of the recipe: training.epochs=30.")
    ] = None,
    baseline: Annotated[list[str] | None, typer.Option("--baseline", help=BASELINES)] = None,
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="Fit no baseline beside.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or gpu.")] = "auto",
    devices: Annotated[
        int | None,
        typer.Option(min=1, help="Processes per machine: one for each GPU, or sharing the CPU (default: 1)."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Machines (default: 1).")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads of each process; by default all cores, shared.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model folder.")] = False,
) -> None:
    """Train a property predictor and report how good it is on rows held out.

    gia train measured.csv --target logS

    gia train --task nav17 -o models/nav17

    gia train --set data.dataset=esol -t log_solubility
    """
    from gia_science.cli.output import check_device, print_evaluation, use_threads
    from gia_science.cli.settings import read_settings, split_settings
    from gia_science.model.folder import check_free
    from gia_science.training.api import start_recipe
    from gia_science.training.devices import check_rereadable, choose_devices
    from gia_science.training.run import run

    given: dict[str, Any] = {
        "data.file": data,
        "data.input": input,
        "data.domain": domain,
        "data.columns": column,
        "pretrained.folder": start,
        "target.names": target,
        "target.kind": kind,
        "data.bad_rows": bad_rows,
        "data.duplicates": duplicates,
        "data.header": header,
        "data.format": format,
        "baselines": asked_baselines(baseline, none=no_baseline),
        "seed": seed,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    changes |= split_settings(split, fold) | read_settings(setting or [])
    check_device(device)
    chosen = choose_devices(device, devices=devices, nodes=nodes)
    check_rereadable(data, chosen)
    _check_asked(task, changes)
    recipe = start_recipe(task, changes=changes)
    check_free(out, overwrite=overwrite)
    check_rereadable(recipe.data.file, chosen)
    result = run(recipe, devices=chosen, jobs=use_threads(threads, processes=chosen.per_node))
    folder = result.model.save(out, overwrite=overwrite)
    print_evaluation(result.evaluation)
    typer.echo(f"model: {folder}   report: {folder / 'README.md'}, {folder / 'report.png'}")
    if (folder / "predictions.csv").is_file():
        typer.echo(f"measured and predicted, row by row: {folder / 'predictions.csv'}")


def _check_asked(task: str | None, changes: Mapping[str, Any]) -> None:
    """Refuse a command that says too little, with what can be said."""
    from gia_science.data.cards import load_card
    from gia_science.data.table import open_table
    from gia_science.errors import RecipeError, Where, listed

    if task is not None:
        return
    file = changes.get("data.file")
    if file is None and "data.dataset" not in changes:
        raise RecipeError(
            "nothing to train on",
            hint="name a file and --target, or a --task; gia tasks list shows those that ship",
        )
    if "target.names" in changes:
        return
    if file is None:
        columns = [target.column for target in load_card(str(changes["data.dataset"])).targets]
        raise RecipeError(
            "which column is to be learnt?", hint=f"say it with --target; there are: {', '.join(columns)}"
        )
    table = open_table(file, header=changes.get("data.header", True), format=changes.get("data.format"))
    hint = f"say it with --target; there are: {listed(table.columns)}"
    if table.format == "fasta":
        hint = "a FASTA file holds no measurements: train on a table with a sequence and a target column"
    raise RecipeError("which column is to be learnt?", hint=hint, where=Where(file=table.source))
