"""The tables of `accuracy`: every score for programs, and means beside published figures for people."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from gia_science.benchmark.accuracy import TaskTrial
from gia_science.benchmark.protocol import Protocol, protocol_of
from gia_science.benchmark.published import PublishedFigures, published_figures
from gia_science.benchmark.stored import write_files
from gia_science.errors import counted
from gia_science.evaluation.baselines import plain_name
from gia_science.evaluation.metrics import METRICS
from gia_science.evaluation.repeats import Repeats, repeat_scores
from gia_science.evaluation.report import Evaluation

OURS = "gia"
"""Name of the model in the column of models; the others are those of baselines."""
COLUMNS = (
    "task",
    "split",
    "model",
    "seed",
    "metric",
    "is_main",
    "value",
    "low",
    "high",
    "remark",
    "rows_train",
    "rows_validation",
    "rows_test",
    "seconds",
    "version",
    "recipe",
)


def write_tables(folder: Path, trials: Sequence[TaskTrial]) -> str:
    """Write ``results.csv`` and ``table.md``; the Markdown is returned."""
    text = accuracy_markdown(trials, published=published_figures())
    write_files(folder, {"results.csv": results_csv(trials).encode(), "table.md": text.encode()})
    return text


def results_csv(trials: Sequence[TaskTrial]) -> str:
    """One row per task, split, model, seed and metric; of several targets the mean, which has no interval.

    ``is_main`` marks the metric that the task is judged by, ``low`` and ``high`` bound the 95 % bootstrap interval
    over test rows, ``seconds`` are those of the run that gave all models of a split and seed.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in trials:
        scores, main = trial.scores, protocol_of(trial.task).metric.name
        split = "official" if trial.fold is None else f"fold {trial.fold}"
        rows = (trial.rows_train, trial.rows_validation, trial.rows_test)
        run = (*rows, f"{trial.seconds:.1f}", trial.version, trial.recipe)
        for name in (None, *scores.baselines):
            for metric in METRICS[scores.kind]:
                score = scores.score(metric.name, baseline=name)
                numbers = ["" if x is None else f"{x:.6g}" for x in (score.value, score.low, score.high)]
                what = (trial.task, split, name or OURS, trial.seed, metric.name, int(metric.name == main))
                writer.writerow([*what, *numbers, score.reason or "", *run])
    return stream.getvalue()


def accuracy_markdown(trials: Sequence[TaskTrial], *, published: Sequence[PublishedFigures]) -> str:
    """One section per task: the model, the baselines, and what others published.

    Parameters
    ----------
    trials : sequence of TaskTrial
        At least one; all of the same settings.
    published : sequence of PublishedFigures
    """
    changed = ", ".join(f"{key}={value}" for key, value in trials[0].settings.items())
    recipe = f"Recipe with other settings than the default: {changed}." if changed else "Default recipe."
    lines = [f"gia-science {trials[0].version}. {recipe}", ""]
    for task in dict.fromkeys(trial.task for trial in trials):
        mine = [trial for trial in trials if trial.task == task]
        lines += _section(mine, [figures for figures in published if figures.task == task])
    return "\n".join(lines)


def _section(trials: Sequence[TaskTrial], published: Sequence[PublishedFigures]) -> Iterator[str]:
    protocol = protocol_of(trials[0].task)
    scores = [trial.scores for trial in trials]
    yield f"## {protocol.task}: {protocol.recipe.title}"
    yield ""
    yield f"{protocol.card.evaluation.split.strip().rstrip('.')}. {_runs(trials, protocol)}"
    yield ""
    better = "higher" if protocol.metric.greater_is_better else "lower"
    yield f"| model | {protocol.metric_title} ({better} is better) | gia is better in |"
    yield "| --- | --- | --- |"
    repeats = repeat_scores(scores)
    for name in (None, *repeats.baselines):
        won = "" if name is None else f"{repeats.won(name, protocol.metric.name)} of {repeats.runs}"
        shown = f"**{OURS}**" if name is None else plain_name(name)
        yield f"| {shown} | {_cell(scores, repeats, protocol, name)} | {won} |"
    yield ""
    yield from (f"- {plain_name(name)}: {title}" for name, title in scores[0].baselines.items())
    yield ""
    yield from _published(published, protocol)


def _cell(scores: Sequence[Evaluation], repeats: Repeats, protocol: Protocol, name: str | None) -> str:
    one = scores[0].score(protocol.metric.name, baseline=name)
    return str(one if len(scores) == 1 else repeats.score(protocol.metric.name, baseline=name))


def _runs(trials: Sequence[TaskTrial], protocol: Protocol) -> str:
    """How many runs stand behind the figures, and what follows the ±."""
    seeds = counted(len({trial.seed for trial in trials}), "seed")
    folds = len({trial.fold for trial in trials})
    splits = "" if protocol.folds == (None,) else f"{folds} of {len(protocol.folds)} folds, "
    spread = (
        "one run, with the 95 % bootstrap interval over test rows"
        if len(trials) == 1
        else f"mean ± standard deviation of {len(trials)} runs"
    )
    rows = sorted(trial.rows_test for trial in trials)
    tested = f"{rows[0]:,}" if rows[0] == rows[-1] else f"{rows[0]:,} to {rows[-1]:,}"
    seconds = statistics.median(trial.seconds for trial in trials)
    recipe = f"recipe {trials[0].recipe}"
    return f"{splits}{seeds}: {spread}; {tested} test rows; {seconds:.0f} s a run; {recipe}."


def _published(published: Sequence[PublishedFigures], protocol: Protocol) -> Iterator[str]:
    if not published:
        yield "No published figures of this protocol are on file."
        yield ""
        return
    yield "Published by others, not computed here:"
    yield ""
    yield "| model | metric | value | protocol | source |"
    yield "| --- | --- | --- | --- | --- |"
    titles = {metric.name: metric.title for metric in METRICS[protocol.metric.kind]}
    for figures in published:
        for model, value in figures.values.items():
            yield f"| {model} | {titles[figures.metric]} | {value} | {figures.protocol} | {figures.source} |"
    yield ""
    for note in dict.fromkeys(figures.note.strip() for figures in published if figures.note):
        yield note
        yield ""
