"""``gia benchmark``: comparisons that can be repeated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Comparisons that can be repeated.", no_args_is_help=True)


@app.callback()
def benchmark() -> None:
    """Comparisons that can be repeated."""


@app.command("attention")
def attention(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="language, nav17, amp, expt_gap; by default all four.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for trials, tables and figure.")] = Path(
        "runs/attention"
    ),
    preset: Annotated[
        str, typer.Option(help="full: five seeds, up to two hours on two cores. small: minutes.")
    ] = "full",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
) -> None:
    """Compare plain, GIN and PNA attention at equal size, on the same data, seeds and budget.

    gia benchmark attention -o runs/attention

    Interrupted, it goes on where it was when it is started again. Writes summary.md, summary.csv, trials.csv and
    curves.png.
    """
    from gia_science.benchmark.arms import ARMS
    from gia_science.benchmark.attention import PRESETS, TASKS, compare
    from gia_science.benchmark.report import write_report
    from gia_science.cli.output import available_cores, check_choice

    chosen = PRESETS[check_choice("--preset", preset, tuple(PRESETS))]
    names = [check_choice("the task", task, TASKS) for task in tasks or TASKS]
    batches = compare(out / "trials", preset=chosen, tasks=names, jobs=jobs or available_cores())
    typer.echo(write_report(out, batches, arms=ARMS))
    typer.echo(f"tables: {out / 'summary.md'}, {out / 'summary.csv'}   figure: {out / 'curves.png'}")


@app.command("adapters")
def adapters(
    base: Annotated[
        str,
        typer.Option(help="Folder, or id on the Hugging Face hub, of a pretrained masked language model."),
    ],
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="language, amp, gb1_two_vs_rest; by default the first two, and with GIA_DATA_MIRROR all three."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for trials, tables and figure.")] = Path(
        "runs/adapters"
    ),
    preset: Annotated[
        str, typer.Option(help="full: three seeds, half an hour or more on one core. small: minutes.")
    ] = "full",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
) -> None:
    """Compare Sparse-GIN, LoRA and other ways to fine-tune at equal size, on a pretrained base and a random one.

    gia benchmark adapters --base FOLDER -o runs/adapters

    benchmarks/antiberty.py of the repository fetches a base that the package index holds. Interrupted, it goes on
    where it was when it is started again. Writes summary.md, summary.csv, trials.csv, curves.csv, rates.csv and
    adapters.png.
    """
    from gia_science.benchmark.adapter_experiment import TASKS
    from gia_science.benchmark.adapter_report import write_report
    from gia_science.benchmark.adapters import PRESETS, compare
    from gia_science.cli.output import check_choice, use_processes
    from gia_science.data.download import MIRROR

    chosen = PRESETS[check_choice("--preset", preset, tuple(PRESETS))]
    usual = TASKS if os.environ.get(MIRROR) else TASKS[:2]
    names = [check_choice("the task", task, TASKS) for task in tasks or usual]
    trials = compare(out / "trials", base=base, preset=chosen, tasks=names, jobs=use_processes(jobs))
    typer.echo(write_report(out, trials))
    typer.echo(f"tables: {out / 'summary.md'}, {out / 'trials.csv'}   figure: {out / 'adapters.png'}")


@app.command("accuracy")
def accuracy(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Shipped tasks; by default those whose data are bundled.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All shipped tasks.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds, from 0; splits stay the same.")] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for trials and tables.")] = Path(
        "runs/accuracy"
    ),
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of the recipes: training.epochs=30.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes of one core each; by default one per core.")
    ] = None,
) -> None:
    """Score the default recipe and all baselines on the official splits of shipped tasks, beside published figures.

    gia benchmark accuracy nav17 --seeds 3 -o runs/accuracy

    Interrupted, it goes on where it was when it is started again. Tasks whose data cannot be had are left out, with
    exit code 1. Writes results.csv and table.md.
    """
    from gia_science import catalog
    from gia_science.benchmark.accuracy import measure
    from gia_science.benchmark.accuracy_tables import write_tables
    from gia_science.benchmark.protocol import bundled_tasks, missing_data, protocol_of
    from gia_science.cli.output import use_processes
    from gia_science.cli.settings import read_settings
    from gia_science.errors import RecipeError

    if tasks and every:
        raise RecipeError("name tasks or say --all, not both", got=", ".join(tasks))
    names = catalog.names("tasks") if every else dict.fromkeys(tasks or bundled_tasks())
    settings = read_settings(setting or [])
    missing = missing_data([protocol_of(name, settings=settings) for name in names])
    for name, reason in missing.items():
        typer.echo(f"{name}: left out, its data cannot be had: {reason}", err=True)
    there = [name for name in names if name not in missing]
    if there:
        jobs = use_processes(jobs)
        trials = measure(out / "trials", tasks=there, seeds=seeds, settings=settings, jobs=jobs)
        typer.echo(write_tables(out, trials))
        typer.echo(f"tables: {out / 'table.md'}, {out / 'results.csv'}")
    if missing:
        raise typer.Exit(1)


@app.command("ablation")
def ablation(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Shipped tasks; by default those whose data are bundled.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Seeds, from 0; splits stay the same.")] = 5,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for trials and tables.")] = Path(
        "runs/ablation"
    ),
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes of one core each; by default one per core.")
    ] = None,
) -> None:
    """Take the ingredients of the default recipe away one at a time, and put others in, on the same splits and seeds.

    gia benchmark ablation nav17 --seeds 5 -o runs/ablation

    Every recipe is one network, so that nothing averages away what an ingredient does; the last ones have more.
    Interrupted, it goes on where it was when it is started again. Writes ablation.csv and ablation.md.
    """
    from gia_science.benchmark.ablation import ablate
    from gia_science.benchmark.ablation_tables import write_tables
    from gia_science.benchmark.protocol import bundled_tasks, missing_data, protocol_of
    from gia_science.cli.output import use_processes
    from gia_science.errors import TableError

    names = [*dict.fromkeys(tasks or bundled_tasks())]
    for name, reason in missing_data([protocol_of(name) for name in names]).items():
        raise TableError(f"the data of {name} cannot be had", hint=reason)
    done = ablate(out / "trials", tasks=names, seeds=seeds, jobs=use_processes(jobs))
    typer.echo(write_tables(out, done))
    typer.echo(f"tables: {out / 'ablation.md'}, {out / 'ablation.csv'}")
