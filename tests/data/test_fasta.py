"""FASTA: every record comes back with its line; line ends, comments and marks are not residues."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.fasta import looks_like_fasta
from gia_science.data.record import LoadedTable
from gia_science.data.table import read_table
from gia_science.errors import TableError


def read(text: str | bytes, *, format: str | None = None) -> LoadedTable:
    content = text if isinstance(text, bytes) else text.encode()
    return read_table("-", stdin=io.BytesIO(content), format=format)


def test_lines_of_a_sequence_are_joined_and_case_is_kept() -> None:
    table = read(">a first one \nMKT\nayi\n\n>b\nGG\n")
    assert table.format == "fasta"
    assert table.columns == ("id", "description", "sequence")
    assert [record.cells for record in table.records] == [("a", "first one", "MKTayi"), ("b", "", "GG")]
    assert [(record.line, record.id) for record in table.records] == [(1, "a"), (5, "b")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_are_not_residues(end: str, mark: str) -> None:
    table = read(mark + end.join([">a", "MKT", "AYI", ">b", "GG", ""]))
    assert table.column("sequence") == ["MKTAYI", "GG"]
    assert [record.line for record in table.records] == [1, 4]


def test_comment_lines_are_skipped_and_other_text_before_the_first_header_is_an_error() -> None:
    table = read(";note\n\n>a\n;more\nMK\n")
    assert [(record.line, record.cells[2]) for record in table.records] == [(3, "MK")]
    with pytest.raises(TableError, match="line 2: not FASTA: text before the first '>': got 'MKT'"):
        read(";note\nMKT\n>a\nMK\n", format="fasta")


def test_records_without_name_or_sequence_come_back_with_their_problem() -> None:
    table = read(">\nMK\n>a\n>b\nMK\n>  \n")
    assert [record.problem for record in table.records] == [
        "record without a name",
        "empty sequence",
        None,
        "record without a name; empty sequence",
    ]
    assert [record.id for record in table.records] == [None, "a", "b", None]


def test_the_id_is_the_first_word_however_long_the_header() -> None:
    header = "sp|Q99966|CITE1 Cbp/p300 ../../etc " + "x" * 5000
    record = read(f">{header}\nMK\n").records[0]
    assert (record.id, record.cells[1]) == ("sp|Q99966|CITE1", header.split(maxsplit=1)[1])


def test_double_ids_stay_two_records() -> None:
    assert read(">a\nMK\n>a\nAA\n").column("sequence") == ["MK", "AA"]


def test_a_csv_where_fasta_was_expected_is_a_clear_error_and_the_reverse(tmp_path: Path) -> None:
    path = tmp_path / "a.fasta"
    path.write_text("id,sequence\na,MK\n")
    with pytest.raises(TableError, match=r"a\.fasta, line 1: not FASTA"):
        read_table(path)
    with pytest.raises(TableError, match="not CSV: got a FASTA file"):
        read(">a\nMK\n", format="csv")
    with pytest.raises(TableError, match="no line begins with '>'"):
        read(";only a note\n", format="fasta")


def test_fasta_is_told_by_content_and_a_leading_semicolon_alone_is_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(">a\nMK\n")
    assert read_table(path).format == "fasta"
    table = read(";formula;y\n0;BeS;1,5\n")
    assert (table.format, table.columns) == ("csv", ("column_1", "formula", "y"))
    assert not looks_like_fasta(b"")


@given(
    st.lists(
        st.tuples(st.text("abc|/.", min_size=1), st.lists(st.text("ACDEFGHIKLMNPQRSTVWYx*-", min_size=1)))
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_every_record_comes_back(records: list[tuple[str, list[str]]], end: str) -> None:
    content = "".join(f">{name}{end}" + "".join(line + end for line in lines) for name, lines in records)
    if not records:
        return
    table = read(content)
    assert table.column("id") == [name for name, _ in records]
    assert table.column("sequence") == ["".join(lines) for _, lines in records]
    assert [record.problem for record in table.records] == [
        None if lines else "empty sequence" for _, lines in records
    ]


@given(st.text(alphabet="> ;\n\rMKé\ufeff", max_size=60))
def test_any_text_gives_as_many_records_as_headers_or_an_error(text: str) -> None:
    try:
        table = read(text, format="fasta")
    except TableError:
        return
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert len(table) == sum(line.strip().startswith(">") for line in lines)
