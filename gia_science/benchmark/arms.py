"""The arms of the comparison of attention, and how they get equally many parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gia_science.attention import AttentionConfig

TOLERANCE = 0.02
"""Largest difference in parameters from the first arm, as a share of its number."""


@dataclass(frozen=True)
class Arm:
    """One kind of attention under comparison.

    Parameters
    ----------
    name : str
        Short, for tables.
    about : str
        What it is, in words.
    options : mapping
        Options of `AttentionConfig`.
    """

    name: str
    about: str
    options: Mapping[str, Any]

    def attention(self, given: AttentionConfig) -> AttentionConfig:
        """Attention of this arm, in all else as given."""
        return AttentionConfig(**{**given.model_dump(exclude_unset=True), **self.options})


ARMS = (
    Arm("plain", "ordinary attention, sharpening fixed at 1", {"kind": "plain", "sharpening": "fixed"}),
    Arm("plain, sharpened", "ordinary attention, sharpening learned", {"kind": "plain"}),
    Arm("GIN 0.5", "gamma 0.5, sharpening learned, no output projection", {"kind": "gin", "gamma": 0.5}),
    Arm(
        "GIN 0.5, fixed",
        "the same with sharpening fixed at 1",
        {"kind": "gin", "gamma": 0.5, "sharpening": "fixed"},
    ),
    Arm(
        "GIN 0.5, projected",
        "the same as GIN 0.5 with an output projection",
        {"kind": "gin", "gamma": 0.5, "output_projection": True},
    ),
    Arm("GIN 1", "gamma 1, sharpening learned, no output projection", {"kind": "gin", "gamma": 1.0}),
    Arm("GIN 2", "gamma 2, sharpening learned, no output projection", {"kind": "gin", "gamma": 2.0}),
    Arm(
        "PNA",
        "mean and standard deviation, three degree scalers, sharpening learned",
        {"kind": "pna", "gamma": 0.5},
    ),
)
"""Plain attention first: all others are compared with it.

GIN 0.5 is the form that arXiv 2501.02393 found best. A second plain arm has sharpening of its own, so that what the
aggregation does is not mistaken for what sharpening does.
"""


def matched_expansion(parameters: Callable[[float], int], *, wanted: int, width: int) -> float:
    """Expansion of the feed-forward layers that brings a network to a number of parameters.

    What an arm saves on projections it gets back as hidden units, so that all arms are equally large.

    Parameters
    ----------
    parameters : callable
        From an expansion to the number of parameters of the network.
    wanted : int
        Number of parameters to come close to.
    width : int
        Width d of the network; the expansion is a whole number of hidden units over it.

    Raises
    ------
    ValueError
        When no expansion comes within `TOLERANCE`.
    """
    # The number is linear in the hidden units.
    one, two = parameters(1 / width), parameters(2 / width)
    units = max(1, 1 + round((wanted - one) / (two - one)))
    expansion = units / width
    found = parameters(expansion)
    if abs(found - wanted) > TOLERANCE * wanted:
        raise ValueError(f"no feed-forward makes {wanted} parameters: the nearest has {found}")
    return expansion
