"""What a pretrained model from elsewhere decides for the training that adapts it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gia_science.adapters import weights_sha256
from gia_science.data.rows import MAX_LENGTH
from gia_science.errors import BaseModelError, ModelFolderError, RecipeError, Where
from gia_science.model.base_files import BaseFiles, find_base
from gia_science.model.base_weights import load_base, most_tokens
from gia_science.model.config import BaseConfig
from gia_science.model.files import read_json
from gia_science.model.store import CONFIG, MODEL, PRETRAINED
from gia_science.tokens.base_files import said_length, tokenizer_json
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.featurizer import Example
from gia_science.training.recipe import BackboneSource, Recipe

logger = logging.getLogger("gia_science")
UNKNOWN_SHARE = 0.01
"""Share of unknown tokens from which on a vocabulary is taken for that of another model."""
OWN_SIZES = frozenset(
    {"width", "layers", "expansion", "attention", "known_edges", "hops", "token_dropout", "context_dropout"}
)
"""Settings of a network that a model from elsewhere has no use for."""
DEFAULTS: Mapping[str, Any] = {"network.members": 1, "network.dropout": 0.1}
UNUSED: Mapping[str, Any] = {"network.token_dropout": 0.0, "network.context_dropout": 0.0}
LEARNING_RATES: Mapping[str, float] = {"full": 5e-5}
"""Peak learning rates where a recipe has none, by the kind of adapter; others have that of `OptimizerRecipe`."""


@dataclass(frozen=True)
class Base:
    """A pretrained model from elsewhere, looked at but not kept in memory.

    Parameters
    ----------
    files : BaseFiles
    vocabulary : BaseVocabulary
    sha256 : str
        Hash of its weights.
    width, layers : int
    padding : int
        Id of the padding token.
    causal : bool
        Whether tokens see only what stands before them.
    """

    files: BaseFiles
    vocabulary: BaseVocabulary
    sha256: str
    width: int
    layers: int
    padding: int
    causal: bool

    def model(self) -> nn.Module:
        """The model itself, read anew."""
        return load_base(self.files, sha256=self.sha256)

    def config(self, source: BackboneSource, tokenizer: BaseTokenizer) -> BaseConfig:
        """What the model folder says of it."""
        return BaseConfig(
            source=self.files.source,
            sha256=self.sha256,
            kept=source.keep_base or source.adapter.kind == "full",
            architecture=self.files.architecture,
            padding=self.padding,
            special=self.vocabulary.special_ids,
            token_per_unit=tokenizer.token_per_unit,
        )


def is_own(source: str) -> bool:
    """Whether a backbone is a folder that ``gia pretrain`` wrote.

    Raises
    ------
    RecipeError
        For a model folder, which is trained already.
    """
    try:
        kind = read_json(Path(source) / CONFIG).get("model_type")
    except ModelFolderError:
        return False
    if kind == MODEL.model_type:
        raise RecipeError(
            "a model folder is no pretrained backbone",
            got=source,
            hint="name the folder of a transformers model, or one that gia pretrain wrote",
        )
    return bool(kind == PRETRAINED.model_type)


def look_at_base(source: str) -> Base:
    """Read a pretrained model and its vocabulary, and hold one against the other.

    Raises
    ------
    BaseModelError
        As `find_base` and `load_base`, or when the vocabulary is larger than the model's.
    DefinitionError
        When the vocabulary cannot be read.
    """
    files = find_base(source)
    text = tokenizer_json(files.folder)
    model = load_base(files)
    config: Any = model.config
    limits = [limit for limit in (most_tokens(model), said_length(files.folder)) if limit is not None]
    vocabulary = BaseVocabulary.of(
        text, most_tokens=min([*limits, MAX_LENGTH]), where=Where(file=str(files.folder))
    )
    if len(vocabulary) > config.vocab_size:
        raise BaseModelError(
            "the vocabulary is not that of the pretrained model",
            got=f"{len(vocabulary)} tokens",
            expected=f"at most {config.vocab_size}",
            where=Where(file=files.source),
        )
    return Base(
        files=files,
        vocabulary=vocabulary,
        sha256=weights_sha256(model),
        width=config.hidden_size,
        layers=config.num_hidden_layers,
        padding=config.pad_token_id
        if isinstance(config.pad_token_id, int) and config.pad_token_id >= 0
        else 0,
        causal=_sees_no_future(model),
    )


def adopt_base(recipe: Recipe, base: Base) -> Recipe:
    """The recipe with what a pretrained model decides, and defaults that suit an adapter.

    Raises
    ------
    RecipeError
        When the recipe sets what the model decides.
    """
    source, network = recipe.backbone, recipe.network
    assert source is not None
    where = Where(file=base.files.source)
    useless = sorted(network.model_fields_set & OWN_SIZES)
    if useless and source.sha256 is None:
        raise RecipeError(
            f"network.{useless[0]} is not for a pretrained model from elsewhere",
            hint="leave it out",
            where=where,
        )
    if base.causal and network.pooling == "first":
        raise RecipeError(
            "in a causal model the first token sees nothing else",
            got="network.pooling: first",
            hint="choose mean or attention",
            where=where,
        )
    if source.sha256 not in (None, base.sha256):
        logger.warning("the pretrained model is not what the recipe was written for: its hash differs")
    changes = {
        name: value
        for name, value in DEFAULTS.items()
        if name.partition(".")[2] not in network.model_fields_set
    }
    rate = LEARNING_RATES.get(source.adapter.kind)
    if rate is not None and "learning_rate" not in recipe.training.model_fields_set:
        changes["training.learning_rate"] = rate
    return recipe.updated(
        {
            **changes,
            **UNUSED,
            "backbone.sha256": base.sha256,
            "network.width": base.width,
            "network.layers": base.layers,
            "descriptors": list(recipe.descriptors or ()),
        }
    )


def longest_input(recipe: Recipe, tokenizer: BaseTokenizer) -> int:
    """Longest input in residues or atoms; raises `RecipeError` where the recipe asks for more than the model takes."""
    asked = recipe.network.max_length
    if not tokenizer.token_per_unit:
        return asked
    special = sum(len(ids) for ids in tokenizer.vocabulary.around)
    most = tokenizer.vocabulary.most_tokens - special
    if asked > most and "max_length" in recipe.network.model_fields_set:
        raise RecipeError(
            "network.max_length is more than the pretrained model allows",
            got=str(asked),
            expected=f"at most {most} (and {special} special tokens)",
        )
    return min(asked, most)


def require_vocabulary(tokenizer: BaseTokenizer, examples: list[Example], *, source: str) -> None:
    """Raise `BaseModelError` where so many tokens are unknown that the vocabulary must be another model's."""
    share = tokenizer.vocabulary.unknown_share(example.stream for example in examples)
    if share >= UNKNOWN_SHARE:
        raise BaseModelError(
            "the vocabulary of the pretrained model does not know these inputs",
            got=f"{share:.1%} unknown tokens",
            expected=f"less than {UNKNOWN_SHARE:.0%}",
            hint="is the vocabulary beside the weights theirs, and is the model one for this kind of input?",
            where=Where(file=source),
        )


@torch.no_grad()
def _sees_no_future(model: nn.Module) -> bool:
    """Whether the state of a token stays the same to the bit when the one after it changes."""
    first = model(input_ids=torch.tensor([[1, 2]])).last_hidden_state[0, 0]
    other = model(input_ids=torch.tensor([[1, 3]])).last_hidden_state[0, 0]
    return bool(torch.equal(first, other))
