"""The networks of one model: their shape from the recipe and the data, and one training run each."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import loky
import numpy as np
import torch
from torch import nn

from gia_science.errors import counted
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import BaseConfig, BlockConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.model.pretrained import SavedPretrained, start_from
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.training.base import Base
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples, collate_pairs
from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.encode import Encoded
from gia_science.training.fit import Fitted, fit_network, optimizer_epochs
from gia_science.training.fitted_attention import with_delta, with_known_edges
from gia_science.training.prepare import Prepared
from gia_science.training.recipe import OptimizerRecipe
from gia_science.training.rotation import MemberRows

logger = logging.getLogger("gia_science")
WORTH_PROCESSES = 1_000_000
"""Tokens that all members together are trained on, from which on processes of their own save time."""
IDLE_SECONDS = 10
"""How long such a process stays when there is nothing to do."""
SEEDS_APART = 1000
"""Distance of the seeds of two members, so that runs of neighbouring seeds share none."""


def network_config(prepared: Prepared, encoded: Encoded) -> NetworkConfig:
    """Architecture of each member."""
    featurizer, examples, targets = encoded.featurizer, encoded.examples, encoded.targets
    recipe, tokenizer, pretrained = prepared.recipe.network, featurizer.tokenizer, prepared.pretrained
    attention = with_known_edges(recipe.attention, tokenizer, wanted=recipe.known_edges)
    blocks = tuple(
        BlockConfig(
            name=block.name,
            size=block.size,
            tokens=block.size if block.size <= recipe.single_tokens else recipe.packed_tokens,
            bins=recipe.bins if recipe.single_tokens < block.size <= recipe.binned else 0,
        )
        for block in featurizer.blocks
        if block.size
    )
    if pretrained is None and prepared.base is None:
        attention = with_delta(attention, training_lengths(prepared, encoded, blocks))
    shared = recipe.model_dump(
        exclude={
            "single_tokens",
            "bins",
            "binned",
            "packed_tokens",
            "max_length",
            "attention",
            "known_edges",
            "rotate",
            "blend",
            "members",
        }
    )
    return NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=any(example.stream.values.any() for example in examples)
        or (pretrained is not None and pretrained.network.config.values),
        features=len(tokenizer.feature_names),
        context_buckets=tokenizer.context_buckets,
        blocks=blocks,
        members=recipe.members or 1,
        kind=targets.kind,
        outputs=targets.outputs,
        loss=prepared.recipe.target.loss if targets.kind == "regression" else "smooth",
        quantiles=targets.quantiles,
        gates=targets.gates,
        zeros=targets.scaled_zeros,
        attention=attention,
        base=_base_config(prepared),
        adapter=None if prepared.recipe.backbone is None else prepared.recipe.backbone.adapter,
        **shared,
    )


def _base_config(prepared: Prepared) -> BaseConfig | None:
    source, base, tokenizer = prepared.recipe.backbone, prepared.base, prepared.tokenizer
    if source is None or base is None:
        return None
    assert isinstance(tokenizer, BaseTokenizer)
    return base.config(source, tokenizer)


def training_lengths(prepared: Prepared, encoded: Encoded, blocks: Sequence[BlockConfig]) -> list[int]:
    """Number of tokens of each training row; descriptors are tokens of the same graph."""
    added = sum(block.tokens for block in blocks)
    return [len(encoded.examples[index]) + added for index in prepared.learnt]


def build_member(
    config: NetworkConfig, pretrained: SavedPretrained | None, base: Base | None = None
) -> PropertyNetwork:
    """A network that is not trained yet: from random weights, those of a pretrained backbone, or on a frozen one."""
    network = PropertyNetwork(config, base=None if base is None else base.model())
    new: list[nn.Parameter] = []
    if pretrained is not None:
        start_from(pretrained.network, network)
        known = pretrained.network.backbone.state_dict()
        new = [weight for name, weight in network.backbone.named_parameters() if name not in known]
    network.adapt(new=new)
    if not isinstance(network.backbone, GIATransformer):
        network.backbone.freeze_unused()
    return network


def continued_config(config: NetworkConfig, prepared: Prepared, encoded: Encoded) -> NetworkConfig:
    """Architecture of the members that go on from trained ones: theirs, with what is predicted now."""
    targets = encoded.targets
    now = {"kind": targets.kind, "outputs": targets.outputs, "members": prepared.recipe.network.members or 1}
    return config.model_copy(update=now)


def continue_member(config: NetworkConfig, start: PropertyEnsemble, number: int) -> PropertyNetwork:
    """A network with the weights of a trained member; the head is new where it predicts something else."""
    network = PropertyNetwork(config)
    trained = start.members[number % len(start.members)]
    assert isinstance(trained, PropertyNetwork)
    network.backbone.load_state_dict(trained.backbone.state_dict())
    network.pool.load_state_dict(trained.pool.state_dict())
    if (config.kind, config.outputs) == (start.config.kind, start.config.outputs):
        network.head.load_state_dict(trained.head.state_dict())
    return network


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
    """

    build: Callable[[], PropertyNetwork]
    data: BatchedData
    optimizer: OptimizerRecipe
    validate: bool
    seed: int

    def fit(self, *, devices: Devices = ONE_DEVICE, progress: bool | None = None) -> Fitted[PropertyNetwork]:
        """Train it; see `fit_network`."""
        return fit_network(
            self.build,
            data=self.data,
            optimizer=self.optimizer,
            validate=self.validate,
            seed=self.seed,
            devices=devices,
            progress=progress,
        )

    @property
    def tokens(self) -> int:
        """Most tokens that it is trained on, each as often as it is shown."""
        return optimizer_epochs(self.optimizer, self.data) * self.data.tokens


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
    tokens = sum(member.tokens for member in members)
    jobs = min(jobs, len(members)) if tokens >= WORTH_PROCESSES and on_one_cpu(devices) else 1
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
    )


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
