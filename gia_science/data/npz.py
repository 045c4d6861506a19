"""NPZ archives whose arrays grow row by row, with memory for a few rows only."""

from __future__ import annotations

import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, Self

import numpy as np
import numpy.typing as npt

_BLOCK = 2**18
_LENGTH = struct.Struct("<I")


class NpzWriter:
    """Writes arrays that `numpy.load` reads without pickle, as a context manager.

    Their lengths, which stand before the numbers in an archive, are known at the end only: until then the rows lie in
    a temporary file, as large as the arrays. Equal arrays give equal bytes.

    Parameters
    ----------
    stream : binary file
        Where the archive is written, at the end.
    folder : Path, optional
        Where the temporary file lies, nameless where the system can; by default in the system's folder for such.
    """

    def __init__(self, stream: BinaryIO, *, folder: Path | None = None) -> None:
        self._stream = stream
        self._folder = folder
        self._arrays: dict[str, _Rows] = {}

    def __enter__(self) -> Self:
        self._spool = tempfile.TemporaryFile(dir=self._folder)
        return self

    def numbers(self, name: str, *, dtype: npt.DTypeLike, width: int | None = None) -> NumberRows:
        """A new array of numbers ``(n,)``, or ``(n, width)``."""
        made = NumberRows(_Blocks(self._spool), np.dtype(dtype).newbyteorder("<"), width)
        self._arrays[name] = made
        return made

    def texts(self, name: str) -> TextRows:
        """A new array of texts ``(n,)``."""
        made = TextRows(_Blocks(self._spool))
        self._arrays[name] = made
        return made

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        with self._spool:
            if kind is None:
                self._write()

    def _write(self) -> None:
        with zipfile.ZipFile(self._stream, "w") as archive:
            for name, array in self._arrays.items():
                # Made from a name alone an entry has the earliest time that there is, not the present one.
                entry = zipfile.ZipInfo(f"{name}.npy")
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w", force_zip64=True) as file:
                    np.lib.format.write_array_header_1_0(file, array.header())
                    for chunk in array.chunks():
                        file.write(chunk)


class _Rows(Protocol):
    def header(self) -> dict[str, Any]: ...
    def chunks(self) -> Iterator[bytes]: ...


class _Blocks:
    """Bytes of one array, in blocks of a file that it shares with others."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._open = bytearray()
        self._places: list[tuple[int, int]] = []

    def write(self, content: bytes) -> None:
        """Append some bytes, which stay in one block."""
        self._open += content
        if len(self._open) >= _BLOCK:
            self._places.append((self._file.seek(0, os.SEEK_END), len(self._open)))
            self._file.write(self._open)
            self._open.clear()

    def __iter__(self) -> Iterator[bytes]:
        for place, length in self._places:
            self._file.seek(place)
            yield self._file.read(length)
        yield bytes(self._open)


class NumberRows:
    """Numbers of an array that grows; `NpzWriter.numbers` makes one."""

    def __init__(self, blocks: _Blocks, dtype: np.dtype[Any], width: int | None) -> None:
        self._blocks = blocks
        self._dtype = dtype
        self._width = width
        self._rows = 0

    def append(self, rows: npt.ArrayLike) -> None:
        """Append ``(k,)`` or ``(k, width)`` numbers."""
        array = np.asarray(rows, dtype=self._dtype)
        assert array.shape[1:] == (() if self._width is None else (self._width,))
        self._blocks.write(array.tobytes())
        self._rows += len(array)

    def header(self) -> dict[str, Any]:
        """What stands at the head of an ``.npy`` file."""
        shape = (self._rows,) if self._width is None else (self._rows, self._width)
        return {"descr": self._dtype.str, "fortran_order": False, "shape": shape}

    def chunks(self) -> Iterator[bytes]:
        """Bytes of the rows."""
        yield from self._blocks


class TextRows:
    """Texts of an array that grows; `NpzWriter.texts` makes one."""

    def __init__(self, blocks: _Blocks) -> None:
        self._blocks = blocks
        self._rows = 0
        self._longest = 1

    def append(self, text: str) -> None:
        """Append one text."""
        encoded = text.encode("utf-32-le", "surrogatepass")
        self._blocks.write(_LENGTH.pack(len(encoded)) + encoded)
        self._rows += 1
        self._longest = max(self._longest, len(text))

    def header(self) -> dict[str, Any]:
        """What stands at the head of an ``.npy`` file: NumPy's texts have one length, that of the longest."""
        return {"descr": f"<U{self._longest}", "fortran_order": False, "shape": (self._rows,)}

    def chunks(self) -> Iterator[bytes]:
        """Bytes of the texts, filled up with zeros to the longest."""
        for block in self._blocks:
            place = 0
            while place < len(block):
                (length,) = _LENGTH.unpack_from(block, place)
                place += _LENGTH.size + length
                yield block[place - length : place].ljust(4 * self._longest, b"\0")
