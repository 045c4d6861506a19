"""Tables of downloaded files are read, put together and completed as the card says."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from gia_science.data import archive
from gia_science.data.archive import read_text
from gia_science.data.card_remote import (
    ChezodDisorder,
    Folds,
    MaskedLabels,
    Mutants,
    RemoteSource,
    TapeGfpCut,
)
from gia_science.data.derive import derive
from gia_science.data.remote import remote_columns
from gia_science.errors import TableError

FLIP = b">a TARGET=1.5 SET=train VALIDATION=False\nMK\nV\n>b SET=train TARGET=2 VALIDATION=True\nGG\n>c SET=test\nAA\n"


def zipped(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
    return stream.getvalue()


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads files as a source describes them: ``read({"x.csv": (content, [table, ...])}, combine="join")``."""
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path))

    def read_source(files, **rest):
        described = []
        for name, (content, tables) in files.items():
            (tmp_path / name).write_bytes(content)
            entry = {
                "name": name,
                "url": f"https://example.org/{name}",
                "size": len(content),
                "tables": tables,
            }
            described.append({**entry, "sha256": hashlib.sha256(content).hexdigest()})
        return remote_columns(RemoteSource(kind="remote", files=described, **rest), dataset="tiny")[0]

    return read_source


def test_columns_are_chosen_renamed_and_stripped_and_lines_are_those_of_the_file(read):
    content = b'name,unused,y (mol)\r\n"a, b",1,2 \r\n\r\n"two\r\nlines",1,\r\nc,1,3\r\n'
    found = read({"x.csv": (content, [{"format": "csv", "columns": {"y": "y (mol)", "id": "name"}}])})
    assert dict(found.cells) == {"y": ["2", "", "3"], "id": ["a, b", "two\r\nlines", "c"]}
    assert list(found.lines) == [2, 4, 6]


def test_gzip_and_tabs_and_a_byte_order_mark(read):
    content = gzip.compress(b"\xef\xbb\xbfa\tb\n1\t2\n", mtime=0)
    found = read({"x.tsv.gz": (content, [{"format": "tsv", "columns": {"a": "a"}}])})
    assert dict(found.cells) == {"a": ["1"]}


def test_headers_of_flip_are_columns_and_make_the_split(read):
    columns = {"id": "id", "sequence": "sequence", "y": "target", "split": "split"}
    found = read({"x.fasta": (FLIP, [{"format": "flip-fasta", "columns": columns}])})
    assert list(found.rows(tuple(columns))) == [
        (1, ("a", "MKV", "1.5", "train")),
        (4, ("b", "GG", "2", "validation")),
        (6, ("c", "AA", "", "test")),
    ]


def test_tables_are_joined_by_id_whatever_their_order(read):
    content = zipped(one=b">a\nMK\n>b\nGG\n", two=b">b\n01\n>a\n11\n")
    tables = [
        {"format": "fasta", "member": "one", "columns": {"id": "id", "sequence": "sequence"}},
        {"format": "fasta", "member": "two", "columns": {"id": "id", "mask": "sequence"}},
    ]
    step = {"kind": "masked_labels", "column": "known", "labels": "sequence", "mask": "mask"}
    found = read({"x.zip": (content, tables)}, combine="join", derive=[step])
    assert list(found.rows(("id", "known"))) == [(1, ("a", "MK")), (3, ("b", "-G"))]
    content = zipped(one=b">a\nMK\n", two=b">c\n01\n")
    with pytest.raises(TableError, match="different ids"):
        read({"x.zip": (content, tables)}, combine="join")


def test_files_are_stacked_with_a_column_that_tells_them_apart_and_rows_numbered(read):
    files = {
        f"{part}.csv": (content, [{"format": "csv", "columns": {"x": "x"}, "values": {"split": part}}])
        for part, content in (("train", b"x\n1\n2\n"), ("test", b"x\n3\n"))
    }
    assert list(read(files).rows(("x", "split"))) == [
        (1, ("1", "train")),
        (2, ("2", "train")),
        (3, ("3", "test")),
    ]


@pytest.mark.parametrize(
    ("content", "table", "message"),
    [
        (
            b"a,b\n1,2,3\n",
            {"format": "csv", "columns": {"a": "a"}},
            r"x\.csv, line 2: 3 cells where .* has 2",
        ),
        (
            b"a,b\n1,2\n",
            {"format": "csv", "columns": {"a": "z"}},
            r"x\.csv: no column 'z' \(there are: a, b\)",
        ),
        (b">a\n>b\nMK\n", {"format": "fasta", "columns": {"a": "id"}}, r"x\.csv, line 1, .*: empty sequence"),
        (
            b">a SET=other\nMK\n",
            {"format": "flip-fasta", "columns": {"a": "split"}},
            "FLIP's splits: got 'other'",
        ),
        (b"\xff,1\n", {"format": "csv", "columns": {"a": "a"}}, "not UTF-8 text"),
    ],
)
def test_a_table_that_is_not_as_described_is_named(read, content, table, message):
    with pytest.raises(TableError, match=message):
        read({"x.csv": (content, [table])})


@pytest.mark.parametrize(
    ("tables", "rest", "message"),
    [
        ([{"a": "a"}, {"b": "b"}], {}, "stacked have the same columns"),
        ([{"id": "a", "b": "b"}, {"b": "b"}], {"combine": "join"}, "joined have a column id"),
        ([{"id": "a", "b": "b"}, {"id": "a", "b": "c"}], {"combine": "join"}, "share a column"),
        (
            [{"a": "a"}],
            {"derive": [{"kind": "tape_gfp_cut", "column": "s", "mutations": "m"}]},
            "no column: m",
        ),
        ([{"a": "a"}], {"derive": [{"kind": "folds", "column": "a", "folds": 5, "seed": 0}]}, "already: a"),
        ([{"a": "a"}], {"derive": [{"kind": "exec", "column": "b"}]}, "kind"),
    ],
)
def test_a_source_that_cannot_be_put_together_is_refused(read, tables, rest, message):
    with pytest.raises(ValueError, match=message):
        read({"x.csv": (b"a\n1\n", [{"format": "csv", "columns": columns} for columns in tables])}, **rest)


def test_archives_are_unpacked_in_memory_within_limits(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(**{"../evil": b"here", "big": b"0" * 5000}))
    assert read_text(path, member="../evil") == "here"
    assert [entry.name for entry in tmp_path.parent.iterdir() if entry.name == "evil"] == []
    with pytest.raises(TableError, match="too large to be unpacked: got more than 4,999 bytes"):
        read_text(path, member="big", limit=4999)
    assert len(read_text(path, member="big", limit=5000)) == 5000
    with pytest.raises(TableError, match=r"x\.zip, record 'none': no such member"):
        read_text(path, member="none")
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(TableError, match="the archive is damaged"):
        read_text(path, member="big")


def test_a_gzip_bomb_or_stump_is_refused(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"0" * 10**6, mtime=0))
    with pytest.raises(TableError, match="too large"):
        read_text(path, limit=10**5)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match="damaged"):
        read_text(path)
    assert archive.MAX_BYTES == 1 << 28


@given(st.integers(5, 60), st.integers(0, 2**32 - 1), st.booleans())
def test_folds_are_those_of_scikit_learn(rows, seed, stratified):
    labels = ["10"[i % 2] for i in range(2 * rows)]
    step = Folds(kind="folds", column="fold", folds=5, seed=seed, stratify="y" if stratified else None)
    fold = derive(step, {"y": labels}, rows=2 * rows)
    splitter = (StratifiedKFold if stratified else KFold)(5, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(labels, [int(label) for label in labels])):
        assert [row for row, cell in enumerate(fold) if cell == str(number)] == test.tolist()


def test_variants_are_written_into_the_wild_type_and_end_at_a_stop_codon():
    step = Mutants(kind="mutants", column="s", mutations="m", wild_type="SKGEE")
    cells = {"m": ["", "SK1R", "SK1R:SE4A", "SE3*:SE4A"]}
    assert derive(step, cells, rows=4) == ["SKGEE", "SRGEE", "SRGEA", "SKG"]
    for wrong in ("SK2R", "K1R", "SE9A", "SK1"):
        with pytest.raises(TableError, match=f"not a substitution in the wild type: got '{wrong}'"):
            derive(step, {"m": [wrong]}, rows=1)


def test_tape_trains_on_up_to_three_mutations():
    step = TapeGfpCut(kind="tape_gfp_cut", column="split", mutations="m")
    cells = [":".join(["SA1G"] * count) for count in range(6)]
    assert derive(step, {"m": cells}, rows=6) == ["train"] * 4 + ["test"] * 2


def test_disorder_is_a_score_below_eight_and_999_is_not_known():
    step = ChezodDisorder(kind="chezod_disorder", column="d", scores="z")
    assert derive(step, {"z": ["999.0;-3.1;7.999;8;15"]}, rows=1) == ["-DDOO"]
    with pytest.raises(TableError, match="not Z-scores"):
        derive(step, {"z": ["1;x"]}, rows=1)


def test_a_mask_of_another_length_is_refused():
    step = MaskedLabels(kind="masked_labels", column="x", labels="l", mask="m")
    with pytest.raises(TableError, match="labels and mask differ in number: got 2 and 1"):
        derive(step, {"l": ["HH"], "m": ["1"]}, rows=1)
