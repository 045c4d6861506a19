"""Adapters of all kinds at equally many trained parameters."""

from __future__ import annotations

import pytest

from gia_science.adapters import (
    BottleneckConfig,
    FrozenConfig,
    LoRAConfig,
    SparseGINConfig,
    attach,
    rank_for,
)
from gia_science.errors import AdapterError

CONFIGS = (
    SparseGINConfig(),
    SparseGINConfig(heads="per_head", rank=16),
    SparseGINConfig(adjacency="identity", layers=(0, 2)),
    BottleneckConfig(),
    LoRAConfig(),
)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.kind}-{CONFIGS.index(config)}")
def test_the_number_comes_within_five_percent(base, config) -> None:
    model = base.build()
    found = rank_for(model, config, parameters=20_000)
    assert attach(model, found).parameters_count() == pytest.approx(20_000, rel=0.05)
    assert found == config.model_copy(update={"rank": found.rank})


def test_a_rank_gives_its_own_number_back(bert) -> None:
    model = bert.build()
    attached = attach(model, SparseGINConfig(rank=7))
    wanted = attached.parameters_count()
    attached.remove()
    assert rank_for(model, SparseGINConfig(), parameters=wanted).rank == 7


def test_a_number_out_of_reach_is_refused_with_the_nearest(bert) -> None:
    with pytest.raises(AdapterError, match="rank 1 has"):
        rank_for(bert.build(), BottleneckConfig(), parameters=20)


def test_kinds_without_rank_stay_as_they_are(bert) -> None:
    assert rank_for(bert.build(), FrozenConfig(), parameters=1000) == FrozenConfig()
