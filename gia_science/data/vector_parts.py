"""Finished parts of a file of embeddings: of each row a line of text, and the numbers of its vectors behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gia_science.data.parts import PartStore, damaged_part
from gia_science.data.record import Record
from gia_science.data.vectors import embedding_format
from gia_science.data.writer import refuse_nul
from gia_science.errors import TableError, Where
from gia_science.tokens.stream import FloatArray, IntArray

_DTYPE = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One row of an output of embeddings.

    Parameters
    ----------
    record : Record
        Line and id of the record that it was made from, and the cells of the columns of text.
    vectors : (d,) or (L, d) float32, or None
        The embedding of the row or those of its units; None where there is none.
    units : (L,) int64
        Place of each unit, counted from 1; empty where the embedding is that of the row.
    tokens : tuple of L str
        Letter or symbol of each unit.
    """

    record: Record
    vectors: FloatArray | None
    units: IntArray
    tokens: tuple[str, ...] = ()


def keep_vectors(
    parts: PartStore, rows: Iterable[VectorRow], *, size: int, target: str | Path
) -> Iterator[VectorRow]:
    """Keep rows as parts of `size` rows; when there are no more, all rows that are kept, in order.

    Memory holds one row at a time.

    Raises
    ------
    TableError
        When a cell holds what the output cannot hold, or a part is damaged.
    """
    where = Where(file=str(target))
    is_text = embedding_format(target) in ("csv", "tsv")
    iterator = iter(rows)
    for first in iterator:
        with parts.part() as stream:
            for row in chain([first], islice(iterator, size - 1)):
                if is_text:
                    refuse_nul(row.record.cells, where=where)
                _write(stream, row, where)
    for path in parts.paths():
        with path.open("rb") as stream:
            for line in stream:
                yield _read(line, stream, path, str(target))


def _write(stream: BinaryIO, row: VectorRow, where: Where) -> None:
    record = row.record
    shape = None if row.vectors is None else row.vectors.shape
    head = (record.line, record.id, record.cells, shape, row.units.tolist(), row.tokens)
    try:
        stream.write(json.dumps(head, ensure_ascii=False).encode() + b"\n")
    except UnicodeEncodeError as error:
        raise TableError("a cell cannot be written as UTF-8", got=error.reason, where=where) from error
    if row.vectors is not None:
        stream.write(row.vectors.astype(_DTYPE, copy=False).tobytes())


def _read(line: bytes, stream: BinaryIO, path: Path, file: str) -> VectorRow:
    try:
        number, name, cells, shape, units, tokens = json.loads(line)
    except ValueError as error:
        raise damaged_part(path) from error
    vectors = None
    if shape is not None:
        wanted = int(np.prod(shape)) * _DTYPE.itemsize
        content = stream.read(wanted)
        if len(content) < wanted:
            raise damaged_part(path)
        vectors = np.frombuffer(content, dtype=_DTYPE).reshape(shape)
    record = Record(file, number, name, tuple(cells))
    return VectorRow(record, vectors, np.array(units, dtype=np.int64), tuple(tokens))
