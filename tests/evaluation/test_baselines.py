"""Plain baselines: features are what they say, they learn, and a missing target or class does no harm."""

from types import SimpleNamespace

import numpy as np
import pytest
from Bio.SeqUtils.ProtParam import ProteinAnalysis
from rdkit import Chem

from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines import fit_constant, fit_forest, forest_features
from gia_science.tokens.residues import STANDARD
from gia_science.tokens.stream import Reading


def molecule(smiles):
    return Reading(smiles, Chem.MolFromSmiles(smiles), 1)


def protein(residues):
    return Reading(residues, SimpleNamespace(residues=residues), len(residues))


def composition(**fractions):
    return Reading(str(fractions), fractions, len(fractions))


def table(*, n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, 2 * x[:, 0] + 0.1 * rng.normal(size=n)


def test_molecules_become_morgan_bits_whatever_their_spelling():
    features = forest_features("smiles", [molecule("OCC"), molecule("CCO"), molecule("c1ccccc1")])
    assert features.shape == (3, 2048)
    assert set(np.unique(features)) == {0.0, 1.0}
    np.testing.assert_array_equal(features[0], features[1])
    assert (features[0] != features[2]).any()


def test_protein_features_are_composition_length_charge_and_hydropathy():
    sequence = "GLWSKIKEVGKEAAKAAAKAAGKAALGAVSEAV"
    (features,) = forest_features("protein", [protein(sequence)])
    analysis = ProteinAnalysis(sequence)
    assert features[:20] == pytest.approx([analysis.amino_acids_percent[r] / 100 for r in STANDARD])
    assert features[20:22].tolist() == [33, 6 - 3]
    assert features[22] == pytest.approx(analysis.gravy())


def test_unknown_residues_count_for_length_only():
    some, none = forest_features("protein", [protein("KX"), protein("XX")])
    assert some[STANDARD.index("K")] == 0.5
    assert some[22] == pytest.approx(-3.9)
    assert none[20] == 2
    assert np.isnan(none[22])


def test_compositions_become_element_statistics_and_order_does_not_matter():
    first, second = forest_features("composition", [composition(Na=0.5, Cl=0.5), composition(Cl=0.5, Na=0.5)])
    assert len(first) > 20
    np.testing.assert_allclose(first, second)


def test_extra_columns_are_appended():
    features = forest_features("protein", [protein("AC"), protein("GG")], extra=np.array([[310.0], [np.nan]]))
    assert features.shape == (2, 24)
    assert features[0, -1] == 310
    assert np.isnan(features[1, -1])


@pytest.mark.parametrize("domain", ["smiles", "protein", "composition"])
def test_no_rows_give_no_features_of_the_same_width(domain):
    reading = {"smiles": molecule("C"), "protein": protein("A"), "composition": composition(Fe=1.0)}[domain]
    assert forest_features(domain, []).shape == (0, forest_features(domain, [reading]).shape[1])


def test_unknown_domain_is_an_error():
    with pytest.raises(EvaluationError, match="'image'"):
        forest_features("image", [])


def test_forest_learns_a_regression_and_beats_the_mean():
    x, y = table()
    test_x, test_y = table(seed=1)
    forest = fit_forest("regression", x, y, trees=50).predict(test_x)
    mean = fit_constant("regression", y).predict(test_x)
    assert forest.shape == mean.shape == (120, 1)
    assert np.mean((forest[:, 0] - test_y) ** 2) < 0.3 * np.mean((mean[:, 0] - test_y) ** 2)


def test_a_forest_repeats_by_seed():
    x, y = table()
    first, again, other = (fit_forest("regression", x, y, seed=s, trees=5).predict(x) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_targets_are_fitted_each_on_its_own_rows():
    x, y = table()
    second = np.where(np.arange(120) < 60, -y, np.nan)
    both = fit_forest("regression", x, np.stack([y, second], axis=1), trees=5)
    np.testing.assert_array_equal(
        both.predict(x)[:, 0], fit_forest("regression", x, y, trees=5).predict(x)[:, 0]
    )
    alone = fit_forest("regression", x[:60], second[:60], trees=5)
    np.testing.assert_array_equal(both.predict(x)[:, 1], alone.predict(x)[:, 0])


@pytest.mark.parametrize(
    "fit", [lambda k, x, y: fit_forest(k, x, y, trees=3), lambda k, x, y: fit_constant(k, y)]
)
@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_a_target_never_measured_is_predicted_as_missing(fit, kind):
    x = np.arange(6.0)[:, None]
    y = np.stack([np.array([0.0, 1, 0, 1, 0, 1]), np.full(6, np.nan)], axis=1)
    predicted = fit(kind, x, y).predict(x)
    assert np.isfinite(predicted[:, 0]).all()
    assert np.isnan(predicted[:, 1]).all()


def test_binary_forest_gives_the_probability_of_class_one():
    x, y = table()
    predicted = fit_forest("binary", x, (y > 0).astype(float), trees=50).predict(x)[:, 0]
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert predicted[y > 0].mean() > 0.8 > 0.2 > predicted[y <= 0].mean()


@pytest.mark.parametrize("only", [0.0, 1.0])
def test_a_one_class_target_is_predicted_with_certainty(only):
    x = np.arange(5.0)[:, None]
    np.testing.assert_array_equal(fit_forest("binary", x, np.full(5, only), trees=3).predict(x), only)


def test_classes_without_training_rows_get_probability_zero():
    x = np.arange(40.0)[:, None]
    y = np.where(x[:, 0] < 20, 0.0, 2.0)
    predicted = fit_forest("multiclass", x, y, classes=4, trees=20).predict(x)
    assert predicted.shape == (40, 1, 4)
    assert (predicted[:, 0, [1, 3]] == 0).all()
    np.testing.assert_allclose(predicted.sum(axis=2), 1)
    assert (predicted[:, 0].argmax(axis=1) == y).mean() > 0.9
    np.testing.assert_array_equal(
        fit_constant("multiclass", y, classes=4).predict(x[:1]), [[[0.5, 0, 0.5, 0]]]
    )


def test_missing_features_are_filled_with_the_training_median():
    x, y = table()
    holed = x.copy()
    holed[5, 0] = np.nan
    forest = fit_forest("regression", holed, y, trees=5)
    filled = x[:1].copy()
    filled[0, 0] = np.nanmedian(holed[:, 0])
    missing = np.concatenate([[[np.nan]], x[:1, 1:]], axis=1)
    np.testing.assert_array_equal(forest.predict(missing), forest.predict(filled))


def test_a_feature_that_is_missing_everywhere_does_no_harm():
    x, y = table()
    x[:, 3] = np.nan
    assert np.isfinite(fit_forest("regression", x, y, trees=3).predict(x)).all()


def test_no_rows_to_predict_give_no_predictions():
    x, y = table()
    assert fit_forest("regression", x, y, trees=2).predict(x[:0]).shape == (0, 1)


@pytest.mark.parametrize(
    ("kind", "y"), [("binary", [0.0, 2.0]), ("multiclass", [0.5, 1.0]), ("binary", [-1.0, 1.0])]
)
def test_impossible_classes_are_an_error(kind, y):
    with pytest.raises(EvaluationError, match="class index"):
        fit_forest(kind, np.zeros((2, 1)), np.array(y), trees=2)
