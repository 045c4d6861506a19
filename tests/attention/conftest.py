"""Layers of every kind in float64, with all parameters away from their special starting values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from gia_science.attention import AttentionConfig, GraphAttention, build_attention

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"kind": "plain"},
    "plain-fixed-temperature": {"kind": "plain", "sharpening": "fixed", "temperature": 1.7},
    "gin": {"kind": "gin"},
    "gin-one-plus-eps-shared": {"kind": "gin", "epsilon_form": "one_plus_eps", "mlp": "shared"},
    "gin-projected-per-layer": {
        "kind": "gin",
        "values": "projected",
        "output_projection": True,
        "sharpening": "per_layer",
        "temperature": 0.6,
        "gamma": 1.5,
    },
    "pna": {"kind": "pna"},
    "pna-input-shared": {"kind": "pna", "values": "input", "output_projection": False, "mlp": "shared"},
    "pna-all-statistics": {
        "kind": "pna",
        "aggregators": ("var", "mean", "std"),
        "scalers": ("attenuation", "identity"),
        "delta": 1.3,
    },
    "pna-std-unscaled": {"kind": "pna", "aggregators": ("std",), "scalers": ("identity",)},
    "pna-extrema": {"kind": "pna", "aggregators": ("max", "sum", "min")},
    "pna-differential-binary": {
        "kind": "pna",
        "adjacency": "differential",
        "sparsifier": "binary",
        "threshold": 0.05,
        "hard_edges": "keep_weight",
        "aggregators": ("mean", "max", "min", "std"),
    },
    "pna-sigmoid-relu": {
        "kind": "pna",
        "adjacency": "sigmoid",
        "sparsifier": "relu",
        "threshold": 0.45,
        "learn_threshold": True,
    },
    "gin-relu": {"kind": "gin", "adjacency": "relu", "epsilon_form": "one_plus_eps"},
    "gin-differential-grouped": {"kind": "gin", "adjacency": "differential", "kv_heads": 1},
    "gin-topk": {"kind": "gin", "sparsifier": "topk", "fraction": 0.4, "hard_edges": "keep_weight"},
    "plain-softplus-grouped": {
        "kind": "plain",
        "sparsifier": "softplus_binary",
        "threshold": 0.2,
        "learn_threshold": True,
        "kv_heads": 1,
    },
}

MakeLayer = Callable[..., GraphAttention]


@pytest.fixture(scope="session", params=VARIANTS)
def make_layer(request: pytest.FixtureRequest) -> MakeLayer:
    """Make a layer of one variant: width 24, 3 heads, the sharpening of the last head negative."""

    def make(*, causal: bool = False, dtype: torch.dtype = torch.float64) -> GraphAttention:
        config = AttentionConfig(heads=3, causal=causal, **VARIANTS[request.param])
        with torch.random.fork_rng():
            torch.manual_seed(1)
            layer = build_attention(24, config).to(dtype)
            with torch.no_grad():
                for parameter in layer.parameters():
                    parameter.add_(0.2 * torch.randn_like(parameter))
                if layer.sharpening is not None:
                    layer.sharpening[-1] = -1.6
        return layer

    return make


@pytest.fixture(scope="session", params=[False, True], ids=["bidirectional", "causal"])
def causal(request: pytest.FixtureRequest) -> bool:
    flag: bool = request.param
    return flag
