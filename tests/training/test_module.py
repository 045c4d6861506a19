"""The averaged weights, the best weights, the optimiser's groups, and a loss that goes wrong."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import pytest
import pytorch_lightning as pl
import torch

from gia_science.attention import AttentionConfig
from gia_science.data.batching import collate
from gia_science.errors import TrainingError
from gia_science.model.config import NetworkConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer
from gia_science.training.module import NetworkModule, WeightAverage
from gia_science.training.optimizer_recipe import OptimizerRecipe


@pytest.fixture
def featurizer() -> Featurizer:
    return Featurizer(
        make_tokenizer("composition"),
        source=DescriptorSource(providers=[], columns=[]),
        scalings=[],
        max_length=64,
    )


@pytest.fixture
def module(featurizer: Featurizer) -> NetworkModule:
    tokenizer = featurizer.tokenizer
    config = NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=True,
        features=len(tokenizer.feature_names),
        context_buckets=(),
        kind="regression",
        outputs=1,
        width=16,
        layers=1,
        attention=AttentionConfig(heads=2),
    )
    return NetworkModule(PropertyNetwork(config), optimizer=OptimizerRecipe(), steps=100)


def test_the_average_follows_its_equation() -> None:
    """m_k = b_k m_(k-1) + (1 - b_k) w_k with b_k = min(decay, (1 + k) / (10 + k))."""
    network = torch.nn.Linear(3, 1, bias=False)
    frozen = torch.nn.Linear(3, 1, bias=False).requires_grad_(False)
    both = cast(pl.LightningModule, torch.nn.ModuleList([network, frozen]))
    average, trainer = WeightAverage(0.5), SimpleNamespace(global_step=0)
    before, expected = frozen.weight.clone(), 0.0
    average.on_train_start(cast(pl.Trainer, trainer), both)
    for count in range(20):
        weight = float(count + 1)
        torch.nn.init.constant_(network.weight, weight)
        trainer.global_step = count + 1
        average.on_train_batch_end(cast(pl.Trainer, trainer), both)
        decay = min(0.5, (1 + count) / (10 + count)) if count else 0.0
        expected = decay * expected + (1 - decay) * weight
    average.on_validation_epoch_start(cast(pl.Trainer, trainer), both)
    torch.testing.assert_close(network.weight.detach(), torch.full((1, 3), expected))
    average.on_validation_epoch_end(cast(pl.Trainer, trainer), both)
    torch.testing.assert_close(network.weight.detach(), torch.full((1, 3), 20.0))
    average.on_train_end(cast(pl.Trainer, trainer), both)
    torch.testing.assert_close(network.weight.detach(), torch.full((1, 3), expected))
    assert torch.equal(frozen.weight, before)


def test_gains_biases_and_sharpening_are_not_decayed(module: NetworkModule) -> None:
    groups = module.configure_optimizers()["optimizer"].param_groups
    name_of = {id(parameter): name for name, parameter in module.named_parameters()}
    decayed = {name_of[id(p)] for p in groups[0]["params"]}
    spared = {name_of[id(p)] for p in groups[1]["params"]}
    assert groups[1]["weight_decay"] == 0
    assert decayed | spared == set(name_of.values())
    assert not decayed & spared
    for ending in ("sharpening", "epsilon", "bias", "bias_in", "bias_out", "gain", "norm.weight"):
        assert not [name for name in decayed if name.endswith(ending)]
    assert any(name.endswith("feedforward.out.weight") for name in decayed)


def test_the_learning_rate_rises_then_falls_to_a_hundredth(module: NetworkModule) -> None:
    configured = module.configure_optimizers()
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    top = max(rates)
    assert math.isclose(top, module.optimizer_recipe.learning_rate)
    peak = rates.index(top)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] < 0.02 * top


def test_a_loss_that_is_not_finite_stops_with_a_reason(module: NetworkModule, featurizer: Featurizer) -> None:
    batch = collate([featurizer.example(featurizer.read("NaCl"))])
    with torch.no_grad():
        module.network.head.out.weight.fill_(math.inf)
    with pytest.raises(TrainingError, match=r"no longer finite.*learning_rate"):
        module.training_step((batch, torch.zeros(1, 1)), 0)


def test_hyper_parameters_are_plain_types(module: NetworkModule) -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(item) for key, item in value.items())
        if isinstance(value, list | tuple):
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(dict(module.hparams))
