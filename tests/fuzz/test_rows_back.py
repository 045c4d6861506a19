"""No bytes make anything but a `GiaError`, or one output row for each record, in order, with its cells as they were."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gia_science.data.table import read_table
from gia_science.tokens.domain import DOMAINS

_SPEC = importlib.util.spec_from_file_location("strategies", Path(__file__).with_name("strategies.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
make = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make)

few = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
DOMAIN_OF = {"csv": "smiles", "tsv": "composition", "fasta": "protein", "smi": "smiles", "sdf": "smiles"}


@pytest.mark.parametrize("domain", DOMAINS)
@few
@given(made=make.delimited(header=("id", "smiles", "a note")))
def test_all_rows_that_a_program_writes_come_back_with_their_cells(rows_back, domain, made) -> None:
    content, rows = made
    assert rows_back.check_rows(domain, content, format=None) == rows


@pytest.mark.parametrize("format", list(make.FILES))
@pytest.mark.parametrize("named", [True, False], ids=["named", "recognised"])
@few
@given(data=st.data())
def test_damaged_files_lose_no_record(rows_back, format, named, data) -> None:
    content = data.draw(make.mutated(make.FILES[format]))
    rows_back.check_rows(DOMAIN_OF[format], content, format=format if named else None)


@pytest.mark.parametrize("format", [*make.FILES, None])
@few
@given(content=st.binary(max_size=100))
def test_any_bytes(rows_back, format, content) -> None:
    rows_back.check_rows(DOMAIN_OF.get(format, "smiles"), content, format=format)


@pytest.mark.parametrize("name", ["out.csv.gz", "out.tsv", "out.parquet"])
@settings(few, max_examples=15)
@given(made=make.delimited(header=("id", "smiles", "a note")))
def test_files_hold_what_was_written(rows_back, tmp_path_factory, name, made) -> None:
    content, rows = made
    folder = tmp_path_factory.mktemp("files")
    (folder / "in.csv").write_bytes(content)
    written = rows_back.write_predictions("smiles", folder / "in.csv", folder / name)
    assert [row[:3] for row in written] == rows
    again = read_table(folder / name)
    assert again.columns == ("id", "smiles", "a note", "y_pred", "status", "reason")
    # Numbers of a Parquet file are numbers.
    assert [_with_number(record.cells) for record in again.records] == [_with_number(row) for row in written]


def _with_number(cells: tuple[str, ...]) -> tuple[object, ...]:
    return (*cells[:3], float(cells[3]) if cells[3] else None, *cells[4:])
