"""Forests on public splits, held against figures of an independent run of the same protocol.

Molecules: one scaffold split in 80/10/10, the largest scaffolds first, as DeepChem makes it; fitted on the first part,
scored on the last. Compositions: the five official folds of matbench v0.1, mean over the folds. Data, splits and
metrics are those of the shipped tasks. Two forests are fitted on each, with several seeds:

- one made of scikit-learn, RDKit and a table of the elements only, as the figure to be reproduced was: counts of Morgan
  environments in 2048 buckets and RDKit's 2D descriptors, or the statistics of Ward et al. (npj Comput. Mater. 2016, 2,
  16028) over the Magpie table of the elements; 500 trees that try a third of the features at a split;
- the package's own baseline, which a figure may not be better than.

    GIA_DATA_MIRROR=folder python benchmarks/baselines.py [TASK ...] [--check] [--threads N] [--seeds N]

--check exits with 1 where the first is off by more than its tolerance, to either side, the second is worse than the
figure by more than that, or a row is in another fold than the official list of the folder says.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import rdBase
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gia_science import catalog
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.registry import fit_baseline
from gia_science.evaluation.metrics import METRICS, ScoreKind, score_task
from gia_science.training.prepare import Prepared, prepare
from gia_science.training.recipe import Recipe

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TREES = 500
SHARE = 1 / 3


@dataclass(frozen=True)
class Figure:
    """What an independent run got: by which forest, in which metric, and how near is near enough."""

    baseline: str
    metric: str
    expected: float
    tolerance: float


FIGURES = {
    "esol": Figure("random_forest", "rmse", 0.936, 0.02),
    "freesolv": Figure("random_forest", "rmse", 2.471, 0.02),
    "bbbp": Figure("random_forest", "roc_auc", 0.743, 0.02),
    "matbench_expt_gap": Figure("extra_trees", "mae", 0.415, 0.02),
    "matbench_steels": Figure("extra_trees", "mae", 95.9, 3.0),
    "matbench_is_metal": Figure("extra_trees", "balanced_accuracy", 0.912, 0.02),
    "matbench_glass": Figure("extra_trees", "balanced_accuracy", 0.850, 0.02),
}
OFFICIAL = {"matbench_is_metal": "matbench_expt_is_metal"}
"""Names in the official list, where they are others than the tasks'."""


def main() -> int:
    """Run the tasks, print a line for each, and check them where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(FIGURES), metavar="TASK", help=", ".join(FIGURES))
    parser.add_argument("--check", action="store_true", help="exit with 1 where a figure or a fold is off")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds of each forest (default 3)")
    chosen = parser.parse_args()
    if unknown := set(chosen.tasks) - set(FIGURES):
        parser.error(f"no such task: {', '.join(sorted(unknown))}")
    logging.getLogger("gia_science").setLevel(logging.ERROR)
    rdBase.DisableLog("rdApp.*")
    failures: list[str] = []
    print("task               metric             expected  reproduced (SD)    the package's (SD)  seconds")
    for name in chosen.tasks:
        failures += compare(name, seeds=chosen.seeds, threads=chosen.threads)
    for failure in failures:
        print(f"not reproduced: {failure}")
    return int(chosen.check and bool(failures))


def compare(name: str, *, seeds: int, threads: int) -> list[str]:
    """Print the line of a task; return what is not as expected."""
    figure, started = FIGURES[name], time.monotonic()
    parts = list(splits(name))
    problems = folds_differ(name, parts)
    plain, ours = [], []
    tables = [independent_tables(part) for part in parts]
    for seed in range(seeds):
        scores = []
        for part, (known, asked) in zip(parts, tables, strict=True):
            forest = independent_forest(figure.baseline, kind_of(part), seed=seed, threads=threads)
            forest.fit(known, truth(part, part.split.train))
            predicted = (
                forest.predict(asked) if kind_of(part) == "regression" else forest.predict_proba(asked)[:, 1]
            )
            scores.append(score(part, predicted, figure.metric))
        plain.append(statistics.mean(scores))
        ours.append(statistics.mean(own(part, figure, seed=seed, threads=threads) for part in parts))
    value, best = statistics.mean(plain), statistics.mean(ours)
    print(
        f"{name:18} {figure.metric:18} {figure.expected:<9} {spread(plain):18} {spread(ours):19} "
        f"{time.monotonic() - started:.0f}",
        flush=True,
    )
    if abs(value - figure.expected) > figure.tolerance:
        problems.append(f"{name}: {value:.4f} is not {figure.expected} within {figure.tolerance}")
    higher = next(
        metric.greater_is_better for metric in METRICS[kind_of(parts[0])] if metric.name == figure.metric
    )
    if (figure.expected - best if higher else best - figure.expected) > figure.tolerance:
        problems.append(f"{name}: the package's baseline, {best:.4f}, is worse than {figure.expected}")
    return problems


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds."""
    return f"{statistics.mean(values):.4f} ({statistics.stdev(values) if len(values) > 1 else 0:.4f})"


def splits(name: str) -> Iterator[Prepared]:
    """The rows of a shipped task with each of its test parts."""
    recipe = Recipe.load(catalog.find("tasks", name))
    folds = range(recipe.split.folds) if recipe.split.method == "folds" else (None,)
    for fold in folds:
        part = prepare(recipe if fold is None else recipe.updated({"split.fold": fold}))
        if fold is not None:
            # A forest has no use for validation rows of its own, and official folds have none.
            whole = np.sort(np.concatenate([part.split.train, part.split.validation]))
            part = replace(part, split=replace(part.split, train=whole, validation=whole[:0]))
        yield part


def kind_of(part: Prepared) -> ScoreKind:
    """Kind of metric."""
    return "regression" if part.targets.kind == "regression" else "binary"


def truth(part: Prepared, rows: IntArray) -> FloatArray:
    """Measured values."""
    return np.array([part.rows[index].target[0] for index in rows])


def score(part: Prepared, predicted: FloatArray, metric: str) -> float:
    """One metric on the test rows."""
    found = score_task(kind_of(part), truth(part, part.split.test), predicted, resamples=0)
    value = next(one.value for one in found if one.metric == metric)
    assert value is not None
    return value


def own(part: Prepared, figure: Figure, *, seed: int, threads: int) -> float:
    """Score of the package's own baseline on the same rows."""
    domain = str(part.recipe.data.domain)
    known, asked = (
        Inputs.of_rows(domain, [part.rows[index] for index in rows])
        for rows in (part.split.train, part.split.test)
    )
    y = truth(part, part.split.train)
    fitted = fit_baseline(figure.baseline, kind_of(part), known, y, seed=seed, jobs=threads)
    return score(part, fitted.predict(asked)[:, 0], figure.metric)


def independent_forest(name: str, kind: ScoreKind, *, seed: int, threads: int) -> Any:
    """A forest of scikit-learn."""
    makers = {
        ("random_forest", "regression"): RandomForestRegressor,
        ("random_forest", "binary"): RandomForestClassifier,
        ("extra_trees", "regression"): ExtraTreesRegressor,
        ("extra_trees", "binary"): ExtraTreesClassifier,
    }
    return makers[name, kind](TREES, max_features=SHARE, random_state=seed, n_jobs=threads)


def independent_tables(part: Prepared) -> tuple[FloatArray, FloatArray]:
    """What the independent forest sees of the training and test rows."""
    describe = environments_and_descriptors if part.recipe.data.domain == "smiles" else magpie_statistics
    known, asked = (
        np.array([describe(part.rows[index].reading.parsed) for index in rows], dtype=np.float64)
        for rows in (part.split.train, part.split.test)
    )
    return known, asked


_MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def environments_and_descriptors(molecule: Any) -> FloatArray:
    """Counts of Morgan environments, then RDKit's 2D descriptors; 0 where one cannot be computed."""
    numbers = np.array([function(molecule) for _, function in Descriptors.descList], dtype=np.float64)
    numbers[~np.isfinite(numbers)] = 0
    return np.concatenate([_MORGAN.GetCountFingerprintAsNumPy(molecule), np.clip(numbers, -1e30, 1e30)])


def magpie_statistics(fractions: dict[str, float]) -> FloatArray:
    """Least, largest, range, mean, mean deviation, and the value of the most frequent element, per property."""
    properties = np.array([magpie()[element] for element in fractions])
    share = np.array(list(fractions.values()))[:, None]
    least, largest = np.nanmin(properties, axis=0), np.nanmax(properties, axis=0)
    mean = np.nansum(properties * share, axis=0)
    deviation = np.nansum(np.abs(properties - mean) * share, axis=0)
    most = properties[np.argmax(share[:, 0])]
    return np.nan_to_num(np.concatenate([least, largest, largest - least, mean, deviation, most]))


_magpie: dict[str, FloatArray] = {}


def magpie() -> dict[str, FloatArray]:
    """Properties of each element, read once."""
    if not _magpie:
        with (mirror() / "materials" / "element_magpie.csv").open(newline="") as stream:
            for row in csv.DictReader(stream):
                name = row.pop("element")
                _magpie[name] = np.array([float(cell) if cell else np.nan for cell in row.values()])
    return _magpie


def folds_differ(name: str, parts: Sequence[Prepared]) -> list[str]:
    """Whether the test folds of a task are others than the official list says, row by row."""
    if len(parts) == 1:
        return []
    listed = json.loads((mirror() / "materials" / "matbench_folds.json").read_text())["tasks"]
    official = listed[OFFICIAL.get(name, name)]["test_fold"]
    # One line of column names, then one line per row.
    ours = {part.rows[row].line - 2: fold for fold, part in enumerate(parts) for row in part.split.test}
    same = [ours.get(place) for place in range(len(official))] == official
    return [] if same else [f"{name}: the test folds are not the official ones"]


def mirror() -> Path:
    """The folder of the data sets."""
    folder = os.environ.get("GIA_DATA_MIRROR")
    if not folder or not Path(folder).is_dir():
        sys.exit("set GIA_DATA_MIRROR to the folder of the data sets")
    return Path(folder)


if __name__ == "__main__":
    sys.exit(main())
