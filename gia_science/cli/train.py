"""``gia train``: a model folder and a report from a table of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gia_science.cli.options import (
    BadRows,
    Baselines,
    Blend,
    Device,
    DevicesPerNode,
    Domain,
    DuplicatePolicy,
    Fold,
    Format,
    Input,
    Kind,
    Members,
    NoBaseline,
    Nodes,
    NumberColumns,
    OptionalTableFile,
    RecipeHeader,
    Seed,
    Settings,
    SharedThreads,
    SplitMethod,
    Targets,
    Time,
)
from gia_science.cli.settings import option_settings


def train(
    data: OptionalTableFile = None,
    target: Targets = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the model to.")] = Path("model"),
    task: Annotated[
        str | None, typer.Option(help="Shipped task, or path of a recipe, to start from.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Folder of gia pretrain, to start from its network.")
    ] = None,
    input: Input = None,
    domain: Domain = None,
    kind: Kind = None,
    column: NumberColumns = None,
    split: SplitMethod = None,
    fold: Fold = None,
    bad_rows: BadRows = None,
    duplicates: DuplicatePolicy = None,
    format: Format = None,
    header: RecipeHeader = None,
    members: Members = None,
    time: Time = None,
    blend: Blend = None,
    seed: Seed = None,
    setting: Settings = None,
    baseline: Baselines = None,
    no_baseline: NoBaseline = False,
    device: Device = "auto",
    devices: DevicesPerNode = None,
    nodes: Nodes = None,
    threads: SharedThreads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model folder.")] = False,
) -> None:
    """Train a property predictor and report how good it is on rows held out.

    gia train measured.csv --target logS

    gia train --task nav17 -o models/nav17

    gia train --set data.dataset=esol -t log_solubility
    """
    train_and_tell(
        option_settings(locals()),
        task=task,
        split=split,
        fold=fold,
        setting=setting,
        out=out,
        overwrite=overwrite,
        device=device,
        devices=devices,
        nodes=nodes,
        threads=threads,
    )


def train_and_tell(
    given: Mapping[str, Any],
    *,
    task: str | None,
    split: str | None,
    fold: int | None,
    setting: list[str] | None,
    out: Path,
    overwrite: bool,
    device: str,
    devices: int | None,
    nodes: int | None,
    threads: int | None,
) -> None:
    """Carry out a recipe with the settings of a command, save the model and print how good it is.

    Parameters
    ----------
    given : mapping
        Settings of a recipe by their dotted names.
    task, split, fold, setting, out, overwrite, device, devices, nodes, threads
        As the options of ``gia train``.
    """
    from gia_science.cli.output import check_device, print_evaluation, use_threads
    from gia_science.cli.settings import read_settings, split_settings
    from gia_science.model.folder import check_free
    from gia_science.training.api import start_recipe
    from gia_science.training.devices import check_rereadable, choose_devices
    from gia_science.training.run import run

    changes = {**given, **split_settings(split, fold), **read_settings(setting or [])}
    check_device(device)
    chosen = choose_devices(device, devices=devices, nodes=nodes)
    check_rereadable(given.get("data.file"), chosen)
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
