"""The tables of `ablation`: what each change does to the score, paired by seed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from gia_science.benchmark.ablation import ChangedTrials
from gia_science.benchmark.protocol import protocol_of
from gia_science.benchmark.stored import write_files
from gia_science.benchmark.summary import Estimate
from gia_science.errors import counted


def write_tables(folder: Path, done: Sequence[ChangedTrials]) -> str:
    """Write ``ablation.csv`` and ``ablation.md``; the Markdown is returned."""
    text = ablation_markdown(done)
    write_files(folder, {"ablation.csv": ablation_csv(done).encode(), "ablation.md": text.encode()})
    return text


def ablation_csv(done: Sequence[ChangedTrials]) -> str:
    """One row per change, task and seed, with the metric that the task is judged by."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["task", "change", "seed", "metric", "value", "rows_test", "version", "recipe"])
    for item in done:
        for trial in item.trials:
            metric = protocol_of(trial.task).metric.name
            made = (trial.rows_test, trial.version, trial.recipe)
            writer.writerow(
                [trial.task, item.change.name, trial.seed, metric, f"{item.score(trial):.6g}", *made]
            )
    return stream.getvalue()


def ablation_markdown(done: Sequence[ChangedTrials]) -> str:
    """One table per task: the score of each change, and its difference from the first with the same seed.

    Means over seeds ± half the 95 % interval by Student's t. A difference whose interval leaves out 0 is in bold, with
    whether it is a gain or a loss.
    """
    tasks = dict.fromkeys(trial.task for item in done for trial in item.trials)
    return "\n".join(line for task in tasks for line in _section(task, done))


def _section(task: str, done: Sequence[ChangedTrials]) -> Iterator[str]:
    protocol = protocol_of(task)
    by_seed = {
        item.change.name: {trial.seed: item.score(trial) for trial in item.trials if trial.task == task}
        for item in done
    }
    first, start = next(iter(by_seed.items()))
    better = "higher" if protocol.metric.greater_is_better else "lower"
    yield f"## {task}: {protocol.recipe.title}"
    yield ""
    yield f"{counted(len(start), 'seed')}, first split; {protocol.metric_title} ({better} is better)."
    yield ""
    yield f"| recipe | {protocol.metric.title} | against {first} |"
    yield "| --- | --- | --- |"
    for name, scores in by_seed.items():
        if not scores:
            continue
        both = [seed for seed in scores if seed in start]
        change = Estimate.of([scores[seed] - start[seed] for seed in both])
        told = "" if name == first else _told(change, greater_is_better=protocol.metric.greater_is_better)
        yield f"| {name} | {Estimate.of([*scores.values()]).text()} | {told} |"
    yield ""


def _told(change: Estimate, *, greater_is_better: bool) -> str:
    text = change.text(signed=True)
    if change.is_zero:
        return text
    return f"**{text}** ({'better' if (change.mean > 0) == greater_is_better else 'worse'})"
