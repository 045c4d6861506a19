"""``gia finetune``: a model folder from a table of measurements and a pretrained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from gia_science.cli.output import asked_baselines
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
    given: dict[str, Any] = {
        "data.file": data,
        "data.input": input,
        "data.domain": domain,
        "data.columns": column,
        "backbone.pretrained": base,
        "backbone.adapter": None if adapter is None else {"kind": _known(adapter)},
        "backbone.keep_base": keep_base or None,
        "target.names": target,
        "target.kind": kind,
        "data.bad_rows": bad_rows,
        "data.duplicates": duplicates,
        "data.header": header,
        "data.format": format,
        "baselines": asked_baselines(baseline, none=no_baseline),
        "seed": seed,
    }
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


def _known(adapter: str) -> str:
    if adapter in ADAPTERS:
        return adapter
    from gia_science.catalog import suggestion
    from gia_science.errors import RecipeError

    raise RecipeError(
        "the adapter is not known",
        got=repr(adapter),
        expected=f"{', '.join(ADAPTERS[:-1])} or {ADAPTERS[-1]}",
        hint=suggestion(adapter, ADAPTERS),
    )
