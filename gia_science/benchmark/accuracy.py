"""The default recipe of shipped tasks and all baselines, over the official splits of each task."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gia_science.benchmark.protocol import Protocol, protocol_of
from gia_science.benchmark.stored import in_processes, read_stored, require_same, write_stored
from gia_science.evaluation.report import Evaluation
from gia_science.model.store import made_with
from gia_science.settings import Strict
from gia_science.training.devices import Devices
from gia_science.training.run import run

logger = logging.getLogger("gia_science")


class TaskTrial(Strict):
    """One training on one split of a task, as it lies in a file.

    Parameters
    ----------
    task : str
    fold : int or None
        Test fold; None where the task has one split.
    seed : int
    settings : mapping of str to str
        What was changed of the recipe, each value as JSON.
    version : str
        Version of the package.
    recipe : str
        First digits of the hash of the task's recipe.
    rows_train, rows_validation, rows_test : int
        Rows of the split. Baselines are fitted on training and validation rows together.
    seconds : float
        Of everything on one core: reading, training, and fitting all baselines.
    evaluation : mapping
        On the test rows, as `Evaluation.to_json` gives it.
    """

    task: str
    fold: int | None
    seed: int
    settings: dict[str, str]
    version: str
    recipe: str
    rows_train: int
    rows_validation: int
    rows_test: int
    seconds: float
    evaluation: dict[str, Any]

    @property
    def key(self) -> tuple[str, int | None, int]:
        """What tells it from other trials."""
        return self.task, self.fold, self.seed

    @property
    def scores(self) -> Evaluation:
        """The scores of the model and the baselines."""
        return Evaluation.from_json(self.evaluation)


def measure(
    folder: Path,
    *,
    tasks: Sequence[str],
    seeds: int,
    settings: Mapping[str, Any] | None = None,
    baselines: Sequence[str] | None = None,
    folds: Sequence[int] | None = None,
    jobs: int = 1,
) -> list[TaskTrial]:
    """Train and score every task on each of its splits with every seed.

    Parameters
    ----------
    folder : Path
        Gets one file per trial, ``nav17-fold0-seed0.json``; what is there already is not trained again.
    tasks : sequence of str
        Shipped tasks whose data are there.
    seeds : int
        Number of seeds, from 0.
    settings : mapping, optional
        Settings of the recipes, under dotted keys.
    baselines : sequence of str, optional
        Baselines to fit beside; by default all.
    folds : sequence of int, optional
        Only these folds of cross-validations.
    jobs : int, default 1
        Processes, each on one core.

    Returns
    -------
    list of TaskTrial
        All that lie in the folder, in order of task, fold and seed; those of tasks not asked for included.

    Raises
    ------
    RecipeError
        When the folder holds trials of other settings, recipes or versions.
    """
    settings = dict(settings or {})
    folder.mkdir(parents=True, exist_ok=True)
    done = {trial.key: trial for trial in stored_trials(folder, settings=settings, baselines=baselines)}
    wanted = [
        (task, fold, seed)
        for seed in range(seeds)
        for task in tasks
        for fold in protocol_of(task, settings=settings).folds
        if folds is None or fold is None or fold in folds
    ]
    left = [key for key in wanted if key not in done]
    arguments = [(*key, settings, baselines) for key in left]
    for count, trial in enumerate(in_processes(run_task, arguments, jobs=jobs), start=1):
        write_stored(folder / _name(*trial.key), trial)
        done[trial.key] = trial
        logger.info("%s: %d of %d done", _label(*trial.key), count + len(wanted) - len(left), len(wanted))
    return sorted(done.values(), key=_order)


def stored_trials(
    folder: Path, *, settings: Mapping[str, Any], baselines: Sequence[str] | None = None
) -> list[TaskTrial]:
    """All trials in a folder, which must be of these settings and baselines, today's recipes and this version."""
    same = {"settings": _as_text(settings), "version": _version()}
    trials = []
    for path in sorted(folder.glob("*.json")):
        trial = read_stored(path, TaskTrial, same=same)
        assert trial is not None
        # The recipe of a task may have changed without a change of version.
        recipe = protocol_of(trial.task, settings=settings, baselines=baselines).recipe_hash
        require_same(trial, {"recipe": recipe}, path=path)
        trials.append(trial)
    return trials


def run_task(
    task: str,
    fold: int | None,
    seed: int,
    settings: Mapping[str, Any],
    baselines: Sequence[str] | None = None,
) -> TaskTrial:
    """Train once, fit the baselines beside, score all of them on the test rows."""
    protocol: Protocol = protocol_of(task, settings=settings, baselines=baselines)
    start = time.perf_counter()
    result = run(protocol.recipe_of(fold=fold, seed=seed), devices=Devices("cpu"), progress=False)
    split = result.prepared.split
    return TaskTrial(
        task=task,
        fold=fold,
        seed=seed,
        settings=_as_text(settings),
        version=_version(),
        recipe=protocol.recipe_hash,
        rows_train=len(split.train),
        rows_validation=len(split.validation),
        rows_test=len(split.test),
        seconds=time.perf_counter() - start,
        evaluation=result.evaluation.to_json(),
    )


def _name(task: str, fold: int | None, seed: int) -> str:
    return f"{task}{'' if fold is None else f'-fold{fold}'}-seed{seed}.json"


def _label(task: str, fold: int | None, seed: int) -> str:
    return f"{task}{'' if fold is None else f', fold {fold}'}, seed {seed}"


def _order(trial: TaskTrial) -> tuple[str, int, int]:
    return trial.task, -1 if trial.fold is None else trial.fold, trial.seed


def _as_text(settings: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: json.dumps(value, default=str, ensure_ascii=False) for key, value in sorted(settings.items())
    }


def _version() -> str:
    return made_with().get("gia-science", "unknown")
