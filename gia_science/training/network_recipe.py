"""Settings of the network, and what is usual for a domain or a number of rows where a recipe says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from gia_science.attention import AttentionConfig
from gia_science.data.rows import MAX_LENGTH
from gia_science.model.config import Pooling
from gia_science.settings import Strict
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS


class BackboneRecipe(Strict):
    """Size and kind of the Transformer; what follows from the data is filled in at training."""

    width: int = Field(default=128, ge=8, description="Width of the hidden states.")
    layers: int = Field(default=2, ge=1, description="Number of layers.")
    expansion: float = Field(default=2.0, gt=0, description="Hidden width of the feed-forward, in widths.")
    attention: AttentionConfig = AttentionConfig()
    dropout: float | None = Field(
        default=None, ge=0, lt=1, description="On branches; by domain where not given, 0.1 in pretraining."
    )
    max_length: int = Field(
        default=MAX_LENGTH, ge=1, description="Longest input, in residues, atoms or elements."
    )


class NetworkRecipe(BackboneRecipe):
    """Size and kind of the network of a property predictor."""

    members: int | None = Field(
        default=None,
        ge=1,
        description="Networks, each from a seed of its own, whose predictions are averaged; by the number of rows "
        "where not given.",
    )
    rotate: bool = Field(
        default=True,
        description="With several members and test rows: give each member another tenth of the training and "
        "validation rows to be stopped by, so that together they learn from all of them.",
    )
    blend: bool | None = Field(
        default=None,
        description="Blend the networks with a forest on the same descriptors; its share is chosen by rows that "
        "neither has seen, and told. Where not given: yes, where there are descriptors and a forest for such targets, "
        "and the network is trained from a table; not of variants of which only mutations are read, and not in "
        "scikit-learn's estimators.",
    )
    known_edges: bool = Field(
        default=False,
        description="Learn a bias of attention for each kind of known edge: bonds, neighbours in a sequence.",
    )
    hops: int = Field(
        default=1,
        ge=1,
        le=8,
        description="With known_edges: also for tokens that are so many steps along known edges apart, one for each "
        "number of steps up to this one.",
    )
    features: bool = Field(
        default=True,
        description="Give tokens their features: physical chemistry, and what an atom is bonded to.",
    )
    contexts: bool = Field(
        default=True,
        description="Give tokens their contexts: the substructures or k-mers that they stand in.",
    )
    descriptors: tuple[str, ...] | None = Field(
        default=None,
        description="Descriptors of the input that the networks read; trees beside them read all, and both read "
        "columns. Where not given: all where the recipe names descriptors, else by domain.",
    )
    pooling: Pooling = Field(default="mean", description="How the tokens of a row become one vector.")
    token_dropout: float | None = Field(
        default=None, ge=0, lt=1, description="Chance that a token is hidden; by domain where not given."
    )
    context_dropout: float | None = Field(
        default=None, ge=0, lt=1, description="Chance that a context is hidden; by domain where not given."
    )
    descriptor_dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Chance that a descriptor is hidden."
    )
    stochastic_depth: float = Field(
        default=0.0, ge=0, lt=1, description="Chance that a row skips the last layer's branches in training."
    )
    jitter: float = Field(
        default=0.0, ge=0, description="Relative noise of the fractions of elements in training."
    )
    mixup: float = Field(
        default=0.0,
        ge=0,
        description="Mix rows in training, by a beta law with both parameters so; 0 for none.",
    )
    single_tokens: int = Field(default=16, ge=0, description="Most columns that have a token each.")
    packed_tokens: int = Field(
        default=4, ge=1, description="Tokens of more columns, and of the descriptors of a provider."
    )
    binned: int = Field(default=64, ge=0, description="Largest packed block that is also encoded in bins.")
    bins: int = Field(default=16, ge=0, description="Number of bins of that encoding.")

    @model_validator(mode="after")
    def _steps_along_edges(self) -> Self:
        if self.hops > 1 and not (self.known_edges or self.attention.edge_kinds):
            raise ValueError("hops go along known edges: known_edges: true")
        return self

    @model_validator(mode="after")
    def _first_token_sees_something(self) -> Self:
        if self.attention.causal and self.pooling == "first":
            raise ValueError("in causal attention the first token sees nothing else: choose another pooling")
        return self


REGULARISATION: Mapping[str, Mapping[str, float]] = {
    "protein": {"dropout": 0.3, "token_dropout": 0.15, "context_dropout": 0.6},
    "smiles": {"dropout": 0.1, "token_dropout": 0.1, "context_dropout": 0.4},
    "composition": {"dropout": 0.1, "token_dropout": 0.1, "context_dropout": 0.0},
}
"""How much is hidden in training where a recipe does not say, by domain.

Chosen by the validation rows of the shipped tasks. Peptides are learnt by heart within a few epochs without it.
"""
READS_DESCRIPTORS: Mapping[str, tuple[str, ...]] = {
    "protein": DOMAIN_DEFAULTS["protein"],
    "smiles": DOMAIN_DEFAULTS["smiles"],
    "composition": ("charge_balance",),
}
"""The descriptors that networks read where a recipe does not say, by domain.

What is known of the elements rides on their tokens. The same once more as statistics of the whole formula is learnt by
heart: without it networks are better on splits of the training rows of band gaps and steels, and not worse on glasses.
"""
ALIGNED: Mapping[str, float] = {"dropout": 0.1, "token_dropout": 0.0, "context_dropout": 0.1}
"""The same for aligned sequences (``tokens.sites``): a few places make all the difference, and must not be hidden."""


MEMBERS: tuple[tuple[int, int], ...] = ((5000, 5), (20000, 3))
"""Up to how many rows there are how many networks where a recipe does not say; two beyond."""


def usual_members(rows: int) -> int:
    """Number of networks for a table of that many rows."""
    return next((members for most, members in MEMBERS if rows <= most), 2)
