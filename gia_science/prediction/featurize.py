"""From records to examples, in this process or in several, while the caller computes with the ones before."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from types import TracebackType
from typing import Self

from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns, Row, read_row
from gia_science.tokens.base_vocabulary import parse_vocabulary
from gia_science.tokens.featurizer import Example, Featurizer, longest_of
from gia_science.tokens.long import Long
from gia_science.tokens.stream import IntArray

PIECE = 64
"""Rows that a process is given at a time."""
START_ROWS = 1000
START_CHARACTERS = 2**18
"""Different rows, or characters in them, after which other processes are started: for fewer, that takes longer than it
saves."""


@dataclass(frozen=True, slots=True)
class Featurized:
    """What the network needs of one row.

    Parameters
    ----------
    key : (str, bytes)
        Identity of the input and the row's numbers: rows with one key get one output.
    notes : tuple of str
        What was assumed when the input was read.
    examples : tuple of Example
        One, or one for each window of a long input.
    length : int
        Residues, atoms or elements.
    characters : int
        Length of the text, blanks around it stripped.
    truncated : bool
        Whether a part of the input is not used.
    places : (L,) int64 or None
        Place of each unit in this row's own text, where it is asked for; see `DomainTokenizer.places`.
    names : tuple of str
        Letter or symbol of each unit, likewise.
    """

    key: tuple[str, bytes]
    notes: tuple[str, ...]
    examples: tuple[Example, ...]
    length: int
    characters: int
    truncated: bool
    places: IntArray | None = None
    names: tuple[str, ...] = ()


Read = Featurized | BadRow
Window = tuple[Sequence[Record], list[Read]]


def featurize(
    records: Sequence[Record], *, columns: Columns, featurizer: Featurizer, long: Long, units: bool = True
) -> list[Read]:
    """Read and featurise records; one thing is featurised once, however it is written.

    Parameters
    ----------
    records : sequence of Record
    columns : Columns
        Places of the input and the numeric columns.
    featurizer : Featurizer
    long : {"error", "truncate", "window"}
        What becomes of inputs that are longer than the model allows.
    units : bool, default True
        Find the places and names of units, which only outputs for each of them need.
    """
    tokenizer = featurizer.tokenizer
    seen: dict[tuple[str, bytes], tuple[Example, ...]] = {}
    results: list[Read] = []
    for record in records:
        row = read_row(record, columns=columns, read=lambda text: featurizer.read(text, long=long))
        if isinstance(row, BadRow):
            results.append(row)
            continue
        key = row.reading.identity, row.numbers.tobytes()
        if key not in seen:
            numbers = row.numbers.tolist()
            parts = featurizer.parts(row.reading)
            seen[key] = tuple(featurizer.example(part, numbers=numbers) for part in parts)
        text = record.cells[columns.input]
        found = _featurized(row, key, seen[key], text)
        if units:
            places, names = tokenizer.places(row.reading, text), tokenizer.names(row.reading, text)
            found = replace(found, places=places, names=tuple(names))
        results.append(found)
    return results


def _featurized(row: Row, key: tuple[str, bytes], examples: tuple[Example, ...], text: str) -> Featurized:
    reading = row.reading
    return Featurized(
        key,
        notes=reading.notes,
        examples=examples,
        length=reading.length,
        characters=len(text.strip()),
        truncated=reading.truncated,
    )


class FeaturePool:
    """Featurises windows of records, in other processes where there are many.

    A context manager: on leaving, by an error or Ctrl-C too, the processes end within the piece at hand. What
    comes out does not depend on the number of processes.

    Parameters
    ----------
    featurizer : Featurizer
    columns : Columns
        Places of the input and the numeric columns.
    long : {"error", "truncate", "window"}, default "error"
        What becomes of inputs that are longer than the model allows.
    units : bool, default True
        As in `featurize`.
    workers : int, default 1
        Number of processes; with 1 everything happens in this one. Other processes import the main module of
        the program, so a script that asks for them guards its code with ``if __name__ == "__main__"``.
    """

    def __init__(
        self,
        featurizer: Featurizer,
        *,
        columns: Columns,
        long: Long = "error",
        units: bool = True,
        workers: int = 1,
    ) -> None:
        self._featurizer = featurizer
        self._columns = columns
        self._long = long
        self._units = units
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def windows(self, windows: Iterable[Sequence[Record]]) -> Iterator[Window]:
        """Each window with what became of its records, in order.

        Equal rows of a window are featurised once. Once there are processes, the window after the one that is
        handed out is read and in work; never more than that one lies in memory besides.
        """
        waiting: deque[tuple[Sequence[Record], list[int], list[Future[list[Read]]]]] = deque()
        rows = characters = 0
        for window in windows:
            places, distinct = self._distinct(window)
            rows += len(distinct)
            characters += sum(len(record.cells[self._columns.input]) for record in distinct)
            many = rows >= START_ROWS or characters >= START_CHARACTERS
            if self._executor is None and self._workers > 1 and many:
                self._executor = _start(self._workers)
            if self._executor is None:
                results = featurize(
                    distinct,
                    columns=self._columns,
                    featurizer=self._featurizer,
                    long=self._long,
                    units=self._units,
                )
                yield window, [results[place] for place in places]
                continue
            waiting.append((window, places, self._submit(self._executor, distinct)))
            if len(waiting) > 1:
                yield _collect(*waiting.popleft())
        while waiting:
            yield _collect(*waiting.popleft())

    def _distinct(self, window: Sequence[Record]) -> tuple[list[int], list[Record]]:
        """Place of each record of a window among those that differ in what is read of them, and these."""
        read = (self._columns.input, *self._columns.numbers)
        first: dict[tuple[str, ...], int] = {}
        places: list[int] = []
        distinct: list[Record] = []
        for record in window:
            cells = (record.problem or "", *(record.cells[index] for index in read))
            if cells not in first:
                first[cells] = len(distinct)
                distinct.append(record)
            places.append(first[cells])
        return places, distinct

    def _submit(self, executor: ProcessPoolExecutor, records: Sequence[Record]) -> list[Future[list[Read]]]:
        stored = json.dumps(self._featurizer.to_json())
        vocabulary = self._featurizer.tokenizer.vocabulary.raw
        pieces = (records[start : start + PIECE] for start in range(0, len(records), PIECE))
        return [
            executor.submit(_work, piece, self._columns, stored, vocabulary, self._long, self._units)
            for piece in pieces
        ]


def _start(workers: int) -> ProcessPoolExecutor:
    # Never by a plain fork: PyTorch's threads do not survive it. A server that has the imports done forks fast.
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: multiprocessing.context.BaseContext = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
    else:
        context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_interrupts_to_the_parent)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _collect(window: Sequence[Record], places: list[int], futures: list[Future[list[Read]]]) -> Window:
    results = [result for future in futures for result in future.result()]
    return window, [results[place] for place in places]


def _work(
    records: Sequence[Record], columns: Columns, stored: str, vocabulary: str, long: Long, units: bool
) -> list[Read]:
    featurizer = _featurizer(stored, vocabulary)
    return featurize(records, columns=columns, featurizer=featurizer, long=long, units=units)


@lru_cache(maxsize=1)
def _featurizer(stored: str, vocabulary: str) -> Featurizer:
    """The featurizer of the parent, made once in each process: RDKit's compiled patterns cannot travel."""
    data = json.loads(stored)
    return Featurizer.from_json(data, vocabulary=parse_vocabulary(vocabulary, most_tokens=longest_of(data)))
