"""The networks of one model, each trained on its rows, one after another or side by side."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import loky
import numpy as np
import torch

from gia_science.errors import counted
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.training.architecture import (
    build_member,
    continue_member,
    continued_config,
    network_config,
)
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples, collate_pairs
from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.encode import Encoded
from gia_science.training.fit import Fitted, fit_network, optimizer_epochs
from gia_science.training.left_out import EveryEpoch
from gia_science.training.optimizer_recipe import OptimizerRecipe
from gia_science.training.prepare import Prepared
from gia_science.training.rotation import MemberRows

logger = logging.getLogger("gia_science")
WORTH_PROCESSES = 1_000_000
"""Work of all members together, in tokens, from which on processes of their own save time."""
STEP_TOKENS = 1000
"""Tokens that take about as long as a step takes for itself: formulas have few tokens, and many steps."""
IDLE_SECONDS = 10
"""How long such a process stays when there is nothing to do."""
FEW_ROWS = 1000
"""Training rows up to which it tells that the rows left out have chosen the epoch of their network."""
SEEDS_APART = 1000
"""Distance of the seeds of two members, so that runs of neighbouring seeds share none."""


@dataclass(frozen=True)
class Member:
    """All that the training of one member needs.

    Parameters
    ----------
    build : callable
        Makes its network, not trained yet.
    data : BatchedData
    optimizer : OptimizerRecipe
    validate : bool
        Whether any target of its validation rows is known.
    seed : int
    left_out : EveryEpoch or None
        Watches the validation rows where there are so few that the choice of an epoch by them tells.
    """

    build: Callable[[], PropertyNetwork]
    data: BatchedData
    optimizer: OptimizerRecipe
    validate: bool
    seed: int
    left_out: EveryEpoch | None = None

    def fit(self, *, devices: Devices = ONE_DEVICE, progress: bool | None = None) -> Fitted[PropertyNetwork]:
        """Train it; see `fit_network`."""
        fitted = fit_network(
            self.build,
            data=self.data,
            optimizer=self.optimizer,
            validate=self.validate,
            seed=self.seed,
            devices=devices,
            progress=progress,
            watch=[self.left_out] if self.left_out else [],
        )
        return replace(fitted, left_out=tuple(self.left_out.outputs)) if self.left_out else fitted

    @property
    def work(self) -> int:
        """Most tokens that it is trained on, each as often as it is shown, and what its steps take for themselves."""
        of_an_epoch = self.data.tokens + STEP_TOKENS * self.data.steps_per_epoch
        return optimizer_epochs(self.optimizer, self.data) * of_an_epoch


def fit_members(
    prepared: Prepared,
    encoded: Encoded,
    *,
    start: PropertyEnsemble | None = None,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
    jobs: int = 1,
) -> list[Fitted[PropertyNetwork]]:
    """Train the members of a model, each from a seed of its own and on its rows as `member_rows` draws them.

    Parameters
    ----------
    prepared : Prepared
    encoded : Encoded
    start : PropertyEnsemble, optional
        Trained networks to go on from, one after another; `encoded` is then by their featurizer.
    devices, progress
        As in `fit_network`.
    jobs : int, default 1
        Members that are trained at a time, each by a process of one thread, when there is enough to do and training
        is on one CPU.

    Raises
    ------
    TrainingError
        When a loss is no longer finite.
    """
    if start is None:
        config = network_config(prepared, encoded)
        build = [partial(build_member, config, prepared.pretrained, prepared.base)] * config.members
    else:
        config = continued_config(start.config, prepared, encoded)
        build = [partial(continue_member, config, start, number) for number in range(config.members)]
    members = [
        make_member(prepared, encoded, rows, build=build[number], number=number)
        for number, rows in enumerate(prepared.member_rows)
    ]
    if not members[0].validate:
        logger.info("no validation rows to choose an epoch by: the last averaged weights are kept")
    work = sum(member.work for member in members)
    jobs = min(jobs, len(members)) if work >= WORTH_PROCESSES and on_one_cpu(devices) else 1
    if jobs > 1:
        logger.info("training %d networks, %d at a time", len(members), jobs)
    fitted: list[Fitted[PropertyNetwork]] = []
    for member, one in zip(members, _in_turn(members, devices, progress, jobs=jobs), strict=True):
        chosen = f", the best is {one.best_epoch + 1}" if member.validate else ""
        epochs = counted(len(one.history), "epoch")
        logger.info("network %d of %d: %s%s", len(fitted) + 1, config.members, epochs, chosen)
        fitted.append(one)
    return fitted


def on_one_cpu(devices: Devices) -> bool:
    """Whether training is one process on the CPU."""
    return devices.processes == 1 and (devices.accelerator == "cpu" or not torch.accelerator.is_available())


def _in_turn(
    members: Sequence[Member], devices: Devices, progress: bool | None, *, jobs: int
) -> Iterator[Fitted[PropertyNetwork]]:
    if jobs == 1:
        yield from (member.fit(devices=devices, progress=progress) for member in members)
        return
    # Unlike processes of the standard library, these do not run the user's script again.
    executor = loky.get_reusable_executor(max_workers=jobs, timeout=IDLE_SECONDS, initializer=_start_process)
    waiting = [executor.submit(_fit_alone, member) for member in members]
    done = False
    try:
        for fitted in waiting:
            yield fitted.result()
        done = True
    finally:
        if not done:
            # After an error or an interruption nobody waits for the others.
            executor.shutdown(wait=False, kill_workers=True)


def _start_process() -> None:
    torch.set_num_threads(1)
    # Ctrl-C reaches every process of a terminal: the first tells of it, the others end without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _fit_alone(member: Member) -> Fitted[PropertyNetwork]:
    return member.fit(devices=Devices("cpu"), progress=False)


def make_member(
    prepared: Prepared,
    encoded: Encoded,
    rows: MemberRows,
    *,
    build: Callable[[], PropertyNetwork],
    number: int,
) -> Member:
    """One member, ready to be trained."""
    recipe = prepared.recipe
    seed = recipe.seed + SEEDS_APART * number
    return Member(
        build=build,
        data=member_data(prepared, encoded, rows, seed=seed),
        optimizer=recipe.training,
        validate=any(not np.isnan(prepared.rows[index].target).all() for index in rows.validation),
        seed=seed,
        left_out=_left_out(prepared, encoded, rows),
    )


def _left_out(prepared: Prepared, encoded: Encoded, rows: MemberRows) -> EveryEpoch | None:
    """What keeps the outputs of a member's validation rows, where a share of trees is chosen by few of them."""
    asked = prepared.recipe.network.blend and prepared.rotated
    if not asked or not len(rows.validation) or len(rows.train) > FEW_ROWS:
        return None
    return EveryEpoch([encoded.examples[row] for row in rows.validation])


def member_data(prepared: Prepared, encoded: Encoded, rows: MemberRows, *, seed: int) -> BatchedData:
    """Training and validation rows of one member."""
    recipe, examples = prepared.recipe, encoded.examples
    if prepared.weights is not None:
        counted_rows = zip(examples, prepared.weights.tolist(), strict=True)
        examples = [replace(example, weight=weight) for example, weight in counted_rows]
    per_token = encoded.targets.kind == "per_token"
    train, validation = (
        Examples(
            [examples[row] for row in part],
            targets=[encoded.targets.encode(prepared.rows[row].target) for row in part],
        )
        for part in (rows.train, rows.validation)
    )
    if recipe.training.respell and not per_token:
        train = RespelledExamples(
            train.examples,
            targets=train.targets,
            readings=[prepared.rows[row].reading for row in rows.train],
            featurizer=encoded.featurizer,
            chance=recipe.training.respell,
            seed=seed,
        )
    return BatchedData(
        train=train,
        validation=validation,
        optimizer=recipe.training,
        collate=partial(collate_pairs, per_token=per_token),
        seed=seed,
    )
