"""Delimited text (CSV and TSV): delimiter and header are recognised, cells stay the text they are."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gia_science.data.compression import HEAD_BYTES, ByteSource
from gia_science.data.header import read_header
from gia_science.data.lines import text_lines, whole_lines
from gia_science.data.record import Record, Table, id_position, name_columns
from gia_science.errors import TableError, Where

DELIMITERS = ("\t", ";", ",", "|")
"""What may stand between cells; of two that fit a file equally well, the first."""

_SAMPLE_ROWS = 200


@dataclass(frozen=True, slots=True)
class _Row:
    """Cells of one row as cut; a row that could not be cut has its text as the only cell, and a problem."""

    line: int
    cells: list[str]
    problem: str | None = None

    @property
    def is_blank(self) -> bool:
        return not self.cells or (len(self.cells) == 1 and not self.cells[0].strip())


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the file is laid out: `skip` rows that are not blank stand before the first record."""

    delimiter: str
    header: tuple[str, ...]
    header_line: int
    skip: int
    notes: tuple[str, ...]


def read_delimited(
    source: ByteSource, *, header: bool = True, tabs: bool = False, id_column: str | None = None
) -> Table:
    """Table of a CSV or TSV file, plain or quoted with ``"``.

    The delimiter is the one of comma, semicolon, tab and ``|`` under which the first rows have as many cells
    as the header. Blank lines are skipped, except between the rows of a file of one column, where they are
    empty cells. Lines at the start that begin with ``#`` and have another number of cells than the rows are
    comments. A column with a blank name is called ``column_3`` after its position, so is every column where
    there is no header. A row with more or fewer cells than the header, or with broken quotes, comes back with
    its problem.

    Parameters
    ----------
    source : ByteSource
        The file.
    header : bool
        Whether the first row names the columns.
    tabs : bool
        Whether the cells of a file without any delimiter in its header are separated by tabs.
    id_column : str, optional
        Column of the identifiers; by default the one called ``id``.

    Raises
    ------
    TableError
        When the text is not UTF-8, the header looks like data, names a column twice or not at all, or, while
        iterated, when a quote is not closed.
    """
    layout = _recognise(source, header=header, tabs=tabs)
    columns = name_columns(layout.header, source=source.name, line=layout.header_line)
    position = id_position(columns, id_column, source=source.name)
    return Table(
        columns=columns,
        records=_DelimitedRecords(source, layout, len(columns), position),
        source=source.name,
        format="tsv" if layout.delimiter == "\t" else "csv",
        header=layout.header,
        notes=layout.notes,
    )


@dataclass(frozen=True, slots=True)
class _DelimitedRecords:
    source: ByteSource
    layout: _Layout
    width: int
    id_position: int | None

    def __iter__(self) -> Iterator[Record]:
        name, delimiter = self.source.name, self.layout.delimiter
        skip, blank_lines = self.layout.skip, list[int]()
        with self.source.open() as stream:
            for row in _rows(text_lines(stream, source=name), delimiter, name):
                if skip:
                    skip -= not row.is_blank
                elif not row.cells or (self.width > 1 and row.is_blank):
                    blank_lines.append(row.line)
                else:
                    if self.width == 1:
                        for line in blank_lines:
                            yield Record(name, line, None, ("",))
                    blank_lines.clear()
                    yield self._record(row)

    def _record(self, row: _Row) -> Record:
        found, width, problem = row.cells, self.width, row.problem
        if problem is None and len(found) != width:
            problem = f"{len(found)} cell{'s' * (len(found) != 1)} where the header has {width}"
        if len(found) < width:
            cells = (*found, *[""] * (width - len(found)))
        else:
            cells = (*found[: width - 1], self.layout.delimiter.join(found[width - 1 :]))
        named = self.id_position is not None and row.problem is None
        return Record(
            self.source.name, row.line, cells[self.id_position or 0] if named else None, cells, problem
        )


class _Feed:
    """Lines on their way to the csv reader: counts them and keeps those of the present row."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.count = 0
        self.taken: list[str] = []

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.count += 1
        self.taken.append(line)
        return line


def _rows(lines: Iterator[str], delimiter: str, name: str) -> Iterator[_Row]:
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.taken.clear()
        start = feed.count + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            at_end, too_long = "unexpected end" in str(error), "field limit" in str(error)
            if at_end or (too_long and len(feed.taken) > 1):
                raise TableError(
                    "a quote is opened and not closed",
                    hint='write a quote inside a quoted cell twice: ""',
                    where=Where(file=name, line=start),
                ) from error
            longest = f"a cell of more than {csv.field_size_limit()} characters"
            problem = longest if too_long else "text after the closing quote of a cell"
            yield _Row(start, ["".join(feed.taken).rstrip("\r\n")], problem)
        else:
            yield _Row(start, cells)


def _recognise(source: ByteSource, *, header: bool, tabs: bool) -> _Layout:
    name = source.name
    text = whole_lines(source.head, complete=len(source.head) < HEAD_BYTES, source=name)
    lines = list(text_lines(io.BytesIO(text), source=name))
    samples = {delimiter: _sample(lines, delimiter, name) for delimiter in DELIMITERS}
    fits = {delimiter: _fit(rows, header=header) for delimiter, rows in samples.items()}
    best = max(DELIMITERS, key=lambda delimiter: fits[delimiter])
    # Without a delimiter in the header a comma still tells a row that has too many cells from a sound one.
    delimiter = best if fits[best][0] else "\t" if tabs else ","
    rows = samples[delimiter]
    if not rows:
        # Only a quote that stays open hides every row of a file that is not empty.
        next((row for row in _rows(iter(lines), delimiter, name) if not row.is_blank), None)
        raise TableError("the file is empty", where=Where(file=name))
    comments = _comment_count(rows)
    notes = _delimiter_notes(delimiter, tabs=tabs)
    if comments:
        notes += (f"{comments} comment line{'s' * (comments > 1)} at the start skipped",)
    rows = rows[comments:]
    if not header:
        names = tuple(f"column_{index + 1}" for index in range(_usual_width(rows)))
        return _Layout(delimiter, names, rows[0].line, comments, notes)
    where = Where(file=name, line=rows[0].line)
    if rows[0].problem is not None:
        raise TableError("the header cannot be read", got=rows[0].problem, where=where)
    body = [row.cells for row in rows[1:] if row.problem is None]
    names, header_notes = read_header(rows[0].cells, body, where=where)
    return _Layout(delimiter, names, rows[0].line, comments + 1, notes + header_notes)


def _delimiter_notes(delimiter: str, *, tabs: bool) -> tuple[str, ...]:
    if delimiter == ("\t" if tabs else ","):
        return ()
    return (f"delimiter {'tab' if delimiter == chr(9) else repr(delimiter)} recognised",)


def _sample(lines: list[str], delimiter: str, name: str) -> list[_Row]:
    rows: list[_Row] = []
    try:
        for row in islice(_rows(iter(lines), delimiter, name), _SAMPLE_ROWS):
            if not row.is_blank:
                rows.append(row)  # noqa: PERF401 - the rows before an open quote are wanted
    except TableError:
        # The sample may end inside a quoted cell; a quote that is really open is found when the file is read.
        return rows
    return rows


def _fit(rows: Sequence[_Row], *, header: bool) -> tuple[bool, float, int]:
    """How well a delimiter fits: does it occur, the share of rows that agree on a width, the width."""
    rows = rows[_comment_count(rows) :]
    if not rows:
        return (False, 0.0, 0)
    width = len(rows[0].cells) if header else _usual_width(rows)
    agreeing = sum(len(row.cells) == width for row in rows)
    return (width > 1, agreeing / len(rows), width)


def _usual_width(rows: Sequence[_Row]) -> int:
    return Counter(len(row.cells) for row in rows).most_common(1)[0][0]


def _comment_count(rows: Sequence[_Row]) -> int:
    """How many rows at the start begin with ``#`` and have another width than the rows that do not."""
    plain = [row for row in rows if not row.cells[0].startswith("#")]
    width = _usual_width(plain) if plain else 1
    if width == 1:
        return 0
    inside = (row.cells[0].startswith("#") and len(row.cells) != width for row in rows)
    return next(index for index, comment in enumerate(inside) if not comment)
