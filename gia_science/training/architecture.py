"""The shape of a model's networks from the recipe and the data, and each of them as it is before training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from gia_science.data.targets import Targets
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import BaseConfig, BlockConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.model.pretrained import SavedPretrained, start_from
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.featurizer import COLUMNS_BLOCK, DescriptorBlock
from gia_science.training.base import Base
from gia_science.training.encode import Encoded
from gia_science.training.fitted_attention import with_delta, with_known_edges
from gia_science.training.network_recipe import NetworkRecipe
from gia_science.training.prepare import Prepared


def network_config(prepared: Prepared, encoded: Encoded) -> NetworkConfig:
    """Architecture of each member."""
    featurizer, examples, targets = encoded.featurizer, encoded.examples, encoded.targets
    recipe, tokenizer, pretrained = prepared.recipe.network, featurizer.tokenizer, prepared.pretrained
    attention = with_known_edges(recipe.attention, tokenizer, wanted=recipe.known_edges, hops=recipe.hops)
    blocks = tuple(
        BlockConfig(name=block.name, size=block.size, **_as_tokens(recipe, block))
        for block in featurizer.blocks
        if block.size
    )
    if pretrained is None and prepared.base is None:
        attention = with_delta(attention, training_lengths(prepared, encoded, blocks))
    shared = recipe.model_dump(
        exclude={
            *("single_tokens", "bins", "binned", "packed_tokens", "max_length", "attention", "known_edges"),
            *("rotate", "blend", "members", "features", "contexts", "descriptors"),
        }
    )
    return NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=any(example.stream.values.any() for example in examples)
        or (pretrained is not None and pretrained.network.config.values),
        features=len(tokenizer.feature_names) if recipe.features else 0,
        context_buckets=tokenizer.context_buckets if recipe.contexts else (),
        blocks=blocks,
        attention=attention,
        base=_base_config(prepared),
        adapter=None if prepared.recipe.backbone is None else prepared.recipe.backbone.adapter,
        **shared,
        **_asked(prepared, targets),
    )


def _as_tokens(recipe: NetworkRecipe, block: DescriptorBlock) -> dict[str, int]:
    """Number of tokens of a block of descriptors, and of bins; the user's columns are always read."""
    if block.name == COLUMNS_BLOCK and block.size <= recipe.single_tokens:
        return {"tokens": block.size}
    if block.name not in (COLUMNS_BLOCK, *(recipe.descriptors or ())):
        return {"tokens": 0}
    return {"tokens": recipe.packed_tokens, "bins": recipe.bins if block.size <= recipe.binned else 0}


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
    return config.model_copy(update={**_asked(prepared, encoded.targets), "forest": None})


def _asked(prepared: Prepared, targets: Targets) -> dict[str, Any]:
    """What is predicted, and by how many networks."""
    return {
        "members": prepared.recipe.network.members or 1,
        "kind": targets.kind,
        "outputs": targets.outputs,
        "loss": prepared.recipe.target.loss if targets.kind == "regression" else "smooth",
        "quantiles": targets.quantiles,
        "gates": targets.gates,
        "zeros": targets.scaled_zeros,
    }


def continue_member(config: NetworkConfig, start: PropertyEnsemble, number: int) -> PropertyNetwork:
    """A network with the weights of a trained member; the head is new where it predicts something else."""
    network = PropertyNetwork(config)
    trained = start.members[number % len(start.members)]
    assert isinstance(trained, PropertyNetwork)
    network.backbone.load_state_dict(trained.backbone.state_dict())
    network.pool.load_state_dict(trained.pool.state_dict())
    if (config.kind, config.channels) == (start.config.kind, start.config.channels):
        network.head.load_state_dict(trained.head.state_dict())
    return network
