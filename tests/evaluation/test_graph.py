"""Statistics of graphs against numbers worked out by hand, networkx, and what no weight can tell."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.evaluation.graph import (
    algebraic_connectivity,
    degree_counts,
    graph_statistics,
    known_edge_precision,
    mean_entropy,
    strongest_pairs,
)

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
PATH_EDGES = np.array([[0, 1], [1, 2]])
ALL = np.arange(3)


def random_weights(seed: int, nodes: int) -> np.ndarray:
    return np.random.default_rng(seed).random((nodes, nodes))


def test_a_path_of_three_nodes() -> None:
    found = graph_statistics(PATH, threshold=0.5, units=ALL, known=PATH_EDGES)
    assert found.edges == 4
    assert found.mean_degree == pytest.approx(4 / 3)
    assert (found.largest_in_degree, found.largest_out_degree) == (2, 2)
    assert found.algebraic_connectivity == pytest.approx(1.0)
    # Rows of one edge have entropy 0, that of two equal ones log 2.
    assert found.entropy == pytest.approx(np.log(2) / 3)
    assert (found.precision, found.precision_by_chance) == (1.0, pytest.approx(2 / 3))


def test_degrees_know_directions() -> None:
    """Everyone reads node 0."""
    star = np.zeros((4, 4))
    star[:, 0] = 1
    found = graph_statistics(star, threshold=0, units=np.arange(4), known=np.zeros((0, 2), dtype=np.int64))
    assert (found.edges, found.largest_in_degree, found.largest_out_degree) == (4, 1, 4)
    assert degree_counts(star, threshold=0).tolist() == [[0, 3], [4, 0], [0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("nodes", [1, 2, 7])
def test_uniform_rows_have_the_largest_entropy(nodes: int) -> None:
    assert mean_entropy(np.full((nodes, nodes), 1 / nodes)) == pytest.approx(np.log(nodes))


def test_entropy_leaves_out_scale_negative_weights_and_empty_rows() -> None:
    weights = np.array([[5.0, 5.0, -3.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
    assert mean_entropy(weights) == pytest.approx(np.log(2))
    assert np.isnan(mean_entropy(np.zeros((3, 3))))
    assert str(mean_entropy(np.eye(3))) == "0.0"


@given(st.integers(0, 1000), st.integers(2, 9), st.floats(0.5, 0.95))
def test_algebraic_connectivity_is_that_of_networkx(seed: int, nodes: int, threshold: float) -> None:
    edges = random_weights(seed, nodes) > threshold
    graph = nx.from_numpy_array((edges | edges.T) & ~np.eye(nodes, dtype=bool))
    expected = np.sort(np.linalg.eigvalsh(nx.laplacian_matrix(graph).toarray().astype(float)))[1]
    assert algebraic_connectivity(edges) == pytest.approx(expected, abs=1e-8)
    assert (algebraic_connectivity(edges) == 0) == (not nx.is_connected(graph))


def test_what_is_not_defined_is_no_number() -> None:
    found = graph_statistics(
        np.zeros((1, 1)), threshold=0.0, units=np.arange(1), known=np.zeros((0, 2), dtype=np.int64)
    )
    assert found.edges == 0
    assert np.isnan([found.entropy, found.algebraic_connectivity, found.precision]).all()


@given(st.integers(0, 1000))
def test_a_planted_graph_is_found_whole_and_its_complement_not_at_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = np.array([1, 2, 4, 5, 7])
    pairs = np.array([(i, j) for i in units for j in units if i < j])
    known = pairs[rng.permutation(len(pairs))[:4]]
    weights = rng.random((9, 9)) * 0.1
    # Pairs with nodes that are no units are strong, and must not count.
    weights[0], weights[:, 3] = 9, 9
    planted = weights.copy()
    # One direction alone is enough.
    planted[known[:, 1], known[:, 0]] = 1
    assert known_edge_precision(planted, units=units, known=known) == (1.0, 0.4)
    hidden = weights.copy()
    hidden[known[:, 0], known[:, 1]] = hidden[known[:, 1], known[:, 0]] = 0
    assert known_edge_precision(hidden, units=units, known=known)[0] == 0.0


def test_weights_that_tell_nothing_do_as_well_as_chance() -> None:
    """Whatever the order of the nodes: a path in the order of the tokens would profit from it."""
    precision, chance = known_edge_precision(np.full((3, 3), 1 / 3), units=ALL, known=PATH_EDGES)
    assert precision == pytest.approx(chance) == pytest.approx(2 / 3)


def test_strongest_pairs_take_both_directions_and_no_zeros() -> None:
    weights = np.array([[9.0, 0.2, 0.0], [0.4, 9.0, 0.0], [0.1, 0.0, 9.0]])
    pairs, strength = strongest_pairs(weights, count=3)
    assert pairs.tolist() == [[0, 1], [0, 2]]
    np.testing.assert_allclose(strength, [0.3, 0.05])
    assert strongest_pairs(weights, count=1)[0].tolist() == [[0, 1]]
