"""The constant is the mean, or the frequency of each class: scikit-learn's dummy says the same."""

from __future__ import annotations

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from gia_science.evaluation.baselines.constant import fit_constant


def test_it_is_what_the_dummy_of_the_reference_library_predicts(numbers) -> None:
    x, y = np.zeros((6, 1)), np.array([0.0, 2, 2, 2, 0, 1])
    values = fit_constant("regression", numbers(x), y).predict(numbers(x[:2]))
    np.testing.assert_allclose(values[:, 0], DummyRegressor().fit(x, y).predict(x[:2]))
    probabilities = fit_constant("multiclass", numbers(x), y).predict(numbers(x[:2]))
    np.testing.assert_allclose(
        probabilities[:, 0], DummyClassifier(strategy="prior").fit(x, y).predict_proba(x[:2])
    )
