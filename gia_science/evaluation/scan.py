"""One pass over a table that keeps what repeats and what is wrong, never the records themselves."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.duplicates import Repeats
from gia_science.data.ids import RepeatedIds
from gia_science.data.notes import NoteTally
from gia_science.data.record import Record
from gia_science.data.rows import BadRow, Columns, Row, identity_hash, read_row, read_targets, training_reader
from gia_science.data.targets import Targets
from gia_science.errors import UnreadableInputError
from gia_science.evaluation.findings import NearDuplicates
from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.residues import AMBIGUOUS, MAPPED
from gia_science.tokens.stream import Reading
from gia_science.tokens.tokenizer import DomainTokenizer

SPECIAL = "".join([*AMBIGUOUS, *MAPPED])
BRIEF_ROWS = 10_000
"""Rows of which the cells of columns that nobody asked about are looked at."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of a row that can be read."""

    line: int
    id: str | None
    identity: str
    numbers: npt.NDArray[np.float64]
    length: int
    targets: tuple[str, ...]


class Scan:
    """Reads records one by one as training would.

    Parameters
    ----------
    tokenizer : DomainTokenizer
    columns : Columns
        Input, numeric and target columns.
    brief : mapping of str to int
        Other columns to look at, with their places.
    max_length : int
        Longest input that is allowed.
    trained : set of str
        Hashes of the identities that a model was trained on.
    """

    def __init__(
        self,
        tokenizer: DomainTokenizer[Any],
        *,
        columns: Columns,
        brief: Mapping[str, int],
        max_length: int,
        trained: frozenset[str] = frozenset(),
    ) -> None:
        self._tokenizer, self._columns, self._trained = tokenizer, columns, trained
        self._brief = brief
        self._read = training_reader(tokenizer, max_length=max_length, watch=self._see_length)
        self._rows: list[_Kept] = []
        self._shared: dict[str, str] = {}
        self._salts: dict[str, list[int]] = defaultdict(list)
        self.lengths = array("q")
        self.rows = 0
        self.bad: list[BadRow] = []
        self.cells: dict[str, list[str]] = {name: [] for name in brief}
        self.target_cells: tuple[list[str], ...] = tuple([] for _ in columns.targets)
        self.text_lengths = array("q")
        self.ids, self.notes = RepeatedIds(), NoteTally()
        self.unknown, self.special = Counter[str](), Counter[str]()
        self.seen = 0
        self.repeats = Repeats()

    def see(self, record: Record) -> None:
        """Take note of a record."""
        self.rows += 1
        self.ids.see(record)
        if record.problem is None:
            self._see_cells(record)
        row = read_row(record, columns=self._columns, read=self._read)
        if isinstance(row, BadRow):
            self.bad.append(row)
        else:
            self._see_row(row, record)

    def _see_length(self, length: int) -> None:
        self.lengths.append(length)

    def _see_cells(self, record: Record) -> None:
        if self.rows <= BRIEF_ROWS:
            for name, place in self._brief.items():
                self.cells[name].append(record.cells[place])
        for cells, place in zip(self.target_cells, self._columns.targets, strict=True):
            cells.append(self._share(record.cells[place]))
        self.text_lengths.append(len(record.cells[self._columns.input].strip()))

    def _share(self, cell: str) -> str:
        # Of a class label, which stands in many rows, one copy is enough.
        return self._shared.setdefault(cell, cell)

    def _see_row(self, row: Row, record: Record) -> None:
        text, reading = record.cells[self._columns.input], row.reading
        self.notes.see(row.line, reading.notes)
        self.unknown.update(self._unknown(reading))
        if self._tokenizer.domain == "protein":
            self._see_residues(text)
        elif "." in reading.identity and self._tokenizer.options.get("fragments") == "keep":
            self._salts[self._parent.read(text).identity].append(row.line)
        if self._trained and identity_hash(reading.identity) in self._trained:
            self.seen += 1
        targets = tuple(self._share(record.cells[place]) for place in self._columns.targets)
        numbers = row.numbers if len(row.numbers) else _NO_NUMBERS
        self._rows.append(_Kept(row.line, row.id, reading.identity, numbers, len(text.strip()), targets))

    def _see_residues(self, text: str) -> None:
        upper = text.upper()
        self.special.update({letter: count for letter in SPECIAL if (count := upper.count(letter))})

    def _unknown(self, reading: Reading[Any]) -> set[str]:
        vocabulary = self._tokenizer.vocabulary
        ordered = DOMAINS[self._tokenizer.domain].ordered
        pieces = vocabulary.split(reading.identity) if ordered else reading.parsed
        return set(pieces) - vocabulary.ids.keys()

    @property
    def _parent(self) -> DomainTokenizer[Any]:
        options = {**self._tokenizer.options, "fragments": "largest"}
        return make_tokenizer("smiles", options=options, vocabulary=self._tokenizer.vocabulary)

    def judge(self, targets: Targets | None) -> list[int]:
        """Read the targets of all rows, now that it is known what they are; lines of rows without any.

        Rows whose targets cannot be read join the bad ones, the others are compared with each other.
        """
        unmeasured = []
        for row in self._rows:
            target = np.zeros(0)
            if targets is not None:
                try:
                    target = read_targets(row.targets, targets=targets, length=row.length)
                except UnreadableInputError as error:
                    self.bad.append(BadRow(row.line, row.id, str(error)))
                    continue
                if np.isnan(target).all():
                    unmeasured.append(row.line)
                    continue
            self.repeats.add(row.line, identity=row.identity, numbers=row.numbers, target=target)
        self.bad.sort(key=lambda row: row.line)
        return unmeasured

    def near_duplicates(self, lines: Mapping[str, Sequence[int]]) -> list[NearDuplicates]:
        """Molecules that stand beside their salts, given the lines of each identity."""
        known = {line for of_one in lines.values() for line in of_one}
        identity = {line: name for name, of_one in lines.items() for line in of_one} if self._salts else {}
        found = []
        for parent, salts in self._salts.items():
            together = sorted(known.intersection(salts) | set(lines.get(parent, ())))
            if len({identity[line] for line in together}) > 1:
                found.append(NearDuplicates(parent, tuple(together)))
        return found


_NO_NUMBERS = np.zeros(0)
