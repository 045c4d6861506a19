"""From records to outcomes: every record comes back once, in order, with an output or a reason."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns
from gia_science.prediction.featurize import FeaturePool, Featurized, Read
from gia_science.tokens.featurizer import Example, Featurizer

FloatArray = npt.NDArray[np.float64]
Compute = Callable[[Sequence[Example]], list[FloatArray]]
WINDOW = 8192
"""Records read at once: memory is bounded by it, and within it batches are sorted by length."""
FIRST_WINDOW = 512
"""Records of the first window; each next one is twice as long, up to `WINDOW`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one record.

    Parameters
    ----------
    record : Record
        As it was read.
    output : array or None
        What was computed for it; None where it could not be read.
    reason : str
        Why there is no output, or what was assumed to make it.
    units : (L,) int64 or None
        Of an output per residue, the place of each residue in the text of the input; None for other outputs.
    length : int
        Number of characters of the text of the input, blanks around it stripped.
    """

    record: Record
    output: FloatArray | None
    reason: str = ""
    units: npt.NDArray[np.int64] | None = None
    length: int = 0

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
    truncate: bool = False,
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
        From examples to one array each.
    truncate : bool, default False
        Use the first part of inputs that are longer than the model allows, instead of refusing them.
    workers : int, default 1
        Processes that read and featurise; see `FeaturePool`.

    Yields
    ------
    Outcome
        One per record, in order. Equal inputs of a window are computed once.
    """
    with FeaturePool(featurizer, columns=columns, truncate=truncate, workers=workers) as pool:
        for window, read in pool.windows(_windows(records)):
            yield from _window(window, read, column=columns.input, compute=compute)


def _windows(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Windows of records, short ones first: whoever waits sees the first output soon."""
    iterator, size = iter(records), FIRST_WINDOW
    while window := list(islice(iterator, min(size, WINDOW))):
        yield window
        size *= 2


def _window(
    window: Sequence[Record], read: Sequence[Read], *, column: int, compute: Compute
) -> Iterator[Outcome]:
    # Equal things are computed once, however they are written.
    examples = {row.key: row.example for row in read if isinstance(row, Featurized)}
    computed = dict(zip(examples, compute(list(examples.values())), strict=True))
    for record, row in zip(window, read, strict=True):
        if isinstance(row, BadRow):
            yield Outcome(record, None, reason=row.reason)
        else:
            output, units = computed[row.key], row.example.stream.units
            yield Outcome(
                record,
                output,
                reason="; ".join(row.notes),
                units=units[units >= 0] if output.ndim > 1 else None,
                length=len(record.cells[column].strip()),
            )
