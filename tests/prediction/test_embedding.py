"""Embeddings of any layer, pooled in any way, or one for each unit in the order of the user's text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gia_science.data.batching import collate
from gia_science.errors import RecipeError
from gia_science.prediction.model import Model

LENGTHS = {"a": "MKTAYIAK", "b": "MKLVAGLWSQ" * 9 + "MKTAYIAK", "c": "GLW"}


@pytest.fixture(scope="module")
def model(make_model) -> Model:
    """Two members of two layers, with descriptors."""
    return make_model("protein", providers=("protparam",), layers=2, members=2)


@pytest.fixture(scope="module")
def attentive(make_model) -> Model:
    return make_model("protein", layers=2, pooling="attention")


def test_the_default_is_what_the_head_sees(model: Model) -> None:
    batch = collate([model.saved.featurizer.example(model.saved.featurizer.read("MKTAY"))])
    with torch.inference_mode():
        expected = model.saved.network.embed(batch).numpy()
    for options in ({}, {"layer": 2}, {"layer": -1}, {"pooling": "mean"}):
        np.testing.assert_array_equal(model.embed(["MKTAY"], **options), expected)


def test_layers_are_those_of_the_backbone(model: Model) -> None:
    """0 is what the first block is given, the last has gone through the final norm."""
    featurizer = model.saved.featurizer
    batch = collate([featurizer.example(featurizer.read("MKTAY"))])
    for layer in (0, 1, 2):
        expected = []
        for member in model.saved.network.members:
            backbone = member.backbone
            with torch.inference_mode():
                x, positions, mask = backbone.embedding(batch)
                for block in backbone.blocks[:layer]:
                    x = block(x, positions=positions, mask=mask)
                expected.append((backbone.norm(x) if layer == 2 else x)[0, 1:6].numpy())
        (found,) = model.embed(["MKTAY"], layer=layer, tokens=True)
        np.testing.assert_allclose(found, np.concatenate(expected, axis=1), atol=1e-6)


def test_first_is_the_first_token(model: Model) -> None:
    first, mean = (model.embed(["MKTAY", "GLW"], pooling=kind) for kind in ("first", "mean"))
    assert first.shape == mean.shape == (2, model.width)
    assert not np.allclose(first, mean)
    at_start = model.embed(["MKTAY", "GLW"], pooling="first", layer=0)
    np.testing.assert_array_equal(at_start[0], at_start[1], err_msg="<cls> has seen nothing yet")


def test_attention_pooling_only_where_it_is_learnt(model: Model, attentive: Model) -> None:
    with pytest.raises(RecipeError, match="has not learnt attention pooling: got a model trained with mean"):
        model.embed(["MK"], pooling="attention")
    own = attentive.embed(["MKTAY"])
    np.testing.assert_array_equal(attentive.embed(["MKTAY"], pooling="attention"), own)
    assert not np.allclose(attentive.embed(["MKTAY"], pooling="mean"), own)
    for pooling in ("model", "attention"):
        with pytest.raises(RecipeError, match="learnt for the last layer: got layer 1 of 2"):
            attentive.embed(["MK"], pooling=pooling, layer=1)
    assert attentive.embed(["MK"], pooling="mean", layer=1).shape == (1, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 3}, r"no such layer in the model: got 3, expected 0 \(embedded tokens\) to 2, or -1"),
        ({"layer": -2}, "no such layer"),
        ({"pooling": "max"}, "the pooling is not known: got 'max', expected model, mean, first or attention"),
        ({"pooling": "mean", "tokens": True}, "vectors of single tokens are not pooled"),
        ({"long": "windows"}, "did you mean 'window'"),
    ],
)
def test_what_a_model_does_not_have_is_refused(
    model: Model, options: dict[str, object], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        model.embed(["MK"], **options)


@pytest.mark.parametrize("tokens", [False, True])
def test_padding_never_leaks(model: Model, tokens: bool) -> None:
    together = model.embed(list(LENGTHS.values()), tokens=tokens)
    for text, vectors in zip(LENGTHS.values(), together, strict=True):
        (alone,) = model.embed([text], tokens=tokens)
        assert np.abs(vectors - alone).max() < 1e-5


def test_every_residue_has_a_vector_and_nothing_else_has(model: Model) -> None:
    found = model.embed(["AAAAA", "M1", "mk*", "", "MK TA"], tokens=True)
    assert [vectors.shape for vectors in found] == [(n, model.width) for n in (5, 0, 2, 0, 4)]
    assert all(vectors.dtype == np.float32 for vectors in found)
    np.testing.assert_allclose(found[2], model.embed(["MK"], tokens=True)[0], atol=1e-5)


def test_pooled_vectors_of_equal_inputs_are_equal_to_the_bit(model: Model) -> None:
    texts = [*LENGTHS.values(), "GLW", "glw"]
    once, again = model.embed(texts), model.embed(texts)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[2], once[3])
    np.testing.assert_array_equal(once[2], once[4])


def test_atoms_have_the_order_of_the_smiles_as_it_is_written(molecules: Model) -> None:
    """CCO, OCC and C(O)C are one molecule; its oxygen is the third, the first and the second atom."""
    a, b, c = molecules.embed(["CCO", "OCC", "C(O)C"], tokens=True)
    np.testing.assert_array_equal(a, b[[2, 1, 0]])
    np.testing.assert_array_equal(a, c[[2, 0, 1]])
    assert not np.allclose(a[0], a[2])


def test_elements_stand_by_atomic_number(make_model) -> None:
    model = make_model("composition")
    a, b = model.embed(["Fe2O3", "O3Fe2"], tokens=True)
    assert a.shape == (2, 16)
    np.testing.assert_array_equal(a, b)


def test_long_inputs_have_vectors_for_what_is_read(model: Model) -> None:
    """The model allows 200 residues."""
    text = ("MKTAYIAKQRGLWSE" * 40)[:450]
    refused, cut, windowed = (
        model.embed([text], tokens=True, long=long)[0] for long in ("error", "truncate", "window")
    )
    assert (len(refused), len(cut), len(windowed)) == (0, 200, 450)
    np.testing.assert_array_equal(cut, model.embed([text[:200]], tokens=True)[0])
    # Windows start at 0, 100, 200 and 250; the first residues, and those around 175, lie best in the first two.
    first, second = model.embed([text[:200], text[100:300]], tokens=True)
    np.testing.assert_allclose(windowed[:150], first[:150], atol=1e-5)
    np.testing.assert_allclose(windowed[150:250], second[50:150], atol=1e-5)


def test_vectors_of_windows_are_their_mean_by_new_residues(model: Model) -> None:
    text = ("MKTAYIAKQRGLWSE" * 40)[:250]
    (whole,) = model.embed([text], long="window")
    first, second = model.embed([text[:200], text[50:]])
    np.testing.assert_allclose(whole, 0.8 * first + 0.2 * second, atol=1e-6)
