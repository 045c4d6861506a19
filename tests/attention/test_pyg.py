"""On a known graph, GIN and PNA are those of PyTorch Geometric."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from gia_science.attention import GINAttention, PNAAttention

geometric = pytest.importorskip("torch_geometric.nn", exc_type=ImportError)

N, WIDTH = 7, 8


def known_graph(*, isolated: bool) -> tuple[Tensor, Tensor]:
    """Random undirected graph as (1, N, N) kinds and as (2, E) sources and targets."""
    generator = torch.Generator().manual_seed(3)
    upper = torch.rand(N, N, generator=generator).triu(1) > 0.6
    if isolated:
        upper[0] = False
    matrix = (upper | upper.mT).to(torch.uint8)
    return matrix[None], matrix.nonzero().mT.contiguous()


def test_gin_is_ginconv() -> None:
    layer = GINAttention(WIDTH, heads=1, adjacency="relu", edge_kinds=1, epsilon_form="one_plus_eps").double()
    nn.init.zeros_(layer.query_key.weight)
    nn.init.ones_(layer.edge_bias)
    nn.init.constant_(layer.epsilon, 0.3)

    class Perceptron(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return layer.mlp(x[None, None])[0, 0]

    edges, index = known_graph(isolated=True)
    x = torch.randn(N, WIDTH, dtype=torch.float64)
    expected = geometric.GINConv(Perceptron(), eps=0.3)(x, index)
    torch.testing.assert_close(layer(x[None], edges=edges)[0], expected, rtol=1e-6, atol=1e-7)


def test_pna_statistics_are_those_of_pnaconv() -> None:
    """Under all three scalers, for the same delta. The standard deviations are regularised otherwise there."""
    aggregators = ("sum", "mean", "max", "min", "var")
    edges, index = known_graph(isolated=False)
    degree = index[1].bincount(minlength=N)
    layer = PNAAttention(
        WIDTH,
        heads=1,
        adjacency="relu",
        edge_kinds=1,
        aggregators=aggregators,
        values="input",
        delta=float(degree.double().log1p().mean()),
    ).double()
    nn.init.zeros_(layer.query_key.weight)
    nn.init.ones_(layer.edge_bias)
    seen: list[tuple[Tensor, Tensor]] = []
    layer.mlp.register_forward_hook(lambda _module, args, _output: seen.append(args))
    x = torch.randn(N, WIDTH, dtype=torch.float64)
    layer(x[None], edges=edges)
    ((columns, factors),) = seen
    got = (factors[0, 0, :, :, None] * columns[0, 0, :, None, :]).flatten(1)

    conv = geometric.PNAConv(
        WIDTH, WIDTH, list(aggregators), ["identity", "amplification", "attenuation"], degree.bincount()
    ).double()
    sender = nn.Linear(2 * WIDTH, WIDTH, bias=False).double()
    with torch.no_grad():
        sender.weight.copy_(torch.eye(2 * WIDTH)[WIDTH:])
    conv.pre_nns[0], conv.post_nns[0], conv.lin = sender, nn.Identity(), nn.Identity()
    torch.testing.assert_close(got, conv(x, index)[:, WIDTH:], rtol=1e-6, atol=1e-6)
