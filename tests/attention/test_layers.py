"""What no attention may ever do, whatever the kind, and how layers are made."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gia_science.attention import (
    AttentionConfig,
    GINAttention,
    GraphAttention,
    PlainAttention,
    PNAAttention,
    build_attention,
    extrema,
    tiles,
)
from gia_science.errors import RecipeError

MakeLayer = Callable[..., GraphAttention]

few = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 2**31)
lengths = st.integers(1, 7)


def random_input(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@few
@given(n=lengths, left=st.integers(0, 4), right=st.integers(0, 4), seed=seeds)
def test_padding_on_either_side_changes_nothing(
    make_layer: MakeLayer, causal: bool, n: int, left: int, right: int, seed: int
) -> None:
    layer = make_layer(causal=causal)
    padded = random_input(1, left + n + right, 24, seed=seed)
    mask = torch.zeros(1, left + n + right, dtype=torch.bool)
    mask[:, left : left + n] = True
    alone = layer(padded[:, left : left + n])
    close(layer(padded, mask=mask)[:, left : left + n], alone)
    padded[~mask] *= 100
    close(layer(padded, mask=mask)[:, left : left + n], alone)


@few
@given(n=lengths, others=st.integers(1, 3), seed=seeds)
def test_a_stream_does_not_depend_on_its_batch(
    make_layer: MakeLayer, causal: bool, n: int, others: int, seed: int
) -> None:
    layer = make_layer(causal=causal)
    x = random_input(1 + others, n, 24, seed=seed)
    positions = torch.randint(0, 30, (1 + others, n), generator=torch.Generator().manual_seed(seed))
    together = layer(x, positions=positions)
    close(together[:1], layer(x[:1], positions=positions[:1]))


@few
@given(n=lengths, place=st.integers(0, 100), seed=seeds)
def test_without_order_a_stream_is_a_set(make_layer: MakeLayer, n: int, place: int, seed: int) -> None:
    layer = make_layer()
    x = random_input(2, n, 24, seed=seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    positions = torch.full((2, n), place)
    close(layer(x[:, order], positions=positions), layer(x, positions=positions)[:, order])


def test_with_positions_order_matters(make_layer: MakeLayer) -> None:
    layer = make_layer()
    x = random_input(1, 5, 24, seed=2)
    assert not torch.allclose(layer(x.flip(1)), layer(x).flip(1), atol=1e-3)


@pytest.mark.parametrize("padded", [False, True])
def test_the_future_has_exactly_no_influence(make_layer: MakeLayer, padded: bool) -> None:
    """Also under the negative sharpening of the last head: its gradient and its rounding are 0 alike."""
    layer = make_layer(causal=True)
    x = random_input(1, 6, 24, seed=4).requires_grad_()
    mask = torch.tensor([[False, True, True, True, True, True]]) if padded else None
    y = layer(x, mask=mask)
    for i in range(6):
        (gradient,) = torch.autograd.grad(y[0, i].sum(), x, retain_graph=True)
        assert (gradient[0, i + 1 :] == 0).all()
    later = x.detach().clone()
    later[0, 4:] += 1000
    close(layer(later, mask=mask)[0, :4], y[0, :4])


def test_padding_has_exactly_no_influence(make_layer: MakeLayer, causal: bool) -> None:
    layer = make_layer(causal=causal)
    x = random_input(1, 6, 24, seed=4).requires_grad_()
    mask = torch.tensor([[False, True, True, True, False, False]])
    (gradient,) = torch.autograd.grad(layer(x, mask=mask)[mask].sum(), x)
    assert (gradient[~mask] == 0).all()
    assert (gradient[mask] != 0).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [[1], [0], [0, 0, 0], [0, 0, 1], [1, 0, 0]])
def test_one_token_or_none_gives_finite_outputs_and_gradients(
    make_layer: MakeLayer, causal: bool, rows: list[int], dtype: torch.dtype
) -> None:
    layer = make_layer(causal=causal, dtype=dtype)
    x = random_input(1, len(rows), 24, seed=0, dtype=dtype).requires_grad_()
    y = layer(x, mask=torch.tensor([rows], dtype=torch.bool))
    y.sum().backward()
    assert y.isfinite().all()
    gradients = [tensor.grad for tensor in (x, *layer.parameters())]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


def test_equal_tokens_give_finite_gradients(make_layer: MakeLayer) -> None:
    """Their variance is 0, where the slope of a bare square root is infinite."""
    layer = make_layer(dtype=torch.float32)
    x = random_input(1, 1, 24, seed=0, dtype=torch.float32).expand(1, 5, 24).clone().requires_grad_()
    layer(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def relative_error(rough: Tensor, exact: Tensor) -> float:
    error = (rough.double() - exact).square().mean() / exact.square().mean()
    return sqrt(error.item())


@pytest.mark.parametrize("autocast", [True, False])
def test_lower_precision(make_layer: MakeLayer, causal: bool, autocast: bool) -> None:
    """Under autocast and with everything in bfloat16. Where weights jump, an edge close to the jump may fall on its
    other side."""
    layer = make_layer(causal=causal, dtype=torch.float32)
    x = random_input(2, 6, 24, seed=0, dtype=torch.float32).requires_grad_()
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]], dtype=torch.bool)
    exact = layer(x, mask=mask)[mask].double()
    if autocast:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = layer(x, mask=mask)[mask]
    else:
        rough = layer.bfloat16()(x.bfloat16(), mask=mask)[mask]
        assert rough.dtype is torch.bfloat16
    jumps = layer.config.sparsifier in ("topk", "binary", "softplus_binary")
    assert relative_error(rough, exact) < (0.5 if jumps else 0.05)
    rough.float().sum().backward()
    gradients = [tensor.grad for tensor in (x, *layer.parameters())]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


LAYERS: dict[str, Callable[[], GraphAttention]] = {
    "plain": lambda: PlainAttention(16, heads=2),
    "gin": lambda: GINAttention(16, heads=2),
    "pna": lambda: PNAAttention(16, heads=2, aggregators=("mean", "max", "std")),
    "differential": lambda: GINAttention(16, heads=2, adjacency="differential"),
    "sigmoid": lambda: GINAttention(16, heads=2, adjacency="sigmoid"),
    "topk": lambda: GINAttention(16, heads=2, sparsifier="topk", k=3),
    "pna, thresholded": lambda: PNAAttention(
        16, heads=2, sparsifier="relu", threshold=0.001, aggregators=("max", "std")
    ),
    "known edges": lambda: PNAAttention(16, heads=2, edge_kinds=2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_nothing_of_size_n_by_n_is_kept(name: str) -> None:
    """What autograd saves grows with N, not with N squared."""

    def saved(n: int) -> int:
        layer = LAYERS[name]()
        sizes: list[int] = []

        def note(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        edges = torch.zeros(1, n, n, dtype=torch.uint8)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            layer(torch.randn(1, n, 16), mask=torch.ones(1, n, dtype=torch.bool), edges=edges)
        return max(sizes)

    assert saved(400) < 2.5 * saved(200)


class Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation makes, views of a given one apart."""

    def __init__(self, given: Tensor) -> None:
        super().__init__()
        self.given = given.untyped_storage().data_ptr()
        self.size = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            if isinstance(tensor, Tensor) and tensor.untyped_storage().data_ptr() != self.given:
                made = min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())
                self.size = max(self.size, made)
        return out


@pytest.mark.parametrize("name", LAYERS)
def test_nothing_of_size_n_by_n_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither forward nor backward, where tiles are small."""
    n = 600
    monkeypatch.setattr(tiles, "_PAIRS", 2**12)
    monkeypatch.setattr(extrema, "_CELLS", 2**12)
    layer = LAYERS[name]()
    x = torch.randn(1, n, 16, requires_grad=True)
    edges = torch.zeros(1, n, n, dtype=torch.uint8)
    with Largest(edges) as largest:
        layer(x, edges=edges).sum().backward()
    assert 4 * n * 16 <= largest.size < n * n


@pytest.mark.parametrize("layer_class", [PlainAttention, GINAttention, PNAAttention])
def test_heads_must_divide_the_width_into_even_parts(
    layer_class: type[PlainAttention] | type[GINAttention] | type[PNAAttention],
) -> None:
    with pytest.raises(RecipeError, match="width 20, heads 4, expected a width that is a multiple of 8"):
        layer_class(20, heads=4)


def test_grouped_queries_share_keys_and_values() -> None:
    """The same numbers come out as from a layer whose heads have equal keys and values."""
    shared, full = PlainAttention(16, heads=4, kv_heads=2), PlainAttention(16, heads=4)
    assert shared.query_key.weight.shape == (16 + 8, 16)
    with torch.no_grad():

        def repeat(weight: Tensor) -> Tensor:
            return weight.view(2, 1, 4, 16).expand(2, 2, 4, 16).reshape(16, 16)

        queries, keys = shared.query_key.weight.split([16, 8])
        full.query_key.weight.copy_(torch.cat([queries, repeat(keys)]))
        full.value.weight.copy_(repeat(shared.value.weight))
        full.output.weight.copy_(shared.output.weight)
    x = random_input(2, 5, 16, seed=0, dtype=torch.float32)
    torch.testing.assert_close(shared(x), full(x))


def test_a_layer_works_within_anothers_model_and_in_evaluation() -> None:
    """Without gradients nothing is made twice, and the result is the same."""
    layer = GINAttention(16, heads=2, sparsifier="topk", k=2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), layer, torch.nn.Linear(16, 1))
    x = random_input(2, 5, 4, seed=0, dtype=torch.float32)
    with torch.no_grad():
        quiet = model(x)
    assert torch.equal(model(x), quiet)


def test_a_mask_of_numbers_is_refused(make_layer: MakeLayer) -> None:
    """The kernel would add it to the scores."""
    with pytest.raises(TypeError, match="boolean"):
        make_layer()(random_input(1, 3, 24, seed=0), mask=torch.ones(1, 3))


@pytest.mark.parametrize(
    ("kind", "layer_class"), [("plain", PlainAttention), ("gin", GINAttention), ("pna", PNAAttention)]
)
def test_a_configuration_survives_its_layer(
    kind: str, layer_class: type[PlainAttention] | type[GINAttention] | type[PNAAttention]
) -> None:
    config = AttentionConfig.model_validate({"kind": kind, "heads": 2, "temperature": 2.0, "causal": True})
    layer = build_attention(16, config)
    assert isinstance(layer, layer_class)
    assert layer.config == config


def test_options_of_another_kind_are_ignored() -> None:
    names = {
        name for name, _ in build_attention(16, AttentionConfig(kind="plain", delta=2.0)).named_parameters()
    }
    assert names == {"query_key.weight", "value.weight", "output.weight", "sharpening"}


@pytest.mark.parametrize("kind", ["plain", "gin", "pna"])
def test_the_last_map_starts_smaller_in_a_deep_stack(kind: str) -> None:
    config = AttentionConfig.model_validate({"kind": kind, "heads": 2})
    x = random_input(2, 5, 16, seed=0, dtype=torch.float32)
    outputs = []
    for depth in (1, 9):
        torch.manual_seed(0)
        outputs.append(build_attention(16, config, depth=depth)(x))
    torch.testing.assert_close(outputs[1], outputs[0] / 3)


@pytest.mark.parametrize("kind", ["plain", "gin", "pna"])
def test_a_fresh_layer_adds_about_as_much_as_it_gets(kind: str) -> None:
    """At width 256 the output of a layer in a stack of one is neither lost in its input nor drowns it."""
    torch.manual_seed(0)
    layer = build_attention(256, AttentionConfig.model_validate({"kind": kind}))
    with torch.no_grad():
        size = float(layer(torch.randn(2, 50, 256)).std()) * sqrt(2)
    assert 0.05 < size < 2
