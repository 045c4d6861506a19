"""Training in one line, as the package offers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gia_science import catalog
from gia_science.data.record import LoadedTable
from gia_science.data.table import table_from_frame
from gia_science.errors import TableError
from gia_science.model.folder import check_free
from gia_science.model.pretrained import check_free as check_free_pretrained
from gia_science.model.pretrained import save_pretrained
from gia_science.prediction.model import Model
from gia_science.training.devices import check_rereadable, choose_devices
from gia_science.training.pretrain import PerplexityReport
from gia_science.training.pretrain import pretrain as run_pretraining
from gia_science.training.recipe import PretrainRecipe, Recipe
from gia_science.training.run import run

if TYPE_CHECKING:
    import pandas as pd


def train(
    data: str | Path | pd.DataFrame | None = None,
    *,
    target: str | Sequence[str] | None = None,
    task: str | None = None,
    input: str | None = None,
    domain: str | None = None,
    columns: Sequence[str] = (),
    pretrained: str | Path | None = None,
    bad_rows: str | None = None,
    duplicates: str | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    devices: int | None = None,
    nodes: int | None = None,
    progress: bool | None = None,
) -> Model:
    """Train a property predictor.

    Parameters
    ----------
    data : path or DataFrame, optional
        Table of inputs and measured targets. Without it, `task` says where the rows are.
    target : str or list of str
        Target columns: all numbers, or one column of classes, or several of yes and no.
    task : str, optional
        Name of a shipped task, or path of a recipe, to start from.
    input : str, optional
        Column of sequences, SMILES or formulas; recognised by its name where not given.
    domain : str, optional
        ``"protein"``, ``"smiles"`` or ``"composition"``; recognised where not given.
    columns : sequence of str
        Numeric columns that go in beside the input, such as a temperature.
    pretrained : path, optional
        Folder of a pretrained network to start from.
    bad_rows : {"stop", "drop"}, optional
        What to do when rows cannot be used: stop, unless a recipe says otherwise. All of them are listed either way.
    duplicates : {"keep", "mean", "median", "first", "drop", "error"}, optional
        What to do with rows of one input: keep, unless a recipe says otherwise. For classes, mean and median are the
        most frequent label; a tie is no label.
    settings : mapping, optional
        Any other setting of a recipe by its dotted name: ``{"training.epochs": 30, "seed": 1}``.
    out : path, optional
        Folder to save the model in.
    overwrite : bool, default False
        Replace an existing model folder.
    devices, nodes : int, optional
        Processes on each machine, one per GPU or sharing the cores, and machines: one each, or those that torchrun
        started. Several are for scripts, once in each: every process runs the script up to here, where all but the
        first end when training is done. What stands before is done by each of them.
    progress : bool, optional
        Draw a progress bar; by default on a terminal.

    Returns
    -------
    Model
        Its figures on held-out rows stand in `Model.metrics`.

    Raises
    ------
    GiaError
        A `ValueError` that says in one line what is wrong, where, and what to do.
    """
    table, changes = _rows(data)
    given: dict[str, Any] = {
        "data.input": input,
        "data.domain": domain,
        "data.columns": list(columns) or None,
        "pretrained.folder": None if pretrained is None else str(pretrained),
        "data.bad_rows": bad_rows,
        "data.duplicates": duplicates,
    }
    if target is not None:
        given["target.names"] = [target] if isinstance(target, str) else list(target)
    changes |= {key: value for key, value in given.items() if value is not None}
    recipe = start_recipe(task, changes=changes | dict(settings or {}))
    if out is not None:
        check_free(Path(out), overwrite=overwrite)
    chosen = choose_devices(devices=devices, nodes=nodes)
    check_rereadable(recipe.data.file, chosen)
    result = run(recipe, table=table, devices=chosen, progress=progress)
    if out is not None:
        result.model.save(out, overwrite=overwrite)
    return result.model


def finetune(
    data: str | Path | pd.DataFrame | None = None,
    *,
    base: str | Path,
    adapter: str | Mapping[str, Any] = "sparse-gin",
    keep_base: bool = False,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Model:
    """Train a property predictor on a pretrained model, most of which stays as it is.

    Parameters
    ----------
    data : path or DataFrame, optional
        As in `train`.
    base : path or str
        Folder of a transformers model, its id on the Hugging Face hub, or a folder that `pretrain` wrote. A folder
        needs no network.
    adapter : str or mapping, default "sparse-gin"
        What is trained besides the head: ``"sparse-gin"``, ``"lora"``, ``"bottleneck"``, ``"frozen"`` (nothing) or
        ``"full"`` (everything); or its settings, as ``{"kind": "lora", "rank": 4}``.
    keep_base : bool, default False
        Put the weights of the base into the model folder too, so that it is complete by itself. Otherwise they are read
        from where they are, and have to be the same.
    settings : mapping, optional
        As in `train`.
    **options
        All others of `train`, such as `target`, `domain`, `columns` and `out`.

    Returns
    -------
    Model
        Like any other, with `Model.predict`, `Model.embed` and `Model.evaluate`.

    Raises
    ------
    GiaError
        A `ValueError` that says in one line what is wrong, where, and what to do.
    """
    backbone = {
        "backbone.pretrained": str(base),
        "backbone.adapter": {"kind": adapter} if isinstance(adapter, str) else dict(adapter),
        "backbone.keep_base": keep_base,
    }
    return train(data, settings=backbone | dict(settings or {}), **options)


def pretrain(
    data: str | Path | pd.DataFrame,
    *,
    out: str | Path,
    objective: str = "masked",
    input: str | None = None,
    domain: str | None = None,
    settings: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    devices: int | None = None,
    nodes: int | None = None,
    progress: bool | None = None,
) -> PerplexityReport:
    """Pretrain a network as a language model, for `train` to start from.

    Parameters
    ----------
    data : path or DataFrame
        Sequences, SMILES or formulas; no measurements are needed.
    out : path
        Folder to save the network in.
    objective : {"masked", "causal"}, default "masked"
        Predict hidden tokens from both sides, or each next token.
    input : str, optional
        Column of sequences, SMILES or formulas; recognised by its name where not given.
    domain : str, optional
        ``"protein"``, ``"smiles"`` or ``"composition"``; recognised where not given.
    settings : mapping, optional
        Any other setting of a `PretrainRecipe` by its dotted name: ``{"training.epochs": 30, "seed": 1}``.
    overwrite : bool, default False
        Replace an existing folder of a pretrained network.
    devices, nodes : int, optional
        As in `train`.
    progress : bool, optional
        Draw a progress bar; by default on a terminal.

    Returns
    -------
    PerplexityReport
        Perplexity on rows held out, the unigram model's beside it.

    Raises
    ------
    GiaError
        A `ValueError` that says in one line what is wrong, where, and what to do.
    """
    table, changes = _rows(data)
    given = {"data.input": input, "data.domain": domain, "objective": objective}
    changes |= {key: value for key, value in given.items() if value is not None}
    recipe = PretrainRecipe.build(changes | dict(settings or {}))
    check_free_pretrained(Path(out), overwrite=overwrite)
    chosen = choose_devices(devices=devices, nodes=nodes)
    check_rereadable(recipe.data.file, chosen)
    result = run_pretraining(recipe, table=table, devices=chosen, progress=progress)
    save_pretrained(result.saved, out, overwrite=overwrite)
    return result.report


def _rows(data: str | Path | pd.DataFrame | None) -> tuple[LoadedTable | None, dict[str, Any]]:
    """Rows in memory, or the setting that says where they are."""
    if data is None:
        return None, {}
    if isinstance(data, str | Path):
        return None, {"data.file": str(data)}
    if not hasattr(data, "columns"):
        raise TableError("cannot train on this", got=type(data).__name__, expected="a path or a DataFrame")
    return table_from_frame(data), {}


def start_recipe(task: str | None, *, changes: Mapping[str, Any]) -> Recipe:
    """Recipe from a shipped task or a file, with changes; or from the changes alone.

    Raises
    ------
    RecipeError, DefinitionError
        When the task does not exist or the recipe is not valid.
    """
    if task is None:
        return Recipe.build(changes)
    path = Path(task)
    recipe = Recipe.load(path if path.suffix in (".yaml", ".yml") else catalog.find("tasks", task))
    if "data.file" in changes:
        changes = {"data.dataset": None, "data.sha256": None, **changes}
    return recipe.updated(changes)
