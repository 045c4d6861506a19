"""Embeddings out: one vector for each row, beside columns of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gia_science.data.parquet import pyarrow_module
from gia_science.data.record import cell_text, name_columns
from gia_science.data.writer import TableWriter, atomic_file, check_place, output_columns, output_format
from gia_science.errors import TableError
from gia_science.tokens.stream import FloatArray


def write_embeddings(
    target: str | Path, *, columns: Mapping[str, Sequence[str]], vectors: FloatArray
) -> None:
    """Write vectors and the rows they belong to; the file appears when it is whole.

    - ``.csv``, ``.tsv`` (also ``.gz``) and ``-``: after the columns of text ``e0``, ``e1``, ..., each number
      in the shortest form that reads back equal; empty where the vector is NaN.
    - ``.parquet``: after the columns of text one column ``embedding``, a list of d single-precision numbers;
      null where the vector is NaN.
    - ``.npz``: ``vectors`` (n, d), ``columns`` (the names), and the texts as ``text_0``, ``text_1``, ..., all
      plain arrays that `numpy.load` reads without pickle.

    Parameters
    ----------
    target : str or Path
        Where to write.
    columns : mapping of str to sequence of str
        Texts of each column, n each.
    vectors : (n, d) float32
        Rows of NaN for inputs that have none.

    Raises
    ------
    TableError
        When the suffix is not known or the place cannot be written to.
    """
    assert vectors.ndim == 2
    assert all(len(texts) == len(vectors) for texts in columns.values())
    suffix = Path(target).suffix.lower()
    if suffix == ".npz":
        _write_npz(target, columns, vectors)
    elif suffix in {".parquet", ".pq"}:
        _write_parquet(target, columns, vectors)
    else:
        _write_text(target, columns, vectors)


def check_embedding_target(target: str | Path) -> None:
    """Refuse a place where `write_embeddings` could not write, before there is anything to write.

    Raises
    ------
    TableError
        When the suffix is not known, the target is a folder, or its folder is missing.
    """
    if str(target) == "-":
        return
    if Path(target).suffix.lower() != ".npz":
        try:
            output_format(target)
        except TableError as error:
            error.expected = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet or .npz"
            raise
    check_place(target)


def _write_text(target: str | Path, columns: Mapping[str, Sequence[str]], vectors: FloatArray) -> None:
    header = output_columns(tuple(columns), [f"e{index}" for index in range(vectors.shape[1])])
    texts = zip(*columns.values(), strict=True) if columns else iter([()] * len(vectors))
    with TableWriter(target, header) as writer:
        for cells, vector in zip(texts, vectors, strict=True):
            writer.write_row([*cells, *map(cell_text, vector)])


def _write_parquet(target: str | Path, columns: Mapping[str, Sequence[str]], vectors: FloatArray) -> None:
    arrow, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
    missing = np.asarray(np.isnan(vectors).all(axis=1))
    numbers = arrow.array(np.where(missing[:, None], 0, vectors).astype(np.float32).ravel())
    embedding = arrow.FixedSizeListArray.from_arrays(numbers, vectors.shape[1], mask=arrow.array(missing))
    names = output_columns(tuple(columns), ["embedding"])
    texts = [arrow.array(list(column), type=arrow.string()) for column in columns.values()]
    table = arrow.table([*texts, embedding], names=list(name_columns(names, source=str(target))))
    with atomic_file(target) as stream:
        parquet.write_table(table, stream)


def _write_npz(target: str | Path, columns: Mapping[str, Sequence[str]], vectors: FloatArray) -> None:
    # Names of columns are data and the keys become names inside an archive: the keys are numbered instead.
    texts = {
        f"text_{index}": np.array(column, dtype=np.str_) for index, column in enumerate(columns.values())
    }
    names = np.array(list(columns), dtype=np.str_)
    with atomic_file(target) as stream:
        np.savez_compressed(stream, allow_pickle=False, columns=names, vectors=vectors, **texts)
