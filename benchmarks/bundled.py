"""Five-fold cross-validation of the shipped tasks with their default recipe, the forest beside.

Writes one row per task and fold to ``runs/bundled/folds.csv``, and prints a Markdown table of means and standard
deviations over the folds. One seed; each fold holds out a fifth of the distinct inputs.

    python benchmarks/bundled.py [TASK ...] [--seed N]
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OUT = Path("runs/bundled")
# Task and the metric it is judged by.
TASKS = {"nav17": "rmse", "amp": "roc_auc", "expt_gap": "mae"}
FOLDS = 5


def run_fold(task: str, fold: int, seed: int) -> dict[str, str | float]:
    """Train one fold on one core; the model's and the forest's score on its test rows."""
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
    scores = json.loads((folder / "metrics.json").read_text())["test"]["targets"][0]
    value = {
        name: next(score["value"] for score in scores[name] if score["metric"] == TASKS[task])
        for name in ("model", "baseline")
    }
    print(f"{task} fold {fold}: {value['model']:.4f}, forest {value['baseline']:.4f}", flush=True)
    return {"task": task, "fold": fold, "seed": seed, "metric": TASKS[task], **value}


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
        rows = list(pool.map(lambda job: run_fold(*job), jobs))
    with (OUT / "folds.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n| task | metric | gia-science | random forest | folds won |\n| --- | --- | --- | --- | --- |")
    for task in chosen.tasks:
        mine = [row for row in rows if row["task"] == task]
        ours, theirs = ([float(row[name]) for row in mine] for name in ("model", "baseline"))
        better = (lambda a, b: a > b) if TASKS[task] == "roc_auc" else (lambda a, b: a < b)
        won = sum(better(a, b) for a, b in zip(ours, theirs, strict=True))
        print(f"| {task} | {TASKS[task]} | {spread(ours)} | {spread(theirs)} | {won} of {FOLDS} |")


def spread(values: list[float]) -> str:
    """Mean and standard deviation over folds."""
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


if __name__ == "__main__":
    main()
