"""The fast layers give the numbers, and the gradients, of the equations read literally."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from gia_science.attention import GINAttention, GraphAttention, PNAAttention
from gia_science.attention.dense import (
    dense_gin,
    dense_plain,
    dense_pna,
    dense_scores,
    dense_softmax_adjacency,
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


def literal(layer: GraphAttention, x: Tensor, positions: Tensor, real: Tensor) -> Tensor:
    """The layer's equations from its parameters, sharing none of its code but `dense`."""
    config = layer.config

    def by_head(y: Tensor) -> Tensor:
        return torch.stack(y.chunk(config.heads, dim=-1), dim=1)

    w_q, w_k = layer.query_key.weight.chunk(2)
    q, k = (turn(by_head(linear(x, w)), positions) for w in (w_q, w_k))
    v = by_head(x if layer.value is None else linear(x, layer.value.weight))
    pairs = visible_pairs(real, causal=config.causal)
    a = dense_softmax_adjacency(
        dense_scores(q, k, pairs, alpha=layer.sharpening, temperature=config.temperature)
    )
    if isinstance(layer, GINAttention):
        heads = dense_gin(a, v, epsilon=layer.epsilon, form=config.epsilon_form, mlp=layer.mlp)
    elif isinstance(layer, PNAAttention):
        heads = dense_pna(
            a,
            v,
            pairs,
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


@pytest.mark.parametrize("name", MASKS)
def test_outputs_and_all_gradients_equal_the_dense_form(
    make_layer: MakeLayer, causal: bool, name: str
) -> None:
    layer = make_layer(causal=causal)
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2, 6, 24, dtype=torch.float64, generator=generator).requires_grad_()
    positions = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 0, 7, 7, 3, 40]])
    mask = None if MASKS[name] is None else torch.tensor(MASKS[name], dtype=torch.bool)
    real = torch.ones(2, 6, dtype=torch.bool) if mask is None else mask
    weight = torch.randn(2, 6, 24, dtype=torch.float64, generator=generator)

    inputs = [x, *layer.parameters()]
    fast = layer(x, positions=positions, mask=mask)
    slow = literal(layer, x, positions, real)
    close(fast, slow)
    for got, expected in zip(
        torch.autograd.grad((fast * weight).sum(), inputs),
        torch.autograd.grad((slow * weight).sum(), inputs),
        strict=True,
    ):
        close(got, expected)


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
    """Rows sum to 1, hidden pairs weigh exactly 0, and a plain layer's output follows from the weights."""
    layer = make_layer(causal=causal)
    x = torch.randn(2, 6, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    mask = torch.tensor(MASKS["left padding"], dtype=torch.bool)
    a = layer.adjacency(x, mask=mask)
    pairs = visible_pairs(mask, causal=causal)[:, None].expand_as(a)
    assert (a[~pairs] == 0).all()
    assert (a[pairs] > 0).all()
    close(a.sum(dim=-1), pairs.any(dim=-1).double())
    if layer.config.kind == "plain":
        assert layer.value is not None
        assert layer.output is not None
        heads = dense_plain(a, torch.stack(layer.value(x).chunk(3, dim=-1), dim=1))
        close(layer(x, mask=mask), layer.output(torch.cat(heads.unbind(dim=1), dim=-1)))


def test_softmax_weights_stay_finite_at_scores_beyond_the_range_of_exp() -> None:
    scores = torch.tensor([[[[1e4, 1e4, float("-inf")]]]])
    assert dense_softmax_adjacency(scores).tolist() == [[[[0.5, 0.5, 0.0]]]]
