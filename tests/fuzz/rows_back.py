"""The property that is fuzzed: of any bytes, every record comes back as one row, or a `GiaError` says why not."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from gia_science.data.record import Table
from gia_science.data.table import open_table, read_table
from gia_science.data.writer import TableWriter, output_columns
from gia_science.errors import GiaError, TableError
from gia_science.prediction.columns import numeric_columns, prediction_cells, prediction_columns
from gia_science.prediction.model import Model
from gia_science.tokens.domain import DOMAINS

KINDS: tuple[tuple[str, str | None], ...] = (
    ("smiles", "csv"),
    ("protein", "fasta"),
    ("composition", "csv"),
    ("smiles", "smi"),
    ("smiles", "sdf"),
    ("smiles", "tsv"),
    ("protein", "csv"),
    ("smiles", None),
)
"""Domains with formats; None is whatever the content looks like."""
_INPUTS = ("sequence", "smiles", "formula")
_NUMBER = re.compile(r"\s*[-+\d.,eE]+\s*")
_LINE_END = re.compile("\r\n|\n|\r")


@cache
def model_of(domain: str) -> Model:
    """An untrained network of one small layer; that of proteins labels each residue."""
    path = Path(__file__).parents[1] / "model" / "conftest.py"
    spec = importlib.util.spec_from_file_location("untrained_networks", path)
    assert spec is not None
    assert spec.loader is not None
    networks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(networks)
    options: dict[str, Any] = {"providers": (), "layers": 1}
    if domain == "protein":
        options |= {"kind": "per_token", "labels": ("C", "E", "H")}
    return Model(networks.make_saved(domain, **options))


def check_rows(domain: str, content: bytes, *, format: str | None) -> list[tuple[str, ...]] | None:
    """Predict every record of some bytes, write the rows, read them again, and assert that all are there.

    Returns
    -------
    list of tuple of str, or None
        Cells of the input as they were read; None where the bytes are refused.
    """
    try:
        table = read_table("-", stdin=io.BytesIO(content), format=format)
    except GiaError as error:
        _check_message(error)
        return None
    rows, names = _predicted(model_of(domain), open_table("-", stdin=io.BytesIO(content), format=format))
    assert len(rows) == len(table)
    for record, row in zip(table.records, rows, strict=True):
        assert row[: len(record.cells)] == record.cells
        _check_prediction(record.problem, row[len(record.cells) :], domain=domain)
    expected = _count(content, table)
    assert len(rows) == expected, (len(rows), expected)
    _check_read_again(rows, names)
    return [record.cells for record in table.records]


def _predicted(model: Model, table: Table) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Rows and names of columns as ``gia predict`` writes them; a table that could be read is never refused."""
    column = next((name for name in _INPUTS if name in table.columns), table.columns[0])
    cells = prediction_cells(model.targets, members=model.members)
    outcomes = model.outcomes(table, input=column)
    rows = [(*outcome.record.cells, *cells(outcome)) for outcome in outcomes]
    return rows, output_columns(table.header, prediction_columns(model.targets, members=model.members))


def _check_message(error: GiaError) -> None:
    message = str(error)
    assert message
    assert len(message.splitlines()) == 1, message
    assert len(message) < 4000


def _check_prediction(problem: str | None, added: Sequence[str], *, domain: str) -> None:
    *predicted, status, reason = added
    assert status in ("ok", "error")
    if status == "error":
        assert reason
        assert not any(predicted)
    else:
        assert problem is None
        assert all(predicted)
        assert domain == "protein" or all(math.isfinite(float(cell)) for cell in predicted)


def _check_read_again(rows: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """What is written is read by Python's csv and by our own reader as what it was."""
    written = io.BytesIO()
    with TableWriter("-", names, stdout=written) as writer:
        for row in rows:
            writer.write_row(row)
    text = written.getvalue().decode()
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))] == [tuple(names), *rows]
    try:
        again = read_table("-", stdin=io.BytesIO(written.getvalue()), format="csv")
    except TableError as error:
        # A field of an SDF file may be called 1; above a column of numbers that is taken for data, and told.
        if error.what == "the first row looks like data" and any(map(_NUMBER.fullmatch, names)):
            return
        raise
    assert again.header == tuple(names)
    assert [record.cells for record in again.records] == rows
    assert not any(record.problem for record in again.records)


def write_predictions(domain: str, path: Path, out: Path) -> list[tuple[str, ...]]:
    """Rows that were written to a file, so that they can be compared with what it holds."""
    model = model_of(domain)
    rows, names = _predicted(model, open_table(path))
    added = zip(
        names[-len(prediction_columns(model.targets, members=model.members)) :],
        numeric_columns(model.targets, members=model.members),
        strict=True,
    )
    with TableWriter(out, names, numbers=[name for name, numeric in added if numeric]) as writer:
        for row in rows:
            writer.write_row(row)
    return rows


def _count(content: bytes, table: Table) -> int:
    """Number of records, counted without our readers."""
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    text = plain.decode("utf-8").lstrip("\ufeff")
    lines = _LINE_END.split(text)
    if table.format == "fasta":
        return sum(line.strip().startswith(">") for line in lines)
    if table.format == "smi":
        told = [line for line in lines if line.strip() and not line.rstrip().startswith("#")]
        return len(told) - (told[0][:1].strip() != "" and _names_smiles(told[0].split()[0]))
    if table.format == "sdf":
        ends = [index for index, line in enumerate(lines) if line.startswith("$$$$")]
        rest = lines[ends[-1] + 1 :] if ends else lines
        return len(ends) + any(line.strip() for line in rest)
    if table.format == "cif":
        # Every other line that begins with a semicolon ends a text, in which nothing counts.
        texts = accumulate(line.startswith(";") for line in lines)
        return sum(
            line.lower().lstrip().startswith("data_") and semicolons % 2 == 0
            for line, semicolons in zip(lines, texts, strict=True)
        )
    assert table.format in ("csv", "tsv"), table.format
    return _count_delimited(text, table)


def _names_smiles(word: str) -> bool:
    return "smi" in word.lower() or word.lower() in DOMAINS["smiles"].columns


def _count_delimited(text: str, table: Table) -> int:
    notes = " ".join(table.notes)
    named = re.search(r"delimiter (tab|'.') recognised", notes)
    usual = "\t" if table.format == "tsv" else ","
    delimiter = usual if named is None or named[1] == "tab" else named[1][1]
    comments = re.search(r"(\d+) comment line", notes)
    rows = list(_csv_rows(text, delimiter))
    filled = [index for index, row in enumerate(rows) if any(cell.strip() for cell in row) or len(row) > 1]
    skip = 1 + (int(comments[1]) if comments is not None else 0)
    if len(table.columns) > 1:
        return len(filled) - skip
    # In a file of one column a blank line is an empty cell, unless nothing but blank lines follow.
    header = filled[skip - 1]
    last = max(index for index, row in enumerate(rows) if row)
    return last - header


def _csv_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        # A row that is not sound is a row.
        except csv.Error:
            yield ["?", "?"]
