"""The whole experiment in one validated object: from the data to the seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from gia_science.adapters.config import AdapterConfig, SparseGINConfig
from gia_science.data.source import DataSource
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.evaluation.baselines import DEFAULT as DEFAULT_BASELINES
from gia_science.evaluation.baselines import NAMES as BASELINE_NAMES
from gia_science.evaluation.baselines import check_names
from gia_science.model.config import Objective
from gia_science.settings import Strict
from gia_science.training.network_recipe import BackboneRecipe, NetworkRecipe
from gia_science.training.optimizer_recipe import OptimizerRecipe
from gia_science.training.target_recipe import TargetRecipe
from gia_science.training.written_recipe import WrittenRecipe

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class PretrainedSource(Strict):
    """The pretrained network that training starts from."""

    folder: str = Field(description="Folder that gia pretrain wrote.")
    sha256: str | None = Field(default=None, description="Hash of its weights, written by each run.")


class BackboneSource(Strict):
    """A pretrained backbone that stays frozen, and the adapter that is trained on it."""

    pretrained: str = Field(
        description="Folder of a transformers model, id on the Hugging Face hub, or folder that gia pretrain wrote."
    )
    adapter: AdapterConfig = Field(
        default=SparseGINConfig(), description="What is trained on it: its kind alone, or its settings."
    )
    keep_base: bool = Field(
        default=False,
        description="Put the weights of the pretrained model into the model folder too. Fully fine-tuned ones, and "
        "those of gia pretrain, always are.",
    )
    sha256: str | None = Field(default=None, description="Hash of its weights, written by each run.")

    @field_validator("adapter", mode="before")
    @classmethod
    def _kind_alone(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        return {"kind": "sparse-gin", **value} if isinstance(value, Mapping) else value


class Recipe(WrittenRecipe):
    """A whole experiment. Every run writes the exact recipe that reproduces it into the model folder."""

    name: str = Field(default="model", pattern=NAME)
    title: str = ""
    data: DataSource = DataSource()
    target: TargetRecipe
    tokens: dict[str, Any] = Field(default_factory=dict, description="Options of the domain's tokenizer.")
    descriptors: tuple[str, ...] | None = Field(
        default=None, description="Descriptor providers; the domain's own where not given."
    )
    split: SplitRecipe = SplitRecipe()
    pretrained: PretrainedSource | None = Field(
        default=None, description="Pretrained network to start from; by default from random weights."
    )
    backbone: BackboneSource | None = Field(
        default=None, description="Pretrained backbone to adapt; by default all of the network is trained."
    )
    network: NetworkRecipe = NetworkRecipe()
    training: OptimizerRecipe = OptimizerRecipe()
    baselines: tuple[str, ...] = Field(
        default=DEFAULT_BASELINES,
        description=f"Plain methods to fit on the same rows for comparison, of: {', '.join(BASELINE_NAMES)}.",
    )
    seed: int = Field(default=0, ge=0)

    @field_validator("baselines")
    @classmethod
    def _known_baselines(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return check_names(names)

    @model_validator(mode="after")
    def _one_start(self) -> Self:
        if self.backbone and self.pretrained and self.pretrained.folder != self.backbone.pretrained:
            raise ValueError("backbone.pretrained and pretrained.folder name two networks to start from")
        return self


class PretrainRecipe(WrittenRecipe):
    """A whole pretraining: a language model of the inputs, without any target."""

    name: str = Field(default="pretrained", pattern=NAME)
    title: str = ""
    data: DataSource = DataSource()
    tokens: dict[str, Any] = Field(default_factory=dict, description="Options of the domain's tokenizer.")
    split: SplitRecipe = SplitRecipe()
    objective: Objective = Field(
        default="masked",
        description="masked: predict hidden tokens from both sides. causal: predict each next token.",
    )
    mask_share: float = Field(
        default=0.15,
        gt=0,
        lt=1,
        description="masked: share of the tokens of a row that are hidden at a time.",
    )
    network: BackboneRecipe = BackboneRecipe()
    training: OptimizerRecipe = OptimizerRecipe()
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _nothing_tells(self) -> Self:
        if self.network.attention.edge_kinds:
            raise ValueError("network.attention.edge_kinds: known edges would give hidden tokens away")
        if self.network.attention.causal and self.objective == "masked":
            raise ValueError("network.attention.causal goes with objective: causal")
        if self.data.columns:
            raise ValueError("data.columns: pretraining reads the input column only")
        if self.data.duplicates != "keep":
            raise ValueError("data.duplicates: pretraining has no targets that could differ")
        return self
