"""Forests are scikit-learn's, on descriptors whose gaps are filled from the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestRegressor

from gia_science.evaluation.baselines.forest import (
    _environments,
    _everything,
    fit_extra_trees,
    fit_forest,
)
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.linear import fit_linear
from gia_science.tokens.domain import make_tokenizer


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return x, 2 * x[:, 0] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("fit", "kind", "own"),
    [
        (fit_forest, "regression", RandomForestRegressor(12, max_features=1 / 3, random_state=4)),
        (fit_extra_trees, "regression", ExtraTreesRegressor(12, random_state=4)),
        (fit_extra_trees, "binary", ExtraTreesClassifier(12, random_state=4)),
    ],
)
def test_the_forest_is_that_of_the_reference_library(numbers, fit, kind: str, own) -> None:
    x, y = table()
    y = y if kind == "regression" else (y > 0).astype(float)
    inputs = numbers(x)
    own.fit(inputs.descriptors, y)
    expected = (
        own.predict(inputs.descriptors)
        if kind == "regression"
        else own.predict_proba(inputs.descriptors)[:, 1]
    )
    np.testing.assert_array_equal(fit(kind, inputs, y, seed=4).predict(inputs)[:, 0], expected)


def test_another_seed_is_another_forest(numbers) -> None:
    x, y = table()
    first, other = (fit_forest("regression", numbers(x), y, seed=seed).predict(numbers(x)) for seed in (1, 2))
    assert (first != other).any()


def test_missing_features_are_filled_with_the_training_median(numbers) -> None:
    x, y = table()
    x[5, 0] = np.nan
    forest = fit_forest("regression", numbers(x), y)
    filled = x[:1].copy()
    filled[0, 0] = np.nanmedian(x[:, 0])
    missing = np.concatenate([[[np.nan]], x[:1, 1:]], axis=1)
    np.testing.assert_array_equal(forest.predict(numbers(missing)), forest.predict(numbers(filled)))


def test_a_feature_that_is_missing_everywhere_does_no_harm(numbers) -> None:
    x, y = table()
    x[:, 2] = np.nan
    assert np.isfinite(fit_forest("regression", numbers(x), y).predict(numbers(x))).all()


def test_a_forest_of_molecules_sees_what_serves_the_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits where environments decide, descriptors too where size does: chosen by rows out of the bags.

    It is then the forest that scikit-learn grows at once.
    """
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES", 200)
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES_OF_CHOICE", 100)
    tokenizer = make_tokenizer("smiles")
    texts = [f"{'C' * size}{end}" for size in range(1, 21) for end in ("O", "N", "Cl", "F")]
    inputs = Inputs.of("smiles", [tokenizer.read(text) for text in texts])
    noise = np.random.default_rng(0).normal(size=len(texts))
    seen = set()
    for y in (np.array([float(len(text)) for text in texts]), noise):
        (fitted,) = fit_forest("regression", inputs, y).estimators
        seen.add(fitted.view)
        x = np.nan_to_num(inputs.descriptors)
        errors = {}
        whole = RandomForestRegressor(200, max_features=1 / 3, random_state=0, oob_score=True)
        for view in (_everything, _environments):
            errors[view] = np.mean((whole.fit(view(x), y).oob_prediction_ - y) ** 2)
        assert fitted.view is min(errors, key=errors.__getitem__)
        np.testing.assert_array_equal(fitted.predict(x), whole.fit(fitted.view(x), y).predict(fitted.view(x)))
    assert _everything in seen
    (classifier,) = fit_forest("binary", inputs, (noise > 0).astype(float)).estimators
    assert classifier.predict_proba(np.nan_to_num(inputs.descriptors)).shape == (len(texts), 2)


def test_forests_see_which_residue_stands_where_in_proteins_of_one_length(make) -> None:
    """Composition alone does not tell two variants apart that differ by the places of their residues."""
    rng = np.random.default_rng(0)
    texts = ["MK" + "".join(rng.permutation(list("AVLW"))) for _ in range(120)]
    y = np.array([float(text.index("W")) for text in texts])
    for fit in (fit_forest, fit_extra_trees):
        fitted = fit("regression", make("protein", texts[:90]), y[:90])
        assert fitted.estimators[0].n_features_in_ == 23 + 2 * 4, (
            "two numbers for each of the places that differ"
        )
        predicted = fitted.predict(make("protein", texts[90:]))[:, 0]
        assert np.corrcoef(predicted, y[90:])[0, 1] > 0.95
        assert np.isfinite(fitted.predict(make("protein", ["MK", "MKAVLWGG"]))).all()


def test_a_few_that_end_early_do_not_hide_the_places_from_baselines(make) -> None:
    """Variants with a stop codon stand among others: the places still tell these apart."""
    rng = np.random.default_rng(0)
    texts = ["MK" + "".join(rng.permutation(list("AVLW"))) for _ in range(120)]
    texts[::20] = [text[:3] for text in texts[::20]]
    y = np.array([float(text.find("W")) for text in texts])
    whole = [row for row in range(90, 120) if row % 20]
    for fit in (fit_forest, fit_linear):
        fitted = fit("regression", make("protein", texts[:90]), y[:90])
        predicted = fitted.predict(make("protein", texts))[whole, 0]
        assert np.corrcoef(predicted, y[whole])[0, 1] > 0.95
