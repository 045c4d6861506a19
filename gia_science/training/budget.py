"""How many networks, and how many epochs, fit into the time that the user gives."""

from __future__ import annotations

import logging
import math
import re
import time
from dataclasses import replace

import numpy as np
import torch

from gia_science.errors import RecipeError, counted
from gia_science.training.architecture import build_member, network_config
from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.encode import Encoded
from gia_science.training.fit import optimizer_epochs
from gia_science.training.members import member_data, on_one_cpu
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")

MOST_MEMBERS = 8
"""More networks than these add little."""
OVERHEAD = 1.25
"""Time of a training in units of its forward and backward passes: validation, averaging, collating."""
TRIAL_BATCHES = 6
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smh])")


def seconds_of(text: str) -> float:
    """Seconds of a duration such as ``"90s"``, ``"5m"`` or ``"1.5h"``; raises `RecipeError` for anything else."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not float(found[1]):
        raise RecipeError("not a duration", got=repr(text), expected="a number and s, m or h, such as 5m")
    return float(found[1]) * _UNITS[found[2]]


def within_time(
    prepared: Prepared, encoded: Encoded, *, devices: Devices = ONE_DEVICE, jobs: int = 1
) -> Prepared:
    """The experiment with the number of networks, and of epochs where one is too slow, that fit the time given.

    A few batches of training rows are timed. What is chosen is written into the recipe, which then gives the same model
    on a machine of any speed.

    Parameters
    ----------
    prepared : Prepared
        Its recipe says the time (`training.time`); without it, or where it says the number of networks, that stays.
    encoded : Encoded
    devices : Devices
    jobs : int, default 1
        Networks that are trained at a time.
    """
    recipe = prepared.recipe
    if recipe.training.time is None:
        return prepared
    budget = seconds_of(recipe.training.time)
    side_by_side = max(1, jobs) if on_one_cpu(devices) else 1
    seconds, epochs = _seconds_of_one(prepared, encoded)
    fits = budget / seconds
    # Stored without the time: the numbers that follow are the recipe.
    changes: dict[str, int | None] = {"training.time": None}
    if recipe.network.members is None:
        changes["network.members"] = int(np.clip(math.floor(fits) * side_by_side, 1, MOST_MEMBERS))
    fewer = max(1, math.floor(epochs * fits))
    if fits < 1:
        changes["training.epochs"] = fewer
        changes["training.min_steps"] = 1
    changed = recipe.updated(changes)
    told = counted(changed.network.members or 1, "network")
    if fits < 1:
        told += f" of {counted(fewer, 'epoch')}"
    logger.info("time: one network takes about %.0f s; in %s fit %s", seconds, recipe.training.time, told)
    return replace(prepared, recipe=changed)


def _seconds_of_one(prepared: Prepared, encoded: Encoded) -> tuple[float, int]:
    """Seconds of the training of one network, and its epochs."""
    recipe = prepared.recipe
    data = member_data(prepared, encoded, prepared.member_rows[0], seed=recipe.seed)
    config = network_config(prepared, encoded)
    with torch.random.fork_rng():
        network = build_member(config, prepared.pretrained, prepared.base)
        batches = data.fixed_batches(rows=TRIAL_BATCHES * recipe.training.batch_rows, seed=recipe.seed)
        tokens, taken = 0, 0.0
        for number, (batch, targets) in enumerate(batches):
            started = time.perf_counter()
            torch.autograd.backward(network.loss(batch, targets))
            if number:
                # The first pass pays for what is set up once.
                taken += time.perf_counter() - started
                tokens += int(batch.mask.sum())
        if not tokens:
            tokens, taken = int(batches[0][0].mask.sum()), time.perf_counter() - started
    epochs = optimizer_epochs(recipe.training, data)
    return OVERHEAD * epochs * data.tokens * taken / tokens, epochs
