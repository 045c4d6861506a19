"""The choices that make one kind of graph attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Kind: TypeAlias = Literal["plain", "gin", "pna"]
Sharpening: TypeAlias = Literal["per_head", "per_layer", "fixed"]
EpsilonForm: TypeAlias = Literal["eps", "one_plus_eps"]
Values: TypeAlias = Literal["input", "projected"]
MLPSharing: TypeAlias = Literal["per_head", "shared"]
Adjacency: TypeAlias = Literal["softmax", "relu", "sigmoid", "differential"]
Sparsifier: TypeAlias = Literal[
    "none",
    "relu",
    "silu",
    "softplus",
    "sigmoid",
    "binary",
    "topk",
    "silu_binary",
    "softplus_binary",
    "sigmoid_binary",
]
HardEdges: TypeAlias = Literal["straight_through", "keep_weight"]
Aggregator: TypeAlias = Literal["sum", "mean", "max", "min", "var", "std"]
Scaler: TypeAlias = Literal["identity", "amplification", "attenuation"]


class GraphOptions(TypedDict, total=False):
    """Options that every kind of attention has; see `AttentionConfig`."""

    heads: int
    kv_heads: int | None
    sharpening: Sharpening
    temperature: float
    causal: bool
    adjacency: Adjacency
    lambda_init: float
    sparsifier: Sparsifier
    threshold: float
    learn_threshold: bool
    beta: float
    k: int | None
    fraction: float | None
    hard_edges: HardEdges
    edge_kinds: int


class GINOptions(GraphOptions, total=False):
    """Options of `GINAttention`; see `AttentionConfig`."""

    values: Values | None
    output_projection: bool | None
    gamma: float
    mlp: MLPSharing
    epsilon_form: EpsilonForm


class PNAOptions(GraphOptions, total=False):
    """Options of `PNAAttention`; see `AttentionConfig`."""

    values: Values | None
    output_projection: bool | None
    gamma: float
    mlp: MLPSharing
    aggregators: Sequence[Aggregator]
    scalers: Sequence[Scaler]
    delta: float


_OPTIONS: dict[Kind, frozenset[str]] = {
    "plain": GraphOptions.__optional_keys__,
    "gin": GINOptions.__optional_keys__,
    "pna": PNAOptions.__optional_keys__,
}
_THRESHOLDED = frozenset(
    {"relu", "silu", "softplus", "sigmoid", "binary", "silu_binary", "softplus_binary", "sigmoid_binary"}
)


class AttentionConfig(BaseModel):
    """The kind of attention and its options; options of another kind are ignored.

    Raises
    ------
    pydantic.ValidationError
        A `ValueError`: an unknown field, a value out of range, or two choices that contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: Kind = Field(
        default="gin",
        description="How a node takes up its neighbours: `plain` (weighted sum, the ordinary Transformer), "
        "`gin` (graph isomorphism network) or `pna` (principal neighbourhood aggregation).",
    )
    heads: int = Field(default=8, ge=1, description="Number of heads; divides the width into even parts.")
    kv_heads: int | None = Field(
        default=None,
        ge=1,
        description="Grouped queries: number of heads of keys and projected values, each shared by "
        "`heads / kv_heads` heads of queries. Unset: as many as `heads`.",
    )
    sharpening: Sharpening = Field(
        default="per_head",
        description="Factor on the scores, learned from 1: one per head, one per layer, or none (fixed).",
    )
    temperature: float = Field(default=1.0, gt=0, description="Fixed divisor of the scores.")
    causal: bool = Field(default=False, description="Whether a token sees only itself and what precedes it.")
    adjacency: Adjacency = Field(
        default="softmax",
        description="How scores become weights of edges: `softmax` (each row sums to 1), `relu`, `sigmoid`, or "
        "`differential` (softmax of one set of queries and keys less lambda times that of a second set).",
    )
    lambda_init: float = Field(
        default=0.5, description="differential: where the learned factor lambda of each head starts."
    )
    sparsifier: Sparsifier = Field(
        default="none",
        description="What becomes of a weight A: `none`; `relu`, `silu`, `softplus` or `sigmoid` of A less a "
        "threshold; `binary` (1 above the threshold, else 0); `topk` (the strongest neighbours); or "
        "`silu_binary`, `softplus_binary`, `sigmoid_binary` (1 above the threshold, smooth below).",
    )
    threshold: float = Field(
        default=0.1, description="Where edges are cut, or where the learned threshold of each head starts."
    )
    learn_threshold: bool = Field(
        default=False, description="Whether the threshold is learned, one per head."
    )
    beta: float = Field(
        default=10.0,
        gt=0,
        description="Steepness of the sparsifiers `softplus` and `sigmoid` at the threshold.",
    )
    k: int | None = Field(default=None, ge=1, description="topk: number of neighbours that are kept.")
    fraction: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="topk: share of the visible tokens that are kept as neighbours, rounded up.",
    )
    hard_edges: HardEdges = Field(
        default="straight_through",
        description="binary, topk: a kept edge weighs 1 and gradients pass as if nothing had been cut "
        "(`straight_through`), or it keeps its weight and what is cut gets no gradient (`keep_weight`).",
    )
    edge_kinds: int = Field(
        default=0,
        ge=0,
        le=255,
        description="Number of kinds of known edges (bonds) that get a learned bias on the scores, one per head "
        "and kind, starting at 0. 0: known edges are not used.",
    )
    values: Values | None = Field(
        default=None,
        description="What is aggregated: the `input` split by heads, or the input `projected`. "
        "Unset: `input` for gin, `projected` for pna and plain.",
    )
    output_projection: bool | None = Field(
        default=None,
        description="Whether a linear layer mixes the heads at the end. "
        "Unset: no for gin, yes for pna and plain.",
    )
    gamma: float = Field(
        default=0.5,
        gt=0,
        description="gin, pna: hidden width of the perceptron of a head, as a multiple of the head's width.",
    )
    mlp: MLPSharing = Field(
        default="per_head", description="gin, pna: one perceptron per head, or one shared by all heads."
    )
    epsilon_form: EpsilonForm = Field(
        default="eps",
        description="gin: weight of the node itself beside its neighbours, `eps` or `1 + eps`. A softmax row "
        "already holds the node, hence `eps` alone.",
    )
    aggregators: tuple[Aggregator, ...] = Field(
        default=("mean", "std"),
        min_length=1,
        description="pna: statistics of the neighbours, which are the tokens "
        "whose edge has a weight above 0.",
    )
    scalers: tuple[Scaler, ...] = Field(
        default=("identity", "amplification", "attenuation"),
        min_length=1,
        description="pna: factors by degree: 1, log(degree + 1) / delta and delta / log(degree + 1).",
    )
    delta: float = Field(
        default=4.0,
        gt=0,
        description="pna: mean of log(degree + 1) over the training data. The degree is the number of neighbours: "
        "of all tokens in view under softmax weights, where 4 suits streams of about 50 tokens.",
    )

    @field_validator("aggregators", "scalers")
    @classmethod
    def _no_repeats(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) != len(names):
            raise ValueError("each may be named once")
        return names

    @model_validator(mode="after")
    def _plain_is_plain(self) -> AttentionConfig:
        if self.kind == "plain" and (self.values == "input" or self.output_projection is False):
            raise ValueError(
                "plain attention always has value and output projections: leave out `values` and "
                "`output_projection`, or choose kind gin or pna"
            )
        return self

    @model_validator(mode="after")
    def _heads_share_keys(self) -> AttentionConfig:
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} heads of keys evenly: "
                "choose kv_heads among the divisors of heads"
            )
        return self

    @model_validator(mode="after")
    def _topk_knows_how_many(self) -> AttentionConfig:
        given = [name for name in ("k", "fraction") if getattr(self, name) is not None]
        if self.sparsifier == "topk" and len(given) != 1:
            raise ValueError("topk needs to know how many neighbours to keep: give either k or fraction")
        if self.sparsifier != "topk" and given:
            raise ValueError(
                f"{given[0]} has no effect with sparsifier {self.sparsifier}: leave it out, or choose topk"
            )
        return self

    @model_validator(mode="after")
    def _threshold_can_do_something(self) -> AttentionConfig:
        if self.learn_threshold and self.sparsifier not in _THRESHOLDED:
            raise ValueError(
                f"sparsifier {self.sparsifier} has no threshold to learn: leave out learn_threshold"
            )
        if self.learn_threshold and self.sparsifier == "binary" and self.hard_edges == "keep_weight":
            raise ValueError(
                "a threshold gets no gradient where kept edges keep their weight: choose hard_edges "
                "straight_through, or leave out learn_threshold"
            )
        cuts = self.sparsifier in ("relu", "binary") and not self.learn_threshold
        if cuts and self.threshold >= 1 and self.adjacency != "relu":
            raise ValueError(
                f"no {self.adjacency} weight reaches a threshold of {self.threshold:g}, so there would be no edges: "
                "choose a threshold below 1"
            )
        return self

    @property
    def key_heads(self) -> int:
        """Number of heads of keys and projected values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def has_threshold(self) -> bool:
        """Whether the sparsifier compares weights with a threshold."""
        return self.sparsifier in _THRESHOLDED

    @property
    def scales(self) -> bool:
        """Whether any degree scaler differs from 1."""
        return self.scalers != ("identity",)

    @property
    def everyone_is_a_neighbour(self) -> bool:
        """Whether every visible token is a neighbour, whatever the scores."""
        return self.adjacency == "softmax" and self.sparsifier == "none"

    @property
    def projects_values(self) -> bool:
        """Whether the values are a projection of the input."""
        return self.kind != "gin" if self.values is None else self.values == "projected"

    @property
    def projects_output(self) -> bool:
        """Whether a linear layer follows the heads."""
        return self.kind != "gin" if self.output_projection is None else self.output_projection

    def options(self) -> dict[str, Any]:
        """Return the options that this kind of attention has, as keyword arguments of its layer."""
        return self.model_dump(include=set(_OPTIONS[self.kind]))
