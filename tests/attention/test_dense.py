"""The fast layers give the numbers, and the gradients, of the equations read literally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from gia_science.attention import (
    AttentionConfig,
    GINAttention,
    GraphAttention,
    PNAAttention,
    build_attention,
    extrema,
    tiles,
)
from gia_science.attention.dense import (
    dense_adjacency,
    dense_gin,
    dense_plain,
    dense_pna,
    dense_scores,
    dense_softmax_adjacency,
    dense_sparsify,
)

MakeLayer = Callable[..., GraphAttention]

MASKS = {
    "no mask": None,
    "right padding": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]],
    "left padding": [[1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]],
    "nothing real": [[0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0]],
}


def turn(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary encoding as multiplication by complex numbers of modulus 1."""
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-2 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.exp(
        1j * positions.double()[:, None, :, None] * speed
    )
    return torch.cat([turned.real, turned.imag], dim=-1)


def visible_pairs(real: Tensor, *, causal: bool) -> Tensor:
    B, N = real.shape
    pairs = torch.zeros(B, N, N, dtype=torch.bool)
    for b in range(B):
        for i in range(N):
            for j in range(N):
                pairs[b, i, j] = bool(real[b, j]) and (j <= i or not causal)
    return pairs


def literal(
    layer: GraphAttention, x: Tensor, positions: Tensor, real: Tensor, edges: Tensor | None = None
) -> Tensor:
    """The layer's equations from its parameters, sharing none of its code but `dense`."""
    config = layer.config
    width = x.shape[-1]
    head_width = width // config.heads
    group = config.heads // (config.kv_heads or config.heads)

    def by_head(y: Tensor) -> Tensor:
        heads = y.split(head_width, dim=-1)
        share = config.heads // len(heads)
        return torch.stack([heads[h // share] for h in range(config.heads)], dim=1)

    sets = 2 if config.adjacency == "differential" else 1
    rows = [width] * sets + [width // group] * sets
    turned = [turn(by_head(linear(x, w)), positions) for w in layer.query_key.weight.split(rows)]
    v = by_head(x if layer.value is None else linear(x, layer.value.weight))
    pairs = visible_pairs(real, causal=config.causal)
    scores = [
        dense_scores(
            turned[index],
            turned[sets + index],
            pairs,
            alpha=layer.sharpening,
            temperature=config.temperature,
            bias=None if index else layer.edge_bias,
            edges=edges,
        )
        for index in range(sets)
    ]
    whole = dense_adjacency(scores, adjacency=config.adjacency, lambdas=layer.lambdas)
    a = dense_sparsify(whole, pairs, config=config, threshold=layer.threshold)
    if isinstance(layer, GINAttention):
        heads = dense_gin(a, v, epsilon=layer.epsilon, form=config.epsilon_form, mlp=layer.mlp)
    elif isinstance(layer, PNAAttention):
        unweighted = config.adjacency == "softmax" and config.sparsifier == "none"
        heads = dense_pna(
            a,
            v,
            pairs if unweighted else a > 0,
            aggregators=config.aggregators,
            scalers=config.scalers,
            delta=config.delta,
            mlp=layer.mlp,
        )
    else:
        heads = dense_plain(a, v)
    joined = torch.cat(heads.unbind(dim=1), dim=-1)
    return joined if layer.output is None else linear(joined, layer.output.weight)


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


def compare(layer: GraphAttention, name: str, *, edges: Tensor | None = None) -> None:
    """Outputs and the gradients of everything, under the mask of that name."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2, 6, 24, dtype=torch.float64, generator=generator).requires_grad_()
    positions = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 0, 7, 7, 3, 40]])
    mask = None if MASKS[name] is None else torch.tensor(MASKS[name], dtype=torch.bool)
    real = torch.ones(2, 6, dtype=torch.bool) if mask is None else mask
    weight = torch.randn(2, 6, 24, dtype=torch.float64, generator=generator)

    inputs = [x, *layer.parameters()]
    fast = layer(x, positions=positions, mask=mask, edges=edges)
    slow = literal(layer, x, positions, real, edges)
    close(fast, slow)
    for got, expected in zip(
        torch.autograd.grad((fast * weight).sum(), inputs),
        torch.autograd.grad((slow * weight).sum(), inputs, allow_unused=True, materialize_grads=True),
        strict=True,
    ):
        close(got, expected)


@pytest.mark.parametrize("name", MASKS)
def test_outputs_and_all_gradients_equal_the_dense_form(
    make_layer: MakeLayer, causal: bool, name: str
) -> None:
    compare(make_layer(causal=causal), name)


THRESHOLDS = {"softmax": 0.15, "relu": 0.3, "sigmoid": 0.5, "differential": 0.08}
SPARSIFIERS: dict[str, dict[str, Any]] = {
    "none": {},
    "relu": {"sparsifier": "relu", "learn_threshold": True},
    "silu": {"sparsifier": "silu"},
    "softplus": {"sparsifier": "softplus", "beta": 4.0, "learn_threshold": True},
    "sigmoid": {"sparsifier": "sigmoid"},
    "binary": {"sparsifier": "binary", "learn_threshold": True},
    "binary, weight kept": {"sparsifier": "binary", "hard_edges": "keep_weight"},
    "two strongest": {"sparsifier": "topk", "k": 2},
    "half, weight kept": {"sparsifier": "topk", "fraction": 0.5, "hard_edges": "keep_weight"},
    "silu or 1": {"sparsifier": "silu_binary"},
    "softplus or 1": {"sparsifier": "softplus_binary", "learn_threshold": True},
    "sigmoid or 1": {"sparsifier": "sigmoid_binary", "beta": 3.0, "learn_threshold": True},
}
AGGREGATIONS: dict[str, dict[str, Any]] = {
    "plain": {"kind": "plain"},
    "gin": {"kind": "gin"},
    "pna": {"kind": "pna", "aggregators": ("sum", "mean", "max", "min", "var", "std")},
}


@pytest.mark.parametrize("adjacency", THRESHOLDS)
@pytest.mark.parametrize("sparsifier", SPARSIFIERS)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_every_combination_equals_the_dense_form(
    adjacency: str, sparsifier: str, aggregation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both directions with left padding, two heads and then the third at a time; and causally with known edges,
    four rows of a head and then the other two at a time."""
    monkeypatch.setattr(extrema, "_CELLS", 3 * 2 * 6 * 8)
    options = {"adjacency": adjacency, "threshold": THRESHOLDS[adjacency], **SPARSIFIERS[sparsifier]}
    edges = torch.randint(0, 4, (2, 6, 6), generator=torch.Generator().manual_seed(1))
    for name, causal, kinds, pairs in (("left padding", False, 0, 72), ("nothing real", True, 3, 24)):
        monkeypatch.setattr(tiles, "_PAIRS", pairs)
        config = AttentionConfig.model_validate(
            {"heads": 3, "causal": causal, "edge_kinds": kinds, **options, **AGGREGATIONS[aggregation]}
        )
        torch.manual_seed(2)
        layer = build_attention(24, config).double()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
            layer.query_key.weight.mul_(2)
        compare(layer, name, edges=edges if kinds else None)


def test_gradients_equal_finite_differences(make_layer: MakeLayer, causal: bool) -> None:
    layer = make_layer(causal=causal)
    x = torch.randn(2, 3, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    mask = torch.tensor([[True, True, True], [False, True, True]])
    names, parameters = zip(*layer.named_parameters(), strict=True)

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,), {"mask": mask})

    assert torch.autograd.gradcheck(run, (x.requires_grad_(), *parameters), fast_mode=True)


def test_the_graph_read_out_of_a_layer_is_the_one_it_aggregates_over(
    make_layer: MakeLayer, causal: bool
) -> None:
    """Hidden pairs weigh exactly 0, rows of softmax sum to 1, and a plain layer's output follows from the weights."""
    layer = make_layer(causal=causal)
    x = torch.randn(2, 6, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    mask = torch.tensor(MASKS["left padding"], dtype=torch.bool)
    a = layer.adjacency(x, mask=mask)
    pairs = visible_pairs(mask, causal=causal)[:, None].expand_as(a)
    assert (a[~pairs] == 0).all()
    if layer.config.everyone_is_a_neighbour:
        assert (a[pairs] > 0).all()
        close(a.sum(dim=-1), pairs.any(dim=-1).double())
    if layer.config.kind == "plain":
        assert layer.value is not None
        assert layer.output is not None
        values = torch.stack(layer.value(x).split(8, dim=-1), dim=1).expand(-1, 3, -1, -1)
        heads = dense_plain(a, values)
        close(layer(x, mask=mask), layer.output(torch.cat(heads.unbind(dim=1), dim=-1)))


def test_softmax_weights_stay_finite_at_scores_beyond_the_range_of_exp() -> None:
    scores = torch.tensor([[[[1e4, 1e4, float("-inf")]]]])
    assert dense_softmax_adjacency(scores).tolist() == [[[[0.5, 0.5, 0.0]]]]
