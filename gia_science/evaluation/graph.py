"""What can be said of a weighted graph in a few numbers, and how far it agrees with a known one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """Statistics of one graph; NaN where one is not defined.

    Parameters
    ----------
    edges : int
        Ordered pairs of nodes whose weight is over the threshold. A node's edge to itself counts.
    mean_degree : float
        Mean number of edges into a node, which is also the mean number out of one.
    largest_in_degree, largest_out_degree : int
        Most edges into a node, and out of one.
    entropy : float
        Of the weights of the edges into a node, normalised, in nats; mean over nodes with a positive weight. Equal
        weights of N edges have log N. It knows no threshold.
    algebraic_connectivity : float
        Second smallest eigenvalue of the Laplacian of the graph of edges over the threshold, taken without weights
        and directions: 0 where it falls apart (Fiedler 1973). NaN below two nodes.
    precision : float
        Share of known edges among the strongest pairs, as many as there are known edges. NaN without known edges.
    precision_by_chance : float
        What weights drawn at random reach on average.
    """

    edges: int
    mean_degree: float
    largest_in_degree: int
    largest_out_degree: int
    entropy: float
    algebraic_connectivity: float
    precision: float
    precision_by_chance: float


def graph_statistics(
    adjacency: npt.ArrayLike, *, threshold: float, units: IntArray, known: IntArray
) -> GraphStatistics:
    """Describe one graph.

    Parameters
    ----------
    adjacency : (N, N) float
        Weight of the edge from node j to node i in row i.
    threshold : float
        An edge is a weight above it.
    units : (U,) int64
        The nodes between which known edges can lie.
    known : (E, 2) int64
        Known edges as pairs of nodes, each undirected edge once.
    """
    weights = np.asarray(adjacency, dtype=np.float64)
    edges = weights > threshold
    into, out = edges.sum(axis=1), edges.sum(axis=0)
    precision, chance = known_edge_precision(weights, units=units, known=known)
    return GraphStatistics(
        edges=int(edges.sum()),
        mean_degree=float(into.mean()),
        largest_in_degree=int(into.max()),
        largest_out_degree=int(out.max()),
        entropy=mean_entropy(weights),
        algebraic_connectivity=algebraic_connectivity(edges),
        precision=precision,
        precision_by_chance=chance,
    )


def mean_entropy(weights: FloatArray) -> float:
    """Mean Shannon entropy, in nats, of the rows of ``(N, N)`` with a positive weight; negative weights count as 0."""
    positive = np.maximum(weights, 0.0)
    totals = positive.sum(axis=1)
    shares = positive[totals > 0] / totals[totals > 0, None]
    if not len(shares):
        return float("nan")
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    # Subtracted from 0, so that a row of one edge has entropy 0 and not -0.
    return float(0.0 - (shares * logs).sum(axis=1).mean())


def algebraic_connectivity(edges: npt.NDArray[np.bool_]) -> float:
    """Second smallest Laplacian eigenvalue of the undirected graph of the edges ``(N, N)``; NaN below two nodes."""
    if len(edges) < 2:
        return float("nan")
    undirected = (edges | edges.T).astype(np.float64)
    np.fill_diagonal(undirected, 0.0)
    laplacian = np.diag(undirected.sum(axis=1)) - undirected
    # Rounding leaves the eigenvalue 0 of a graph in pieces a little off.
    value = float(np.linalg.eigvalsh(laplacian)[1])
    return value if value > 1e-9 * len(edges) else 0.0


def pair_weights(weights: FloatArray, *, units: IntArray) -> tuple[IntArray, FloatArray]:
    """Pairs of units ``(P, 2)``, each once, and the mean weight ``(P,)`` of their edges in both directions."""
    first, second = np.triu_indices(len(units), k=1)
    pairs = np.stack([units[first], units[second]], axis=1)
    both: FloatArray = (weights[pairs[:, 0], pairs[:, 1]] + weights[pairs[:, 1], pairs[:, 0]]) / 2
    return pairs, both


def are_known(pairs: IntArray, *, known: IntArray, nodes: int) -> npt.NDArray[np.bool_]:
    """Whether each pair ``(P, 2)`` is one of the known edges ``(E, 2)``, in either direction."""
    table = np.zeros((nodes, nodes), dtype=np.bool_)
    table[known[:, 0], known[:, 1]] = table[known[:, 1], known[:, 0]] = True
    found: npt.NDArray[np.bool_] = table[pairs[:, 0], pairs[:, 1]]
    return found


def known_edge_precision(weights: FloatArray, *, units: IntArray, known: IntArray) -> tuple[float, float]:
    """Share of known edges among the strongest pairs, as many as there are known edges, and that of random weights.

    Pairs of equal weight at the cut count with the share of known edges among them: the mean over all orders in
    which they could stand. Parameters are those of `graph_statistics`.
    """
    if not len(known):
        return float("nan"), float("nan")
    pairs, strength = pair_weights(weights, units=units)
    real = are_known(pairs, known=known, nodes=len(weights))
    count = len(known)
    cut = np.partition(strength, len(strength) - count)[len(strength) - count]
    above, at = strength > cut, strength == cut
    hits = real[above].sum() + (count - above.sum()) * real[at].mean()
    return float(hits / count), count / len(pairs)


def degree_counts(adjacency: FloatArray, *, threshold: float) -> IntArray:
    """Number of nodes with 0, 1, ... N edges into them, and out of them: ``(N + 1, 2)``."""
    edges = adjacency > threshold
    counts = [np.bincount(edges.sum(axis=axis), minlength=len(edges) + 1) for axis in (1, 0)]
    return np.stack(counts, axis=1)


def strongest_pairs(weights: FloatArray, *, count: int) -> tuple[IntArray, FloatArray]:
    """The pairs ``(P, 2)`` of nodes with the largest mean weight of both directions ``(P,)``, strongest first.

    At most `count`, and only such as have a positive weight; those that come first in order win ties.
    """
    pairs, strength = pair_weights(weights, units=np.arange(len(weights)))
    order = np.argsort(-strength, kind="stable")[:count]
    order = order[strength[order] > 0]
    return pairs[order], strength[order]
