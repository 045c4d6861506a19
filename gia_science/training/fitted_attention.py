"""Choices of the attention that follow from the data: degrees of PNA, kinds of known edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.attention import AttentionConfig
from gia_science.errors import RecipeError
from gia_science.tokens.tokenizer import DomainTokenizer


def with_delta(attention: AttentionConfig, lengths: Sequence[int]) -> AttentionConfig:
    """The attention with the delta of PNA learnt from training rows.

    Delta is the mean of log(degree + 1) over the nodes of the training graphs (Corso et al. 2020, arXiv 2004.05718).
    A node's degree is the number of tokens that it sees, or of those that ``topk`` keeps. What a threshold keeps
    changes while scores are learnt; there the tokens in view count as well.

    Parameters
    ----------
    attention : AttentionConfig
    lengths : sequence of int
        Number of tokens of each training row.
    """
    if attention.kind != "pna":
        return attention
    degrees = [_degrees(attention, length) for length in lengths if length]
    if not degrees:
        return attention
    return attention.model_copy(update={"delta": float(np.mean(np.log1p(np.concatenate(degrees))))})


def _degrees(attention: AttentionConfig, length: int) -> npt.NDArray[np.float64]:
    """Neighbours of each of N tokens, ``(N,)``."""
    seen: npt.NDArray[np.float64] = np.full(length, float(length))
    if attention.causal:
        seen = np.arange(1.0, length + 1)
    if attention.k is not None:
        return np.minimum(seen, float(attention.k))
    return seen if attention.fraction is None else np.ceil(attention.fraction * seen)


def with_known_edges(
    attention: AttentionConfig, tokenizer: DomainTokenizer[Any], *, wanted: bool, hops: int = 1
) -> AttentionConfig:
    """The attention with a learned bias for each kind of known edge that the tokenizer gives.

    And for each number of steps along them from 2 to `hops`.

    Raises
    ------
    RecipeError
        When the domain has no known edges, or the recipe counts them otherwise.
    """
    names = tokenizer.edge_kind_names
    kinds = len(names) + hops - 1
    if not wanted and not attention.edge_kinds:
        return attention
    if not names:
        raise RecipeError(
            f"{tokenizer.domain} input has no known edges",
            hint="leave out network.known_edges and network.attention.edge_kinds",
        )
    if attention.edge_kinds not in (0, kinds):
        raise RecipeError(
            "network.attention.edge_kinds is not the number of kinds of known edges",
            got=str(attention.edge_kinds),
            expected=f"{kinds} ({', '.join([*names, *(f'{steps} steps' for steps in range(2, hops + 1))])})",
            hint="network.known_edges: true counts them by itself",
        )
    return attention.model_copy(update={"edge_kinds": kinds})
