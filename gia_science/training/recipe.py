"""The whole experiment in one validated object: from the data to the seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, field_validator, model_validator

from gia_science.adapters.config import AdapterConfig, SparseGINConfig
from gia_science.attention import AttentionConfig
from gia_science.data.forms import FormChoice
from gia_science.data.rows import MAX_LENGTH
from gia_science.data.source import DataSource
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.data.target_spec import TaskKind
from gia_science.errors import RecipeError, Where
from gia_science.evaluation.baselines import DEFAULT as DEFAULT_BASELINES
from gia_science.evaluation.baselines import NAMES as BASELINE_NAMES
from gia_science.evaluation.baselines import check_names
from gia_science.model.config import Loss, Objective, Pooling
from gia_science.settings import Strict, validate

Decision = Literal["likeliest", "balanced"]
QUANTILES = (0.1, 0.5, 0.9)
"""Levels of the quantile loss where a recipe names none."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class TargetRecipe(Strict):
    """What is learnt."""

    names: tuple[str, ...] = Field(min_length=1, description="Target columns.")
    kind: TaskKind | None = Field(
        default=None, description="Kind of task; recognised from the values where not given."
    )
    labels: tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...] = Field(
        default=(),
        description="Class labels in order; of two, the second is the positive class. Default: found.",
    )
    units: tuple[str, ...] = Field(default=(), description="Units of the targets, for reports.")
    form: FormChoice = Field(
        default="auto",
        description="What is learnt of numbers: plain, zero_inflated, log or box_cox; auto chooses by training rows.",
    )
    loss: Loss = Field(
        default="smooth", description="Loss of numbers: smooth, absolute, squared or quantile."
    )
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        default=(), description="Levels of loss: quantile, 0.5 among them; 0.1, 0.5 and 0.9 where not given."
    )
    decision: Decision = Field(
        default="likeliest",
        description="Which class is the label: the likeliest, or balanced for the best balanced accuracy.",
    )

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if self.quantiles and self.loss != "quantile":
            raise ValueError("quantiles go with loss: quantile")
        if self.quantiles and (
            0.5 not in self.quantiles or list(self.quantiles) != sorted(set(self.quantiles))
        ):
            raise ValueError("quantiles must rise, with 0.5 among them")
        if self.loss == "quantile" and self.form == "zero_inflated":
            raise ValueError("loss: quantile does not go with form: zero_inflated")
        return self

    @model_validator(mode="after")
    def _as_many_units(self) -> Self:
        if self.units and len(self.units) != len(self.names):
            raise ValueError(f"units: {len(self.units)} given for {len(self.names)} targets")
        if len(set(self.names)) != len(self.names):
            raise ValueError("names: a target is named twice")
        return self


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
        "and the network is trained from a table; not in scikit-learn's estimators.",
    )
    known_edges: bool = Field(
        default=False,
        description="Learn a bias of attention for each kind of known edge: bonds, neighbours in a sequence.",
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
    single_tokens: int = Field(
        default=16, ge=0, description="Largest descriptor block with one token per descriptor."
    )
    packed_tokens: int = Field(default=4, ge=1, description="Tokens of a larger descriptor block.")
    binned: int = Field(default=64, ge=0, description="Largest packed block that is also encoded in bins.")
    bins: int = Field(default=16, ge=0, description="Number of bins of that encoding.")

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
ALIGNED: Mapping[str, float] = {"dropout": 0.1, "token_dropout": 0.0, "context_dropout": 0.1}
"""The same for aligned sequences (``tokens.sites``): a few places make all the difference, and must not be hidden."""


MEMBERS: tuple[tuple[int, int], ...] = ((5000, 5), (20000, 3))
"""Up to how many rows there are how many networks where a recipe does not say; two beyond."""


def usual_members(rows: int) -> int:
    """Number of networks for a table of that many rows."""
    return next((members for most, members in MEMBERS if rows <= most), 2)


class OptimizerRecipe(Strict):
    """Training by AdamW with warm-up and cosine, averaged weights and early stopping."""

    epochs: int = Field(default=10, ge=1, description="Most epochs, unless `min_steps` asks for more.")
    min_steps: int = Field(
        default=400, ge=1, description="Fewest optimiser steps: small tables get more epochs."
    )
    patience: float = Field(
        default=0.35,
        gt=0,
        description="Share of the epochs without a better validation loss before stopping.",
    )
    learning_rate: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup: float = Field(
        default=0.05, ge=0, lt=1, description="Share of all steps with rising learning rate."
    )
    gradient_clip: float = Field(default=1.0, gt=0, description="Largest norm of the gradient.")
    ema: float = Field(default=0.995, ge=0, lt=1, description="Decay of the averaged weights per step.")
    batch_tokens: int = Field(default=4096, ge=1, description="Most padded tokens in a batch.")
    batch_rows: int = Field(default=64, ge=1, description="Most rows in a batch.")
    respell: float = Field(
        default=0.0, ge=0, le=1, description="Chance of a random SMILES spelling in training."
    )
    time: str | None = Field(
        default=None,
        description="Time to train in, such as 90s, 5m or 1h: it decides how many networks, and of one that is too "
        "slow how many epochs. Of a property predictor only.",
    )


class LanguageOptimizerRecipe(OptimizerRecipe):
    """The same for language models, which take longer to learn by heart."""

    epochs: int = Field(default=30, ge=1, description="Most epochs, unless `min_steps` asks for more.")


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


class WrittenRecipe(Strict):
    """A recipe as YAML, and with settings named by dotted keys."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and validate a YAML recipe.

        Raises
        ------
        RecipeError
            For text that is not YAML, an unknown key, or a value that is not allowed.
        """
        path = Path(path)
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecipeError("cannot read the recipe", got=reason, where=Where(file=str(path))) from error
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            raise RecipeError(
                "cannot read the recipe", hint=str(error), where=Where(file=str(path))
            ) from error
        if not isinstance(data, dict):
            raise RecipeError("not a recipe", expected="a YAML mapping", where=Where(file=str(path)))
        return cls.parse(data, where=Where(file=str(path)))

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, where: Where | None = None) -> Self:
        """Validate a recipe given as plain types; raises `RecipeError` naming the first wrong key."""
        return validate(cls, data, error=RecipeError, what="the recipe", where=where)

    @classmethod
    def build(cls, settings: Mapping[str, Any]) -> Self:
        """A recipe from settings named by dotted keys such as ``"data.file"``; all others have their defaults."""
        return cls.parse(_nested({}, settings))

    def updated(self, settings: Mapping[str, Any]) -> Self:
        """The recipe with some settings changed, named by dotted keys such as ``"training.epochs"``."""
        # What was not set stays so: a pretrained network may decide it.
        return self.parse(_nested(self.model_dump(mode="json", exclude_unset=True), settings))

    def to_yaml(self) -> str:
        """The recipe as YAML text that `load` reads back to an equal recipe."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100)


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
    training: LanguageOptimizerRecipe = LanguageOptimizerRecipe()
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


def _nested(data: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Put values under their dotted keys into nested mappings, in place."""
    for key, value in settings.items():
        *parents, last = key.split(".")
        place = data
        for parent in parents:
            inner = place.setdefault(parent, {})
            if inner is None:
                inner = place[parent] = {}
            if not isinstance(inner, dict):
                raise RecipeError("unknown key in the recipe", got=repr(key))
            place = inner
        place[last] = value
    return data
