"""The files of a comparison of adapters: tables for people and programs, and the figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from gia_science.benchmark.adapter_arms import ARMS
from gia_science.benchmark.adapter_figure import adapter_figure
from gia_science.benchmark.adapters import PILOT_SEED, AdapterTrial, chosen_rates
from gia_science.benchmark.stored import write_files
from gia_science.benchmark.summary import scores_csv, summarise, summary_csv, summary_markdown, trials_csv


def write_report(folder: Path, trials: Sequence[AdapterTrial]) -> str:
    """Write tables and figure; the Markdown is returned.

    Parameters
    ----------
    folder : Path
        Gets ``summary.md``, ``summary.csv``, ``trials.csv`` (a row per trial), ``curves.csv`` (a row per epoch),
        ``rates.csv`` and ``adapters.png``.
    trials : sequence of AdapterTrial
        As of `compare`.
    """
    pilots = [one for one in trials if one.trial.seed == PILOT_SEED]
    compared = [one for one in trials if one.trial.seed != PILOT_SEED]
    seconds: dict[tuple[str, str], list[float]] = {}
    for one in compared:
        seconds.setdefault((one.trial.task, one.trial.arm), []).append(one.step_seconds)
    scored = [one.trial for one in compared]
    rows = summarise(scored, seconds=seconds, first=ARMS[0].name)
    text = summary_markdown(rows, about={arm.name: arm.about for arm in ARMS}, sizes=True)
    files = {
        "summary.md": text.encode(),
        "summary.csv": summary_csv(rows).encode(),
        "trials.csv": scores_csv(scored).encode(),
        "curves.csv": trials_csv(scored).encode(),
        "rates.csv": rates_csv(pilots).encode(),
        "adapters.png": adapter_figure(compared),
    }
    write_files(folder, files)
    return text


def rates_csv(pilots: Sequence[AdapterTrial]) -> str:
    """Learning rates that were tried, with their validation loss, and which was chosen."""
    chosen = chosen_rates(pilots)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["task", "arm", "learning_rate", "val_loss", "chosen"])
    for one in pilots:
        is_chosen = chosen[one.task, one.start, one.trial.arm] == one.learning_rate
        loss = f"{one.trial.best_val_loss:.6g}"
        writer.writerow([one.trial.task, one.trial.arm, f"{one.learning_rate:g}", loss, int(is_chosen)])
    return stream.getvalue()
