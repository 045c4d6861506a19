"""From bytes to lines of text: UTF-8 alone; other encodings and binary files are refused by name and line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from gia_science.errors import TableError, Where

MAX_LINE_BYTES = 1 << 24
_CHUNK_BYTES = 1 << 16
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_BINARY_FILES = {
    b"PK\x03\x04": "a ZIP archive or Excel workbook",
    b"BZh91AY": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"(\xb5/\xfd": "Zstandard data",
    b"\x1f\x8b": "gzip data inside gzip data",
    b"\x89HDF": "an HDF5 file",
    b"%PDF-": "a PDF",
    b"\x89PNG": "a picture",
}
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
# An Excel workbook is a ZIP archive that holds files of these names.
_WORKBOOK = re.compile(rb"PK\x03\x04.*xl/(?:workbook|worksheets|styles|sharedStrings|_rels)", re.DOTALL)
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[\s\[{]*[\[{]\s*\"")
# A page that asks for a login is easily saved under the name of the file behind it.
_WEB_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|\?xml)\b", re.IGNORECASE)
_SAVE_AS = "save it as UTF-8 text"


def text_lines(stream: BinaryIO, *, source: str) -> Iterator[str]:
    """Lines with their ends (LF, CRLF or CR) as they are; a byte-order mark at the start is left out.

    Parameters
    ----------
    stream : binary file
        Read in chunks and left open.
    source : str
        Name for messages.

    Raises
    ------
    TableError
        With the line, where the text is not UTF-8, holds a NUL character, or a line has no end in sight.
    """
    number, rest = 0, b""
    while chunk := stream.read(_CHUNK_BYTES):
        # The last piece may go on in the next chunk, be it only the LF of a CRLF.
        *pieces, rest = (rest + chunk).splitlines(keepends=True)
        for piece in pieces:
            number += 1
            yield _decoded(piece, source, number)
        if len(rest) > MAX_LINE_BYTES:
            raise TableError(
                "not a table",
                got=f"a line of more than {MAX_LINE_BYTES} bytes",
                where=Where(file=source, line=number + 1),
            )
    if rest:
        yield _decoded(rest, source, number + 1)


def _decoded(raw: bytes, source: str, number: int) -> str:
    where = Where(file=source, line=number)
    if b"\0" in raw:
        raise TableError("not a text file", got="a NUL character", hint=_SAVE_AS, where=where)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TableError(
            "not UTF-8 text",
            got=f"byte 0x{raw[error.start]:02X} at byte {error.start + 1} of the line, "
            "as in Latin-1 or Windows-1252",
            hint=_SAVE_AS,
            where=where,
        ) from error
    return text.lstrip("\ufeff") if number == 1 else text


def refuse_binary(head: bytes, *, source: str) -> None:
    """Raise `TableError`, naming what it is, when the first bytes of a file are not those of UTF-8 text."""
    where = Where(file=source)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise TableError(
                f"{encoding} text, not UTF-8", got="its byte-order mark at byte 1", hint=_SAVE_AS, where=where
            )
    if head.startswith(_OLD_WORKBOOK) or _WORKBOOK.match(head):
        raise TableError("not a text file", got="an Excel workbook", hint="save it as CSV", where=where)
    for magic, kind in _BINARY_FILES.items():
        if head.startswith(magic):
            raise TableError("not a text file", got=kind, hint="export it as CSV", where=where)
    if _WEB_PAGE.match(head):
        raise TableError(
            "not a table", got="a web page (HTML or XML)", hint="download the file itself", where=where
        )
    if _JSON.match(head):
        raise TableError("not a table", got="JSON", hint="save it as CSV", where=where)
    if b"\0" not in head:
        return
    first = head.index(b"\0")
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 4 and min(even, odd) == 0:
        raise TableError("UTF-16 text, not UTF-8", got=f"NUL at byte {first + 1}", hint=_SAVE_AS, where=where)
    line = len(head[:first].splitlines()) or 1
    raise TableError("not a text file", got=f"NUL at byte {first + 1}", where=Where(file=source, line=line))


def whole_lines(head: bytes, *, complete: bool, source: str) -> bytes:
    """The whole lines at the start of a file; all of `head` where it is the `complete` file.

    Raises
    ------
    TableError
        When not even the first line ends within `head`.
    """
    if complete:
        return head
    end = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
    if end == 0:
        raise TableError(
            "not a table",
            got=f"a first line of more than {len(head)} bytes",
            where=Where(file=source, line=1),
        )
    return head[:end]
