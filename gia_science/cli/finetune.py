"""``gia finetune``: a model folder from a table of measurements and a pretrained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.options import (
    BadRows,
    Baselines,
    Device,
    DevicesPerNode,
    Domain,
    DuplicatePolicy,
    Fold,
    Format,
    Input,
    Kind,
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
)
from gia_science.cli.output import check_choice
from gia_science.cli.settings import option_settings
from gia_science.cli.train import train_and_tell

BASE = (
    "Pretrained model: folder or Hugging Face id of a transformers model (ESM, ProtBert, ChemBERTa, ...), or a folder "
    "of gia pretrain."
)
ADAPTERS = ("sparse-gin", "lora", "bottleneck", "frozen", "full")


def finetune(
    data: OptionalTableFile = None,
    base: Annotated[str | None, typer.Option(help=BASE)] = None,
    adapter: Annotated[
        str | None,
        typer.Option(
            help="What is trained besides the head: sparse-gin (default), lora, bottleneck, frozen (nothing) or full "
            "(everything)."
        ),
    ] = None,
    target: Targets = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the model to.")] = Path("model"),
    keep_base: Annotated[
        bool,
        typer.Option(
            "--keep-base", help="Put the weights of the base into the folder too, to predict without it."
        ),
    ] = False,
    task: Annotated[
        str | None, typer.Option(help="Shipped task, or path of a recipe, to start from.")
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
    """Fine-tune a pretrained model on measurements and report how good it is on rows held out.

    gia finetune measured.csv --base esm2/ --adapter sparse-gin --target activity

    gia finetune measured.csv --base facebook/esm2_t6_8M_UR50D --adapter lora --set backbone.adapter.rank=4 -t activity
    """
    given = option_settings(locals())
    if adapter is not None:
        given["backbone.adapter"] = {"kind": check_choice("--adapter", adapter, ADAPTERS)}
    if keep_base:
        given["backbone.keep_base"] = True
    if base is None and task is None:
        from gia_science.errors import RecipeError

        raise RecipeError(
            "which pretrained model?", hint="name its folder or its Hugging Face id with --base"
        )
    train_and_tell(
        given,
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
