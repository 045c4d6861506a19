"""What commands have in common: tables, progress, the last line and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from gia_science.errors import RecipeError

if TYPE_CHECKING:
    from gia_science.evaluation.report import Evaluation

T = TypeVar("T")
SHOWN = 10
"""Most rows that are named one by one in the last lines of a command."""


def use_threads(threads: int | None) -> int:
    """Set the number of CPU threads; by default the cores that the process may use."""
    import torch

    count = (
        threads or len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else threads or os.cpu_count() or 1
    )
    torch.set_num_threads(count)
    return count


def check_choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """A value that is one of the allowed ones; anything else raises `RecipeError`."""
    if value not in allowed:
        raise RecipeError(f"{option} is not valid", got=repr(value), expected=" or ".join(allowed))
    return value


def track(items: Iterable[T], word: str) -> Iterable[T]:
    """Progress with rows per second on standard error; nothing where that is not a terminal."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    return tqdm(items, desc=word, unit=" rows", file=sys.stderr)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns of text on standard output."""
    widths = [max(len(line[index]) for line in (head, *rows)) for index in range(len(head))]
    for line in (head, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_evaluation(evaluation: Evaluation) -> None:
    """Table of metrics, the baseline's beside the model's, and what must be known to read it."""
    beside = evaluation.has_baseline
    head = ["target", "metric", "model [95 % interval]", *(["baseline"] if beside else [])]
    print_table(head, [row if beside else row[:3] for row in evaluation.table()])
    typer.echo(f"baseline: {evaluation.baseline_name}")
    for note in evaluation.notes:
        typer.echo(note)


def finish(verb: str, *, total: int, failed: Sequence[tuple[int, str]], out: str) -> None:
    """Last line of a command over rows; exit code 1 where some rows were not done."""
    place = "" if out == "-" else f" -> {out}"
    if not failed:
        typer.echo(f"{total} rows {verb}{place}", err=True)
        return
    lines = "; ".join(f"line {line}: {reason}" for line, reason in failed[:SHOWN])
    more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
    typer.echo(f"{len(failed)} of {total} rows not {verb}: {lines}{more}{place}", err=True)
    raise typer.Exit(1)
