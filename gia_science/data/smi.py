"""SMILES files: a SMILES on each line, and its name after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gia_science.data.compression import ByteSource
from gia_science.data.lines import text_lines
from gia_science.data.record import Record, Table, id_position
from gia_science.errors import TableError, Where
from gia_science.tokens.domain import DOMAINS

COLUMNS = ("smiles", "name")


def read_smi(source: ByteSource, *, header: bool = True, id_column: str | None = None) -> Table:
    """Table of a SMILES file with the columns ``smiles`` and ``name``.

    The SMILES ends at the first blank or tab, the rest of the line is the name. A CXSMILES extension
    (``|...|`` after a blank) belongs to the SMILES. As in RDKit, blank lines and lines that begin with ``#`` are
    skipped, and a line that begins with a blank or tab has an empty SMILES, which comes back as such.

    The first line is a header when its first word is a usual name of a column of SMILES, or holds ``smi`` in
    upper or lower case, which no SMILES does. Any other word is a record, readable or not.

    Parameters
    ----------
    source : ByteSource
    header : bool
        Whether there may be a header; without, the first line is a record, whatever it holds.
    id_column : str, optional
        Column of the identifiers; the name by default.

    Raises
    ------
    TableError
        When a header is that of a file with commas, the text is not UTF-8, or, while iterated, there is no record.
    """
    position = id_position(COLUMNS, id_column, source=source.name)
    records = _SmiRecords(source, header, 1 if position is None else position)
    return Table(COLUMNS, records, source.name, "smi", COLUMNS)


@dataclass(frozen=True, slots=True)
class _SmiRecords:
    source: ByteSource
    header: bool
    id_position: int

    def __iter__(self) -> Iterator[Record]:
        name = self.source.name
        first = True
        with self.source.open() as stream:
            for number, line in enumerate(text_lines(stream, source=name), start=1):
                text = line.rstrip()
                if not text or text.startswith("#"):
                    continue
                cells = split_smiles(text)
                if not (first and self.header and _is_header(cells[0], file=name, line=number)):
                    yield Record(name, number, cells[self.id_position] or None, cells)
                first = False
        if first:
            raise TableError("no SMILES in the file", got="comments only", where=Where(file=name))


def split_smiles(text: str) -> tuple[str, str]:
    """SMILES, with its CXSMILES extension where it has one, and name."""
    if text[:1].isspace():
        return "", text.strip()
    smiles, *rest = text.split(maxsplit=1)
    name = rest[0] if rest else ""
    if name.startswith("|") and "|" in name[1:]:
        end = name.index("|", 1) + 1
        return f"{smiles} {name[:end]}", name[end:].strip()
    return smiles, name


def _is_header(smiles: str, *, file: str, line: int) -> bool:
    # An extension behind a SMILES may hold any text.
    word = smiles.partition(" ")[0]
    known = word.lower()
    if "smi" not in known and known not in DOMAINS["smiles"].columns:
        return False
    if any(mark in word for mark in ",;"):
        raise TableError(
            "not a SMILES file",
            got=f"the header {word[:80]!r}",
            expected="SMILES and name, with a blank or tab between them",
            hint="a file with commas is read under the name .csv, or with the format csv",
            where=Where(file=file, line=line),
        )
    return True
