"""Plain baselines on public splits, held against figures of an independent run of the same protocol.

Molecules: one scaffold split in 80/10/10, the largest scaffolds first, as DeepChem makes it; fitted on the first part,
scored on the last. Compositions: the five official folds of matbench v0.1, mean over the folds. Each needs the files
of the data sets in the folder that GIA_DATA_MIRROR names.

    GIA_DATA_MIRROR=folder python benchmarks/baselines.py [TASK ...] [--check] [--threads N]

--check exits with 1 where a figure is off by more than its tolerance, to either side, or a fold is not the one that
scikit-learn makes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rdkit.Chem.Scaffolds import MurckoScaffold
from sklearn.model_selection import KFold, StratifiedKFold

from gia_science.errors import UnreadableInputError
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.registry import fit_baseline
from gia_science.evaluation.metrics import ScoreKind, score_task
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.stream import Reading

MATBENCH_SEED = 18012019
"""Of matbench's folds (Dunn et al., npj Comput. Mater. 2020, 6, 138)."""


@dataclass(frozen=True)
class Task:
    """A data set, the baseline on it, and the figure that is expected."""

    file: str
    target: str
    domain: str
    kind: ScoreKind
    baseline: str
    metric: str
    expected: float
    tolerance: float


TASKS = {
    "esol": Task(
        "molecules/delaney-processed.csv", "measured log solubility in mols per litre",
        "smiles", "regression", "random_forest", "rmse", 0.936, 0.02,
    ),
    "freesolv": Task(
        "molecules/SAMPL.csv", "expt", "smiles", "regression", "random_forest", "rmse", 2.471, 0.02
    ),
    "bbbp": Task("molecules/BBBP.csv", "p_np", "smiles", "binary", "random_forest", "roc_auc", 0.743, 0.02),
    "matbench_expt_gap": Task(
        "materials/matbench_expt_gap.csv", "target", "composition", "regression", "extra_trees", "mae", 0.415, 0.02
    ),
    "matbench_steels": Task(
        "materials/matbench_steels.csv", "target", "composition", "regression", "extra_trees", "mae", 95.9, 3.0
    ),
    "matbench_expt_is_metal": Task(
        "materials/matbench_expt_is_metal.csv", "target",
        "composition", "binary", "extra_trees", "balanced_accuracy", 0.912, 0.02,
    ),
    "matbench_glass": Task(
        "materials/matbench_glass.csv", "target",
        "composition", "binary", "extra_trees", "balanced_accuracy", 0.850, 0.02,
    ),
}  # fmt: skip


def main() -> None:
    """Run the tasks, print a line for each, and check them where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--check", action="store_true", help="exit with 1 where a figure or a fold is off")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if unknown := set(chosen.tasks) - set(TASKS):
        parser.error(f"no such task: {', '.join(sorted(unknown))}")
    failures = check_folds() if chosen.check else []
    print("task                    baseline       metric             value     expected  off by   seconds")
    for name in chosen.tasks:
        task, started = TASKS[name], time.monotonic()
        values = run(name, threads=chosen.threads, seed=chosen.seed)
        value = statistics.mean(values[task.metric])
        off = value - task.expected
        print(
            f"{name:23} {task.baseline:14} {task.metric:18} {value:<9.4f} {task.expected:<9} {off:<+8.4f} "
            f"{time.monotonic() - started:.0f}",
            flush=True,
        )
        also = {metric: statistics.mean(found) for metric, found in values.items() if metric != task.metric}
        print("   also " + ", ".join(f"{metric} {found:.4f}" for metric, found in also.items()), flush=True)
        if abs(off) > task.tolerance:
            failures.append(f"{name}: {value:.4f} is not {task.expected} within {task.tolerance}")
    for failure in failures:
        print(f"not reproduced: {failure}")
    if chosen.check:
        sys.exit(1 if failures else 0)


def run(name: str, *, threads: int, seed: int) -> dict[str, list[float]]:
    """Every metric on each test part."""
    task = TASKS[name]
    rows = load(name)
    values: dict[str, list[float]] = {}
    for train, test in parts(name, rows):
        known, asked = (
            Inputs.of(task.domain, [rows.readings[index] for index in part]) for part in (train, test)
        )
        fitted = fit_baseline(task.baseline, task.kind, known, rows.y[train], seed=seed, jobs=threads)
        predicted = fitted.predict(asked)[:, 0]
        for score in score_task(task.kind, rows.y[test], predicted, resamples=0):
            if score.value is not None:
                values.setdefault(score.metric, []).append(score.value)
    return values


@dataclass(frozen=True)
class Rows:
    """The rows of a file that can be read: readings, targets (n,), and their places (n,) in the file."""

    readings: list[Reading[Any]]
    y: np.ndarray
    places: np.ndarray


def mirror() -> Path:
    """The folder of the data sets."""
    folder = os.environ.get("GIA_DATA_MIRROR")
    if not folder or not Path(folder).is_dir():
        sys.exit("set GIA_DATA_MIRROR to the folder of the data sets")
    return Path(folder)


def load(name: str) -> Rows:
    """Read the file of a task."""
    task = TASKS[name]
    read = make_tokenizer(task.domain, options={}).read
    column = "smiles" if task.domain == "smiles" else "formula"
    readings, y, places = [], [], []
    for place, row in enumerate(table(task.file)):
        try:
            readings.append(read(row[column]))
        except UnreadableInputError:
            continue
        y.append(number(row[task.target]))
        places.append(place)
    return Rows(readings, np.array(y), np.array(places))


def table(file: str) -> list[dict[str, str]]:
    """Rows of a CSV in the mirror."""
    with (mirror() / file).open(newline="") as stream:
        return list(csv.DictReader(stream))


def number(cell: str) -> float:
    """A value, or 0 and 1 for the labels of a class."""
    return {"True": 1.0, "False": 0.0}[cell] if cell in ("True", "False") else float(cell)


def official_folds() -> dict[str, Any]:
    """Test fold of each row of the files of matbench."""
    tasks: dict[str, Any] = json.loads((mirror() / "materials" / "matbench_folds.json").read_text())["tasks"]
    return tasks


def parts(name: str, rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows: one pair for molecules, five for compositions."""
    if TASKS[name].domain == "smiles":
        yield scaffold_split([MurckoScaffold.MurckoScaffoldSmiles(mol=one.parsed) for one in rows.readings])
        return
    fold = np.array(official_folds()[name]["test_fold"])[rows.places]
    for held_out in range(5):
        yield np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)


def scaffold_split(scaffolds: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """First and last part of DeepChem's scaffold split: whole scaffolds, the largest and last-seen first."""
    groups: dict[str, list[int]] = {}
    for index, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(index)
    train: list[int] = []
    validation: list[int] = []
    test: list[int] = []
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(train) + len(group) <= 0.8 * len(scaffolds):
            train += group
        elif len(train) + len(validation) + len(group) <= 0.9 * len(scaffolds):
            validation += group
        else:
            test += group
    return np.array(train), np.array(test)


def check_folds() -> list[str]:
    """Which files of the mirror have other folds than scikit-learn makes, row by row."""
    wrong = []
    for name, official in official_folds().items():
        cells = table(f"materials/{official['file']}")
        y = [row["target"] for row in cells]
        labels = len(set(y)) == 2
        splitter = (StratifiedKFold if labels else KFold)(5, shuffle=True, random_state=MATBENCH_SEED)
        fold = np.full(len(y), -1)
        for number, (_, test) in enumerate(splitter.split(y, y)):
            fold[test] = number
        same = fold.tolist() == official["test_fold"]
        print(f"folds of {name}: {len(y)} rows, {'as official' if same else 'NOT as official'}", flush=True)
        if not same:
            wrong.append(f"{name}: the folds of scikit-learn are not the official ones")
    return wrong


if __name__ == "__main__":
    main()
