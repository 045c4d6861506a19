"""What a pretrained network decides for the training that starts from it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from gia_science.errors import RecipeError, Where
from gia_science.model.files import checksum
from gia_science.model.pretrained import SavedPretrained
from gia_science.model.store import WEIGHTS
from gia_science.tokens.domain import make_tokenizer
from gia_science.training.recipe import Recipe

logger = logging.getLogger("gia_science")
SIZES = ("width", "layers", "expansion")
OWN_ATTENTION = frozenset({"edge_kinds"})
"""What attention may have that pretraining had not: the bias of known edges starts at 0."""


def adopt(recipe: Recipe, pretrained: SavedPretrained) -> Recipe:
    """The recipe with the domain, tokenizer options, sizes and attention of a pretrained network.

    Attention stays as it was pretrained: causal weights are fine-tuned in causal attention.

    Parameters
    ----------
    recipe : Recipe
        Names the folder of the network.
    pretrained : SavedPretrained

    Raises
    ------
    RecipeError
        When the recipe sets one of these to something else.
    """
    assert recipe.pretrained is not None
    theirs, tokenizer = pretrained.network.config, pretrained.featurizer.tokenizer
    network, attention = recipe.network, recipe.network.attention
    given: dict[str, tuple[Any, Any]] = {}
    if recipe.data.domain is not None:
        given["data.domain"] = recipe.data.domain, tokenizer.domain
    for name in network.model_fields_set.intersection(SIZES):
        given[f"network.{name}"] = getattr(network, name), getattr(theirs, name)
    if "attention" in network.model_fields_set:
        for name in attention.model_fields_set - OWN_ATTENTION:
            values = getattr(attention, name), getattr(theirs.attention, name)
            given[f"network.attention.{name}"] = values
    _refuse_other(recipe, given)
    options = make_tokenizer(tokenizer.domain, options=recipe.tokens).options
    _refuse_other(
        recipe, {f"tokens.{name}": (options[name], tokenizer.options[name]) for name in recipe.tokens}
    )
    digest = checksum(Path(recipe.pretrained.folder) / WEIGHTS)
    if recipe.pretrained.sha256 not in (None, digest):
        logger.warning("the pretrained network is not what the recipe was written for: its hash differs")
    taken = theirs.attention.model_dump(mode="json") | {
        name: getattr(attention, name) for name in OWN_ATTENTION
    }
    return recipe.updated(
        {
            "data.domain": tokenizer.domain,
            "tokens": dict(tokenizer.options),
            "network.attention": taken,
            "pretrained.sha256": digest,
            **{f"network.{name}": getattr(theirs, name) for name in SIZES},
        }
    )


def _refuse_other(recipe: Recipe, given: dict[str, tuple[Any, Any]]) -> None:
    assert recipe.pretrained is not None
    for name in sorted(given):
        got, expected = given[name]
        if got != expected:
            raise RecipeError(
                f"{name} is not that of the pretrained network",
                got=str(got),
                expected=str(expected),
                hint="leave it out",
                where=Where(file=recipe.pretrained.folder),
            )
