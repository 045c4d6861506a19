"""Options are checked in plain words, and come back from JSON as they went."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gia_science.attention import AttentionConfig


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": 8}, "Extra inputs"),
        ({"heads": 0}, "greater than or equal to 1"),
        ({"temperature": 0.0}, "greater than 0"),
        ({"temperature": float("nan")}, "finite"),
        ({"kind": "gat"}, "'plain', 'gin' or 'pna'"),
        ({"kind": "pna", "aggregators": ()}, "at least 1"),
        ({"kind": "pna", "aggregators": ("mean", "mean")}, "named once"),
        ({"kind": "pna", "scalers": ("identity", "identity")}, "named once"),
        ({"kind": "pna", "delta": 0}, "greater than 0"),
        ({"sparsifier": "topk"}, "either k or fraction"),
        ({"sparsifier": "topk", "k": 3, "fraction": 0.5}, "either k or fraction"),
        ({"sparsifier": "topk", "k": 0}, "greater than or equal to 1"),
        ({"sparsifier": "topk", "fraction": 1.5}, "less than or equal to 1"),
        ({"sparsifier": "relu", "k": 3}, "k has no effect with sparsifier relu"),
        ({"fraction": 0.5}, "fraction has no effect with sparsifier none"),
        ({"learn_threshold": True}, "sparsifier none has no threshold to learn"),
        ({"sparsifier": "topk", "k": 3, "learn_threshold": True}, "topk has no threshold"),
        (
            {"sparsifier": "binary", "hard_edges": "keep_weight", "learn_threshold": True},
            "gets no gradient where kept edges keep their weight",
        ),
        ({"sparsifier": "relu", "threshold": 1.5}, "no softmax weight reaches a threshold of 1.5"),
        ({"sparsifier": "binary", "adjacency": "sigmoid", "threshold": 1}, "no sigmoid weight reaches"),
        ({"heads": 8, "kv_heads": 3}, "8 heads cannot share 3 heads of keys"),
        ({"edge_kinds": -1}, "greater than or equal to 0"),
        ({"beta": 0}, "greater than 0"),
        ({"adjacency": "tanh"}, "'softmax', 'relu', 'sigmoid' or 'differential'"),
        ({"kind": "plain", "values": "input"}, "plain attention always has value and output projections"),
        ({"kind": "plain", "output_projection": False}, "plain attention always has"),
    ],
)
def test_what_is_not_right_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AttentionConfig.model_validate(options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": "pna", "aggregators": ["var", "max"]},
        {"values": "projected"},
        {"adjacency": "relu", "sparsifier": "relu", "threshold": 2.0},
        {"sparsifier": "topk", "fraction": 0.25, "kv_heads": 2, "edge_kinds": 4},
    ],
)
def test_json_round_trip(options: dict[str, Any]) -> None:
    config = AttentionConfig.model_validate(options)
    assert AttentionConfig.model_validate_json(config.model_dump_json()) == config


def test_a_configuration_cannot_be_changed() -> None:
    config = AttentionConfig()
    with pytest.raises(ValidationError, match="frozen"):
        config.heads = 4  # type: ignore[misc]  # the assignment that must fail


@pytest.mark.parametrize(
    ("options", "values", "output"),
    [
        ({"kind": "gin"}, False, False),
        ({"kind": "gin", "values": "projected", "output_projection": True}, True, True),
        ({"kind": "pna"}, True, True),
        ({"kind": "pna", "values": "input", "output_projection": False}, False, False),
        ({"kind": "plain"}, True, True),
    ],
)
def test_projections_follow_the_kind_unless_told(options: dict[str, Any], values: bool, output: bool) -> None:
    config = AttentionConfig.model_validate(options)
    assert (config.projects_values, config.projects_output) == (values, output)


def test_every_field_says_what_it_is() -> None:
    assert all(field.description for field in AttentionConfig.model_fields.values())
