"""Rows of downloaded files, put together and completed as a dataset card says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gia_science.data.archive import read_text
from gia_science.data.card_remote import RemoteFile, RemoteSource, RemoteTable
from gia_science.data.derive import derive
from gia_science.data.download import fetch
from gia_science.data.fasta import fasta_records
from gia_science.errors import TableError, Where


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells by column, and the line on which each row starts."""

    cells: Mapping[str, Sequence[str]]
    lines: Sequence[int]

    def rows(self, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Line and cells of each row, of the named columns."""
        return zip(self.lines, zip(*(self.cells[name] for name in names), strict=True), strict=True)


def remote_columns(source: RemoteSource, *, dataset: str) -> tuple[Columns, Path]:
    """All columns of a source, read and worked out, and the path of its first file.

    Lines are those of the first table; where tables are stacked, they count the rows from 1.

    Raises
    ------
    TableError
        When a file cannot be had or is not as the card says.
    """
    paths = [fetch(file, dataset=dataset) for file in source.files]
    tables = [
        _read(table, file, path)
        for file, path in zip(source.files, paths, strict=True)
        for table in file.tables
    ]
    whole = _joined(tables, dataset) if source.combine == "join" else _stacked(tables)
    cells = dict(whole.cells)
    for step in source.derive:
        try:
            cells[step.column] = derive(step, cells, rows=len(whole.lines))
        except TableError as error:
            error.where = Where(file=dataset, column=step.column)
            raise
    return Columns(cells, whole.lines), paths[0]


def _read(table: RemoteTable, file: RemoteFile, path: Path) -> Columns:
    name = file.name if table.member is None else f"{file.name}, {table.member}"
    text = read_text(path, member=table.member)
    if table.format in ("csv", "tsv"):
        found = _delimited(text, "\t" if table.format == "tsv" else ",", name)
    else:
        found = _fasta(text, name, flip=table.format == "flip-fasta")
    for column in table.columns.values():
        if column not in found.cells:
            raise TableError(
                f"no column {column!r}", hint=f"there are: {', '.join(found.cells)}", where=Where(file=name)
            )
    cells = {new: [cell.strip() for cell in found.cells[old]] for new, old in table.columns.items()}
    constant = {column: [value] * len(found.lines) for column, value in table.values.items()}
    return Columns(cells | constant, found.lines)


def _delimited(text: str, delimiter: str, name: str) -> Columns:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header = next(reader, [])
    lines, rows = [], []
    start = reader.line_num + 1
    for cells in reader:
        if cells and len(cells) != len(header):
            raise TableError(
                f"{len(cells)} cells where the header has {len(header)}", where=Where(file=name, line=start)
            )
        if cells:
            lines.append(start)
            rows.append(cells)
        start = reader.line_num + 1
    return Columns({column: [row[place] for row in rows] for place, column in enumerate(header)}, lines)


def _fasta(text: str, name: str, *, flip: bool) -> Columns:
    records = list(fasta_records(iter(io.StringIO(text)), name))
    bad = next((record for record in records if record.problem is not None), None)
    if bad is not None:
        raise TableError(str(bad.problem), where=bad.where)
    cells: dict[str, list[str]] = {
        column: [record.cells[place] for record in records]
        for place, column in enumerate(("id", "description", "sequence"))
    }
    if flip:
        cells |= _header_fields(cells["description"], name)
    return Columns(cells, [record.line for record in records])


def _header_fields(headers: Sequence[str], name: str) -> dict[str, list[str]]:
    """Fields ``KEY=value`` of FLIP's headers as columns, and the split they make."""
    found = [dict(word.split("=", 1) for word in header.split() if "=" in word) for header in headers]
    keys = dict.fromkeys(key for fields in found for key in fields)
    cells = {key.lower(): [fields.get(key, "") for fields in found] for key in keys}
    if "set" in cells:
        flags = cells.get("validation", [""] * len(found))
        cells["split"] = [
            "validation" if flag.lower() == "true" else {"val": "validation"}.get(part.lower(), part.lower())
            for part, flag in zip(cells["set"], flags, strict=True)
        ]
        odd = next((part for part in cells["split"] if part not in ("train", "validation", "test")), None)
        if odd is not None:
            raise TableError("not a part of FLIP's splits", got=repr(odd), where=Where(file=name))
    return cells


def _stacked(tables: Sequence[Columns]) -> Columns:
    if len(tables) == 1:
        return tables[0]
    cells = {column: [cell for table in tables for cell in table.cells[column]] for column in tables[0].cells}
    return Columns(cells, range(1, sum(len(table.lines) for table in tables) + 1))


def _joined(tables: Sequence[Columns], dataset: str) -> Columns:
    first, *others = tables
    cells = dict(first.cells)
    for table in others:
        row_of = {name: row for row, name in enumerate(table.cells["id"])}
        if len(row_of) < len(table.lines) or set(row_of) != set(first.cells["id"]):
            raise TableError("the tables of this dataset hold different ids", where=Where(file=dataset))
        order = [row_of[name] for name in first.cells["id"]]
        cells |= {
            column: [column_cells[row] for row in order]
            for column, column_cells in table.cells.items()
            if column != "id"
        }
    return Columns(cells, first.lines)
