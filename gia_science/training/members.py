"""The networks of one model: their shape from the recipe and the data, and one training run each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from gia_science.attention import AttentionConfig
from gia_science.data.targets import Targets
from gia_science.errors import counted
from gia_science.model.config import BlockConfig, NetworkConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.model.pretrained import SavedPretrained, start_from
from gia_science.tokens.featurizer import Example, Featurizer
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples, collate_pairs
from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.fit import Fitted, fit_network
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")
SEEDS_APART = 1000
"""Distance of the seeds of two members, so that runs of neighbouring seeds share none."""


def network_config(
    prepared: Prepared, featurizer: Featurizer, examples: Sequence[Example], targets: Targets
) -> NetworkConfig:
    """Architecture of each member."""
    recipe, tokenizer, pretrained = prepared.recipe.network, featurizer.tokenizer, prepared.pretrained
    attention = recipe.attention
    if pretrained is None:
        attention = with_delta(attention, [len(examples[index]) for index in prepared.split.train])
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
    shared = recipe.model_dump(
        exclude={"single_tokens", "bins", "binned", "packed_tokens", "max_length", "attention"}
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


def with_delta(attention: AttentionConfig, lengths: Sequence[int]) -> AttentionConfig:
    """The attention with the delta of PNA learnt from the lengths of training rows."""
    if attention.kind != "pna":
        return attention
    return attention.model_copy(update={"delta": float(np.mean(np.log1p(lengths)))})


def build_member(config: NetworkConfig, pretrained: SavedPretrained | None) -> PropertyNetwork:
    """A network that is not trained yet: from random weights, or from those of a pretrained backbone."""
    network = PropertyNetwork(config)
    if pretrained is not None:
        start_from(pretrained.network, network)
    return network


def fit_members(
    prepared: Prepared,
    featurizer: Featurizer,
    *,
    examples: Sequence[Example],
    targets: Targets,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
) -> list[Fitted[PropertyNetwork]]:
    """Train the members of a model one after another, on the same rows and from seeds of their own.

    Parameters
    ----------
    prepared : Prepared
    featurizer : Featurizer
    examples : sequence of Example
        One per prepared row.
    targets : Targets
        With its scaling.
    devices, progress
        As in `fit_network`.

    Raises
    ------
    TrainingError
        When a loss is no longer finite.
    """
    recipe = prepared.recipe
    config = network_config(prepared, featurizer, examples, targets)
    encoded = [targets.encode(row.target) for row in prepared.rows]
    measured = any(not np.isnan(encoded[index]).all() for index in prepared.split.validation)
    if not measured:
        logger.info("no validation rows to choose an epoch by: the last averaged weights are kept")
    members = []
    for number in range(config.members):
        seed = recipe.seed + SEEDS_APART * number
        fitted = fit_network(
            partial(build_member, config, prepared.pretrained),
            data=_data(prepared, featurizer, examples, encoded, seed=seed),
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


def _data(
    prepared: Prepared,
    featurizer: Featurizer,
    examples: Sequence[Example],
    encoded: Sequence[npt.NDArray[np.float64]],
    *,
    seed: int,
) -> BatchedData:
    """Training and validation rows of one member."""
    recipe, split = prepared.recipe, prepared.split
    per_token = prepared.targets.kind == "per_token"
    train = Examples([examples[i] for i in split.train], targets=[encoded[i] for i in split.train])
    if recipe.training.respell and not per_token:
        train = RespelledExamples(
            train.examples,
            targets=train.targets,
            readings=[prepared.rows[i].reading for i in split.train],
            featurizer=featurizer,
            chance=recipe.training.respell,
            seed=seed,
        )
    return BatchedData(
        train=train,
        validation=Examples(
            [examples[i] for i in split.validation], targets=[encoded[i] for i in split.validation]
        ),
        optimizer=recipe.training,
        collate=partial(collate_pairs, per_token=per_token),
        seed=seed,
    )
