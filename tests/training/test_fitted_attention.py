"""Attention takes from the data what only the data can say."""

from __future__ import annotations

import math

import pytest

from gia_science.attention import AttentionConfig
from gia_science.errors import RecipeError
from gia_science.tokens.domain import make_tokenizer
from gia_science.training.fitted_attention import with_delta, with_known_edges


@pytest.mark.parametrize(
    ("options", "degrees"),
    [
        ({}, [3, 3, 3, 2, 2]),
        ({"causal": True}, [1, 2, 3, 1, 2]),
        ({"sparsifier": "topk", "k": 2}, [2] * 5),
        ({"sparsifier": "topk", "k": 2, "causal": True}, [1, 2, 2, 1, 2]),
        ({"sparsifier": "topk", "fraction": 0.5}, [2, 2, 2, 1, 1]),
        ({"sparsifier": "relu", "threshold": 0.2}, [3, 3, 3, 2, 2]),
    ],
)
def test_delta_is_the_mean_log_degree_of_the_training_graphs(options: dict, degrees: list[int]) -> None:
    fitted = with_delta(AttentionConfig(kind="pna", **options), [3, 2])
    assert fitted.delta == pytest.approx(sum(math.log(d + 1) for d in degrees) / len(degrees))


def test_delta_is_left_alone_where_nothing_uses_it() -> None:
    attention = AttentionConfig(kind="gin")
    assert with_delta(attention, [3, 2]) is attention


def test_known_edges_are_counted_by_the_tokenizer() -> None:
    tokenizer = make_tokenizer("smiles")
    fitted = with_known_edges(AttentionConfig(), tokenizer, wanted=True)
    assert fitted.edge_kinds == len(tokenizer.edge_kind_names) > 1
    assert with_known_edges(AttentionConfig(), tokenizer, wanted=False).edge_kinds == 0
    farther = with_known_edges(AttentionConfig(), tokenizer, wanted=True, hops=3)
    assert farther.edge_kinds == fitted.edge_kinds + 2


def test_a_wrong_count_of_edge_kinds_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"got 2.*expected 5.*known_edges"):
        with_known_edges(AttentionConfig(edge_kinds=2), make_tokenizer("smiles"), wanted=False)
    with pytest.raises(RecipeError, match=r"got 5.*expected 6 .*, 2 steps\).*known_edges"):
        with_known_edges(AttentionConfig(edge_kinds=5), make_tokenizer("smiles"), wanted=True, hops=2)


def test_a_composition_has_no_known_edges() -> None:
    with pytest.raises(RecipeError, match="composition input has no known edges"):
        with_known_edges(AttentionConfig(), make_tokenizer("composition"), wanted=True, hops=3)
