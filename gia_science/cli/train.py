"""``gia train``: a model folder and a report from a table of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def train(
    data: Annotated[
        str | None, typer.Argument(help="CSV, TSV, FASTA or Parquet file, plain or gzip; - for stdin.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", help="Target column; repeat it for several.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the model to.")] = Path("model"),
    task: Annotated[
        str | None, typer.Option(help="Shipped task, or path of a recipe, to start from.")
    ] = None,
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    domain: Annotated[str | None, typer.Option(help="protein, smiles or composition.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="regression, binary, multilabel, multiclass or per_token.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="Numeric column to use beside the input.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="random, folds, or the name of a column with train/validation/test.")
    ] = None,
    fold: Annotated[int | None, typer.Option(help="Test fold, counted from 0, of five.")] = None,
    bad_rows: Annotated[
        str, typer.Option(help="stop: list rows that cannot be used and stop. drop: list and go on.")
    ] = "stop",
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = True,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of the recipe: training.epochs=30.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Fit a random forest beside.")
    ] = True,
    device: Annotated[str, typer.Option(help="auto, cpu or gpu.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model folder.")] = False,
) -> None:
    """Train a property predictor and report how good it is on rows held out.

    gia train measured.csv --target logS

    gia train --task nav17 -o models/nav17
    """
    from gia_science.cli.output import print_evaluation, use_threads
    from gia_science.errors import RecipeError
    from gia_science.model.folder import check_free
    from gia_science.training.api import start_recipe
    from gia_science.training.run import run

    given: dict[str, Any] = {
        "data.file": data,
        "data.input": input,
        "data.domain": domain,
        "data.columns": column,
        "target.names": target,
        "target.kind": kind,
        "seed": seed,
        **_split_settings(split, fold),
    }
    changes = {key: value for key, value in given.items() if value is not None}
    changes |= {
        "data.bad_rows": bad_rows,
        "data.header": header,
        "baseline": baseline,
        **_settings(setting or []),
    }
    if task is None and (data is None or target is None):
        raise RecipeError(
            "nothing to train on",
            hint="name a file and --target, or a --task; gia tasks list shows those that ship",
        )
    recipe = start_recipe(task, changes=changes)
    check_free(out, overwrite=overwrite)
    result = run(recipe, accelerator=device, jobs=use_threads(threads))
    folder = result.model.save(out, overwrite=overwrite)
    print_evaluation(result.evaluation)
    typer.echo(f"model, report and predictions of held-out rows: {folder}/")


def _split_settings(split: str | None, fold: int | None) -> dict[str, Any]:
    if split is None:
        return {} if fold is None else {"split.method": "folds", "split.fold": fold}
    if split in ("random", "folds"):
        return {"split.method": split, "split.fold": fold}
    return {"split.method": "column", "split.column": split}


def _settings(items: list[str]) -> dict[str, Any]:
    """``key=value`` pairs; values are read as YAML, so that numbers, lists and null are what they look like."""
    import yaml

    from gia_science.errors import RecipeError

    settings = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            raise RecipeError("a setting needs a value", got=repr(item), expected="key=value")
        try:
            settings[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise RecipeError("the value of a setting cannot be read", got=repr(item)) from error
    return settings
