"""A token is the sum of what it has, and what it has not leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gia_science.data.batching import Batch
from gia_science.model.config import BlockConfig, NetworkConfig
from gia_science.model.embedding import (
    ContextEmbedding,
    PackedDescriptors,
    SingleDescriptors,
    StreamEmbedding,
    ValueEmbedding,
    piecewise,
)

NAN = float("nan")


def config(**changes: object) -> NetworkConfig:
    described = {
        "vocabulary": 9,
        "values": True,
        "features": 3,
        "context_buckets": (5, 7),
        "kind": "regression",
        "outputs": 1,
        "width": 16,
        "layers": 1,
        "attention": {"heads": 2},
    }
    return NetworkConfig.model_validate({**described, **changes})


def batch(
    *, rows: int = 2, tokens: int = 4, features: int = 3, contexts: int = 2, descriptors: int = 0
) -> Batch:
    generator = torch.Generator().manual_seed(0)
    return Batch(
        ids=torch.randint(1, 9, (rows, tokens), generator=generator),
        values=torch.rand(rows, tokens, generator=generator),
        positions=torch.arange(1, tokens + 1).expand(rows, tokens),
        features=torch.randn(rows, tokens, features, generator=generator),
        contexts=torch.randint(1, 5, (rows, tokens, contexts), generator=generator),
        units=torch.zeros(rows, tokens, dtype=torch.long),
        mask=torch.ones(rows, tokens, dtype=torch.bool),
        descriptors=torch.randn(rows, descriptors, generator=generator),
        edges=torch.zeros(rows, 0, 2, dtype=torch.long),
        edge_kinds=torch.zeros(rows, 0, dtype=torch.long),
    )


def test_only_what_there_is_has_parameters() -> None:
    names = {name for name, _ in StreamEmbedding(config()).named_children()}
    assert {"token", "value", "feature", "context", "blocks"} <= names
    bare = StreamEmbedding(config(values=False, features=0, context_buckets=()))
    assert [name for name, _ in bare.named_parameters()] == ["token.weight"]
    x, positions, mask = bare(batch(features=0, contexts=0))
    assert torch.equal(x, bare.token(batch().ids))
    assert torch.equal(positions, batch().positions)
    assert mask.all()


def test_a_token_is_the_sum_of_its_parts() -> None:
    embedding, given = StreamEmbedding(config()).eval(), batch()
    x, _, _ = embedding(given)
    parts = (
        embedding.token(given.ids)
        + embedding.value(given.values)
        + embedding.feature(given.features)
        + embedding.context.tables[0](given.contexts[..., 0])
        + embedding.context.tables[1](given.contexts[..., 1])
    )
    torch.testing.assert_close(x, parts)


def test_no_value_no_features_and_no_context_add_nothing() -> None:
    embedding, given = StreamEmbedding(config()).eval(), batch()
    blank = replace(
        given,
        values=torch.zeros_like(given.values),
        features=torch.zeros_like(given.features),
        contexts=torch.zeros_like(given.contexts),
    )
    torch.testing.assert_close(embedding(blank)[0], embedding.token(given.ids))


def test_a_context_of_zero_is_zero_and_learns_nothing() -> None:
    module = ContextEmbedding((5, 7), width=16, dropout=0.0)
    module(torch.tensor([[[0, 3]]])).sum().backward()
    assert not module.tables[0].weight[0].any()
    assert not module.tables[0].weight.grad.any()
    assert module.tables[1].weight.grad[3].any()


def test_contexts_are_hidden_in_training_alone() -> None:
    module = ContextEmbedding((5, 7), width=16, dropout=0.5)
    contexts = torch.full((4, 30, 2), 2)
    whole = module.eval()(contexts)
    torch.testing.assert_close(whole, whole[:1, :1].expand_as(whole))
    torch.manual_seed(0)
    hidden = module.train()(contexts)
    parts = module.tables[0].weight[2], module.tables[1].weight[2]
    kinds = [0 * parts[0], parts[0], parts[1], parts[0] + parts[1]]
    near = torch.stack([(hidden - kind).abs().amax(dim=-1) < 1e-6 for kind in kinds])
    assert near.any(dim=0).all(), "each context is there as a whole or not at all"
    assert near.flatten(1).any(dim=1).all()


def test_values_tell_sizes_apart_over_orders_of_magnitude() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = ValueEmbedding(16)
    values = torch.tensor([[0.0, 1e-3, 1e-2, 0.1, 1.0, -1.0]])
    embedded = module(values)[0]
    assert not embedded[0].any()
    distances = torch.cdist(embedded, embedded)
    assert (distances + torch.eye(len(embedded)) > 1e-3).all()


def test_a_single_descriptor_is_a_token_and_a_missing_one_is_masked() -> None:
    module = SingleDescriptors(3, width=16, dropout=0.2).eval()
    tokens, mask = module(torch.tensor([[1.0, NAN, -2.0]]))
    assert mask.tolist() == [[True, False, True]]
    torch.testing.assert_close(tokens[0, 0], module.name[0] + module.direction[0])
    torch.testing.assert_close(tokens[0, 2], module.name[2] - 2 * module.direction[2])
    assert torch.isfinite(tokens).all()


def test_single_descriptors_are_hidden_in_training_alone() -> None:
    module = SingleDescriptors(40, width=16, dropout=0.5)
    numbers = torch.ones(5, 40)
    torch.manual_seed(0)
    assert 0.3 < module.train()(numbers)[1].float().mean() < 0.7
    assert module.eval()(numbers)[1].all()


def test_packed_descriptors_are_a_few_tokens_and_a_missing_one_counts_as_the_mean() -> None:
    module = PackedDescriptors(30, tokens=3, width=16, dropout=0.2, bins=0).eval()
    numbers = torch.randn(2, 30)
    numbers[0, 4] = 0.0
    gap = numbers.clone()
    gap[0, 4] = NAN
    tokens, mask = module(gap)
    assert tokens.shape == (2, 3, 16)
    assert mask.all()
    torch.testing.assert_close(tokens, module(numbers)[0])


def test_the_piecewise_encoding_fills_its_bins_one_after_another() -> None:
    """Five bins of width 1 from -2.5: 0.25 fills the first two and three quarters of the third."""
    encoded = piecewise(torch.tensor([[0.25, -9.0, 9.0]]), bins=5) + 0.5
    expected = [[1, 1, 0.75, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    torch.testing.assert_close(encoded.reshape(3, 5), torch.tensor(expected))


def test_binned_descriptors_can_step_where_a_linear_map_cannot() -> None:
    module = PackedDescriptors(1, tokens=1, width=4, dropout=0.0, bins=10)
    assert module.project.in_features == 11
    steps = piecewise(torch.tensor([[-2.0], [0.0], [0.5], [2.0]]), bins=10) @ torch.eye(10)[:, 5]
    assert steps.diff().tolist() == [0, 1, 0], "rises within its own bin, from 0 to 0.5, and is flat outside"


def test_hidden_tokens_are_units_only_and_only_in_training() -> None:
    embedding = StreamEmbedding(config(token_dropout=0.5, context_dropout=0.0))
    given = batch(rows=50)
    given.units[:, 0] = -1
    torch.manual_seed(0)
    hidden = (embedding.train()(given)[0] == 0).all(dim=-1)
    assert not hidden[:, 0].any(), "special tokens stay"
    assert 0.3 < hidden[:, 1:].float().mean() < 0.7
    assert not (embedding.eval()(given)[0] == 0).all(dim=-1).any()


def test_descriptor_tokens_follow_the_stream_without_a_position() -> None:
    blocks = (BlockConfig(name="a", size=2, tokens=2), BlockConfig(name="b", size=5, tokens=3))
    embedding = StreamEmbedding(config(blocks=blocks)).eval()
    given = batch(descriptors=7)
    given.descriptors[0, 1] = NAN
    x, positions, mask = embedding(given)
    assert x.shape == (2, 4 + 2 + 3, 16)
    assert positions.tolist() == [[1, 2, 3, 4, 0, 0, 0, 0, 0]] * 2
    assert mask.tolist() == [[True] * 5 + [False] + [True] * 3, [True] * 9]
    torch.testing.assert_close(x[:, 4:6], embedding.blocks[0](given.descriptors[:, :2])[0])
    torch.testing.assert_close(x[:, 6:], embedding.blocks[1](given.descriptors[:, 2:])[0])


def test_a_block_without_tokens_is_not_read() -> None:
    """Trees beside the network may read it; nothing of the network depends on it."""
    blocks = (BlockConfig(name="a", size=5, tokens=0), BlockConfig(name="b", size=2, tokens=2))
    embedding = StreamEmbedding(config(blocks=blocks)).eval()
    given = batch(descriptors=7)
    other = replace(given, descriptors=given.descriptors.clone())
    other.descriptors[:, :5] = NAN
    for mine, same in zip(embedding(given), embedding(other), strict=True):
        assert torch.equal(mine, same)
    torch.testing.assert_close(embedding(given)[0][:, 4:], embedding.blocks[0](given.descriptors[:, 5:])[0])
    assert len(embedding.blocks) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"context_buckets": (0,)},
        {"context_buckets": (5, -1)},
        {"width": 1},
        {"layers": 0},
        {"outputs": 0},
        {"dropout": 1.0},
        {"pooling": "max"},
        {"blocks": ({"name": "a", "size": 0, "tokens": 1},)},
        {"more": 1},
    ],
)
def test_impossible_sizes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        config(**changes)
