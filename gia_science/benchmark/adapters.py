"""Sparse-GIN and its controls at equal size, on a pretrained base and on a random one of its architecture."""

from __future__ import annotations

import gc
import logging
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import Field
from pytorch_lightning.callbacks import Callback

from gia_science.adapters import AdapterConfig
from gia_science.benchmark.adapter_arms import ARMS, AdapterArm, matched
from gia_science.benchmark.adapter_experiment import STARTS, Adapted, Rows, Start, adapted, prepare_rows
from gia_science.benchmark.experiment import LANGUAGE
from gia_science.benchmark.stored import in_processes, read_stored, write_stored
from gia_science.benchmark.trial import Trial, train_and_score
from gia_science.settings import Strict
from gia_science.training.base import look_at_base

logger = logging.getLogger("gia_science")
PILOT_SEED = 1000
"""Draws the rows that the learning rates are chosen on; seeds of the comparison are far below."""


class Budget(Strict):
    """How much is trained and scored.

    Parameters
    ----------
    rows : Rows
    settings : mapping
        Settings of the recipe of all tasks, under dotted keys.
    """

    rows: Rows
    settings: dict[str, Any]


class Preset(Strict):
    """A budget, seeds, and a smaller budget to try learning rates with.

    Parameters
    ----------
    seeds : int
        Number of seeds, from 0.
    budget, pilot : Budget
    """

    seeds: int = Field(ge=2)
    budget: Budget
    pilot: Budget


def _budget(rows: Rows, *, epochs: int, batch: int) -> Budget:
    settings = {"training.batch_rows": batch, "training.batch_tokens": 1024, "training.epochs": epochs}
    return Budget(rows=rows, settings=settings)


PRESETS: Mapping[str, Preset] = {
    "full": Preset(
        seeds=3,
        budget=_budget(Rows(train=256, validation=96, test=256, watched=48, longest=32), epochs=2, batch=4),
        pilot=_budget(Rows(train=256, validation=96, test=16, watched=16, longest=32), epochs=1, batch=4),
    ),
    "small": Preset(
        seeds=2,
        budget=_budget(Rows(train=16, validation=16, test=32, watched=8, longest=20), epochs=2, batch=8),
        pilot=_budget(Rows(train=16, validation=16, test=16, watched=8, longest=20), epochs=1, batch=8),
    ),
}
"""Few and short rows, so that a base of 26 million parameters is trained 72 times on a processor."""


class AdapterTrial(Strict):
    """A trial as it lies in a file.

    Parameters
    ----------
    budget : Budget
    base_sha256 : str
        Hash of the pretrained base: these, and the adapter, are to see that trials belong together.
    start : str
        ``"pretrained"`` or ``"random"``.
    task : str
        As it was asked for; `trial.task` tells the random base apart.
    adapter : AdapterConfig
        Of the arm; its rank is that which `matched` finds.
    learning_rate : float
        Peak of the schedule.
    step_seconds : float
        Processor time of a training step, median over the training.
    trial : Trial
    """

    budget: Budget
    base_sha256: str
    start: Start
    task: str
    adapter: AdapterConfig
    learning_rate: float
    step_seconds: float
    trial: Trial


class StepTimes(Callback):
    """Processor time of each training step: other work on the machine does not count."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._start = 0.0

    def on_train_batch_start(self, *_: Any) -> None:
        """Start the clock."""
        self._start = time.process_time()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Stop it."""
        del trainer, pl_module
        self.seconds.append(time.process_time() - self._start)


def compare(
    folder: Path,
    *,
    base: str,
    preset: Preset,
    tasks: Sequence[str] = (LANGUAGE, "amp"),
    arms: Sequence[AdapterArm] = ARMS,
    jobs: int = 1,
) -> list[AdapterTrial]:
    """Choose a learning rate of every arm, then train it on every task and base with every seed.

    Rates are chosen task by task, on the pretrained and on the random base, by the lowest validation loss of a
    shorter training on a split of its own.

    Parameters
    ----------
    folder : Path
        Gets one file per trial; what is there already is not trained again.
    base : str
        Folder, or id on the Hugging Face hub, of a model with a head that predicts hidden tokens.
    preset : Preset
    tasks, arms : sequence
    jobs : int, default 1
        Processes, each on one core.

    Returns
    -------
    list of AdapterTrial
        Trials that chose a rate first, told apart by `PILOT_SEED`.

    Raises
    ------
    BaseModelError
        When the base cannot be used.
    RecipeError
        When the folder holds trials of another base or budget.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sha256 = look_at_base(base).sha256
    pilots: list[AdapterTrial] = []
    todo = [(folder, base, sha256, task, PILOT_SEED, preset.pilot, arms, None) for task in tasks]
    for found in in_processes(run_group, todo, jobs=jobs):
        pilots += found
    rates = chosen_rates(pilots)
    done: list[AdapterTrial] = []
    later = [
        (folder, base, sha256, task, seed, preset.budget, arms, rates)
        for seed in range(preset.seeds)
        for task in tasks
    ]
    for found in in_processes(run_group, later, jobs=jobs):
        done += found
    places = {name: place for place, name in enumerate(tasks)}
    done.sort(key=lambda one: (places[one.task], one.start, one.trial.seed))
    return [*pilots, *done]


def chosen_rates(pilots: Iterable[AdapterTrial]) -> dict[tuple[str, Start, str], float]:
    """The learning rate with the lowest validation loss, by task, start and arm."""
    best: dict[tuple[str, Start, str], AdapterTrial] = {}
    for one in pilots:
        key = one.task, one.start, one.trial.arm
        if key not in best or one.trial.best_val_loss < best[key].trial.best_val_loss:
            best[key] = one
    return {key: one.learning_rate for key, one in best.items()}


def run_group(
    folder: Path,
    base: str,
    sha256: str,
    task: str,
    seed: int,
    budget: Budget,
    arms: Sequence[AdapterArm],
    rates: Mapping[tuple[str, Start, str], float] | None,
) -> list[AdapterTrial]:
    """Trials of all arms on one task with one seed; the rows are read and encoded once.

    Without `rates` each arm is trained with all of its own.
    """
    wanted = [
        (start, arm, rate)
        for start, arm in product(STARTS, arms)
        for rate in (arm.rates if rates is None else (rates[task, start, arm.name],))
    ]
    same = {"budget": budget, "base_sha256": sha256, "task": task}
    found: dict[tuple[Start, str, float], AdapterTrial] = {}
    left = []
    for start, arm, rate in wanted:
        path = _path(folder, task, start, arm, seed, rate)
        stored = read_stored(path, AdapterTrial, same={**same, "adapter": arm.config})
        if stored is None:
            left.append((start, arm, rate))
        else:
            found[start, arm.name, rate] = stored
    if left:
        prepared, encoded = prepare_rows(
            task, base=base, seed=seed, settings=budget.settings, rows=budget.rows
        )
        starts = dict.fromkeys(start for start, _, _ in left)
        on = {start: adapted(task, prepared, encoded, start=start) for start in starts}
    for start, arm, rate in left:
        trial, step = _run(on[start], arm, rate=rate, watched=budget.rows.watched)
        done = AdapterTrial(
            budget=budget,
            base_sha256=sha256,
            start=start,
            task=task,
            adapter=arm.config,
            learning_rate=rate,
            step_seconds=step,
            trial=trial,
        )
        write_stored(_path(folder, task, start, arm, seed, rate), done)
        found[start, arm.name, rate] = done
        logger.info("%s, %s, seed %d: validation loss %.4g", trial.task, arm.name, seed, trial.best_val_loss)
    return [found[start, arm.name, rate] for start, arm, rate in wanted]


def _run(on: Adapted, arm: AdapterArm, *, rate: float, watched: int) -> tuple[Trial, float]:
    """The trial, and the seconds of a step."""
    adapter, times = matched(on.base, arm), StepTimes()
    item = replace(on.item, optimizer=on.item.optimizer.model_copy(update={"learning_rate": rate}))
    trial = train_and_score(item, arm.name, lambda: on.network(adapter), watched_rows=watched, watch=[times])
    # Lightning's objects are in circles, each with a network and its optimiser.
    gc.collect()
    return trial, statistics.median(times.seconds)


def _path(folder: Path, task: str, start: str, arm: AdapterArm, seed: int, rate: float) -> Path:
    name = arm.name.lower().replace(", ", "-")
    return folder / (
        f"{task}-{start}-{name}-" + (f"rate-{rate:g}" if seed == PILOT_SEED else f"{seed}") + ".json"
    )
