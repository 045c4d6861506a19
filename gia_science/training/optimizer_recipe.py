"""Settings of the training: its length, its steps and its batches."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from gia_science.settings import Strict


class OptimizerRecipe(Strict):
    """Training by AdamW with warm-up and cosine, averaged weights and early stopping."""

    epochs: int | None = Field(
        default=None,
        ge=1,
        description="Most epochs, unless `min_steps` asks for more; by domain where not given, 30 in pretraining.",
    )
    min_steps: int | None = Field(
        default=None,
        ge=1,
        description="Fewest optimiser steps: small tables get more epochs. By domain where not given, 400 in "
        "pretraining.",
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


LENGTHS: Mapping[str, Mapping[str, int]] = {
    "protein": {"epochs": 10, "min_steps": 400},
    "smiles": {"epochs": 10, "min_steps": 400},
    "composition": {"epochs": 60, "min_steps": 1500},
}
"""How long is trained where a recipe does not say, by domain.

Formulas have a few tokens: more epochs of them take no longer, and are not learnt by heart.
"""
LANGUAGE_LENGTH: Mapping[str, int] = {"epochs": 30, "min_steps": 400}
"""The same for language models, which take longer to learn by heart."""


def open_length(optimizer: OptimizerRecipe, usual: Mapping[str, int]) -> dict[str, int]:
    """What of the length of a training the recipe leaves open, under dotted keys."""
    return {f"training.{name}": value for name, value in usual.items() if getattr(optimizer, name) is None}
