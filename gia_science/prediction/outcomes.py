"""From records to outcomes: every record comes back once, in order, with an output or a reason."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns
from gia_science.errors import UnreadableInputError
from gia_science.prediction.featurize import FeaturePool, Featurized, Read
from gia_science.prediction.forward import FloatArray
from gia_science.prediction.windows import combine
from gia_science.tokens.featurizer import Example, Featurizer
from gia_science.tokens.long import Long, windows
from gia_science.tokens.stream import IntArray

Compute = Callable[[Sequence[Example]], Sequence[FloatArray | UnreadableInputError]]
WINDOW = 8192
"""Most records that are read at once: within them batches are sorted by length."""
FIRST_WINDOW = 512
"""Records that are read at once first; then as many as before together, and so on to `WINDOW`, then anew."""
WINDOW_CHARACTERS = 2**17
"""Characters of input after which no more records are read at once: with `WINDOW` this bounds the memory."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one record.

    Parameters
    ----------
    record : Record
        As it was read.
    output : array or None
        What was computed for it; None where it could not be.
    reason : str
        Why there is no output, or what was assumed to make it.
    units : (L,) int64 or None
        Of an output per residue, atom or element, the place of each in the text of the input, ascending and counted
        from 0; None for other outputs. See `DomainTokenizer.places`.
    names : tuple of str
        Letter or symbol of each of the units.
    length : int
        Number of characters of the text of the input, blanks around it stripped.
    truncated : bool
        Whether a part of the input was not used, because it is longer than the model allows.
    """

    record: Record
    output: FloatArray | None
    reason: str = ""
    units: IntArray | None = None
    names: tuple[str, ...] = ()
    length: int = 0
    truncated: bool = False

    @property
    def status(self) -> str:
        """``"ok"`` or ``"error"``."""
        return "error" if self.output is None else "ok"


def outcomes(
    records: Iterable[Record],
    *,
    columns: Columns,
    featurizer: Featurizer,
    compute: Compute,
    long: Long = "error",
    units: bool = True,
    window: int | None = None,
    workers: int = 1,
) -> Generator[Outcome, None, None]:
    """Compute something for every record.

    Parameters
    ----------
    records : iterable of Record
        Read in windows; the whole of it never lies in memory.
    columns : Columns
        Places of the input and the numeric columns.
    featurizer : Featurizer
    compute : callable
        From examples to one array each, or the error that none can be had.
    long : {"error", "truncate", "window"}, default "error"
        Refuse inputs that are longer than the model allows, use their first part, or read them in windows whose
        outputs `combine` puts together.
    units : bool, default True
        Whether outputs may be arrays of one for each residue, atom or element, whose places are then found.
    window : int, optional
        No records are read together beyond a multiple of so many, by default `WINDOW`. The last bits of the outputs
        depend on which records are computed together.
    workers : int, default 1
        Processes that read and featurise; see `FeaturePool`. They change no bit of the outputs.

    Yields
    ------
    Outcome
        One per record, in order. Equal inputs that are read together are computed once.
    """
    cut = _windows(
        records,
        size=window or WINDOW,
        length=lambda record: _characters(record, columns, featurizer.max_length, long),
    )
    with FeaturePool(featurizer, columns=columns, long=long, units=units, workers=workers) as pool:
        for part, read in pool.windows(cut):
            yield from _window(part, read, compute=compute, max_length=featurizer.max_length)


def _characters(record: Record, columns: Columns, max_length: int, long: Long) -> int:
    """Size of what is made of a record, about: more is read of a long input only where windows overlap."""
    count = len(record.cells[columns.input])
    return 2 * count if long == "window" else min(count, max_length)


def _windows(
    records: Iterable[Record], *, size: int, length: Callable[[Record], int]
) -> Iterator[list[Record]]:
    """Windows of records, short ones first: whoever waits sees the first output soon."""
    iterator, place = iter(records), 0
    while True:
        # The same from each multiple of the size on: work that starts there computes the same records together.
        end = min(size, FIRST_WINDOW * 2 ** (place // FIRST_WINDOW).bit_length())
        window: list[Record] = []
        characters, seen = 0, set[str]()
        for record in islice(iterator, end - place):
            window.append(record)
            # Equal inputs are computed once. Unequal ones that hash alike only make a window longer.
            key = "\0".join(record.cells)
            characters += 0 if key in seen else length(record)
            seen.add(key)
            if characters >= WINDOW_CHARACTERS:
                break
        if not window:
            return
        yield window
        place = (place + len(window)) % size


def _window(
    window: Sequence[Record], read: Sequence[Read], *, compute: Compute, max_length: int
) -> Iterator[Outcome]:
    # Equal things are computed once, however they are written.
    distinct = {row.key: row for row in read if isinstance(row, Featurized)}
    outputs = iter(compute([example for row in distinct.values() for example in row.examples]))
    computed = {
        key: _whole(row, list(islice(outputs, len(row.examples))), max_length=max_length)
        for key, row in distinct.items()
    }
    for record, row in zip(window, read, strict=True):
        if isinstance(row, BadRow):
            yield Outcome(record, None, reason=row.reason)
            continue
        output = computed[row.key]
        if isinstance(output, UnreadableInputError):
            yield Outcome(record, None, reason=output.reason)
        else:
            yield _outcome(record, row, output)


def _whole(
    row: Featurized, outputs: Sequence[FloatArray | UnreadableInputError], *, max_length: int
) -> FloatArray | UnreadableInputError:
    arrays = []
    for output in outputs:
        if isinstance(output, UnreadableInputError):
            return output
        arrays.append(output)
    return combine(arrays, windows(row.length, max_length=max_length))


def _outcome(record: Record, row: Featurized, output: FloatArray) -> Outcome:
    outcome = Outcome(
        record, output, reason="; ".join(row.notes), length=row.characters, truncated=row.truncated
    )
    if output.ndim == 1:
        return outcome
    # In this row's own text: one thing can be written with other gaps, or in another order of atoms.
    assert row.places is not None, "outputs of units need their places"
    places = row.places[: len(output)]
    order = np.argsort(places)
    names = tuple(row.names[unit] for unit in order)
    return replace(outcome, output=output[order], units=places[order], names=names)
