"""From a table of measurements to a property predictor, for proteins, molecules and materials.

>>> import gia_science as gia
>>> model = gia.train("measured.csv", target="logS")  # doctest: +SKIP
>>> model.predict(["CCO", "c1ccccc1"])  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gia_science.attention import GINAttention, PNAAttention
    from gia_science.errors import GiaError
    from gia_science.estimators import SequenceClassifier, SequenceEmbedder, SequenceRegressor
    from gia_science.evaluation.compare import compare
    from gia_science.evaluation.repeats import repeat_scores
    from gia_science.evaluation.validation import ValidationReport, validate
    from gia_science.model.backbone import GIATransformer
    from gia_science.prediction.api import load
    from gia_science.prediction.model import Model
    from gia_science.training.api import pretrain, train

_HOMES = {
    "GIATransformer": "gia_science.model.backbone",
    "GINAttention": "gia_science.attention",
    "GiaError": "gia_science.errors",
    "Model": "gia_science.prediction.model",
    "PNAAttention": "gia_science.attention",
    "SequenceClassifier": "gia_science.estimators",
    "SequenceEmbedder": "gia_science.estimators",
    "SequenceRegressor": "gia_science.estimators",
    "ValidationReport": "gia_science.evaluation.validation",
    "compare": "gia_science.evaluation.compare",
    "load": "gia_science.prediction.api",
    "pretrain": "gia_science.training.api",
    "repeat_scores": "gia_science.evaluation.repeats",
    "train": "gia_science.training.api",
    "validate": "gia_science.evaluation.validation",
}
__all__ = [
    "GIATransformer",
    "GINAttention",
    "GiaError",
    "Model",
    "PNAAttention",
    "SequenceClassifier",
    "SequenceEmbedder",
    "SequenceRegressor",
    "ValidationReport",
    "compare",
    "load",
    "pretrain",
    "repeat_scores",
    "train",
    "validate",
]


def __getattr__(name: str) -> object:
    # Loaded when first used: importing the package, as the command line does, must not import torch.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
