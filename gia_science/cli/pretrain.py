"""``gia pretrain``: a language model of sequences, molecules or compositions, for ``gia train`` to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gia_science.cli.options import (
    BadRows,
    Device,
    DevicesPerNode,
    Domain,
    Fold,
    Format,
    Input,
    Nodes,
    OptionalTableFile,
    RecipeHeader,
    Seed,
    Settings,
    SharedThreads,
    SplitMethod,
)


def pretrain(
    data: OptionalTableFile = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the network to.")] = Path(
        "pretrained"
    ),
    objective: Annotated[
        str | None, typer.Option(help="masked (default): hidden tokens. causal: each next token.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Path of a recipe to start from.")] = None,
    input: Input = None,
    domain: Domain = None,
    split: SplitMethod = None,
    fold: Fold = None,
    bad_rows: BadRows = None,
    format: Format = None,
    header: RecipeHeader = None,
    seed: Seed = None,
    setting: Settings = None,
    device: Device = "auto",
    devices: DevicesPerNode = None,
    nodes: Nodes = None,
    threads: SharedThreads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing folder.")] = False,
) -> None:
    """Pretrain a network on inputs without measurements, and report its perplexity on rows held out.

    gia pretrain proteins.fasta -o pretrained

    gia train measured.csv --target activity --from pretrained
    """
    from gia_science.cli.output import check_device, print_table, use_threads
    from gia_science.cli.settings import option_settings, read_settings, split_settings
    from gia_science.errors import RecipeError
    from gia_science.model.pretrained import check_free, save_pretrained
    from gia_science.training.devices import check_rereadable, choose_devices
    from gia_science.training.pretrain import pretrain as run
    from gia_science.training.recipe import PretrainRecipe

    changes = option_settings(locals()) | split_settings(split, fold) | read_settings(setting or [])
    check_device(device)
    chosen = choose_devices(device, devices=devices, nodes=nodes)
    if data is not None:
        changes = {"data.dataset": None, "data.sha256": None, **changes}
    start = PretrainRecipe() if recipe is None else PretrainRecipe.load(recipe)
    wanted = start.updated(changes)
    if wanted.data.file is None and wanted.data.dataset is None:
        raise RecipeError("nothing to pretrain on", hint="name a file with sequences, SMILES or formulas")
    check_rereadable(wanted.data.file, chosen)
    check_free(out, overwrite=overwrite)
    use_threads(threads, processes=chosen.per_node)
    result = run(wanted, devices=chosen)
    folder = save_pretrained(result.saved, out, overwrite=overwrite)
    report = result.report
    head = ["perplexity", "model [95 % interval]", "unigram"]
    print_table(head, [[report.part, str(report.model), str(report.unigram)]])
    typer.echo(f"scored on {report.tokens} tokens of {report.rows} {report.part} rows")
    typer.echo(f"network: {folder}   report: {folder / 'README.md'}")
