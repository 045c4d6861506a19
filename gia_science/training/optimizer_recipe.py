"""Settings of the training: its length, its steps and its batches."""

from __future__ import annotations

from pydantic import Field

from gia_science.settings import Strict


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
