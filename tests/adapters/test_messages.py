"""Messages pass over every edge, over no other pair, and the edges are those of the model's own attention."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gia_science.adapters import Attached, SparseGINConfig, inject
from gia_science.adapters.site import Site

CONFIGS = {
    "cut": SparseGINConfig(rank=8, ramp=0.5, cut=0.99),
    "no self-edges": SparseGINConfig(rank=8, ramp=0.5, cut=0.99, self_edges=False),
    "topk": SparseGINConfig(rank=8, ramp=0.5, heads="max", edges="topk", k=2),
    "soft": SparseGINConfig(rank=8, ramp=0.5, heads="mean", edges="soft"),
}


def expected_edges(attention: Tensor, visible: Tensor, config: SparseGINConfig) -> Tensor:
    """Where an edge is, said once more in plain words: ``(B, N, N)`` bool."""
    heads = {"sum": attention.sum(1).clamp(max=1), "mean": attention.mean(1), "max": attention.amax(1)}
    A = heads[config.heads]
    if not config.self_edges:
        visible = visible & ~torch.eye(A.shape[-1], dtype=torch.bool)
    if config.edges == "soft":
        return visible
    if config.edges == "cut":
        return visible & (torch.sigmoid(config.sharpness * (A - config.tau)) >= config.cut)
    ranks = A.masked_fill(~visible, 0).argsort(dim=-1, descending=True).argsort(dim=-1)
    return visible & (ranks < config.k)


def jacobian(attached: Attached, layer: int, call) -> Tensor:
    """``(B, N, N)`` bool: whether a token's update in a layer depends on a token's hidden state there."""
    kept: list[tuple[Tensor, Tensor]] = []
    site: Site = attached.sites[layer]
    handle = site.adapter.register_forward_hook(lambda _, args, out: kept.append((args[0], out)))
    call()
    handle.remove()
    ((hidden, out),) = kept
    N = out.shape[1]
    rows = [
        torch.autograd.grad(out[:, i].square().sum(), hidden, retain_graph=True)[0].abs().amax(-1) > 0
        for i in range(N)
    ]
    return torch.stack(rows, dim=1)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_token_hears_its_neighbours_and_nobody_else(hf_base, name: str) -> None:
    config = CONFIGS[name]
    model = hf_base.build()
    ids = torch.tensor([[7, 9, 11, 5, 6, 13], [8, 12, 5, 14, 3, 3]])
    real = ids != 3
    inputs = {"input_ids": ids, "attention_mask": real.long(), "position_ids": torch.arange(6)[None] + 2}
    visible = real[:, None, :].expand(-1, 6, -1)
    if hf_base.causal:
        visible = visible.tril()
    attached = inject(model, config, seed=0)
    layer = 1
    with attached.disabled():
        model.set_attn_implementation("eager")
        base = model(**inputs, output_attentions=True).attentions
        model.set_attn_implementation("gia_sdpa")
    # Attention of the first layer is the base's; that of the second has felt the first adapter, whose lambda is 0.
    edges = expected_edges(base[layer].detach(), visible, config)
    heard = jacobian(attached, layer, lambda: model(**inputs))
    pairs = real[:, :, None] & ~torch.eye(6, dtype=torch.bool)
    assert torch.equal(heard & pairs, edges & pairs)
    assert (edges & pairs).any()
    if name != "soft":
        assert not (edges == visible)[pairs & visible].all()
    # A token always hears itself, by the term (1 + eps) h.
    assert heard.diagonal(dim1=1, dim2=2)[real].all()


def test_identity_passes_no_messages(hf_base) -> None:
    model = hf_base.build()
    attached = inject(model, SparseGINConfig(rank=8, ramp=0.5, adjacency="identity"), seed=0)
    heard = jacobian(attached, 1, lambda: model(input_ids=torch.tensor([[7, 9, 11, 5]])))
    assert torch.equal(heard[0], torch.eye(4, dtype=torch.bool))


def test_self_edges_are_optional(bert) -> None:
    ids = torch.tensor([[7, 9, 11, 5]])
    for wanted in (True, False):
        attached = inject(bert.build(), SparseGINConfig(rank=4, edges="soft", self_edges=wanted))
        with attached.recording() as graphs:
            attached.model(input_ids=ids)
        assert all(bool((graph.diagonal(dim1=2, dim2=3) > 0).all()) == wanted for graph in graphs)
