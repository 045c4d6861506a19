"""All baselines keep one contract: shapes, missing targets, single classes, no rows, equal seeds."""

from __future__ import annotations

import numpy as np
import pytest

from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines import DEFAULT, NAMES, check_names
from gia_science.evaluation.baselines.registry import BASELINES, find_baseline, fit_baseline
from gia_science.tokens.domain import DOMAINS

every = pytest.mark.parametrize("name", NAMES)
learners = pytest.mark.parametrize("name", [name for name in NAMES if name != "constant"])
MOLECULES = [f"{'C' * n}{end}" for n in range(1, 11) for end in ("O", "N", "C(=O)O")]
PEPTIDES = ["ACDEFGHIKL"[:n] + "KR" * m for n in range(3, 11) for m in range(3)]
ALLOYS = [f"{a} {b}" for a in ("Fe", "Co", "Ni", "Ti", "Al") for b in ("O", "S", "C", "N", "Cl")]
TEXTS = {"smiles": MOLECULES, "protein": PEPTIDES, "composition": ALLOYS}


def table(*, n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, 2 * x[:, 0] + 0.1 * rng.normal(size=n)


def test_the_names_are_those_of_the_methods_and_unknown_ones_are_refused() -> None:
    assert tuple(BASELINES) == NAMES
    assert check_names(["random_forest", "constant", "constant"]) == DEFAULT
    with pytest.raises(
        EvaluationError, match=r"no such baseline: got 'forest' \(did you mean 'random_forest'"
    ):
        find_baseline("forest")


@every
@pytest.mark.parametrize("domain", DOMAINS)
def test_what_it_is_can_be_said(name: str, domain: str) -> None:
    baseline = find_baseline(name)
    assert not baseline.sees or baseline.sees[domain]
    words = baseline.describe(domain)
    assert words
    assert "{" not in words


@learners
@pytest.mark.parametrize("domain", DOMAINS)
def test_it_learns_what_the_inputs_tell(make, name: str, domain: str) -> None:
    """The number of letters of the input, from others of their kind."""
    texts = TEXTS[domain]
    value = {"composition": lambda text: float("Fe" in text or "Co" in text)}.get(domain, len)
    truth = np.array([float(value(text)) for text in texts])
    train = np.random.default_rng(0).permutation(len(texts)) % 4 > 0
    fitted = fit_baseline(name, "regression", make(domain, list(np.array(texts)[train])), truth[train])
    predicted = fitted.predict(make(domain, list(np.array(texts)[~train])))
    assert predicted.shape == ((~train).sum(), 1)
    error = np.mean((predicted[:, 0] - truth[~train]) ** 2)
    assert error < 0.6 * np.var(truth[~train])


@learners
def test_it_learns_from_numeric_columns_and_repeats(numbers, name: str) -> None:
    x, y = table()
    test_x, test_y = table(seed=1)
    first, again = (
        fit_baseline(name, "regression", numbers(x), y, seed=1).predict(numbers(test_x)) for _ in "ab"
    )
    np.testing.assert_array_equal(first, again)
    assert np.mean((first[:, 0] - test_y) ** 2) < 0.4 * np.var(test_y)


@learners
def test_a_binary_prediction_is_the_probability_of_class_one(numbers, name: str) -> None:
    x, y = table()
    predicted = fit_baseline(name, "binary", numbers(x), (y > 0).astype(float)).predict(numbers(x))[:, 0]
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert predicted[y > 0].mean() > 0.7 > 0.3 > predicted[y <= 0].mean()


@every
def test_targets_are_fitted_each_on_its_own_rows(numbers, name: str) -> None:
    x, y = table()
    second = np.where(np.arange(120) < 60, -y, np.nan)
    both = fit_baseline(name, "regression", numbers(x), np.stack([y, second], axis=1)).predict(numbers(x))
    one = fit_baseline(name, "regression", numbers(x), y).predict(numbers(x))
    np.testing.assert_allclose(both[:, 0], one[:, 0])
    truth = -y
    assert np.mean((both[:60, 1] - truth[:60]) ** 2) <= np.var(truth[:60]) * 1.01


@every
@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_a_target_never_measured_is_predicted_as_missing(numbers, name: str, kind: str) -> None:
    x = np.arange(12.0)[:, None]
    y = np.stack([np.tile([0.0, 1], 6), np.full(12, np.nan)], axis=1)
    predicted = fit_baseline(name, kind, numbers(x), y, classes=2).predict(numbers(x))
    assert predicted.shape == ((12, 2, 2) if kind == "multiclass" else (12, 2))
    assert np.isfinite(predicted[:, 0]).all()
    assert np.isnan(predicted[:, 1]).all()


@every
@pytest.mark.parametrize("only", [0.0, 1.0])
def test_a_one_class_target_is_predicted_with_certainty(numbers, name: str, only: float) -> None:
    x = np.arange(5.0)[:, None]
    predicted = fit_baseline(name, "binary", numbers(x), np.full(5, only)).predict(numbers(x))
    np.testing.assert_array_equal(predicted, only)


@every
def test_classes_without_training_rows_get_probability_zero(numbers, name: str) -> None:
    x = np.arange(40.0)[:, None]
    y = np.where(x[:, 0] < 20, 0.0, 2.0)
    predicted = fit_baseline(name, "multiclass", numbers(x), y, classes=4).predict(numbers(x))
    assert predicted.shape == (40, 1, 4)
    assert (predicted[:, 0, [1, 3]] == 0).all()
    np.testing.assert_allclose(predicted.sum(axis=2), 1)
    if name != "constant":
        assert (predicted[:, 0].argmax(axis=1) == y).mean() > 0.9


@every
def test_few_rows_a_rare_class_and_missing_numbers_do_no_harm(numbers, name: str) -> None:
    x = np.array([[0.0, np.nan], [1, np.nan], [np.nan, np.nan]])
    for kind, y in (("regression", [1.0, 2, 3]), ("multiclass", [0.0, 1, 2]), ("binary", [0.0, 1, 1])):
        for rows in (slice(None), slice(0, 1)):
            fitted = fit_baseline(name, kind, numbers(x[rows]), np.array(y)[rows], classes=3)
            assert np.isfinite(fitted.predict(numbers(x))).all()


@every
def test_no_rows_to_predict_give_no_predictions(numbers, name: str) -> None:
    x, y = table(n=20)
    fitted = fit_baseline(name, "regression", numbers(x), y)
    assert fitted.predict(numbers(x[:0])).shape == (0, 1)


@every
@pytest.mark.parametrize(
    ("kind", "y"), [("binary", [0.0, 2.0]), ("multiclass", [0.5, 1.0]), ("binary", [-1.0, 1.0])]
)
def test_impossible_classes_are_an_error(numbers, name: str, kind: str, y: list[float]) -> None:
    with pytest.raises(EvaluationError, match="class index"):
        fit_baseline(name, kind, numbers(np.zeros((2, 1))), np.array(y))
