"""What is written reads back equal, and nothing half-written ever stands under the final name."""

from __future__ import annotations

import gzip
import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.table import open_table, read_table
from gia_science.data.writer import TableWriter, atomic_file, output_columns, refuse_overwrite
from gia_science.errors import TableError

TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
TRICKY = st.text(alphabet=',;\t|"\r\n #>é\ufeff\u2028 a1', max_size=8)
CELLS = TEXT | TRICKY


def write(path: Path, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with TableWriter(path, columns) as writer:
        for row in rows:
            writer.write_row(row)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
@given(data=st.data())
def test_any_text_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject
) -> None:
    width = data.draw(st.integers(1, 4))
    columns = tuple(f"name {index}" for index in range(width))
    rows = data.draw(st.lists(st.tuples(*[CELLS] * width), max_size=6))
    path = tmp_path_factory.mktemp("t") / f"a{suffix}"
    write(path, columns, rows)
    table = read_table(path)
    assert table.columns == columns
    assert [record.cells for record in table.records] == rows
    assert not any(record.problem for record in table.records)


@given(
    st.lists(
        st.text(alphabet=',;\t|"ab', min_size=1).filter(str.strip),
        min_size=1,
        max_size=4,
        unique_by=str.strip,
    ),
    st.data(),
)
def test_names_with_delimiters_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.text(alphabet=",;|a", max_size=4)] * len(names)), max_size=4))
    path = tmp_path_factory.mktemp("t") / "a.csv"
    write(path, tuple(names), rows)
    table = read_table(path)
    assert table.header == tuple(names)
    assert [record.cells for record in table.records] == rows


def test_an_input_table_comes_back_untouched_beside_new_columns(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(',smiles,note,\n007,CCO,"a,b",\nNA,,,\n')
    table = open_table(source)
    with TableWriter(tmp_path / "out.csv", output_columns(table.header, ["y"])) as writer:
        for record in table.records:
            writer.write_row([*record.cells, "1.5"])
    assert (tmp_path / "out.csv").read_text() == ',smiles,note,,y\n007,CCO,"a,b",,1.5\nNA,,,,1.5\n'


def test_new_columns_never_take_a_name_that_is_there() -> None:
    assert output_columns(("smiles", "expt", "expt_2 "), ["expt", "status", "status"]) == (
        "smiles",
        "expt",
        "expt_2 ",
        "expt_3",
        "status",
        "status_2",
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.parquet"])
def test_after_an_error_nothing_is_left_and_the_old_file_stands(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def fail(error: type[BaseException]) -> None:
        with TableWriter(path, ["a"]) as writer:
            writer.write_row(["1"])
            raise error

    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    with pytest.raises(RuntimeError):
        fail(RuntimeError)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_final_name_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with TableWriter(path, ["a"]) as writer:
        writer.write_row(["1"])
        assert not path.exists()
    assert path.read_bytes() == b"a\n1\n"


def test_equal_tables_give_equal_bytes_and_ordinary_permissions(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write(tmp_path / name, ("a",), [("1",)])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"a\n1\n"
    (tmp_path / "plain").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.csv.gz", "plain")}
    assert len(modes) == 1


def test_a_link_and_a_device_are_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    write(link, ("a",), [("1",)])
    assert link.is_symlink()
    assert real.read_text() == "a\n1\n"
    with atomic_file(os.devnull) as stream:
        stream.write(b"x")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_standard_output_is_csv_and_stays_open() -> None:
    stdout = io.BytesIO()
    with TableWriter("-", ["a", "b"], stdout=stdout) as writer:
        writer.write_row(["1", "x,y"])
    assert stdout.getvalue() == b'a,b\n1,"x,y"\n'
    with pytest.raises(RuntimeError), TableWriter("-", ["a"], stdout=stdout):
        raise RuntimeError
    assert not stdout.closed


def test_places_that_cannot_be_written_to_are_refused(tmp_path: Path) -> None:
    for target, message in [
        (tmp_path / "none" / "a.csv", "no such folder"),
        (tmp_path / "a.xlsx", "type of the output file is not known: got '.xlsx'"),
        (tmp_path / "a.parquet.gz", "not known"),
        (tmp_path / "plain", "not known"),
    ]:
        with pytest.raises(TableError, match=message), TableWriter(target, ["a"]):
            pass
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(TableError, match="a folder"), TableWriter(folder, ["a"]):
        pass


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_text_that_is_not_unicode_is_an_error_without_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(TableError, match="UTF-8"):
        write(tmp_path / name, ("a",), [("\ud800",)])
    assert list(tmp_path.iterdir()) == []


def test_a_nul_cannot_be_written_to_text(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="NUL"):
        write(tmp_path / "a.csv", ("a",), [("\0",)])


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    source, link = tmp_path / "in.csv", tmp_path / "link.csv"
    source.write_text("a\n1\n")
    link.symlink_to(source)
    for target in (source, link, tmp_path / "." / "in.csv"):
        with pytest.raises(TableError, match="overwrite the input"):
            refuse_overwrite(target, ["-", source])
    refuse_overwrite(tmp_path / "out.csv", [source])
    refuse_overwrite("-", ["-"])


def test_parquet_holds_numbers_where_told_and_several_row_groups(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    with TableWriter(path, ["", "y"], numbers=["y"]) as writer:
        for index in range(10_001):
            writer.write_row([f"{index:03}", "0.5" if index else ""])
    table = parquet.read_table(path)
    assert table.column_names == ["column_1", "y"]
    assert table["y"].to_pylist()[:2] == [None, 0.5]
    assert table["column_1"][7].as_py() == "007"
    assert parquet.ParquetFile(path).num_row_groups == 2


@pytest.mark.parametrize(
    "first", [">x", " >x", "PAR1", "BZh91AY", "\ufeffa", '[{"a"', "<html", "#a", "%PDF-", "", "a", " a "]
)
def test_a_first_name_that_looks_like_another_kind_of_file_reads_back_equal(
    tmp_path: Path, first: str
) -> None:
    write(tmp_path / "a.csv", (first, "y"), [("1", "x")])
    table = read_table(tmp_path / "a.csv")
    assert (table.format, table.header, len(table)) == ("csv", (first, "y"), 1)
