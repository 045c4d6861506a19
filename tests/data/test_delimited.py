"""CSV and TSV: delimiter and header recognised, cells untouched, no column shifted, no row lost."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.record import LoadedTable, Record
from gia_science.data.table import open_table, read_table
from gia_science.errors import TableError


def read(text: str | bytes, *, header: bool = True, format: str | None = None) -> LoadedTable:
    content = text if isinstance(text, bytes) else text.encode()
    return read_table("-", stdin=io.BytesIO(content), header=header, format=format)


def cells(table: LoadedTable) -> list[tuple[str, ...]]:
    return [record.cells for record in table.records]


def test_cells_stay_the_text_they_are() -> None:
    table = read('id,smiles,note\n007,CCO,"a,b"\nNA,NaN, x \n1e3,None,\n')
    assert cells(table) == [("007", "CCO", "a,b"), ("NA", "NaN", " x "), ("1e3", "None", "")]
    assert [record.id for record in table.records] == ["007", "NA", "1e3"]
    assert table.column("smiles") == ["CCO", "NaN", "None"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_delimiter_line_end_and_byte_order_mark_are_recognised(delimiter: str, end: str, mark: str) -> None:
    rows = [["smiles", "y", "name"], ["CCO", "1.5", "a"], ["C(=O)O", "", "b"]]
    table = read(mark + end.join(delimiter.join(row) for row in rows) + end)
    assert table.columns == ("smiles", "y", "name")
    assert cells(table) == [tuple(row) for row in rows[1:]]
    assert [record.line for record in table.records] == [2, 3]
    assert table.format == ("tsv" if delimiter == "\t" else "csv")
    assert any("recognised" in note for note in table.notes) == (delimiter != ",")
    assert ("byte-order mark skipped" in table.notes) == bool(mark)


def test_decimal_commas_come_through_as_text_and_shift_nothing() -> None:
    table = read("smiles;y\nCCO;1,5\nCC;2,25\n")
    assert table.columns == ("smiles", "y")
    assert cells(table) == [("CCO", "1,5"), ("CC", "2,25")]


def test_decimal_commas_between_commas_are_a_problem_of_their_row() -> None:
    record = read("smiles,y\nCCO,1\nCC,2,5\n").records[1]
    assert record.cells == ("CC", "2,5")
    assert record.problem == "3 cells where the header has 2"


def test_other_delimiters_in_quoted_and_bare_cells_do_not_mislead() -> None:
    table = read('id,name;alt,y\n1,"a,b",2\n2,c;d,3\n')
    assert table.columns == ("id", "name;alt", "y")
    assert cells(table) == [("1", "a,b", "2"), ("2", "c;d", "3")]
    assert read('"a, b",c\n1,2\n').columns == ("a, b", "c")


def test_a_row_with_another_number_of_cells_comes_back_in_place() -> None:
    table = read("id,smiles,y\na,CCO,1\nb,CC\nc,C,2,extra,more\nd,CN,3\n")
    assert [record.problem for record in table.records] == [
        None,
        "2 cells where the header has 3",
        "5 cells where the header has 3",
        None,
    ]
    assert cells(table)[1:3] == [("b", "CC", ""), ("c", "C", "2,extra,more")]
    assert [record.id for record in table.records] == ["a", "b", "c", "d"]


def test_line_is_where_a_row_of_several_lines_starts() -> None:
    table = read('id,note\n1,"a\nb\r\nc"\n2,d\n')
    assert [record.line for record in table.records] == [2, 5]
    assert table.records[0].cells == ("1", "a\nb\r\nc")


def test_text_behind_a_closing_quote_is_a_problem_of_its_row() -> None:
    table = read('id,note\n1,"a"b\n2,c\n')
    assert table.records[0].problem == "text after the closing quote of a cell"
    assert table.records[0].cells == ('1,"a"b', "")
    assert table.records[1] == Record("<stdin>", 3, "2", ("2", "c"))


def test_an_open_quote_is_an_error_with_the_line_it_starts_on() -> None:
    with pytest.raises(TableError, match="line 3: a quote is opened and not closed"):
        read('id,note\n1,a\n2,"b\n3,c\n')
    with pytest.raises(TableError, match="line 3: a quote is opened and not closed"):
        read('id,note\n1,a\n2,"b\n' + "3,c\n" * 100_000)
    with pytest.raises(TableError, match="line 1: a quote is opened"):
        read('"id,note\n1,a\n')


def test_a_very_long_cell_is_a_problem_of_its_row() -> None:
    table = read(f"id,note\n1,{'x' * 200_000}\n2,c\n")
    assert [record.problem is None for record in table.records] == [False, True]


def test_first_row_that_looks_like_data_is_refused_and_no_header_reads_it() -> None:
    for text in ("CCO,1\nCC,2\n", "CCO;1,5\nCC;2,5\n", "CCO,1\n", "1\n2\n", "1,1\n2,2\n"):
        with pytest.raises(TableError, match=r"line 1: the first row looks like data: .*--no-header"):
            read(text)
    table = read("CCO,1\nCC,2\n", header=False)
    assert table.columns == ("column_1", "column_2")
    assert [(record.line, record.cells) for record in table.records] == [(1, ("CCO", "1")), (2, ("CC", "2"))]


def test_columns_may_be_numbered_or_named_by_a_number_above_words() -> None:
    assert read("element,0,1,2\nH,.1,.2,.3\n").columns == ("element", "0", "1", "2")
    assert read("id,2024\na,yes\n").columns == ("id", "2024")


def test_a_single_column_needs_no_delimiter() -> None:
    table = read("smiles\nCCO\nC1CC1\n")
    assert table.columns == ("smiles",)
    assert cells(table) == [("CCO",), ("C1CC1",)]
    assert read("CCO\nCC\n", header=False).column("column_1") == ["CCO", "CC"]


def test_blank_lines_are_skipped_but_are_empty_cells_inside_a_single_column() -> None:
    assert [(r.line, r.cells) for r in read("\n\na,b\n\n1,2\n  \n3,4\n\n").records] == [
        (5, ("1", "2")),
        (7, ("3", "4")),
    ]
    assert [(r.line, r.cells) for r in read("smiles\nCCO\n\nCC\n\n\n").records] == [
        (2, ("CCO",)),
        (3, ("",)),
        (4, ("CC",)),
    ]


def test_header_only_is_a_table_without_records_and_empty_files_are_errors() -> None:
    assert read("smiles\n").columns == ("smiles",)
    assert len(read("id,smiles\n")) == 0
    for content in (b"", b"\n\n", b" \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        with pytest.raises(TableError, match="<stdin>: the file is empty"):
            read(content)


@pytest.mark.parametrize("text", ["smiles,y,\nCCO,1,\nCC,2,\n", "smiles,y\nCCO,1,\nCC,2,\n"])
def test_a_comma_at_the_end_is_a_column_of_its_own_and_shifts_nothing(text: str) -> None:
    table = read(text)
    assert table.columns == ("smiles", "y", "column_3")
    assert table.header == ("smiles", "y", "")
    assert cells(table) == [("CCO", "1", ""), ("CC", "2", "")]
    assert not any(record.problem for record in table.records)


def test_a_comma_at_the_end_of_the_header_alone_names_no_column() -> None:
    table = read("smiles,y,\nCCO,1\nCC,2\n")
    assert (table.columns, cells(table)) == (("smiles", "y"), [("CCO", "1"), ("CC", "2")])


def test_a_row_with_more_content_than_names_is_never_shifted() -> None:
    table = read("smiles,y\nCCO,1,x\nCC,2,y\n")
    assert table.columns == ("smiles", "y")
    assert all(record.problem for record in table.records)


def test_blank_names_are_numbered_and_double_names_refused() -> None:
    table = read(",formula, y ,column_1\n0,BeS,1,2\n")
    assert table.columns == ("column_1_2", "formula", "y", "column_1")
    assert table.header == ("", "formula", " y ", "column_1")
    with pytest.raises(TableError, match="line 1: column names stand more than once: got 'y', 'z'"):
        read("smiles,y,y,z,z\nC,1,2,3,4\n")
    with pytest.raises(TableError, match="names no column"):
        read(",,\n1,2,3\n")


def test_a_missing_column_is_named_with_those_there_are() -> None:
    with pytest.raises(
        TableError, match=r"no column 'smile' \(did you mean 'smiles'\? there are: smiles, y\)"
    ):
        read("smiles,y\nC,1\n").position("smile")
    with pytest.raises(TableError, match="delimiters"):
        read("smiles y\nC 1\n").position("smiles")


def test_comment_lines_before_a_header_are_skipped_and_a_hash_in_a_name_is_kept() -> None:
    table = read("#made today\n# by, hand\n# id; SMILES; y\na; CCO; -2.5\nb; CC; 1\n")
    assert table.columns == ("# id", "SMILES", "y")
    assert [record.line for record in table.records] == [4, 5]
    assert "2 comment lines at the start skipped" in table.notes
    assert read("#id,seq\n#1,MK\n").columns == ("#id", "seq")


def test_the_id_column_can_be_chosen() -> None:
    stdin = io.BytesIO(b"ID,name,smiles\n1,a,C\n")
    assert read_table("-", id_column="name", stdin=stdin).records[0].id == "a"
    with pytest.raises(TableError, match="no column 'key'"):
        read_table("-", id_column="key", stdin=io.BytesIO(b"id,smiles\n1,C\n"))


def test_a_row_is_on_its_line_far_behind_the_head_and_so_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = b"".join(b"%d,%s\n" % (i, b"C" * 40) for i in range(40_000))
    path.write_bytes(b"id,smiles\n" + rows + b"x,\xe9\n")
    records = iter(open_table(path).records)
    assert next(record for record in records if record.line == 40_001).id == "39999"
    with pytest.raises(TableError, match="line 40002: not UTF-8"):
        next(records)


def test_a_file_can_be_iterated_twice_and_left_half_way(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,smiles\n1,C\n2,CC\n")
    table = open_table(path)
    next(iter(table.records))
    assert list(table.records) == list(table.records)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,smiles\n" + b"1,CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC\n" * 60_000)
    table = open_table(path)
    tracemalloc.start()
    try:
        assert sum(1 for _ in table.records) == 60_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@given(
    st.binary(max_size=300) | st.text(alphabet='ab,;\t|"\n\r #>1.é\ufeff', max_size=80).map(str.encode),
    st.booleans(),
)
def test_any_bytes_give_a_table_or_a_table_error(content: bytes, header: bool) -> None:
    try:
        table = read(content, header=header)
    except TableError:
        return
    assert all(len(record.cells) == len(table.columns) for record in table.records)
    lines = [record.line for record in table.records]
    assert lines == sorted(set(lines))


@given(st.lists(st.text(alphabet="abc;|. 1", min_size=1).filter(str.strip), min_size=1), st.data())
def test_no_row_is_lost_whatever_its_number_of_cells(names: list[str], data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.lists(st.sampled_from(["x", "CCO", "N#N", "1"]), min_size=1, max_size=5), max_size=9)
    )
    text = "first,second\n" + "".join(",".join(row) + "\n" for row in rows)
    table = read(text)
    assert [record.line for record in table.records] == list(range(2, len(rows) + 2))
    assert [record.problem is None for record in table.records] == [
        len(row) == len(table.columns) for row in rows
    ]
