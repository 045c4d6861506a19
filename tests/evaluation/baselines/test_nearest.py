"""Nearest neighbours are those of the reference libraries, and how many is chosen without looking at equal inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import DataStructs
from rdkit.Chem import rdFingerprintGenerator
from scipy.sparse import csr_matrix
from sklearn.neighbors import KNeighborsRegressor

from gia_science.evaluation.baselines.nearest import CHUNK, Space, fit_nearest, tanimoto

SMILES = ["CCO", "CCN", "CCCO", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "C1CCCCC1", "CCCCCl"]


def near(inputs, others) -> np.ndarray:
    space = Space.of(inputs)
    return np.concatenate(list(space.closeness(space.table(others))))


def test_molecules_are_near_as_rdkit_says(make) -> None:
    inputs = make("smiles", SMILES)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(reading.parsed) for reading in inputs.readings]
    expected = [DataStructs.BulkTanimotoSimilarity(one, prints) for one in prints]
    np.testing.assert_allclose(near(inputs, inputs), expected)


def test_proteins_are_near_by_their_words(make) -> None:
    ((value,),) = near(make("protein", ["ACD"]), make("protein", ["ACE"]))
    # A, C, D, AC, CD, ACD against A, C, E, AC, CE, ACE.
    assert value == pytest.approx(3 / 9)


def test_compositions_are_near_by_the_atoms_they_share(make) -> None:
    values = near(make("composition", ["Fe O"]), make("composition", ["Fe O", "Fe", "Na Cl"]))
    assert values[:, 0].tolist() == [1.0, 0.5, 0.0]


def test_a_difference_of_the_numbers_is_taken_off(make) -> None:
    train = make("protein", ["A", "A"], np.array([[0.0], [2.0]]))
    assert near(train, make("protein", ["A"], np.array([[0.0]]))).tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize("k", [1, 3])
def test_the_mean_is_that_of_the_reference_library(make, monkeypatch, k: int) -> None:
    monkeypatch.setattr("gia_science.evaluation.baselines.nearest.NEIGHBOURS", (k,))
    rng = np.random.default_rng(0)
    rows, asked = rng.normal(size=(CHUNK + 40, 1)), rng.normal(size=(CHUNK + 3, 1))
    y = rng.normal(size=len(rows))
    fitted = fit_nearest("regression", make("protein", ["A"] * len(rows), rows), y)
    # Within the clip of the scaling the order of neighbours is that of the numbers.
    clip = 5 * rows.std()
    kept = np.abs(asked[:, 0] - rows.mean()) < clip
    expected = KNeighborsRegressor(k).fit(rows, y).predict(asked[kept])
    predicted = fitted.predict(make("protein", ["A"] * len(asked), asked))[kept, 0]
    np.testing.assert_allclose(predicted, expected, atol=1e-6)


def test_the_number_is_chosen_by_other_inputs_than_the_same(make) -> None:
    """Each input stands there twice: with its twin one neighbour would look perfect, but noise is all there is."""
    rng = np.random.default_rng(1)
    texts = ["ACDEFGHIKLMNPQRSTVWY"[i] * (j + 1) for i in range(20) for j in range(2)]
    y = np.repeat(rng.normal(size=20), 2)
    doubled = [text for text in texts for _ in range(2)]
    fitted = fit_nearest("regression", make("protein", doubled), np.repeat(rng.permutation(y), 2))
    assert fitted.targets[0][2] == 10


def test_large_tables_are_looked_at_in_part_and_still_fitted_whole(make, monkeypatch) -> None:
    monkeypatch.setattr("gia_science.evaluation.baselines.nearest.MOST_TRIED", 10)
    x = np.linspace(-1, 1, 50)[:, None]
    fitted = fit_nearest("regression", make("protein", ["A"] * 50, x), x[:, 0])
    assert len(fitted.targets[0][0]) == 50


def test_empty_sets_are_equal() -> None:
    assert tanimoto(np.zeros((1, 4)), np.zeros((1, 4))).tolist() == [[1.0]]


@given(st.integers(0, 5), st.integers(1, 9), st.integers(1, 12), st.integers(0, 10**6))
def test_sparse_sets_are_as_near_as_dense_ones(m: int, n: int, width: int, seed: int) -> None:
    """However usual their members: what most hold, or none, is counted otherwise."""
    rng = np.random.default_rng(seed)
    usual = rng.random(width)
    a, b = ((rng.random((rows, width)) < usual).astype(float) for rows in (m, n))
    np.testing.assert_allclose(tanimoto(csr_matrix(a), csr_matrix(b)), tanimoto(a, b))
