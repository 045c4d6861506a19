"""The choices that make one kind of graph attention."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Kind: TypeAlias = Literal["plain", "gin", "pna"]
Sharpening: TypeAlias = Literal["per_head", "per_layer", "fixed"]
EpsilonForm: TypeAlias = Literal["eps", "one_plus_eps"]
Values: TypeAlias = Literal["input", "projected"]
MLPSharing: TypeAlias = Literal["per_head", "shared"]
Aggregator: TypeAlias = Literal["mean", "var", "std"]
Scaler: TypeAlias = Literal["identity", "amplification", "attenuation"]

_COMMON = {"heads", "sharpening", "temperature", "causal"}
_GRAPH = {"values", "output_projection", "gamma", "mlp"}
_OPTIONS: dict[Kind, set[str]] = {
    "plain": _COMMON,
    "gin": _COMMON | _GRAPH | {"epsilon_form"},
    "pna": _COMMON | _GRAPH | {"aggregators", "scalers", "delta"},
}


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
    sharpening: Sharpening = Field(
        default="per_head",
        description="Factor on the scores, learned from 1: one per head, one per layer, or none (fixed).",
    )
    temperature: float = Field(default=1.0, gt=0, description="Fixed divisor of the scores.")
    causal: bool = Field(default=False, description="Whether a token sees only itself and what precedes it.")
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
        default=("mean", "std"), min_length=1, description="pna: statistics of the neighbours."
    )
    scalers: tuple[Scaler, ...] = Field(
        default=("identity", "amplification", "attenuation"),
        min_length=1,
        description="pna: factors by degree: 1, log(degree + 1) / delta and delta / log(degree + 1).",
    )
    delta: float = Field(
        default=4.0,
        gt=0,
        description="pna: mean of log(degree + 1) over the training data. Under softmax weights the degree "
        "is the number of tokens in view; 4 suits streams of about 50 tokens.",
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
        return self.model_dump(include=_OPTIONS[self.kind])
