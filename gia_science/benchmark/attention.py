"""Plain, GIN and PNA attention at equal size, on the same data, seeds and budget."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from gia_science.benchmark.arms import ARMS, Arm
from gia_science.benchmark.experiment import LANGUAGE, experiment
from gia_science.benchmark.stored import in_processes, read_stored, write_stored
from gia_science.benchmark.trial import Trial, expansions, run_trial, step_times
from gia_science.settings import Strict

logger = logging.getLogger("gia_science")
TASKS = (LANGUAGE, "nav17", "amp", "expt_gap")


class Preset(Strict):
    """How much is trained.

    Parameters
    ----------
    seeds : int
        Number of seeds, from 0.
    settings : mapping
        Settings of the recipes of all tasks, under dotted keys; all else has its default.
    tasks : mapping
        Further settings of single tasks.
    """

    seeds: int = Field(ge=2)
    settings: dict[str, Any]
    tasks: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def of_task(self, task: str) -> dict[str, Any]:
        """Settings of one task."""
        return {**self.settings, **self.tasks.get(task, {})}


_SMALLER = {"network.width": 64, "network.attention.heads": 4, "training.min_steps": 1}
PRESETS: Mapping[str, Preset] = {
    "full": Preset(
        seeds=5,
        settings=_SMALLER,
        tasks={
            LANGUAGE: {"training.epochs": 10},
            "nav17": {"training.epochs": 20},
            "amp": {"training.epochs": 6},
            "expt_gap": {"training.epochs": 20},
        },
    ),
    "small": Preset(
        seeds=2, settings={**_SMALLER, "network.width": 32, "training.epochs": 1, "training.batch_rows": 256}
    ),
}
"""Half the default width, with heads as wide as the default's, so that five seeds of all arms take two hours."""


class Batch(Strict):
    """All trials of one task and seed, as they lie in a file.

    Parameters
    ----------
    settings : mapping
        Settings of the recipe, to see that trials belong together.
    trials : tuple of Trial
        One per arm.
    seconds : mapping of str to tuple of float
        Time of a training step of each arm, in rounds taken in turns.
    """

    task: str
    seed: int
    settings: dict[str, Any]
    trials: tuple[Trial, ...]
    seconds: dict[str, tuple[float, ...]]


def compare(
    folder: Path, *, preset: Preset, tasks: Sequence[str] = TASKS, arms: Sequence[Arm] = ARMS, jobs: int = 1
) -> list[Batch]:
    """Train every arm on every task with every seed.

    Parameters
    ----------
    folder : Path
        Gets one file per task and seed, ``nav17-0.json``; what is there already is not trained again.
    preset : Preset
    tasks, arms : sequence
    jobs : int, default 1
        Processes, each on one core.

    Raises
    ------
    RecipeError
        When the folder holds trials of other settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(task, seed) for seed in range(preset.seeds) for task in tasks]
    done = {}
    for task, seed in wanted:
        same = {"settings": preset.of_task(task)}
        found = read_stored(_path(folder, task, seed), Batch, same=same)
        if found is not None:
            done[task, seed] = found
    left = [job for job in wanted if job not in done]
    arguments = [(task, seed, preset.of_task(task), arms) for task, seed in left]
    for batch in in_processes(run_batch, arguments, jobs=jobs):
        write_stored(_path(folder, batch.task, batch.seed), batch)
        done[batch.task, batch.seed] = batch
        logger.info("%s, seed %d: %d of %d done", batch.task, batch.seed, len(done), len(wanted))
    return [done[job] for job in wanted]


def run_batch(task: str, seed: int, settings: Mapping[str, Any], arms: Sequence[Arm]) -> Batch:
    """Train all arms on one task with one seed; the rows are read and encoded once."""
    item = experiment(task, seed=seed, settings=settings)
    sizes = expansions(item, arms)
    seconds = step_times(item, arms, expansion=sizes)
    trials = [run_trial(item, arm, expansion=sizes[arm.name]) for arm in arms]
    return Batch(
        task=task,
        seed=seed,
        settings=dict(settings),
        trials=tuple(trials),
        seconds={name: tuple(times) for name, times in seconds.items()},
    )


def _path(folder: Path, task: str, seed: int) -> Path:
    return folder / f"{task}-{seed}.json"
