"""``gia benchmark``: comparisons that can be repeated."""

from __future__ import annotations

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
