"""Five-fold cross-validation of the shipped tasks with their default recipe, the forest beside.

Writes one row per task and fold to ``runs/bundled/folds.csv``, and prints a Markdown table of means and standard
deviations over the folds. One seed; each fold holds out a fifth of the distinct inputs.

    python benchmarks/bundled.py [TASK ...] [--seed N]
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gia_science.evaluation.repeats import repeat_scores
from gia_science.evaluation.report import Evaluation

OUT = Path("runs/bundled")
# Task and the metric it is judged by.
TASKS = {"nav17": "rmse", "amp": "roc_auc", "expt_gap": "mae"}
FOLDS = 5
FOREST = "random_forest"


def run_fold(task: str, fold: int, seed: int) -> Evaluation:
    """Train one fold on one core; the scores on its test rows."""
    folder = OUT / f"{task}-{fold}-seed{seed}"
    command = [
        sys.executable,
        "-m",
        "gia_science",
        "train",
        "--task",
        task,
        "--fold",
        str(fold),
        "--seed",
        str(seed),
    ]
    subprocess.run(
        [*command, "-o", str(folder), "--overwrite", "--threads", "1"], check=True, capture_output=True
    )
    evaluation = Evaluation.from_json(json.loads((folder / "metrics.json").read_text())["test"])
    ours, theirs = (evaluation.score(TASKS[task], baseline=name).value for name in (None, FOREST))
    print(f"{task} fold {fold}: {ours:.4f}, forest {theirs:.4f}", flush=True)
    return evaluation


def main() -> None:
    """Run all folds, two at a time, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    jobs = [(task, fold, chosen.seed) for task in chosen.tasks for fold in range(FOLDS)]
    with ThreadPoolExecutor(2) as pool:
        evaluations = list(pool.map(lambda job: run_fold(*job), jobs))
    with (OUT / "folds.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["task", "fold", "seed", "metric", "model", FOREST])
        for job, evaluation in zip(jobs, evaluations, strict=True):
            metric = TASKS[job[0]]
            values = [evaluation.score(metric, baseline=name).value for name in (None, FOREST)]
            writer.writerow([*job, metric, *values])
    print("\n| task | metric | gia-science | random forest | folds won |\n| --- | --- | --- | --- | --- |")
    for task in chosen.tasks:
        mine = [evaluation for job, evaluation in zip(jobs, evaluations, strict=True) if job[0] == task]
        repeats, metric = repeat_scores(mine), TASKS[task]
        ours, theirs = (repeats.score(metric, baseline=name) for name in (None, FOREST))
        print(f"| {task} | {metric} | {ours} | {theirs} | {repeats.won(FOREST, metric)} of {FOLDS} |")


if __name__ == "__main__":
    main()
