"""Inputs longer than a model allows: refused, cut to their first part, or read in overlapping windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from gia_science.catalog import suggestion
from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.tokens.protein import ProteinSequence
from gia_science.tokens.stream import Reading, TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer

Long = Literal["error", "truncate", "window"]
"""What becomes of an input longer than the model allows."""
CHOICES: tuple[Long, ...] = get_args(Long)


def check_long(long: str, *, domain: str) -> None:
    """Raise `RecipeError` unless a choice exists, and makes sense for a domain."""
    if long not in CHOICES:
        raise RecipeError(
            "the choice for long inputs is not known",
            got=repr(long),
            expected=f"{', '.join(CHOICES[:-1])} or {CHOICES[-1]}",
            hint=suggestion(long, CHOICES),
        )
    if long == "window" and domain != "protein":
        raise RecipeError(
            "windows are for proteins: a part of a molecule or a composition is another thing",
            got=f"a model of the domain {domain}",
            hint="--long error or truncate",
        )


def read_within(
    tokenizer: DomainTokenizer[Any], text: str, *, max_length: int, long: Long = "error"
) -> Reading[Any]:
    """Read one text and hold it against the longest allowed.

    Parameters
    ----------
    tokenizer : DomainTokenizer
    text : str
    max_length : int
        Most residues, atoms or elements.
    long : {"error", "truncate", "window"}
        What becomes of a longer one. ``"truncate"`` makes a protein its first part, as if it had been given alone; of
        a molecule or a composition, which has no first part, the reading stays whole and `cut` shortens its tokens.
        ``"window"`` leaves the reading whole: `windows` says how it is read.

    Raises
    ------
    UnreadableInputError
        When it cannot be read, or is too long with ``"error"``.
    RecipeError
        With ``"window"`` for another domain than proteins.
    """
    check_long(long, domain=tokenizer.domain)
    reading = tokenizer.read(text)
    if reading.length <= max_length:
        return reading
    if long == "error":
        ways = "truncate uses the first part only"
        if tokenizer.domain == "protein":
            ways += ", --long window reads all of it in windows"
        raise UnreadableInputError(
            "longer than the model allows",
            got=f"{reading.length} units",
            expected=f"at most {max_length}",
            hint=f"--long {ways}",
        )
    if long == "window":
        count = len(windows(reading.length, max_length=max_length))
        return replace(reading, notes=(*reading.notes, f"read in {count} windows of {max_length} units"))
    note = f"only the first {max_length} of {reading.length} units used"
    first = part(reading, 0, max_length) if isinstance(reading.parsed, ProteinSequence) else reading
    return replace(first, notes=(*reading.notes, note), truncated=True)


def windows(length: int, *, max_length: int) -> tuple[range, ...]:
    """Units of each window of an input: half a window apart, the last one flush with the end.

    Parameters
    ----------
    length : int
        Number of units of the input.
    max_length : int
        Number of units of a window; an input that is not longer is one window.
    """
    step = max_length - max_length // 2
    last = max(0, length - max_length)
    starts = [*range(0, last, step), last]
    return tuple(range(start, min(start + max_length, length)) for start in starts)


def part(reading: Reading[ProteinSequence], start: int, stop: int) -> Reading[ProteinSequence]:
    """Residues `start` to `stop` of a protein, as if they were all of it; its notes stay with the whole."""
    whole = reading.parsed
    parsed = ProteinSequence(whole.residues[start:stop], whole.units[start:stop])
    return Reading(parsed.residues, parsed, len(parsed.residues))


def cut(stream: TokenStream, *, units: int) -> TokenStream:
    """The stream up to its first `units` residues, atoms or elements; its last special token moves up to them."""
    beyond = np.flatnonzero(np.cumsum(stream.units >= 0) > units)
    if not len(beyond):
        return stream
    keep = np.arange(len(stream)) < beyond[0]
    closing = bool(stream.units[-1] < 0)
    keep[-1] |= closing
    positions = stream.positions[keep]
    if closing:
        positions[-1] = stream.positions[beyond[0]]
    index = np.cumsum(keep) - 1
    edges = keep[stream.edges].all(axis=1)
    return TokenStream(
        ids=stream.ids[keep],
        values=stream.values[keep],
        positions=positions,
        features=stream.features[keep],
        contexts=stream.contexts[keep],
        edges=index[stream.edges[edges]],
        edge_kinds=stream.edge_kinds[edges],
        units=stream.units[keep],
    )
