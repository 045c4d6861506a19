"""FASTA, one record at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gia_science.data.compression import ByteSource
from gia_science.data.lines import text_lines
from gia_science.data.record import Record, Table
from gia_science.errors import TableError, Where

COLUMNS = ("id", "description", "sequence")


def read_fasta(source: ByteSource, *, notes: tuple[str, ...] = ()) -> Table:
    """Table of a FASTA file with the columns ``id``, ``description`` (rest of the header) and ``sequence``.

    Lines of a sequence are joined without the white space around them; case is kept. Blank lines and lines
    that begin with ``;`` are skipped. Identifiers may repeat. A record without a name or without a sequence
    comes back with its problem.

    Raises
    ------
    TableError
        While iterated, with the line, when other text stands before the first ``>`` or there is no record.
    """
    return Table(COLUMNS, _FastaRecords(source), source.name, "fasta", COLUMNS, notes)


def looks_like_fasta(head: bytes) -> bool:
    """Whether the first line that is neither blank nor a ``;`` comment begins with ``>``."""
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        text = line.lstrip()
        if text and not text.startswith(b";"):
            return text.startswith(b">")
    return False


@dataclass(frozen=True, slots=True)
class _FastaRecords:
    source: ByteSource

    def __iter__(self) -> Iterator[Record]:
        with self.source.open() as stream:
            yield from fasta_records(text_lines(stream, source=self.source.name), self.source.name)


def fasta_records(lines: Iterator[str], name: str) -> Iterator[Record]:
    """Records of the lines of a FASTA file, as `read_fasta` gives them; `name` is the file in messages."""
    header: str | None = None
    start, parts = 0, list[str]()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.startswith(">"):
            if header is not None:
                yield _record(name, start, header, parts)
            header, start, parts = text[1:], number, []
        elif text and not text.startswith(";"):
            if header is None:
                raise TableError(
                    "not FASTA: text before the first '>'",
                    got=repr(text if len(text) <= 40 else text[:40] + "..."),
                    expected="a header line that begins with '>'",
                    where=Where(file=name, line=number),
                )
            parts.append(text)
    if header is None:
        raise TableError("not FASTA: no line begins with '>'", where=Where(file=name))
    yield _record(name, start, header, parts)


def _record(name: str, line: int, header: str, parts: list[str]) -> Record:
    words = header.split(maxsplit=1)
    sequence = "".join(parts)
    problems = [] if words else ["record without a name"]
    if not sequence:
        problems.append("empty sequence")
    word = words[0] if words else ""
    description = words[1].rstrip() if len(words) > 1 else ""
    return Record(name, line, word or None, (word, description, sequence), "; ".join(problems) or None)
