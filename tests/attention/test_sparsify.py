"""What each sparsifier makes of given weights, and which gradients hard edges pass on."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
import torch
from torch import Tensor

from gia_science.attention import AttentionConfig
from gia_science.attention.sparsify import kept_count, sparsify

WEIGHTS = [0.0, 0.1, 0.4, 0.5]
"""Against a threshold of 0.2: -0.2, -0.1, 0.2, 0.3."""


def cut(weights: list[float] | Tensor, seen: list[bool] | None = None, **options: Any) -> Tensor:
    config = AttentionConfig(threshold=0.2, **options)
    row = torch.as_tensor(weights, dtype=torch.float64).view(1, 1, 1, -1)
    return sparsify(row, None if seen is None else torch.tensor(seen), config=config).flatten()


def logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sparsifier": "none"}, WEIGHTS),
        ({"sparsifier": "relu"}, [0, 0, 0.2, 0.3]),
        ({"sparsifier": "silu"}, [x * logistic(x) for x in (-0.2, -0.1, 0.2, 0.3)]),
        ({"sparsifier": "softplus", "beta": 5}, [log(1 + exp(5 * x)) / 5 for x in (-0.2, -0.1, 0.2, 0.3)]),
        ({"sparsifier": "sigmoid", "beta": 5}, [logistic(5 * x) for x in (-0.2, -0.1, 0.2, 0.3)]),
        ({"sparsifier": "binary"}, [0, 0, 1, 1]),
        ({"sparsifier": "binary", "hard_edges": "keep_weight"}, [0, 0, 0.4, 0.5]),
        ({"sparsifier": "topk", "k": 1}, [0, 0, 0, 1]),
        ({"sparsifier": "topk", "k": 3, "hard_edges": "keep_weight"}, [0, 0.1, 0.4, 0.5]),
        ({"sparsifier": "topk", "fraction": 0.3}, [0, 0, 1, 1]),
        ({"sparsifier": "silu_binary"}, [-0.2 * logistic(-0.2), -0.1 * logistic(-0.1), 1, 1]),
        ({"sparsifier": "softplus_binary"}, [log(1 + exp(-2)) / 10, log(1 + exp(-1)) / 10, 1, 1]),
        ({"sparsifier": "sigmoid_binary"}, [logistic(-2), logistic(-1), 1, 1]),
    ],
    ids=str,
)
def test_weights_at_a_threshold(options: dict[str, Any], expected: list[float]) -> None:
    torch.testing.assert_close(cut(WEIGHTS, **options), torch.tensor(expected, dtype=torch.float64))
    hidden = cut(WEIGHTS, [True, True, True, False], **options)
    assert hidden[3] == 0


def test_a_weight_of_zero_is_no_neighbour_however_few_there_are() -> None:
    assert cut([0.0, -0.2, 0.3], sparsifier="topk", k=3).tolist() == [0, 0, 1]


def test_the_strongest_are_counted_among_what_is_seen() -> None:
    """A hidden token, however strong, takes no place, and a share is one of the visible tokens."""
    seen = [True, True, True, False]
    assert cut(WEIGHTS, seen, sparsifier="topk", k=2).tolist() == [0, 1, 1, 0]
    assert cut(WEIGHTS, seen, sparsifier="topk", fraction=0.34).tolist() == [0, 1, 1, 0]
    assert cut(WEIGHTS, seen, sparsifier="topk", fraction=0.33).tolist() == [0, 0, 1, 0]


def test_equals_stay_equal() -> None:
    """Tokens that differ by rounding alone are kept or cut together."""
    assert cut([0.3, 0.2, 0.3 * (1 - 1e-15), 0.2], sparsifier="topk", k=1).tolist() == [1, 0, 1, 0]


def test_shares_are_rounded_up_but_not_for_rounding_errors() -> None:
    """0.1 * 30 is a little more than 3 in floating point."""
    counts = torch.tensor([0, 1, 10, 30, 31])
    share = kept_count(counts, AttentionConfig(sparsifier="topk", fraction=0.1))
    assert share.tolist() == [0, 1, 1, 3, 4]
    assert kept_count(counts, AttentionConfig(sparsifier="topk", k=4)).tolist() == [0, 1, 4, 4, 4]


@pytest.mark.parametrize("options", [{"sparsifier": "binary"}, {"sparsifier": "topk", "k": 2}], ids=str)
@pytest.mark.parametrize(
    ("hard_edges", "expected"), [("straight_through", [1, 1, 1, 1]), ("keep_weight", [0, 0, 1, 1])]
)
def test_gradients_of_hard_edges(options: dict[str, Any], hard_edges: str, expected: list[float]) -> None:
    weights = torch.tensor(WEIGHTS, dtype=torch.float64, requires_grad=True)
    cut(weights, hard_edges=hard_edges, **options).sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == expected


def test_a_learned_threshold_rises_where_edges_do_harm() -> None:
    weights = torch.tensor(WEIGHTS).view(1, 1, 1, -1)
    for name in ("relu", "binary", "sigmoid", "softplus_binary"):
        config = AttentionConfig.model_validate({"sparsifier": name, "learn_threshold": True})
        tau = torch.tensor([0.2], requires_grad=True)
        sparsify(weights, None, config=config, threshold=tau).sum().backward()
        assert tau.grad is not None
        assert tau.grad.item() < 0, name
