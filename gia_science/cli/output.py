"""What commands have in common: tables, progress, the last line and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from gia_science.catalog import suggestion
from gia_science.errors import RecipeError, counted

if TYPE_CHECKING:
    from gia_science.data.record import Record
    from gia_science.evaluation.compare import Comparison
    from gia_science.evaluation.report import Evaluation


ChoiceT = TypeVar("ChoiceT", bound=str)
ItemT = TypeVar("ItemT")
SHOWN = 10
"""Most rows that are named one by one in the last lines of a command."""


def use_threads(threads: int | None, *, processes: int = 1) -> int:
    """Set the number of CPU threads; by default this process's share of the cores that it may use."""
    import torch

    count = threads or max(1, available_cores() // processes)
    torch.set_num_threads(count)
    if processes > 1:
        # Lightning sets a number of its own where it does not find one here.
        os.environ["OMP_NUM_THREADS"] = str(count)
    return count


def leave_cores_to_others() -> None:
    """Have PyTorch's threads sleep while they wait, unless the user's environment says otherwise.

    By default they keep their cores busy, which the processes that featurise beside them need. Read once, when PyTorch
    is imported: call it before.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def asked_baselines(names: Sequence[str] | None, *, none: bool) -> list[str] | None:
    """Names of ``--baseline``; an empty list for ``--no-baseline``, and None where nothing is said."""
    if names and none:
        raise RecipeError("--baseline and --no-baseline exclude each other", got=", ".join(names))
    return [] if none else (list(names) if names else None)


def use_processes(jobs: int | None) -> int:
    """Number of processes, by default one per core; a single one is this process, which then has one thread."""
    count = jobs or available_cores()
    if count == 1:
        use_threads(1)
    return count


def available_cores() -> int:
    """Number of cores that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_choice(option: str, value: str, allowed: Sequence[ChoiceT]) -> ChoiceT:
    """A value that is one of the allowed ones; anything else raises `RecipeError`."""
    for choice in allowed:
        if choice == value:
            return choice
    raise RecipeError(
        f"{option} is not valid",
        got=repr(value),
        expected=f"{', '.join(allowed[:-1])} or {allowed[-1]}",
        hint=suggestion(value, allowed),
    )


def check_device(device: str) -> None:
    """Refuse a device that is not known or not there, before any work."""
    import torch

    check_choice("--device", device, ("auto", "cpu", "gpu"))
    if device == "gpu" and not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        raise RecipeError("no GPU is found", hint="--device cpu, or a PyTorch that knows the GPU")


class Tally:
    """Counts what became of the rows of a command, on their way to the output.

    Parameters
    ----------
    verb : str
        What is done to a row: ``"predicted"``.
    """

    def __init__(self, verb: str) -> None:
        from gia_science.data.ids import RepeatedIds

        self._verb = verb
        self._ids = RepeatedIds()
        self._total = 0
        self._remarks = 0
        self._failed = 0
        self._shown: list[str] = []

    def see(self, record: Record, *, done: bool, reason: str) -> None:
        """Count one row: whether it was done, and the reason why not or the remark on it."""
        self._total += 1
        self._ids.see(record)
        self._remarks += done and bool(reason)
        if not done:
            self._failed += 1
            if len(self._shown) < SHOWN:
                self._shown.append(f"line {record.line}: {reason}")

    def finish(self, out: str) -> None:
        """Last lines of the command; exit code 1 where some rows were not done."""
        repeated = self._ids.describe()
        if repeated is not None:
            typer.echo(repeated, err=True)
        if self._remarks:
            read = f"{counted(self._remarks)} read with a remark: see the column reason"
            typer.echo(read, err=True)
        place = "" if out == "-" else f" -> {out}"
        if not self._failed:
            typer.echo(f"{counted(self._total)} {self._verb}{place}", err=True)
            return
        more = f"; and {self._failed - SHOWN} more" if self._failed > SHOWN else ""
        not_done = f"{self._failed} of {counted(self._total)} not {self._verb}"
        typer.echo(f"{not_done}: {'; '.join(self._shown)}{more}{place}", err=True)
        raise typer.Exit(1)


def track(items: Iterable[ItemT], word: str, *, total: int | None = None, done: int = 0) -> Iterable[ItemT]:
    """Progress with rows per second on standard error where that is a terminal, and the time left.

    Parameters
    ----------
    items : iterable
        One per row.
    word : str
        What is done to a row.
    total : int, optional
        Number of rows, `done` ones included, from `count_rows`; without it there is no time left to show.
    done : int, default 0
        Rows that an earlier process did.
    """
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    # Rows come in windows: the mean rate foretells more than that of the last moment.
    return tqdm(items, desc=word, unit=" rows", file=sys.stderr, total=total, initial=done, smoothing=0)


def count_rows(data: str, records: Iterable[Record]) -> int | None:
    """Number of records of a regular file, read for it where there is a progress bar to show it; else None."""
    if not sys.stderr.isatty() or not Path(data).is_file():
        return None
    return sum(1 for _ in records)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns of text on standard output."""
    widths = [max(len(line[index]) for line in (head, *rows)) for index in range(len(head))]
    for line in (head, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_evaluation(evaluation: Evaluation) -> None:
    """Table of metrics, the baselines' beside the model's, and what must be known to read it."""
    from gia_science.evaluation.baselines import plain_name

    print_table(evaluation.head, evaluation.table())
    for name, title in evaluation.baselines.items():
        typer.echo(f"{plain_name(name)}: {title}")
    if not evaluation.baselines:
        typer.echo(f"no baselines: {evaluation.no_baselines}")
    if evaluation.groups:
        typer.echo()
        print_table(evaluation.group_head, evaluation.group_table())
    for note in evaluation.notes:
        typer.echo(note)


def print_comparison(comparison: Comparison, *, model: str, against: str) -> None:
    """A metric of two models on the same rows, and which is better."""
    from gia_science.evaluation.metrics import three_digits

    values = ["undefined" if x is None else three_digits(x) for x in (comparison.first, comparison.second)]
    typer.echo(f"\nfirst: {model}; second: {against}; {counted(comparison.rows)} of both")
    typer.echo(f"{comparison.metric}: first {values[0]}, second {values[1]}")
    typer.echo(comparison.verdict)
