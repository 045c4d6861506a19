"""A forest of tensors answers as scikit-learn's does, and a damaged one is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gia_science.model.forest import Forest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 7)).astype(np.float32)
ASKED = RNG.normal(size=(50, 7)).astype(np.float32)


@pytest.mark.parametrize("make", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("targets", [1, 3])
def test_values_are_those_of_the_regressor(make: Any, targets: int) -> None:
    y = X @ RNG.normal(size=(7, targets)) + X[:, :1] ** 2
    fitted = make(20, random_state=0).fit(X, y if targets > 1 else y[:, 0])
    forest = Forest.of(fitted, features=7)
    for x in (ASKED, X):
        expected = fitted.predict(x).reshape(len(x), targets)
        np.testing.assert_allclose(forest(torch.from_numpy(x)).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert forest.is_sound()


@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_those_of_the_classifier(make: Any, classes: int) -> None:
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.linspace(-0.5, 1.5, classes - 1))
    fitted = make(20, random_state=0, min_samples_leaf=3).fit(X, y)
    expected = fitted.predict_proba(ASKED)
    for binary in (False, True):
        found = Forest.of(fitted, features=7, binary=binary)(torch.from_numpy(ASKED)).numpy()
        np.testing.assert_allclose(found, expected[:, 1:] if binary else expected, rtol=1e-5, atol=1e-6)


def test_a_number_on_the_threshold_goes_left_as_in_scikit_learn() -> None:
    """Thresholds lie halfway between numbers, in double precision; counts often fall on a boundary in single."""
    x = np.float32([[0.1], [0.1 + 1e-8], [0.2], [0.3]])
    fitted = RandomForestRegressor(30, random_state=0).fit(x, [0.0, 0.0, 1.0, 2.0])
    asked = np.float32([[0.15], [0.1], [0.25], [0.2]])
    found = Forest.of(fitted, features=1)(torch.from_numpy(asked)).numpy()[:, 0]
    np.testing.assert_allclose(found, fitted.predict(asked), rtol=1e-6)


def test_the_state_is_all_there_is() -> None:
    fitted = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    forest = Forest.of(fitted, features=7)
    again = Forest(forest.config)
    again.load_state_dict(forest.state_dict())
    assert torch.equal(again(torch.from_numpy(ASKED)), forest(torch.from_numpy(ASKED)))


@pytest.mark.parametrize(
    ("name", "value"), [("right", 10**6), ("right", 0), ("feature", 7), ("value", float("nan"))]
)
def test_a_node_that_points_nowhere_is_known(name: str, value: float) -> None:
    forest = Forest.of(RandomForestRegressor(3, random_state=0).fit(X, X[:, 0]), features=7)
    getattr(forest, name)[0, 0] = value
    assert not forest.is_sound()
