"""Shape of the network: everything needed to build it before its weights are loaded."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from gia_science.adapters.config import AdapterConfig
from gia_science.attention import AttentionConfig
from gia_science.data.target_spec import TaskKind
from gia_science.model.forest import ForestConfig
from gia_science.settings import Strict

Pooling = Literal["mean", "first", "attention"]
Objective = Literal["masked", "causal"]
Loss = Literal["smooth", "absolute", "squared", "quantile"]


class BlockConfig(Strict):
    """A block of whole-input descriptors: one token each where they are few, packed into a few where they are many."""

    name: str
    size: int = Field(ge=1, description="Number of descriptors in the block.")
    bins: int = Field(
        default=0, ge=0, description="Bins of a piecewise linear encoding of packed descriptors."
    )
    tokens: int = Field(
        ge=0,
        description="Number of tokens; equal to `size` means one token per descriptor, and 0 that networks do not read "
        "the block: the trees beside them do.",
    )


class BackboneConfig(Strict):
    """Architecture of `GIATransformer`."""

    vocabulary: int = Field(ge=1, description="Number of tokens in the vocabulary.")
    values: bool = Field(description="Whether numbers ride on tokens.")
    features: int = Field(ge=0, description="Number of features per token, F.")
    context_buckets: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        description="Size of each of the K context tables."
    )
    blocks: tuple[BlockConfig, ...] = Field(default=(), description="Descriptor blocks, in order.")
    width: int = Field(default=128, ge=2, description="Width d of the hidden states.")
    layers: int = Field(default=3, ge=1, description="Number of blocks L.")
    expansion: float = Field(
        default=2.0, gt=0, description="Hidden width of the SwiGLU feed-forward, in units of d."
    )
    attention: AttentionConfig = AttentionConfig()
    hops: int = Field(
        default=1,
        ge=1,
        description="Most steps along known edges; each number of steps from 2 on is the last but so many of the kinds "
        "of edges of `attention`.",
    )
    dropout: float = Field(default=0.1, ge=0, lt=1, description="On residual branches and in the head.")
    token_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Chance that a residue, atom or element is hidden in training."
    )
    context_dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Chance that a context is hidden in training."
    )
    descriptor_dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Chance that a descriptor is hidden in training."
    )
    stochastic_depth: float = Field(
        default=0.0, ge=0, lt=1, description="Chance that a row skips the last block's branches in training."
    )
    jitter: float = Field(
        default=0.0, ge=0, description="Noise of the numbers that ride on tokens, relative, in training."
    )

    @model_validator(mode="after")
    def _steps_along_edges(self) -> Self:
        if self.hops > 1 and self.attention.edge_kinds < self.hops:
            raise ValueError("hops are among the kinds of edges of attention, behind those of known edges")
        return self


class BaseConfig(Strict):
    """A pretrained transformers model that stands in the place of `GIATransformer`."""

    source: str = Field(description="Folder, or id on the Hugging Face hub.")
    sha256: str = Field(description="Hash of its weights.")
    kept: bool = Field(description="Whether its weights lie in the model folder, or are read from `source`.")
    architecture: dict[str, Any] = Field(
        description="Its own config.json, as far as it describes the network."
    )
    padding: int = Field(ge=0, description="Id of its padding token.")
    special: tuple[int, ...] = Field(description="Ids of special tokens, which pooling leaves out.")
    token_per_unit: bool = Field(description="Whether each residue has a token of its own.")


class NetworkConfig(BackboneConfig):
    """Architecture of a property predictor: the backbone, its head and the number of members.

    With `base`, what describes the backbone of this package holds the sizes of the base, and is not used otherwise.
    """

    kind: TaskKind = Field(description="What the head predicts.")
    outputs: int = Field(ge=1, description="Number of targets, or of classes.")
    loss: Loss = Field(default="smooth", description="Loss of numbers.")
    quantiles: tuple[float, ...] = Field(default=(), description="Levels of the quantile loss.")
    gates: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="Places of the targets whose zeros have an output of their own."
    )
    zeros: tuple[FiniteFloat, ...] = Field(
        default=(), description="Where 0 lies among the scaled values of each of these."
    )
    mixup: float = Field(
        default=0.0, ge=0, description="Both parameters of the beta law by which rows are mixed in training."
    )
    members: int = Field(default=1, ge=1, description="Number of networks whose predictions are averaged.")
    forest: ForestConfig | None = Field(default=None, description="Shape of the forest beside the networks.")
    pooling: Pooling = "mean"
    base: BaseConfig | None = Field(default=None, description="Model from elsewhere as the backbone.")
    adapter: AdapterConfig | None = Field(
        default=None,
        description="How the backbone is adapted; none where all of it is trained from the start.",
    )

    @model_validator(mode="after")
    def _whole_head(self) -> Self:
        if (self.loss == "quantile") != bool(self.quantiles):
            raise ValueError("quantiles go with loss: quantile")
        if len(self.gates) != len(self.zeros) or any(gate >= self.outputs for gate in self.gates):
            raise ValueError("gates are those of targets, and each has its zero")
        if self.kind != "regression" and (self.quantiles or self.gates):
            raise ValueError("quantiles and gates are those of numbers")
        return self

    @property
    def channels(self) -> int:
        """Numbers that the head gives of a row or token: outputs, each with its quantiles, then the gates."""
        return self.outputs * max(1, len(self.quantiles)) + len(self.gates)


class LanguageConfig(BackboneConfig):
    """Architecture of a language model: a backbone that sees tokens, their numbers and their places only."""

    objective: Objective = Field(description="What is predicted: hidden tokens, or the next token.")

    @model_validator(mode="after")
    def _nothing_tells(self) -> Self:
        if self.features or self.context_buckets or self.blocks or self.attention.edge_kinds:
            raise ValueError("a language model has no features, contexts, descriptors or known edges")
        if self.attention.causal != (self.objective == "causal"):
            raise ValueError("attention is causal with the causal objective, and only then")
        return self
