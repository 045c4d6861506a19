"""The regressor and the classifier: what they learn, and scikit-learn's manners."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import gia_science
from gia_science.errors import GiaError, RecipeError, TableError, TrainingError, UnreadableInputError
from gia_science.estimators import SequenceClassifier, SequenceEmbedder, SequenceRegressor
from gia_science.estimators.supervised import class_labels
from gia_science.prediction.model import Model
from gia_science.training import arrays
from gia_science.training.members import fit_members

SETTINGS = {"network.attention.heads": 2, "network.attention.kind": "plain", "descriptors": []}


def test_the_regressor_learns_a_number(molecules, learner) -> None:
    model = SequenceRegressor(domain="smiles", **learner).fit(molecules.X, molecules.y)
    assert model.score(molecules.X, molecules.y) > 0.7
    assert model.predict(["CCCO"]).dtype == np.float64


def test_the_classifier_learns_classes(molecules, learner) -> None:
    model = SequenceClassifier(domain="smiles", **learner).fit(molecules.X, molecules.kinds)
    assert model.classes_.tolist() == ["acid", "alcohol"]
    assert model.score(molecules.X, molecules.kinds) > 0.9
    np.testing.assert_allclose(model.predict_proba(molecules.X).sum(axis=1), 1)
    assert model.model_.targets.labels == ("acid", "alcohol")


@pytest.mark.parametrize("classes", [["a", "b", "c"], [3, 1, 2], [True, False], [10, 2]])
def test_classes_come_back_as_they_were_given(classifier, molecules, classes) -> None:
    y = np.array(classes)[np.arange(len(molecules.X)) % len(classes)]
    classifier.fit(molecules.X, y)
    assert classifier.classes_.tolist() == sorted(classes)
    predicted = classifier.predict(molecules.X)
    assert predicted.dtype == y.dtype
    assert set(predicted.tolist()) <= set(classes)
    shares = classifier.predict_proba(molecules.X)
    assert (classifier.classes_[shares.argmax(axis=1)] == predicted).all()


def test_classes_that_a_model_folder_could_not_tell_apart_are_numbered() -> None:
    assert class_labels(np.array(["a", "b"])) == ("a", "b")
    assert class_labels(np.array(["1", "1.0"], dtype=object)) == ("0", "1")
    assert class_labels(np.array(["none", "some"], dtype=object)) == ("0", "1")


def test_the_same_seed_gives_the_same_bits_and_another_one_others(regressor, molecules) -> None:
    first = regressor.fit(molecules.X, molecules.y).predict(molecules.X)
    np.testing.assert_array_equal(clone(regressor).fit(molecules.X, molecules.y).predict(molecules.X), first)
    other = clone(regressor).set_params(random_state=1).fit(molecules.X, molecules.y)
    assert np.abs(other.predict(molecules.X) - first).max() > 0


def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(regressor, molecules) -> None:
    weights = np.arange(len(molecules.X)) % 3
    weighted = clone(regressor).fit(molecules.X, molecules.y, sample_weight=weights)
    X, y = np.repeat(molecules.X, weights), np.repeat(molecules.y, weights)
    order = np.random.default_rng(0).permutation(len(X))
    repeated = clone(regressor).fit(X[order], y[order])
    np.testing.assert_array_equal(weighted.predict(molecules.X), repeated.predict(molecules.X))


def test_weights_draw_predictions_to_their_rows(learner) -> None:
    X, y = ["CCO"] * 10 + ["CCN"] * 10, [0.0, 10.0] * 10
    low = [9.0 if value == 0 else 1.0 for value in y]
    high = [9.0 if value == 10 else 1.0 for value in y]
    model = SequenceRegressor(domain="smiles", **learner)
    for weights, bound in ((low, slice(None, 5)), (high, slice(5, None))):
        predicted = model.fit(X, y, sample_weight=weights).predict(["CCO", "CCN"])
        inside = predicted < 5 if bound.start is None else predicted > 5
        assert inside.all()


@pytest.fixture
def rows_of_members(monkeypatch):
    """Rows that `fit` gives to each member."""
    seen = []

    def recorded(prepared, encoded, **options):
        seen.extend(prepared.member_rows)
        return fit_members(prepared, encoded, **options)

    monkeypatch.setattr(arrays, "fit_members", recorded)
    return seen


def test_two_networks_leave_out_other_rows_and_learn_from_all(regressor, molecules, rows_of_members) -> None:
    regressor.set_params(members=2).fit(molecules.X, molecules.y)
    first, second = rows_of_members
    assert 0 < len(first.validation) < len(molecules.X) / 5
    assert not set(first.validation) & set(second.validation)
    assert set(first.train) | set(second.train) == set(range(len(molecules.X)))
    assert "each is stopped by another part of them" in regressor.model_.saved.card


def test_groups_stay_whole_where_networks_leave_out_other_rows(regressor, molecules, rows_of_members) -> None:
    groups = np.arange(len(molecules.X)) // 2
    regressor.set_params(members=2).fit(molecules.X, np.zeros(len(molecules.X)), groups=groups)
    by_text = dict(zip(molecules.X, groups, strict=True))
    texts = sorted(molecules.X)
    for member in rows_of_members:
        sides = [{by_text[texts[row]] for row in part} for part in (member.train, member.validation)]
        assert sides[1]
        assert not sides[0] & sides[1]


@pytest.mark.parametrize("fraction", [0.0, 0.01])
def test_without_rows_that_are_held_out_networks_learn_from_all(
    regressor, molecules, rows_of_members, fraction
) -> None:
    regressor.set_params(members=2, validation_fraction=fraction).fit(molecules.X, molecules.y)
    assert [len(member.train) for member in rows_of_members] == [len(molecules.X)] * 2
    assert [len(member.validation) for member in rows_of_members] == [0, 0]


BLEND = {**SETTINGS, "descriptors": ["rdkit2d"], "network.blend": True}
BAD = ["CCO", None, "C1CC", "CCN"]


def test_a_forest_stands_beside_the_networks(molecules, learner) -> None:
    model = SequenceRegressor(domain="smiles", **{**learner, "members": 2, "settings": BLEND})
    predicted = model.fit(molecules.X, molecules.y).predict(molecules.X)
    assert model.model_.targets.blend > 0
    assert model.score(molecules.X, molecules.y) > 0.9
    np.testing.assert_allclose(model.model_.predict(molecules.X)["y_pred"], predicted, rtol=1e-4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(molecules.X), predicted)


@pytest.mark.parametrize("count", [2, 3])
def test_a_forest_stands_beside_networks_of_classes(molecules, classifier, count) -> None:
    y = np.arange(len(molecules.X)) % count
    classifier.set_params(members=2, settings=BLEND).fit(molecules.X, y)
    assert classifier.model_.targets.blend > 0
    shares = classifier.predict_proba(molecules.X)
    assert shares.shape == (len(molecules.X), count)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_a_forest_that_has_not_seen_a_class_gives_it_no_share(molecules, classifier) -> None:
    y = np.arange(len(molecules.X)) % 3
    classifier.set_params(members=2, settings=BLEND)
    classifier.fit(molecules.X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    np.testing.assert_allclose(classifier.predict_proba(molecules.X).sum(axis=1), 1)
    assert not (classifier.predict(molecules.X) == 1).any()


@pytest.mark.parametrize("settings", [SETTINGS, BLEND], ids=["networks", "blend"])
@pytest.mark.parametrize("members", [1, 2])
def test_rows_that_cannot_be_used_are_nan_whatever_the_network(
    regressor, molecules, members, settings
) -> None:
    regressor.set_params(members=members, settings=settings, on_error="nan").fit(molecules.X, molecules.y)
    assert np.isnan(regressor.predict(BAD)).tolist() == [False, True, True, False]
    assert np.isnan(regressor.predict(BAD[1:3])).all()


def test_several_targets_at_once(regressor, molecules) -> None:
    y = pd.DataFrame({"a": molecules.y, "b": -molecules.y})
    model = regressor.fit(molecules.X, y)
    assert model.predict(molecules.X).shape == (len(molecules.X), 2)
    assert model.model_.targets.names == ("a", "b")


def test_a_numeric_column_goes_in_beside_the_formulas(frame, learner) -> None:
    """Trained for long enough to hear it: it is one token among those of the elements and of their charges."""
    model = SequenceRegressor(**learner | {"min_steps": 300}).fit(
        frame[["formula", "temperature"]], frame["gap"]
    )
    assert model.model_.domain == "composition"
    same = pd.DataFrame({"temperature": [300.0, 1400.0], "formula": ["NaCl", "NaCl"]})
    cold, hot = model.predict(same)
    assert hot - cold > 5
    with pytest.raises(TableError, match=r"no column 'temperature'"):
        model.predict(frame[["formula", "gap"]])
    with pytest.raises(TableError, match="a DataFrame with formula, temperature"):
        model.predict(["NaCl"])


def test_training_goes_on_from_a_model_of_another_form(regressor, molecules, tmp_path) -> None:
    """Zeros that had a gate in the model to start from need none in the new measurements, and the other way round."""
    often_zero = np.where(np.arange(len(molecules.y)) % 2 == 0, 0.0, molecules.y)
    gated = clone(regressor).fit(molecules.X, often_zero)
    plain = clone(regressor).fit(molecules.X, molecules.y)
    assert gated.model_.targets.gates
    assert not plain.model_.targets.gates
    for number, (start, y) in enumerate([(gated, molecules.y), (plain, often_zero)]):
        folder = start.model_.save(tmp_path / str(number))
        settings = {"init": str(folder), "min_steps": 3, "epochs": 1, "random_state": 0}
        again = SequenceRegressor(**settings).fit(molecules.X, y)
        assert np.isfinite(again.predict(molecules.X)).all()
        assert bool(again.model_.targets.gates) == bool((y == 0).any())


def test_a_column_that_is_the_target_is_refused(frame, learner) -> None:
    """Left in X by mistake, it would be all that is learnt."""
    numbers = [float(place) for place in range(len(frame))]
    leaking = frame.assign(answer=numbers)
    with pytest.raises(TableError, match="a column of X is y itself: got 'answer'"):
        SequenceRegressor(domain="composition", **learner).fit(leaking, numbers)


def test_proteins_are_recognised(regressor) -> None:
    sequences = [
        "MKVLAAGIVGLLLAQPSFA",
        "GIGKFLHSAKKFGKAFVGEIMNS",
        "ACDEFGHIKLMNPQRSTVWY",
        "MMMKRRRWWWYYYHHHEEED",
    ]
    model = regressor.set_params(domain=None).fit(sequences, [1.0, 2.0, 3.0, 4.0])
    assert model.model_.domain == "protein"


def test_inputs_of_no_clear_domain_are_a_question_to_the_user(regressor) -> None:
    with pytest.raises(TableError, match=r"domain='protein', 'smiles' or 'composition'"):
        regressor.set_params(domain=None).fit(["CCN", "CCC", "NCC"], [1, 2, 3])


def test_rows_that_cannot_be_used_are_nan_where_asked(regressor, classifier, molecules) -> None:
    X = ["CCO", None, "C1CC", "CCN"]
    numbers = regressor.set_params(on_error="nan").fit(molecules.X, molecules.y).predict(X)
    assert np.isnan(numbers).tolist() == [False, True, True, False]
    classifier.set_params(on_error="nan").fit(molecules.X, molecules.kinds)
    assert pd.isna(classifier.predict(X)).tolist() == [False, True, True, False]
    assert np.isnan(classifier.predict_proba(X)).all(axis=1).tolist() == [False, True, True, False]
    with pytest.raises(UnreadableInputError, match="position 1, None"):
        regressor.fit(X, [1, 2, 3, 4])


@pytest.mark.parametrize("kind", [SequenceRegressor, SequenceClassifier, SequenceEmbedder])
def test_an_unfitted_estimator_says_so_in_one_line(kind) -> None:
    call = kind().transform if kind is SequenceEmbedder else kind().predict
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(["CCO"])


@pytest.mark.parametrize("kind", [SequenceRegressor, SequenceClassifier, SequenceEmbedder])
def test_the_tags_say_that_inputs_are_texts(kind) -> None:
    tags = get_tags(kind()).input_tags
    assert (tags.string, tags.one_d_array, tags.two_d_array, tags.allow_nan) == (True, True, False, False)
    assert get_tags(kind(on_error="nan")).input_tags.allow_nan


def test_there_is_no_number_of_features(regressor, molecules) -> None:
    assert not hasattr(regressor, "model_")
    assert not hasattr(regressor.fit(molecules.X, molecules.y), "n_features_in_")
    assert isinstance(regressor.model_, Model)


def test_training_goes_on_from_a_saved_model(regressor, model_folder, molecules) -> None:
    saved = gia_science.load(model_folder)
    further = SequenceRegressor(
        model_folder, learning_rate=1e-12, epochs=1, min_steps=1, members=1, random_state=0
    )
    further.fit(molecules.X, molecules.y)
    np.testing.assert_allclose(further.predict(molecules.X), saved.predict(molecules.X)["y_pred"], rtol=0.05)
    assert further.model_.saved.network.config.width == saved.saved.network.config.width
    with pytest.raises(RecipeError, match=r"network.width is not that of the model"):
        clone(further).set_params(width=64).fit(molecules.X, molecules.y)
    labelled = SequenceClassifier(model_folder, epochs=1, min_steps=1).fit(molecules.X, molecules.kinds)
    assert labelled.predict_proba(molecules.X).shape == (len(molecules.X), 2)


def test_training_starts_from_a_pretrained_network(regressor, embedder, molecules, tmp_path) -> None:
    folder = tmp_path / "pretrained"
    gia_science.pretrain(
        pd.DataFrame({"smiles": molecules.X}),
        out=folder,
        settings={"network.width": 8, "network.layers": 1, "training.epochs": 1, "training.min_steps": 1}
        | {"network.attention.heads": 2},
    )
    model = SequenceRegressor(folder, epochs=1, min_steps=1, members=1).fit(molecules.X, molecules.y)
    assert model.model_.domain == "smiles"
    assert model.model_.saved.network.config.width == 8


def test_a_fitted_model_is_saved_and_loaded_as_any_other(model_folder, molecules) -> None:
    loaded = gia_science.load(model_folder)
    assert loaded.predict(molecules.X)["status"].eq("ok").all()
    assert "no rows were held out to score it" in (model_folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"on_error": "ignore"}, RecipeError),
        ({"validation_fraction": 1.0}, RecipeError),
        ({"settings": {"data.file": "x.csv"}}, RecipeError),
        ({"settings": {"training.epoch": 3}}, RecipeError),
        ({"settings": {"network.width": 3}}, RecipeError),
        ({"domain": "peptide"}, GiaError),
        ({"init": "no/such/folder"}, GiaError),
        ({"input": "smiles"}, TableError),
        ({"columns": "input"}, TableError),
        ({"settings": "network.pooling=attention"}, RecipeError),
    ],
)
def test_wrong_parameters_are_told_in_fit(regressor, molecules, changes, error) -> None:
    regressor.set_params(**changes)
    with pytest.raises(error) as caught:
        regressor.fit(molecules.X, molecules.y)
    assert "\n" not in str(caught.value)


def test_targets_that_cannot_be_learnt_are_refused(regressor, classifier, molecules) -> None:
    with pytest.raises(TrainingError, match="one class"):
        classifier.fit(molecules.X, ["a"] * len(molecules.X))
    with pytest.raises(TrainingError, match="requires y"):
        regressor.fit(molecules.X, None)
    with pytest.raises(ValueError, match="zero"):
        regressor.fit(molecules.X, molecules.y, sample_weight=np.zeros(len(molecules.X)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor.fit(molecules.X, molecules.y[:-1])


def test_inputs_may_come_from_a_generator(regressor, molecules) -> None:
    model = regressor.fit((text for text in molecules.X), molecules.y)
    assert model.predict(text for text in molecules.X[:2]).shape == (2,)


def test_threads_are_given_back(regressor, molecules) -> None:
    import torch

    before = torch.get_num_threads()
    regressor.set_params(n_jobs=2).fit(molecules.X[:6], molecules.y[:6]).predict(["CCO"])
    assert torch.get_num_threads() == before


def test_a_copy_predicts_the_same(regressor, molecules) -> None:
    regressor.fit(molecules.X, molecules.y)
    np.testing.assert_array_equal(
        copy.deepcopy(regressor).predict(molecules.X), regressor.predict(molecules.X)
    )
