"""The choices that make an adapter: Sparse-GIN, and what it is compared with."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from gia_science.settings import Strict

Kind: TypeAlias = Literal["sparse-gin", "lora", "bottleneck", "frozen", "full"]
Heads: TypeAlias = Literal["sum", "mean", "max", "per_head"]
Edges: TypeAlias = Literal["soft", "cut", "topk"]


class _Settings(Strict):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SparseGINConfig(_Settings):
    """Messages over the frozen model's own attention graph (Buehler 2025, arXiv 2501.02393).

    In each layer, between attention and feed-forward, ``h <- h + lambda * GIN(h)`` over the edges
    ``A~ = sigmoid(sharpness * (A - tau))``, A from the attention probabilities.
    """

    kind: Literal["sparse-gin"] = Field(default="sparse-gin", description="Names this kind of adapter.")
    rank: int = Field(default=16, ge=1, description="Width r in which messages are passed.")
    heads: Heads = Field(
        default="sum",
        description="How the heads' probabilities become one A: `sum` (at most 1), `mean`, `max`; or `per_head`, where "
        "each head's graph carries its own part of the rank, which the number of heads must divide.",
    )
    edges: Edges = Field(
        default="cut",
        description="Which pairs are edges: `soft`, every visible pair; `cut`, those with A~ of at least `cut`; "
        "`topk`, the `k` strongest of each token (what equals the weakest of them is kept too).",
    )
    sharpness: float = Field(default=10.0, gt=0, description="Steepness of the soft threshold.")
    tau: float = Field(default=0.1, description="A at which A~ is one half.")
    cut: float = Field(
        default=0.6, ge=0, le=1, description="cut: least A~ of an edge. The default keeps A above about 0.14."
    )
    k: int | None = Field(default=None, ge=1, description="topk: number of neighbours.")
    self_edges: bool = Field(
        default=True,
        description="Whether a token may be its own neighbour, besides the term (1 + eps) h that it always has.",
    )
    adjacency: Literal["attention", "identity"] = Field(
        default="attention",
        description="`identity` is the control: the same parameters, each token its own only neighbour.",
    )
    ramp: float = Field(
        default=0.0,
        description="Where the learned lambda of each layer starts: rising evenly over depth from 0 to this. 0 starts "
        "with exactly the pretrained model; the paper has 0.5.",
    )
    layers: tuple[int, ...] | None = Field(
        default=None, description="Layers that get an adapter, from 0. Unset: all."
    )

    @model_validator(mode="after")
    def _consistent(self) -> SparseGINConfig:
        if (self.edges == "topk") != (self.k is not None):
            raise ValueError("`edges: topk` and `k` go together")
        return self


class BottleneckConfig(_Settings):
    """Down, SiLU, up at the same place, token by token (after Houlsby et al. 2019, arXiv 1902.00751)."""

    kind: Literal["bottleneck"] = Field(default="bottleneck", description="Names this kind of adapter.")
    rank: int = Field(default=16, ge=1, description="Width of the bottleneck.")
    layers: tuple[int, ...] | None = Field(
        default=None, description="Layers that get an adapter, from 0. Unset: all."
    )


class LoRAConfig(_Settings):
    """Low-rank updates of the attention's projections (Hu et al. 2021, arXiv 2106.09685), by peft."""

    kind: Literal["lora"] = Field(default="lora", description="Names this kind of adapter.")
    rank: int = Field(default=8, ge=1, description="Rank of each update.")
    alpha: float | None = Field(
        default=None, gt=0, description="The update is scaled by alpha / rank. Unset: twice the rank."
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Dropout on the input of the update.")
    targets: tuple[str, ...] | None = Field(
        default=None,
        description="Modules, by the ends of their names. Unset: all projections of the attention.",
    )


class FrozenConfig(_Settings):
    """Nothing of the base is trained."""

    kind: Literal["frozen"] = Field(default="frozen", description="Names this kind of adapter.")


class FullConfig(_Settings):
    """Everything is trained."""

    kind: Literal["full"] = Field(default="full", description="Names this kind of adapter.")


AdapterConfig = Annotated[
    SparseGINConfig | LoRAConfig | BottleneckConfig | FrozenConfig | FullConfig, Field(discriminator="kind")
]
"""Settings of any kind of adapter, told apart by ``kind``."""
