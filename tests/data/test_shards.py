"""Shards are equal shares of the rows, and merging them gives back the bytes of the whole table."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gia_science.data.parts import parts_folder
from gia_science.data.record import Record
from gia_science.data.shards import Shard, find_shards, merge_shards, order_shards
from gia_science.data.vectors import EmbeddingWriter
from gia_science.data.writer import TableWriter
from gia_science.errors import RecipeError, TableError

CELL = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.text(
    alphabet='",;\t\r\n #', max_size=6
)
NUMBER = st.just("") | st.floats(width=32).map(lambda value: f"{value:.6g}")
SUFFIXES = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"]


def write(path: Path, rows: list[tuple[str, ...]], columns: tuple[str, ...] = ("a, b", "y")) -> None:
    with TableWriter(path, columns, numbers=["y"]) as writer:
        for row in rows:
            writer.write_row(row)


def write_shards(out: Path, rows: list[tuple[str, ...]], count: int) -> list[Path]:
    records = [Record("a", line, None, row) for line, row in enumerate(rows)]
    shards = [Shard(number, count) for number in range(1, count + 1)]
    for shard in shards:
        write(shard.path(out), [record.cells for record in shard.records(records)])
    return [shard.path(out) for shard in shards]


def table(count: int) -> list[tuple[str, ...]]:
    return [(f"x{place}", f"{place}.5") for place in range(count)]


@pytest.mark.parametrize(
    ("out", "name"),
    [
        ("out.csv", "out.2-of-12.csv"),
        ("a/o.b.tsv.gz", "a/o.b.2-of-12.tsv.gz"),
        (".csv.parquet", ".csv.2-of-12.parquet"),
    ],
)
def test_names(out: str, name: str) -> None:
    assert Shard.parse(" 2/12 ").path(out) == Path(name)
    assert str(Shard.parse("2/12")) == "2/12"


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "-1/2", "a/b", "1/2/3", "", "１/２", "1/02"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="--shard is not valid"):
        Shard.parse(text)


@given(st.integers(0, 30), st.integers(1, 9))
def test_every_row_is_in_one_shard_and_shares_are_equal(count: int, shards: int) -> None:
    records = [Record("a", line, None, ()) for line in range(count)]
    shares = [Shard(number, shards).records(records) for number in range(1, shards + 1)]
    lines = [[record.line for record in share] for share in shares]
    assert lines == [[record.line for record in share] for share in shares]  # iterated again
    assert sorted(line for share in lines for line in share) == list(range(count))
    assert all(line % shards == place for place, share in enumerate(lines) for line in share)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None)
@given(rows=st.lists(st.tuples(CELL, NUMBER), max_size=9), count=st.integers(1, 5))
def test_merged_shards_are_the_bytes_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, rows: list[tuple[str, ...]], count: int
) -> None:
    folder = tmp_path_factory.mktemp("t")
    write(folder / f"whole{suffix}", rows)
    paths = write_shards(folder / f"out{suffix}", rows, count)
    assert find_shards(folder / f"out{suffix}") == paths
    assert merge_shards(folder / f"out{suffix}", paths) == len(rows)
    assert (folder / f"out{suffix}").read_bytes() == (folder / f"whole{suffix}").read_bytes()


def test_merged_parquet_has_the_row_groups_of_the_whole(tmp_path: Path) -> None:
    write(tmp_path / "whole.parquet", table(10_003))
    merge_shards(tmp_path / "out.parquet", write_shards(tmp_path / "out.parquet", table(10_003), 3))
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_merged_vectors_in_parquet_are_the_bytes_of_the_whole(tmp_path: Path) -> None:
    """Nulls, NaN and the row groups included."""
    vectors = np.random.default_rng(0).normal(size=(2_000, 3)).astype(np.float32)
    vectors[7, 1] = np.nan
    rows = [((f"{place}", ""), None if place == 5 else vector) for place, vector in enumerate(vectors)]
    paths = [
        tmp_path / "whole.parquet",
        *(Shard(number, 3).path(tmp_path / "out.parquet") for number in (1, 2, 3)),
    ]
    for path, chosen in zip(paths, (rows, rows[::3], rows[1::3], rows[2::3]), strict=True):
        with EmbeddingWriter(path, ("", "note"), width=3) as writer:
            for cells, vector in chosen:
                writer.write_row(cells, vector)
    assert merge_shards(tmp_path / "out.parquet", paths[1:]) == 2_000
    assert (tmp_path / "out.parquet").read_bytes() == paths[0].read_bytes()


def test_files_in_any_order_and_of_any_name_but_all_of_them(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    paths = write_shards(tmp_path / "other.csv", table(20), 12)
    mixed = random.Random(0).sample(paths, 12)
    assert order_shards(mixed, out=out) == paths
    with pytest.raises(TableError, match=r"1 of 12 shards is missing: got no out\.3-of-12\.csv"):
        order_shards([path for path in paths if path.name != "other.3-of-12.csv"], out=out)
    with pytest.raises(TableError, match="given twice"):
        order_shards([*paths, paths[0]], out=out)
    with pytest.raises(TableError, match=r"not the name of a shard: got .*whole\.csv"):
        order_shards([*paths, tmp_path / "whole.csv"], out=out)
    with pytest.raises(TableError, match="not the name of a shard"):
        order_shards(paths, out=tmp_path / "out.parquet")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    with pytest.raises(TableError, match=r"no shards are there: expected out\.1-of-2\.csv"):
        find_shards(out)
    for path in write_shards(out, table(9), 20)[1:]:
        path.unlink()
    with pytest.raises(
        TableError, match=r"19 of 20 shards are missing: got no out\.2-of-20\.csv, .* and 9 more"
    ):
        find_shards(out)
    write_shards(out, table(9), 2)
    with pytest.raises(TableError, match="shards of different tables: got some of 2 and some of 20"):
        find_shards(out)


def test_names_that_only_look_like_shards_are_passed_over(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    paths = write_shards(out, table(3), 2)
    for name in (
        "out.3-of-2.csv",
        "out.1-of-2.tsv",
        "out2.1-of-3.csv",
        "out.1-of-2.csv.bak",
        "xout.1-of-3.csv",
    ):
        (tmp_path / name).touch()
    assert find_shards(out) == paths


def test_a_shard_that_is_still_being_made_is_missing(tmp_path: Path) -> None:
    """Its file may be there from an earlier run."""
    out = tmp_path / "out.csv"
    paths = write_shards(out, table(3), 2)
    parts_folder(paths[1]).mkdir()
    with pytest.raises(TableError, match=r"got no out\.2-of-2\.csv \(begun, not finished\)"):
        find_shards(out)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("lengths", [(1, 2), (3, 1), (2, 1, 2), (0, 0, 1), (3, 2, 1)])
def test_numbers_of_rows_that_do_not_fit_are_refused(
    tmp_path: Path, lengths: tuple[int, ...], suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    paths = [Shard(number, len(lengths)).path(out) for number in range(1, len(lengths) + 1)]
    for path, length in zip(paths, lengths, strict=True):
        write(path, table(length))
    with pytest.raises(
        TableError, match=r"do not belong together: got out\..* ends after \d rows?, out\..* goes on"
    ):
        merge_shards(out, paths)
    assert not out.exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_other_columns_are_refused(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    paths = write_shards(out, table(4), 2)
    write(paths[1], table(2), columns=("b", "y"))
    with pytest.raises(TableError, match="the columns of the shards differ"):
        merge_shards(out, paths)
    assert not out.exists()


@pytest.mark.parametrize(("suffix", "rest"), [(".csv", 20), (".csv", 0), (".csv.gz", 30), (".parquet", 200)])
def test_a_shard_that_is_cut_off_is_refused(tmp_path: Path, suffix: str, rest: int) -> None:
    out = tmp_path / f"out{suffix}"
    paths = write_shards(out, table(9), 2)
    paths[1].write_bytes(paths[1].read_bytes()[:rest])
    with pytest.raises(TableError, match=r"out\.2-of-2"):
        merge_shards(out, paths)
    assert not out.exists()


def test_a_cut_within_quotes_is_refused(tmp_path: Path) -> None:
    paths = write_shards(tmp_path / "out.csv", [("a\nb", "1")], 1)
    paths[0].write_bytes(paths[0].read_bytes()[: -len('b",1\n')])
    with pytest.raises(TableError, match="cut off"):
        merge_shards(tmp_path / "out.csv", paths)
