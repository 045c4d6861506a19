"""Shape of the network: everything needed to build it before its weights are loaded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gia_science.attention import AttentionConfig
from gia_science.data.targets import TaskKind
from gia_science.settings import Strict

Pooling = Literal["mean", "first", "attention"]


class BlockConfig(Strict):
    """A block of whole-input descriptors: one token each where they are few, packed into a few where they are many."""

    name: str
    size: int = Field(ge=1, description="Number of descriptors in the block.")
    bins: int = Field(
        default=0, ge=0, description="Bins of a piecewise linear encoding of packed descriptors."
    )
    tokens: int = Field(ge=1, description="Number of tokens; equal to `size` means one token per descriptor.")


class NetworkConfig(Strict):
    """Architecture of `GIATransformer` and its head."""

    vocabulary: int = Field(ge=1, description="Number of tokens in the vocabulary.")
    values: bool = Field(description="Whether numbers ride on tokens.")
    features: int = Field(ge=0, description="Number of features per token, F.")
    context_buckets: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        description="Size of each of the K context tables."
    )
    blocks: tuple[BlockConfig, ...] = Field(default=(), description="Descriptor blocks, in order.")
    kind: TaskKind = Field(description="What the head predicts.")
    outputs: int = Field(ge=1, description="Number of targets, or of classes.")
    members: int = Field(default=1, ge=1, description="Number of networks whose predictions are averaged.")
    width: int = Field(default=128, ge=2, description="Width d of the hidden states.")
    layers: int = Field(default=3, ge=1, description="Number of blocks L.")
    expansion: float = Field(
        default=2.0, gt=0, description="Hidden width of the SwiGLU feed-forward, in units of d."
    )
    attention: AttentionConfig = AttentionConfig()
    pooling: Pooling = "mean"
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
