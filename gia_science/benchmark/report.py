"""The files of a comparison: tables for people and programs, and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gia_science.benchmark.arms import Arm
from gia_science.benchmark.attention import Batch
from gia_science.benchmark.curves import curves_figure
from gia_science.benchmark.stored import write_files
from gia_science.benchmark.summary import summarise, summary_csv, summary_markdown, trials_csv


def write_report(folder: Path, batches: Sequence[Batch], *, arms: Sequence[Arm]) -> str:
    """Write ``summary.md``, ``summary.csv``, ``trials.csv`` and ``curves.png``; the Markdown is returned.

    Parameters
    ----------
    folder : Path
    batches : sequence of Batch
        Every task with every seed.
    arms : sequence of Arm
        The first is what the others are compared with.
    """
    trials = [trial for batch in batches for trial in batch.trials]
    tasks = list(dict.fromkeys(trial.task for trial in trials))
    ordered = sorted(trials, key=lambda trial: tasks.index(trial.task))
    seconds: dict[tuple[str, str], list[float]] = {}
    for batch in batches:
        for arm, times in batch.seconds.items():
            seconds.setdefault((batch.task, arm), []).extend(times)
    rows = summarise(ordered, seconds=seconds, first=arms[0].name)
    text = summary_markdown(rows, about={arm.name: arm.about for arm in arms})
    files = {
        "summary.md": text.encode(),
        "summary.csv": summary_csv(rows).encode(),
        "trials.csv": trials_csv(ordered).encode(),
        "curves.png": curves_figure(ordered),
    }
    write_files(folder, files)
    return text
