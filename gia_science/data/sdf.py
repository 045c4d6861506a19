"""SDF: one row per record, the molecule as SMILES beside its name and data fields."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from gia_science.data.compression import ByteSource
from gia_science.data.lines import MAX_LINE_BYTES, text_lines
from gia_science.data.molecules import molfile_smiles
from gia_science.data.record import Record, Table, free_name, id_position
from gia_science.errors import TableError, UnreadableInputError, Where

FIRST_COLUMNS = ("smiles", "name")
_RECORD_END = "$$$$"
_MOLECULE_END = "M  END"
_MAX_RECORD_CHARACTERS = MAX_LINE_BYTES
# CTfile formats, BIOVIA: "> <NAME>", with a registry number, a field number or remarks around the name.
_FIELD = re.compile(r">.*?<(?P<name>.+)>[^<>]*")
_COUNTS_LINE = re.compile(rb"[ \d]{6}.*V[23]000\s*")


def looks_like_sdf(head: bytes) -> bool:
    """Whether the fourth line is that of a molfile's counts, or molecules end and records end."""
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()
    if len(lines) > 3 and _COUNTS_LINE.fullmatch(lines[3]):
        return True
    ends = {line.rstrip() for line in lines}
    return _RECORD_END.encode() in ends and _MOLECULE_END.encode() in ends


def read_sdf(source: ByteSource, *, id_column: str | None = None) -> Table:
    """Table of an SDF file or a single molfile.

    The columns are ``smiles`` (canonical, made by RDKit), ``name`` (the first line of the record) and all data
    fields of the file in the order in which they first occur; a field that a record lacks is an empty cell, one
    that it has twice holds both values on lines of their own, and a field called like one of the first two
    columns becomes ``smiles_2`` or ``name_2``. Fields are found by reading the file once before the records
    are; a stream is therefore held in memory as a whole.

    A record that RDKit cannot read comes back with RDKit's reason and its fields. So does text after the last
    ``$$$$``, and a last record without it, except in a file of one molecule: that is a molfile.

    Parameters
    ----------
    source : ByteSource
    id_column : str, optional
        Field of the identifiers; by default the one called ``id``, else the record's name.

    Raises
    ------
    TableError
        When the file holds neither the end of a molecule nor that of a record, a record has no end in sight, or
        the text is not UTF-8.
    """
    content = None
    if not source.reopens:
        with source.open() as stream:
            content = stream.read()
    fields: dict[str, None] = {}
    molfiles = closed = 0
    for record in _split(_open(source, content), source.name):
        closed += record.closed
        molfiles += _MOLECULE_END in record.lines
        fields.update(dict.fromkeys(record.fields()))
    if not molfiles + closed:
        raise TableError(
            "not SDF",
            expected="molecules that end in M END, records that end in $$$$",
            hint="or the file is cut off in its first record",
            where=Where(file=source.name),
        )
    names = list(FIRST_COLUMNS)
    for field in fields:
        names.append(free_name(field, names))
    columns = tuple(names)
    position = id_position(columns, id_column, source=source.name)
    records = _SdfRecords(source, content, tuple(fields), 1 if position is None else position, not closed)
    return Table(columns, records, source.name, "sdf", columns)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Lines of a record, without their ends."""

    line: int
    lines: list[str]
    closed: bool

    def molfile(self) -> str:
        """The part before the data fields."""
        return "".join(f"{line}\n" for line in self.lines[: self._data_start()])

    def fields(self) -> dict[str, str]:
        """Data fields; a value goes on over a blank line unless another field follows."""
        values: dict[str, list[str]] = {}
        value: list[str] | None = None
        previous = ""
        for line in self.lines[self._data_start() :]:
            match = _FIELD.fullmatch(line.rstrip())
            if match is not None or (line.startswith(">") and not previous.strip()):
                name = (match["name"] if match is not None else line[1:]).strip()
                value = values.setdefault(name or "field", [])
                if value:
                    value[:] = ["\n".join(value).strip()]
            elif value is not None:
                value.append(line)
            previous = line
        return {name: "\n".join(lines).strip() for name, lines in values.items()}

    def _data_start(self) -> int:
        if _MOLECULE_END in self.lines:
            return self.lines.index(_MOLECULE_END) + 1
        starts = (index for index, line in enumerate(self.lines) if index and _FIELD.fullmatch(line.rstrip()))
        return next(starts, len(self.lines))


@dataclass(frozen=True, slots=True)
class _SdfRecords:
    source: ByteSource
    content: bytes | None
    fields: tuple[str, ...]
    id_position: int
    single: bool

    def __iter__(self) -> Iterator[Record]:
        for entry in _split(_open(self.source, self.content), self.source.name):
            yield self._record(entry)

    def _record(self, entry: _Entry) -> Record:
        found = entry.fields()
        smiles, problem = "", None
        if entry.closed or (self.single and _MOLECULE_END in entry.lines):
            try:
                smiles = molfile_smiles(entry.molfile())
            except UnreadableInputError as error:
                problem = error.reason
        else:
            problem = "the record does not end in $$$$: the file may be cut off"
        name = entry.lines[0].strip() if entry.lines else ""
        cells = (smiles, name, *(found.get(field, "") for field in self.fields))
        return Record(self.source.name, entry.line, cells[self.id_position] or None, cells, problem)


def _open(source: ByteSource, content: bytes | None) -> BinaryIO:
    return source.open() if content is None else io.BytesIO(content)


def _split(stream: BinaryIO, name: str) -> Iterator[_Entry]:
    """Records as they stand between lines that begin with ``$$$$``; blank lines after the last are none."""
    with stream:
        start, lines, size = 1, list[str](), 0
        for number, line in enumerate(text_lines(stream, source=name), start=1):
            if line.startswith(_RECORD_END):
                yield _Entry(start, lines, closed=True)
                start, lines, size = number + 1, [], 0
                continue
            lines.append(_MOLECULE_END if line.rstrip() == _MOLECULE_END else line.rstrip("\r\n"))
            size += len(line)
            if size > _MAX_RECORD_CHARACTERS:
                raise TableError(
                    "not SDF",
                    got=f"a record of more than {_MAX_RECORD_CHARACTERS} characters",
                    where=Where(file=name, line=start),
                )
        if any(line.strip() for line in lines):
            yield _Entry(start, lines, closed=False)
