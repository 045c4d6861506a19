"""Hidden pairs weigh exactly 0, and no threshold or mask makes NaN, in every combination."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gia_science.attention import AttentionConfig, build_attention
from gia_science.attention.graph import AttentionGraph

ADJACENCIES = ("softmax", "relu", "sigmoid", "differential")
SPARSIFIERS: tuple[dict[str, Any], ...] = (
    {"sparsifier": "none"},
    *(
        {"sparsifier": name, "learn_threshold": True}
        for name in (
            "relu",
            "silu",
            "softplus",
            "sigmoid",
            "binary",
            "silu_binary",
            "softplus_binary",
            "sigmoid_binary",
        )
    ),
    {"sparsifier": "binary", "hard_edges": "keep_weight"},
    {"sparsifier": "topk", "k": 2},
    {"sparsifier": "topk", "fraction": 0.3, "hard_edges": "keep_weight"},
)
MASK = torch.tensor([[True, True, True, True, False], [False, False, True, True, True], [False] * 5])


def make_graph(config: AttentionConfig, *, tau: float, mask: Tensor | None) -> AttentionGraph:
    generator = torch.Generator().manual_seed(0)
    sets = 2 if config.adjacency == "differential" else 1
    q, k = (
        tuple(torch.randn(3, 2, 5, 4, generator=generator, requires_grad=True) for _ in range(sets))
        for _ in range(2)
    )
    return AttentionGraph(
        config,
        q,
        k,
        mask=mask,
        threshold=torch.full((2,), tau, requires_grad=True) if config.learn_threshold else None,
        lambdas=torch.full((2,), 0.5, requires_grad=True) if sets == 2 else None,
    )


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("options", SPARSIFIERS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("tau", [-5.0, 0.1, 1000.0])
def test_a_hidden_pair_weighs_exactly_nothing(adjacency: str, options: dict[str, Any], tau: float) -> None:
    """Also at a threshold so low that a weight of 0 lies above it, and with gradients of 0."""
    for causal in (False, True):
        config = AttentionConfig.model_validate(
            {"heads": 2, "adjacency": adjacency, "causal": causal, **options}
        )
        graph = make_graph(config, tau=tau, mask=MASK)
        weights = graph.weights(slice(0, 5))
        hidden = ~MASK[:, None, None, :].expand(3, 2, 5, 5)
        if causal:
            hidden = hidden | ~torch.ones(5, 5, dtype=torch.bool).tril()
        assert weights.isfinite().all()
        assert (weights[hidden] == 0).all()
        weights.square().sum().backward()
        for index, key in enumerate(graph.keys):
            assert key.grad is not None
            assert key.grad.isfinite().all()
            assert (key.grad[~MASK[:, None, :, None].expand_as(key)] == 0).all()
            query = graph.queries[index].grad
            assert query is not None
            assert query.isfinite().all()
            assert (query[2] == 0).all()


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("options", SPARSIFIERS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("kind", ["plain", "gin", "pna"])
def test_a_threshold_above_every_weight_gives_finite_outputs_and_gradients(
    adjacency: str, options: dict[str, Any], kind: str
) -> None:
    """So do single tokens, rows that see nothing, and thresholds far from any weight, in float32."""
    aggregators = ("sum", "mean", "max", "min", "var", "std")
    described = {"kind": kind, "heads": 2, "adjacency": adjacency, "aggregators": aggregators, **options}
    layer = build_attention(8, AttentionConfig.model_validate(described))
    for tau in (1000.0, -1000.0, 0.3):
        if layer.threshold is not None:
            torch.nn.init.constant_(layer.threshold, tau)
        for mask in (MASK, None):
            for n in (1, 5):
                x = torch.randn(3, n, 8, generator=torch.Generator().manual_seed(n)).requires_grad_()
                y = layer(x, mask=None if mask is None else mask[:, :n])
                layer.zero_grad()
                y.square().sum().backward()
                assert y.isfinite().all()
                assert x.grad is not None
                assert x.grad.isfinite().all()
                for name, parameter in layer.named_parameters():
                    assert parameter.grad is not None, name
                    assert parameter.grad.isfinite().all(), name


def test_a_graph_cut_to_nothing_leaves_the_node_alone() -> None:
    config = AttentionConfig(heads=2, sparsifier="relu", learn_threshold=True)
    graph = make_graph(config, tau=1.0, mask=None)
    values = torch.randn(3, 2, 5, 4)
    assert (graph.weighted_sum(values) == 0).all()
    columns, degree = graph.statistics(values)
    assert (columns[..., :4] == 0).all()
    assert degree is not None
    assert (degree == 0).all()
