"""Settings of what is learnt: targets, their form, loss and decision."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gia_science.data.forms import FormChoice
from gia_science.data.target_spec import TaskKind
from gia_science.model.config import Loss
from gia_science.settings import Strict

Decision = Literal["likeliest", "balanced"]
QUANTILES = (0.1, 0.5, 0.9)
"""Levels of the quantile loss where a recipe names none."""


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
