"""From records to outcomes: every record comes back once, in order, with an output or a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns, Row, read_row
from gia_science.tokens.featurizer import Example, Featurizer

FloatArray = npt.NDArray[np.float64]
Compute = Callable[[Sequence[Example]], list[FloatArray]]
WINDOW = 8192
"""Records read at once: memory is bounded by it, and within it batches are sorted by length."""


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
    window: int | None = None,
) -> Iterator[Outcome]:
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
    window : int, optional
        Records read at once, by default `WINDOW`. The last bits of the outputs depend on which records that are.

    Yields
    ------
    Outcome
        One per record, in order. Equal inputs of a window are computed once.
    """
    iterator = iter(records)
    while batch := list(islice(iterator, window or WINDOW)):
        yield from _window(batch, columns=columns, featurizer=featurizer, compute=compute, truncate=truncate)


def _window(
    window: Sequence[Record], *, columns: Columns, featurizer: Featurizer, compute: Compute, truncate: bool
) -> Iterator[Outcome]:
    # Equal cells are read once, equal things computed once, however they are written.
    read: dict[tuple[str, ...], Row | BadRow] = {}
    examples: dict[tuple[str, bytes], Example] = {}
    results: list[Row | BadRow] = []
    for record in window:
        cells = (record.problem or "", *(record.cells[index] for index in (columns.input, *columns.numbers)))
        if cells not in read:
            result = read_row(
                record, columns=columns, read=lambda text: featurizer.read(text, truncate=truncate)
            )
            read[cells] = result
            if isinstance(result, Row) and _key(result) not in examples:
                examples[_key(result)] = featurizer.example(result.reading, numbers=result.numbers.tolist())
        results.append(read[cells])
    computed = dict(zip(examples, compute(list(examples.values())), strict=True))
    for record, result in zip(window, results, strict=True):
        if isinstance(result, BadRow):
            yield Outcome(record, None, reason=result.reason)
        else:
            output = computed[_key(result)]
            yield Outcome(
                record,
                output,
                reason="; ".join(result.reading.notes),
                units=_units(featurizer, result) if output.ndim > 1 else None,
                length=len(record.cells[columns.input].strip()),
            )


def _units(featurizer: Featurizer, row: Row) -> npt.NDArray[np.int64]:
    """Places of the residues in this row's own text: one thing can be written with other gaps and blanks."""
    units = featurizer.tokens(row.reading).units
    return units[units >= 0]


def _key(row: Row) -> tuple[str, bytes]:
    return row.reading.identity, row.numbers.tobytes()
