"""The bytes of a file, a pipe or standard input, unzipped where their first bytes are those of gzip."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from gia_science.errors import TableError, Where

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES = 1 << 20
COMPRESSED_SUFFIXES = (".gz", ".bgz")
_BUFFER_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
# SAM specification v1, section 4.1.2: the empty block that ends every whole BGZF file.
_BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


class _Stream(io.RawIOBase):
    """Reads `prefix`, then `inner`; whatever fails below comes up as a `TableError` that names the source."""

    def __init__(
        self, inner: BinaryIO, *, name: str, prefix: bytes = b"", owned: tuple[BinaryIO, ...] = ()
    ) -> None:
        self._inner = inner
        self._name = name
        self._prefix = prefix
        self._owned = owned
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        chunk = self._prefix[: len(view)] if self._prefix else self._read(len(view))
        self._prefix = self._prefix[len(chunk) :]
        view[: len(chunk)] = chunk
        self._count += len(chunk)
        return len(chunk)

    def _read(self, size: int) -> bytes:
        where = Where(file=self._name)
        try:
            return self._inner.read(size)
        except EOFError as error:
            raise TableError(
                "the compressed file is cut off",
                got=f"its end after {self._count} bytes of content" if self._count else None,
                hint="copy or download it again",
                where=where,
            ) from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise TableError("the compressed file is damaged", got=str(error), where=where) from error
        except OSError as error:
            raise TableError(
                "the file cannot be read", got=error.strerror or str(error), where=where
            ) from error

    def close(self) -> None:
        if not self.closed:
            for stream in self._owned:
                stream.close()
        super().close()


class ByteSource:
    """The bytes of a file, a pipe or standard input.

    Parameters
    ----------
    source : str or Path
        Path of a file, or ``-`` for standard input.
    stdin : binary file, optional
        What stands for standard input; by default the process's own.

    Attributes
    ----------
    name : str
        Name for messages.
    head : bytes
        The first bytes after unzipping, at most `HEAD_BYTES`.
    plain_path : Path or None
        Path of a regular file that is not compressed.

    Raises
    ------
    TableError
        When the file is missing, a folder, not readable, or its head is cut off or damaged.
    """

    def __init__(self, source: str | Path, *, stdin: BinaryIO | None = None) -> None:
        self._path: Path | None = None
        self._rest: BinaryIO | None = None
        if str(source) == "-":
            self.name = "<stdin>"
            self._rest = _unzipped(stdin if stdin is not None else sys.stdin.buffer, self.name, owned=False)
        else:
            self.name = str(source)
            if not self.name:
                raise TableError("no file: its name is empty")
            stream = _unzipped(_opened(Path(source), self.name), self.name, owned=True)
            # A named pipe gives its bytes once: it is read on, not opened again.
            if Path(source).is_file():
                self._path = Path(source)
                with stream:
                    self.head = stream.read(HEAD_BYTES)
                self.plain_path = self._path if _is_plain(self._path, self.name) else None
                return
            self._rest = stream
        self.plain_path = None
        self.head = self._rest.read(HEAD_BYTES)

    @property
    def reopens(self) -> bool:
        """Whether the bytes can be read more than once: those of a regular file can."""
        return self._path is not None

    def open(self) -> BinaryIO:
        """All bytes from the start; the caller closes the stream.

        Raises
        ------
        TableError
            When the source is a pipe or standard input and was opened before.
        """
        if self._path is not None:
            return _unzipped(_opened(self._path, self.name), self.name, owned=True)
        if self._rest is None:
            raise TableError("a stream can be read only once", where=Where(file=self.name))
        rest, self._rest = self._rest, None
        return _buffered(_Stream(rest, name=self.name, prefix=self.head, owned=(rest,)))


def _opened(path: Path, name: str) -> BinaryIO:
    where = Where(file=name)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise TableError("no such file", where=where) from error
    except IsADirectoryError as error:
        raise TableError("a folder, not a file", where=where) from error
    except OSError as error:
        raise TableError(
            "the file cannot be opened", got=error.strerror or str(error), where=where
        ) from error
    except ValueError as error:
        raise TableError("not a file name", got=repr(name)) from error


def _unzipped(raw: BinaryIO, name: str, *, owned: bool) -> BinaryIO:
    below = (raw,) if owned else ()
    start = _Stream(raw, name=name)._read(len(_GZIP_MAGIC))
    whole = _buffered(_Stream(raw, name=name, prefix=start, owned=below))
    if start != _GZIP_MAGIC:
        return whole
    unzipped = cast(BinaryIO, gzip.GzipFile(fileobj=whole, mode="rb"))
    return _buffered(_Stream(unzipped, name=name, owned=(unzipped, whole)))


def _buffered(stream: _Stream) -> BinaryIO:
    return io.BufferedReader(stream, _BUFFER_BYTES)


def _is_plain(path: Path, name: str) -> bool:
    """Whether a regular file is not compressed; a BGZF file that lost its last blocks is an error."""
    with _opened(path, name) as stream:
        start = stream.read(16)
        if start[:2] != _GZIP_MAGIC:
            return True
        blocked = len(start) == 16 and start[3] & 4 and start[12:14] == b"BC"
        if blocked:
            # Cut between two blocks such a file is still valid gzip; only the end mark tells.
            stream.seek(-min(len(_BGZF_END), os.fstat(stream.fileno()).st_size), os.SEEK_END)
            if stream.read() != _BGZF_END:
                raise TableError(
                    "the compressed file is cut off",
                    got="no end mark of a block-compressed (bgz) file",
                    hint="copy or download it again",
                    where=Where(file=name),
                )
    return False
