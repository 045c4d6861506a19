"""Arms are equally large, whatever they do with their parameters."""

from __future__ import annotations

import pytest

from gia_science.attention import AttentionConfig
from gia_science.benchmark.arms import ARMS, TOLERANCE, matched_expansion
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import BackboneConfig

WIDTH = 64


def _parameters(attention: AttentionConfig, expansion: float) -> int:
    config = BackboneConfig(
        vocabulary=30,
        values=False,
        features=0,
        context_buckets=(),
        width=WIDTH,
        layers=2,
        attention=attention,
        expansion=expansion,
    )
    return sum(weight.numel() for weight in GIATransformer(config).parameters())


@pytest.mark.parametrize("arm", ARMS[1:], ids=lambda arm: arm.name)
def test_every_arm_is_as_large_as_the_first(arm) -> None:
    base = AttentionConfig(heads=4)
    wanted = _parameters(ARMS[0].attention(base), 2.0)
    expansion = matched_expansion(
        lambda expansion: _parameters(arm.attention(base), expansion), wanted=wanted, width=WIDTH
    )
    found = _parameters(arm.attention(base), expansion)
    assert abs(found - wanted) <= TOLERANCE * wanted
    assert expansion > 0.5, "the feed-forward is not starved"


def test_what_cannot_be_matched_is_said() -> None:
    with pytest.raises(ValueError, match="the nearest has"):
        matched_expansion(lambda expansion: 1000 + round(10 * expansion * WIDTH), wanted=500, width=WIDTH)


def test_arms_keep_what_is_common_and_their_own() -> None:
    base = AttentionConfig(heads=4, causal=True)
    for arm in ARMS:
        attention = arm.attention(base)
        assert attention.heads == 4
        assert attention.causal
        assert (
            attention.options().items()
            >= {key: value for key, value in arm.options.items() if key != "kind"}.items()
        )
    assert len({arm.attention(base).model_dump_json() for arm in ARMS}) == len(ARMS)
