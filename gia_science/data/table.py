"""One door for all tables: files, pipes, standard input, lists of texts and data frames."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, get_args

from gia_science.catalog import suggestion
from gia_science.data.cif import looks_like_cif, read_cif
from gia_science.data.compression import COMPRESSED_SUFFIXES, HEAD_BYTES, ByteSource
from gia_science.data.delimited import read_delimited
from gia_science.data.fasta import COLUMNS as FASTA_COLUMNS
from gia_science.data.fasta import looks_like_fasta, read_fasta
from gia_science.data.lines import refuse_binary
from gia_science.data.objects import READABLE, ObjectText, object_text
from gia_science.data.parquet import MAGIC, read_parquet
from gia_science.data.record import (
    Format,
    LoadedTable,
    Record,
    Table,
    cell_text,
    is_missing_value,
    name_columns,
)
from gia_science.data.sdf import looks_like_sdf, read_sdf
from gia_science.data.smi import read_smi
from gia_science.errors import TableError, UnreadableInputError, Where

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Format",
    "LoadedTable",
    "Record",
    "Table",
    "open_table",
    "read_table",
    "table_from_frame",
    "table_from_texts",
]

FILE_FORMATS: tuple[Format, ...] = tuple(name for name in get_args(Format) if name != "memory")
_FORMAT_OF_SUFFIX: dict[str, Format] = {
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fas", ".fsa"), "fasta"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".smi", ".smiles", ".ism"), "smi"),
    **dict.fromkeys((".sdf", ".sd", ".mol"), "sdf"),
    ".cif": "cif",
    ".csv": "csv",
}
_UNREAD_SUFFIXES = frozenset({".mol2", ".pdb", ".xyz", ".json", ".jsonl"})
_NAMES: dict[Format, str] = {
    "csv": "CSV",
    "tsv": "TSV",
    "fasta": "FASTA",
    "smi": "SMI",
    "sdf": "SDF",
    "cif": "CIF",
    "parquet": "Parquet",
}


def open_table(
    source: str | Path,
    *,
    format: str | None = None,
    header: bool = True,
    id_column: str | None = None,
    stdin: BinaryIO | None = None,
) -> Table:
    """Table of a file; its records are read while they are iterated, so that no file is too long.

    Files may be gzip, whatever their name. FASTA and Parquet are told by their content, SDF and CIF too unless
    the file is called ``.csv`` or ``.tsv``, CSV from TSV by the delimiter, and SMI by ``.smi``, ``.smiles`` or
    ``.ism``. No file stays open: each iteration over the records of a regular file opens it anew, a pipe or
    standard input can be iterated once.

    Parameters
    ----------
    source : str or Path
        Path of the file, ``-`` for standard input.
    format : {"csv", "tsv", "fasta", "smi", "sdf", "cif", "parquet"}, optional
        What the file must be; recognised by default.
    header : bool
        Whether the first row of a CSV or TSV file names the columns. Without, they are ``column_1``, ... In a
        SMI file, whether its first row may be a header.
    id_column : str, optional
        Column of the identifiers; by default the one called ``id``, in upper or lower case, and in SMI, SDF and
        CIF files the name.
    stdin : binary file, optional
        What stands for standard input; by default the process's own.

    Raises
    ------
    TableError
        When the file is missing, empty, cut off, not text in UTF-8, not of its format, or its header is not
        valid; what lies behind the first part of the file is found while iterating.
    """
    if format is not None and format not in FILE_FORMATS:
        raise TableError(
            "no such table format",
            got=repr(format),
            expected=f"one of {', '.join(FILE_FORMATS)}",
            hint=suggestion(format, FILE_FORMATS),
        )
    content = ByteSource(source, stdin=stdin)
    chosen = _format(content, format)
    if chosen == "parquet":
        return read_parquet(content, id_column=id_column)
    refuse_binary(content.head, source=content.name)
    text = content.head.removeprefix(codecs.BOM_UTF8)
    if not text.strip() and len(content.head) < HEAD_BYTES:
        raise TableError("the file is empty", where=Where(file=content.name))
    table = _read_text(content, chosen, header=header, id_column=id_column)
    if text is content.head:
        return table
    notes = ("byte-order mark skipped", *table.notes)
    return Table(table.columns, table.records, table.source, table.format, table.header, notes)


def _read_text(content: ByteSource, chosen: Format, *, header: bool, id_column: str | None) -> Table:
    if chosen == "fasta":
        return read_fasta(content)
    if chosen == "smi":
        return read_smi(content, header=header, id_column=id_column)
    if chosen == "sdf":
        return read_sdf(content, id_column=id_column)
    if chosen == "cif":
        return read_cif(content, id_column=id_column)
    return read_delimited(content, header=header, tabs=chosen == "tsv", id_column=id_column)


def _format(content: ByteSource, wanted: str | None) -> Format:
    where = Where(file=content.name)
    if wanted is not None:
        chosen = next(name for name in FILE_FORMATS if name == wanted)
        found = _format_of_content(content.head) if chosen in ("csv", "tsv") else None
        if found in ("parquet", "fasta"):
            raise TableError(f"not {_NAMES[chosen]}", got=f"a {_NAMES[found]} file", where=where)
        return chosen
    path = Path(content.name.lower())
    suffix = path.with_suffix("").suffix if path.suffix in COMPRESSED_SUFFIXES else path.suffix
    named = _FORMAT_OF_SUFFIX.get(suffix)
    found = _format_of_content(content.head)
    # Cells of a CSV file can hold whole molfiles.
    if found in ("parquet", "fasta") or (found is not None and named not in ("csv", "tsv")):
        return found
    if suffix in _UNREAD_SUFFIXES:
        *names, last = _NAMES.values()
        raise TableError(
            f"files of type {suffix} are not read",
            expected=f"{', '.join(names)} or {last}",
            hint="export it as CSV, and call it .csv",
            where=where,
        )
    return named or "csv"


def _format_of_content(head: bytes) -> Format | None:
    if head.startswith(MAGIC):
        return "parquet"
    if looks_like_sdf(head):
        return "sdf"
    if looks_like_cif(head):
        return "cif"
    return "fasta" if looks_like_fasta(head) else None


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    header: bool = True,
    id_column: str | None = None,
    stdin: BinaryIO | None = None,
) -> LoadedTable:
    """`open_table` with all records in memory, so that every error of the file has been raised."""
    return load_records(open_table(source, format=format, header=header, id_column=id_column, stdin=stdin))


def load_records(table: Table) -> LoadedTable:
    """The table with all its records in memory, so that they can be iterated again."""
    if isinstance(table, LoadedTable):
        return table
    return LoadedTable(
        table.columns, tuple(table.records), table.source, table.format, table.header, table.notes
    )


def table_from_texts(texts: Iterable[object], *, column: str) -> LoadedTable:
    """Table of one column from a list, tuple, array, Series or generator; a missing value is an empty cell.

    An item that is no input, such as a number, comes back with its problem.

    Parameters
    ----------
    texts : iterable
        Texts, RDKit molecules, Biopython sequences, pymatgen compositions or structures. Biopython records give
        the columns of a FASTA file instead: ``id``, ``description`` and ``sequence``.
    column : str
        Name of the column.

    Raises
    ------
    TableError
        When `texts` is a single text.
    """
    if isinstance(texts, str | bytes):
        raise TableError("a single text", expected="a list of texts", hint=f"write [{texts!r:.40}]")
    source = "<list>"
    found = [_input_text(value) for value in texts]
    columns = FASTA_COLUMNS if any(entry.is_record for entry in found) else (column,)
    records = tuple(
        Record(
            source,
            position,
            entry.id or None,
            (entry.text,) if len(columns) == 1 else (entry.id, entry.description, entry.text),
            entry.problem,
        )
        for position, entry in enumerate(found, start=1)
    )
    return LoadedTable(columns, records, source, "memory", columns)


def _input_text(value: object) -> ObjectText:
    if isinstance(value, str):
        return ObjectText(str(value))
    if is_missing_value(value):
        return ObjectText("")
    known = object_text(value)
    if known is not None:
        return known
    shown = f"{type(value).__name__} {value!r:.40}"
    return ObjectText("", problem=UnreadableInputError("not an input", got=shown, expected=READABLE).reason)


def table_from_frame(frame: pd.DataFrame) -> LoadedTable:
    """Table of a pandas data frame: values as text, labels of the index as the records' ids.

    Molecules, sequences, compositions and structures are written as in `table_from_texts`. Floats are written
    in the shortest form that reads back equal; None, NaN, NA and NaT are empty cells.

    Raises
    ------
    TableError
        When a column name stands twice or no column has a name.
    """
    source = "<data frame>"
    header = tuple(map(str, frame.columns))
    columns = name_columns(header, source=source)
    # Single precision keeps its own short digits only as long as it is not made a Python float.
    values = (frame.iloc[:, index].array for index in range(len(columns)))
    texts = [[cell_text(value) for value in column] for column in values]
    records = tuple(
        Record(source, row, str(label), cells)
        for row, (label, cells) in enumerate(zip(frame.index, zip(*texts, strict=True), strict=True), start=2)
    )
    return LoadedTable(columns, records, source, "memory", header)
