"""Numeric rows as formulas, for scikit-learn's checks, which know numbers only: the real methods do all else."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from gia_science.estimators import SequenceClassifier, SequenceEmbedder, SequenceRegressor

ELEMENTS = (
    *(
        "Li",
        "Be",
        "B",
        "C",
        "N",
        "O",
        "F",
        "Na",
        "Mg",
        "Al",
        "Si",
        "P",
        "S",
        "Cl",
        "K",
        "Ca",
        "Sc",
        "Ti",
        "V",
    ),
    *("Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Rb", "Sr", "Y", "Zr", "Nb"),
)


def formula(row: np.ndarray) -> str:
    """One element for each number, its amount between 0 and 2, and hydrogen as the measure of all amounts."""
    amounts = 1 + 0.999 * row / (1 + np.abs(row))
    return "H1" + "".join(f"{name}{amount:.12f}" for name, amount in zip(ELEMENTS, amounts, strict=False))


class NumericFront:
    """Before the real estimator in the order of classes."""

    def _formulas(self, X: Any, *, reset: bool) -> list[str]:
        if not reset:
            check_is_fitted(self)
        return [formula(row) for row in validate_data(self, X, reset=reset, dtype=np.float64)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        return tags


class NumericRegressor(NumericFront, SequenceRegressor):
    def fit(self, X, y, sample_weight=None, groups=None):
        return super().fit(self._formulas(X, reset=True), y, sample_weight=sample_weight, groups=groups)

    def predict(self, X):
        return super().predict(self._formulas(X, reset=False))


class NumericClassifier(NumericFront, SequenceClassifier):
    def fit(self, X, y, sample_weight=None, groups=None):
        return super().fit(self._formulas(X, reset=True), y, sample_weight=sample_weight, groups=groups)

    def predict_proba(self, X):
        return super().predict_proba(self._formulas(X, reset=False))

    def predict(self, X):
        # The real predict calls predict_proba, which is the front's.
        return super().predict(X)


class NumericEmbedder(NumericFront, SequenceEmbedder):
    def fit(self, X, y=None):
        return super().fit(self._formulas(X, reset=True), y)

    def transform(self, X):
        return super().transform(self._formulas(X, reset=False))
