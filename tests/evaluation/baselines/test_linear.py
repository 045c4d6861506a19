"""The linear baseline is scikit-learn's ridge on what it says, and its penalty is chosen inside the training rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from gia_science.evaluation.baselines.linear import PENALTIES, fit_linear, inner_folds

VARIANTS = [a + b + c for a in "ACDE" for b in "KRLV" for c in "GW"]
WORTH = {letter: value for value, letter in enumerate("ACDEKRLVGW")}


def test_equal_lengths_are_one_hot_and_additive_effects_are_learnt_exactly(make) -> None:
    y = np.array([float(sum(WORTH[letter] for letter in text)) for text in VARIANTS])
    train = np.arange(32) % 4 > 0
    texts = np.array(VARIANTS)
    fitted = fit_linear("regression", make("protein", list(texts[train])), y[train])
    (ridge,) = fitted.estimators
    assert ridge.n_features_in_ == 4 + 4 + 2, "columns that never vary are left out"
    predicted = fitted.predict(make("protein", list(texts[~train])))
    np.testing.assert_allclose(predicted[:, 0], y[~train], atol=0.1)


def test_an_input_of_another_length_is_read_from_its_first_residue(make) -> None:
    y = np.array([float(WORTH[text[0]]) for text in VARIANTS])
    fitted = fit_linear("regression", make("protein", VARIANTS), y)
    longer, whole, shorter = fitted.predict(make("protein", ["EKGWWW", "EKG", "E"]))[:, 0]
    assert longer == whole
    assert abs(shorter - whole) < 0.5


def test_the_model_is_the_ridge_of_the_reference_library_with_the_best_penalty(make) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6))
    y = x @ rng.normal(size=6) + rng.normal(size=40)
    inputs = make("protein", ["A"] * 40, x)
    fitted = fit_linear("regression", inputs, y, seed=3)
    # All rows are one input: there are no folds to choose by, and the penalty is the library's own.
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    expected = Ridge().fit(scaled, y).predict(scaled)
    np.testing.assert_allclose(fitted.predict(inputs)[:, 0], expected, atol=1e-5)
    texts = [chr(65 + row // 20) * (row % 20 + 1) for row in range(40)]
    texts = [text.replace("B", "C") for text in texts]
    spread = make("protein", texts, x)
    fitted = fit_linear("regression", spread, y, seed=3)
    table = fitted.table(spread)
    groups = np.unique([reading.identity for reading in spread.readings], return_inverse=True)[1]
    search = GridSearchCV(
        Ridge(),
        {"alpha": PENALTIES},
        scoring="neg_mean_squared_error",
        cv=PredefinedSplit(inner_folds(groups, np.zeros(40), seed=3)),
    ).fit(table, y)
    assert fitted.estimators[0].alpha == search.best_params_["alpha"]
    np.testing.assert_allclose(fitted.predict(spread)[:, 0], search.predict(table))


@given(
    groups=st.lists(st.integers(0, 12), min_size=1, max_size=60),
    classes=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_inner_folds_keep_groups_together_and_leave_no_class_without_training_rows(
    groups, classes, seed
) -> None:
    labels = np.array([group % classes for group in groups], dtype=float)
    folds = inner_folds(np.array(groups), labels, seed=seed)
    for group in set(groups):
        assert len(set(folds[np.array(groups) == group])) == 1
    for fold in set(folds[folds >= 0]):
        assert set(labels[folds == fold]) <= set(labels[folds != fold])
    sizes = [len(set(np.array(groups)[folds == fold])) for fold in range(5)]
    assert max(sizes) - min(sizes) <= classes
