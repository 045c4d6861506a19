"""From records to outcomes: every record comes back once, in order, with an output or a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns, Row, read_row
from gia_science.errors import UnreadableInputError
from gia_science.prediction.forward import FloatArray
from gia_science.prediction.windows import combine
from gia_science.tokens.featurizer import Example, Featurizer
from gia_science.tokens.long import Long, windows
from gia_science.tokens.stream import IntArray

Compute = Callable[[Sequence[Example]], Sequence[FloatArray | UnreadableInputError]]
WINDOW = 8192
"""Most records that are read at once: within them batches are sorted by length."""
WINDOW_TOKENS = 2**17
"""Tokens after which no more records are read at once: with `WINDOW` this bounds the memory."""


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
    window: int | None = None,
) -> Iterator[Outcome]:
    """Compute something for every record.

    Parameters
    ----------
    records : iterable of Record
        Read in groups; the whole of it never lies in memory.
    columns : Columns
        Places of the input and the numeric columns.
    featurizer : Featurizer
    compute : callable
        From examples to one array each, or the error that none can be had.
    long : {"error", "truncate", "window"}, default "error"
        Refuse inputs that are longer than the model allows, use their first part, or read them in windows whose
        outputs `combine` puts together.
    window : int, optional
        No group goes beyond a multiple of so many records, by default `WINDOW`. The last bits of the outputs depend
        on which records are computed together.

    Yields
    ------
    Outcome
        One per record, in order. Equal inputs of a group are computed once.
    """
    iterator = iter(records)
    while batch := list(islice(iterator, window or WINDOW)):
        rest = iter(batch)
        while group := _Group.read(rest, columns=columns, featurizer=featurizer, long=long):
            yield from group.finish(compute)


@dataclass(frozen=True, slots=True)
class _Group:
    """Records and what was read of them; of all that is distinct a row and its examples, one for each window."""

    columns: Columns
    featurizer: Featurizer
    rows: list[tuple[Record, Row | BadRow]]
    distinct: dict[tuple[str, bytes], tuple[Row, list[Example]]]

    @classmethod
    def read(
        cls, records: Iterator[Record], *, columns: Columns, featurizer: Featurizer, long: Long
    ) -> _Group | None:
        """Take records until there are enough tokens; None where there are no records left."""
        group = cls(columns, featurizer, [], {})
        # Equal cells are read once, equal things computed once, however they are written.
        seen: dict[tuple[str, ...], Row | BadRow] = {}
        tokens = 0
        for record in records:
            used = (columns.input, *columns.numbers)
            cells = (record.problem or "", *(record.cells[index] for index in used))
            if cells not in seen:
                seen[cells] = read_row(
                    record, columns=columns, read=lambda text: featurizer.read(text, long=long)
                )
                tokens += group._add(seen[cells])
            group.rows.append((record, seen[cells]))
            if tokens >= WINDOW_TOKENS:
                break
        return group if group.rows else None

    def _add(self, row: Row | BadRow) -> int:
        """Make the examples of a row that are not there yet; the number of their tokens."""
        if isinstance(row, BadRow) or _key(row) in self.distinct:
            return 0
        numbers = row.numbers.tolist()
        parts = self.featurizer.parts(row.reading)
        examples = [self.featurizer.example(part, numbers=numbers) for part in parts]
        self.distinct[_key(row)] = row, examples
        return sum(map(len, examples))

    def finish(self, compute: Compute) -> Iterator[Outcome]:
        """Compute all examples; the outcomes of the records in their order."""
        outputs = iter(compute([example for _, examples in self.distinct.values() for example in examples]))
        computed = {
            key: self._whole(row, list(islice(outputs, len(examples))))
            for key, (row, examples) in self.distinct.items()
        }
        for record, row in self.rows:
            if isinstance(row, BadRow):
                yield Outcome(record, None, reason=row.reason)
                continue
            output = computed[_key(row)]
            if isinstance(output, UnreadableInputError):
                yield Outcome(record, None, reason=output.reason)
            else:
                yield self._outcome(record, row, output)

    def _whole(
        self, row: Row, outputs: list[FloatArray | UnreadableInputError]
    ) -> FloatArray | UnreadableInputError:
        arrays = []
        for output in outputs:
            if isinstance(output, UnreadableInputError):
                return output
            arrays.append(output)
        return combine(arrays, windows(row.reading.length, max_length=self.featurizer.max_length))

    def _outcome(self, record: Record, row: Row, output: FloatArray) -> Outcome:
        reading, text = row.reading, record.cells[self.columns.input]
        outcome = Outcome(
            record,
            output,
            reason="; ".join(reading.notes),
            length=len(text.strip()),
            truncated=reading.truncated,
        )
        if output.ndim == 1:
            return outcome
        # In this row's own text: one thing can be written with other gaps, or in another order of atoms.
        tokenizer = self.featurizer.tokenizer
        places = tokenizer.places(reading, text)[: len(output)]
        order = np.argsort(places)
        names = tokenizer.names(reading, text)
        return replace(
            outcome, output=output[order], units=places[order], names=tuple(names[unit] for unit in order)
        )


def _key(row: Row) -> tuple[str, bytes]:
    return row.reading.identity, row.numbers.tobytes()
