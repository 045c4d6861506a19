"""What disturbs training by request: nothing where it is off, nothing in prediction, what it says where it is on."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from gia_science.data.batching import Batch, collate
from gia_science.model.backbone import Block
from gia_science.model.embedding import jittered
from gia_science.model.heads import PropertyNetwork, task_loss
from gia_science.model.mixing import Mixing, draw_mixing

QUIET = {"dropout": 0.0, "token_dropout": 0.0, "context_dropout": 0.0, "descriptor_dropout": 0.0}
DISTURBANCES = {"stochastic_depth": 0.5, "jitter": 0.3, "mixup": 1.0}
TARGETS = torch.tensor([[1.0], [2.0], [-1.0], [math.nan]])


def network_and_batch(make_saved: Any, **options: Any) -> tuple[PropertyNetwork, Batch]:
    saved = make_saved("composition", providers=(), **{**QUIET, **options})
    texts = ("Fe2O3", "NaCl", "Hg0.7Cd0.3Te", "H2O")
    batch = collate([saved.featurizer.example(saved.featurizer.read(text)) for text in texts])
    return saved.network.members[0], batch


def test_without_them_training_draws_no_random_number(make_saved) -> None:
    network, batch = network_and_batch(make_saved)
    quiet = network.eval().loss(batch, TARGETS)
    state = torch.get_rng_state()
    assert torch.equal(network.train().loss(batch, TARGETS), quiet)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", DISTURBANCES)
def test_each_disturbs_training_and_never_prediction(make_saved, name: str) -> None:
    plain, batch = network_and_batch(make_saved)
    network, _ = network_and_batch(make_saved, **{name: DISTURBANCES[name]})
    network.eval()
    assert torch.equal(network(batch), plain(batch))
    assert torch.equal(network.loss(batch, TARGETS), plain.loss(batch, TARGETS))
    torch.manual_seed(0)
    first, second = (network.train().loss(batch, TARGETS) for _ in range(2))
    assert torch.isfinite(first)
    assert first != second


def test_a_mixture_has_the_mixed_loss_of_both_targets(make_saved) -> None:
    network, batch = network_and_batch(make_saved, mixup=1.0)
    torch.manual_seed(3)
    found = network.train().loss(batch, TARGETS)
    torch.manual_seed(3)
    mixing = draw_mixing(4, alpha=1.0, device=torch.device("cpu"))
    hidden, mask = network.backbone(batch)
    pooled = network.pool(hidden, mask)
    outputs = network.head(mixing.share * pooled + (1 - mixing.share) * pooled[mixing.partners])
    expected = mixing.share * task_loss("regression", outputs, TARGETS)
    expected = expected + (1 - mixing.share) * task_loss("regression", outputs, TARGETS[mixing.partners])
    torch.testing.assert_close(found, expected)


def test_every_row_is_the_partner_of_one_and_keeps_at_least_a_half_of_itself() -> None:
    for _ in range(20):
        mixing = draw_mixing(7, alpha=0.4, device=torch.device("cpu"))
        assert sorted(mixing.partners.tolist()) == list(range(7))
        assert 0.5 <= mixing.share <= 1
    own = torch.randn(3)
    assert torch.equal(Mixing(torch.arange(3), 1.0).of(own, torch.zeros(3)), own)


def test_labels_of_residues_are_not_mixed(make_saved) -> None:
    saved = make_saved("protein", kind="per_token", labels=("C", "E"), providers=(), mixup=1.0, **QUIET)
    network = saved.network.members[0]
    batch = collate([saved.featurizer.example(saved.featurizer.read("MKT"))])
    targets = torch.zeros(batch.ids.shape)
    assert torch.equal(network.train().loss(batch, targets), network.eval().loss(batch, targets))


def test_jittered_fractions_still_sum_to_one_and_none_appears() -> None:
    values = torch.tensor([[0.4, 0.6, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    torch.manual_seed(0)
    noisy = jittered(values, 0.2)
    torch.testing.assert_close(noisy.sum(dim=1), values.sum(dim=1))
    assert torch.equal(noisy == 0, values == 0)
    assert not torch.equal(noisy[0], values[0])
    torch.testing.assert_close(noisy[1], values[1])


def test_a_skipped_branch_leaves_a_row_as_it_is_and_the_others_make_up_for_it(make_saved) -> None:
    network, _ = network_and_batch(make_saved, stochastic_depth=0.5)
    first, last = network.backbone.blocks
    assert isinstance(first, Block)
    assert isinstance(last, Block)
    assert (first.skipped, last.skipped) == (0.25, 0.5)
    branch = torch.ones(2000, 1, 1)
    torch.manual_seed(0)
    kept = last.train()._kept(branch)
    assert set(kept.flatten().tolist()) == {0.0, 2.0}
    assert kept.mean() == pytest.approx(1, abs=0.1)
