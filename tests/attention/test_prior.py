"""The known graph: its matrix, its bias, and attention that is exactly message passing over bonds."""

from __future__ import annotations

import torch
from torch import Tensor

from gia_science.attention import GINAttention, GraphAttention, PNAAttention, edge_matrix, with_hops

EDGES = torch.tensor([[[0, 1], [1, 2], [4, 2]], [[2, 0], [0, 0], [0, 0]]])
KINDS = torch.tensor([[0, 2, 1], [1, -1, -1]])


def test_both_directions_and_no_padding() -> None:
    matrix = edge_matrix(EDGES, KINDS, nodes=5)
    expected = torch.zeros(2, 5, 5, dtype=torch.uint8)
    expected[0, [0, 1], [1, 0]] = 1
    expected[0, [1, 2], [2, 1]] = 3
    expected[0, [4, 2], [2, 4]] = 2
    expected[1, [2, 0], [0, 2]] = 2
    assert torch.equal(matrix, expected)


def test_no_edges_at_all() -> None:
    none = torch.zeros(2, 0, 2, dtype=torch.int64), torch.zeros(2, 0, dtype=torch.int64)
    assert not edge_matrix(*none, nodes=3).any()


def test_nodes_are_named_by_the_fewest_steps_between_them() -> None:
    """A ring of five with a tail of three, and an edge beside it; distances by hand."""
    ring = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [4, 5], [5, 6], [6, 7], [8, 9]]
    edges = edge_matrix(torch.tensor([ring]), torch.zeros(1, len(ring), dtype=torch.int64), nodes=11)
    named = with_hops(edges, known=4, hops=3)
    assert torch.equal(named, named.transpose(1, 2))
    # 1 is the kind of the edges; two steps are 4 + 2 - 1, three are 4 + 3 - 1.
    assert named[0, 0].tolist() == [0, 1, 5, 5, 1, 5, 6, 0, 0, 0, 0]
    assert named[0, 7].tolist() == [0, 0, 0, 0, 6, 5, 1, 0, 0, 0, 0]
    assert named[0, 8].tolist() == [0] * 9 + [1, 0]
    assert not named[0, 10].any()
    assert torch.equal(with_hops(edges, known=4, hops=1), edges)


def test_known_edges_start_as_no_bias_and_then_draw_their_ends_together() -> None:
    layer = GINAttention(16, heads=2, edge_kinds=3)
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
    edges = edge_matrix(EDGES, KINDS, nodes=5)
    torch.testing.assert_close(layer(x, edges=edges), layer(x))
    before = layer.adjacency(x, edges=edges)
    with torch.no_grad():
        layer.edge_bias[1, 2] = 2.0
    after = layer.adjacency(x, edges=edges)
    assert torch.equal(after[:, 0], before[:, 0])
    assert after[0, 1, 1, 2] > before[0, 1, 1, 2]
    assert after[0, 1, 2, 1] > before[0, 1, 2, 1]
    assert torch.equal(after[1, 1], before[1, 1])


def test_a_kind_that_has_no_bias_adds_nothing() -> None:
    layer = GINAttention(16, heads=2, edge_kinds=1)
    torch.nn.init.constant_(layer.edge_bias, 3.0)
    x = torch.randn(2, 5, 16)
    only_first = edge_matrix(EDGES, KINDS.where(KINDS == 0, -1), nodes=5)
    assert torch.equal(layer(x, edges=edge_matrix(EDGES, KINDS, nodes=5)), layer(x, edges=only_first))


def bonded(layer: GraphAttention) -> GraphAttention:
    """Let a layer's scores be 1 on known edges and 0 elsewhere, so that relu makes the known graph of them."""
    torch.nn.init.zeros_(layer.query_key.weight)
    torch.nn.init.ones_(layer.edge_bias)
    return layer


def neighbours(b: int, i: int) -> list[int]:
    pairs = [pair for pair, kind in zip(EDGES[b].tolist(), KINDS[b].tolist(), strict=True) if kind >= 0]
    return [j for pair in pairs for i_, j in (pair, pair[::-1]) if i_ == i]


def test_gin_over_the_known_graph_sums_over_bonded_atoms() -> None:
    layer = bonded(GINAttention(8, heads=1, adjacency="relu", edge_kinds=3, epsilon_form="one_plus_eps"))
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    y = layer(x, edges=edge_matrix(EDGES, KINDS, nodes=5))
    for b in range(2):
        for i in range(5):
            gathered = x[b, i] + sum((x[b, j] for j in neighbours(b, i)), torch.zeros(8))
            torch.testing.assert_close(y[b, i], layer.mlp(gathered.view(1, 1, 1, 8)).flatten())


def test_pna_over_the_known_graph_has_the_degrees_of_the_atoms() -> None:
    """Extrema are those of the neighbours, not of the atom itself; an atom without bonds has 0."""
    aggregators = ("sum", "mean", "max", "min", "var")
    layer = bonded(
        PNAAttention(8, heads=1, adjacency="relu", edge_kinds=3, aggregators=aggregators, values="input")
    )
    x = torch.randn(2, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    seen: list[tuple[Tensor, Tensor]] = []
    layer.mlp.register_forward_hook(lambda _module, args, _output: seen.append(args))
    layer.double()(x, edges=edge_matrix(EDGES, KINDS, nodes=5))
    ((columns, factors),) = seen
    for b in range(2):
        for i in range(5):
            around = x[b, neighbours(b, i)]
            assert torch.equal(factors[b, 0, i, 1], torch.tensor(max(1, len(around))).double().log1p() / 4)
            expected = torch.zeros(5, 8, dtype=torch.float64)
            if len(around):
                ends = around.amax(dim=0), around.amin(dim=0)
                spread = around.var(dim=0, correction=0)
                expected = torch.stack([around.sum(dim=0), around.mean(dim=0), *ends, spread])
            torch.testing.assert_close(columns[b, 0, i].view(5, 8), expected)
