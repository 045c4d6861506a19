"""The networks of one model: their shape from the recipe and the data, and one training run each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gia_science.errors import counted
from gia_science.model.config import BlockConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.model.pretrained import SavedPretrained, start_from
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples, collate_pairs
from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.encode import Encoded
from gia_science.training.fit import Fitted, fit_network
from gia_science.training.fitted_attention import with_delta, with_known_edges
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")
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
    if pretrained is None:
        attention = with_delta(attention, training_lengths(prepared, encoded, blocks))
    shared = recipe.model_dump(
        exclude={"single_tokens", "bins", "binned", "packed_tokens", "max_length", "attention", "known_edges"}
    )
    return NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=any(example.stream.values.any() for example in examples)
        or (pretrained is not None and pretrained.network.config.values),
        features=len(tokenizer.feature_names),
        context_buckets=tokenizer.context_buckets,
        blocks=blocks,
        kind=targets.kind,
        outputs=targets.outputs,
        attention=attention,
        **shared,
    )


def training_lengths(prepared: Prepared, encoded: Encoded, blocks: Sequence[BlockConfig]) -> list[int]:
    """Number of tokens of each training row; descriptors are tokens of the same graph."""
    added = sum(block.tokens for block in blocks)
    return [len(encoded.examples[index]) + added for index in prepared.split.train]


def build_member(config: NetworkConfig, pretrained: SavedPretrained | None) -> PropertyNetwork:
    """A network that is not trained yet: from random weights, or from those of a pretrained backbone."""
    network = PropertyNetwork(config)
    if pretrained is not None:
        start_from(pretrained.network, network)
    return network


def continued_config(config: NetworkConfig, prepared: Prepared, encoded: Encoded) -> NetworkConfig:
    """Architecture of the members that go on from trained ones: theirs, with what is predicted now."""
    targets = encoded.targets
    now = {"kind": targets.kind, "outputs": targets.outputs, "members": prepared.recipe.network.members}
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


def fit_members(
    prepared: Prepared,
    encoded: Encoded,
    *,
    start: PropertyEnsemble | None = None,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
) -> list[Fitted[PropertyNetwork]]:
    """Train the members of a model one after another, on the same rows and from seeds of their own.

    Parameters
    ----------
    prepared : Prepared
    encoded : Encoded
    start : PropertyEnsemble, optional
        Trained networks to go on from, one after another; `encoded` is then by their featurizer.
    devices, progress
        As in `fit_network`.

    Raises
    ------
    TrainingError
        When a loss is no longer finite.
    """
    recipe = prepared.recipe
    config = (
        network_config(prepared, encoded)
        if start is None
        else continued_config(start.config, prepared, encoded)
    )
    measured = has_validation(prepared)
    if not measured:
        logger.info("no validation rows to choose an epoch by: the last averaged weights are kept")
    members = []
    for number in range(config.members):
        seed = recipe.seed + SEEDS_APART * number
        build = partial(build_member, config, prepared.pretrained)
        if start is not None:
            build = partial(continue_member, config, start, number)
        fitted = fit_network(
            build,
            data=member_data(prepared, encoded, seed=seed),
            optimizer=recipe.training,
            validate=measured,
            seed=seed,
            devices=devices,
            progress=progress,
        )
        chosen = f", the best is {fitted.best_epoch + 1}" if measured else ""
        epochs = counted(len(fitted.history), "epoch")
        logger.info("network %d of %d: %s%s", number + 1, config.members, epochs, chosen)
        members.append(fitted)
    return members


def has_validation(prepared: Prepared) -> bool:
    """Whether any target of a validation row is known."""
    return any(not np.isnan(prepared.rows[index].target).all() for index in prepared.split.validation)


def member_data(prepared: Prepared, encoded: Encoded, *, seed: int) -> BatchedData:
    """Training and validation rows of one member."""
    recipe, split, examples = prepared.recipe, prepared.split, encoded.examples
    if prepared.weights is not None:
        counted_rows = zip(examples, prepared.weights.tolist(), strict=True)
        examples = [replace(example, weight=weight) for example, weight in counted_rows]
    targets = [encoded.targets.encode(row.target) for row in prepared.rows]
    per_token = encoded.targets.kind == "per_token"
    train = Examples([examples[i] for i in split.train], targets=[targets[i] for i in split.train])
    if recipe.training.respell and not per_token:
        train = RespelledExamples(
            train.examples,
            targets=train.targets,
            readings=[prepared.rows[i].reading for i in split.train],
            featurizer=encoded.featurizer,
            chance=recipe.training.respell,
            seed=seed,
        )
    return BatchedData(
        train=train,
        validation=Examples(
            [examples[i] for i in split.validation], targets=[targets[i] for i in split.validation]
        ),
        optimizer=recipe.training,
        collate=partial(collate_pairs, per_token=per_token),
        seed=seed,
    )
