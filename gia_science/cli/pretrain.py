"""``gia pretrain``: a language model of sequences, molecules or compositions, for ``gia train`` to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gia_science.cli.output import FORMATS, TABLES
from gia_science.cli.settings import SPLITS


def pretrain(
    data: Annotated[str | None, typer.Argument(help=TABLES)] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the network to.")] = Path(
        "pretrained"
    ),
    objective: Annotated[
        str | None, typer.Option(help="masked (default): hidden tokens. causal: each next token.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Path of a recipe to start from.")] = None,
    input: Annotated[str | None, typer.Option(help="Input column.")] = None,
    domain: Annotated[str | None, typer.Option(help="protein, smiles or composition.")] = None,
    split: Annotated[str | None, typer.Option(help=SPLITS)] = None,
    fold: Annotated[int | None, typer.Option(min=0, help="Test fold, counted from 0, of five.")] = None,
    bad_rows: Annotated[
        str | None,
        typer.Option(help="stop (default): list rows that cannot be used and stop. drop: list and go on."),
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
    device: Annotated[str, typer.Option(help="auto, cpu or gpu.")] = "auto",
    devices: Annotated[
        int | None,
        typer.Option(min=1, help="Processes per machine: one for each GPU, or sharing the CPU (default: 1)."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Machines (default: 1).")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads of each process; by default all cores, shared.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing folder.")] = False,
) -> None:
    """Pretrain a network on inputs without measurements, and report its perplexity on rows held out.

    gia pretrain proteins.fasta -o pretrained

    gia train measured.csv --target activity --from pretrained
    """
    from gia_science.cli.output import check_device, print_table, use_threads
    from gia_science.cli.settings import read_settings, split_settings
    from gia_science.errors import RecipeError
    from gia_science.model.pretrained import check_free, save_pretrained
    from gia_science.training.devices import check_rereadable, choose_devices
    from gia_science.training.pretrain import pretrain as run
    from gia_science.training.recipe import PretrainRecipe

    given: dict[str, Any] = {
        "data.file": data,
        "data.input": input,
        "data.domain": domain,
        "data.bad_rows": bad_rows,
        "data.header": header,
        "data.format": format,
        "objective": objective,
        "seed": seed,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    changes |= split_settings(split, fold) | read_settings(setting or [])
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
