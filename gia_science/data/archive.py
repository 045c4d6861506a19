"""The text of a file that may be gzip, or of one member of a zip archive, of limited size."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

from gia_science.errors import TableError, Where

MAX_BYTES = 1 << 28
"""Most bytes that are unpacked from one file."""


def read_text(path: Path, *, member: str | None = None, limit: int = MAX_BYTES) -> str:
    """UTF-8 text of a file, in memory alone; a name that ends in ``.gz`` is unzipped.

    Parameters
    ----------
    path : Path
    member : str, optional
        Name of a member of the zip archive at `path`.
    limit : int
        Most bytes of content.

    Raises
    ------
    TableError
        When there is no such member, the file is damaged, encrypted, larger than `limit` or not UTF-8.
    """
    where = Where(file=str(path), record=member)
    try:
        content = _content(path, member, limit)
    except KeyError as error:
        raise TableError("no such member in the archive", where=where) from error
    except RuntimeError as error:
        # What zipfile raises for an encrypted member, and, as a subclass, for an unknown compression.
        raise TableError("the member cannot be unpacked", got=str(error), where=where) from error
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise TableError("the archive is damaged", got=str(error), where=where) from error
    if len(content) > limit:
        raise TableError("too large to be unpacked", got=f"more than {limit:,} bytes of content", where=where)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("not UTF-8 text", got=str(error), where=where) from error


def _content(path: Path, member: str | None, limit: int) -> bytes:
    """At most one byte more than the limit: what an archive says of its sizes is not believed."""
    if member is None and path.suffix == ".gz":
        with gzip.open(path) as unzipped:
            return unzipped.read(limit + 1)
    if member is None:
        with path.open("rb") as stream:
            return stream.read(limit + 1)
    with zipfile.ZipFile(path) as archive, archive.open(member) as inner:
        return inner.read(limit + 1)
