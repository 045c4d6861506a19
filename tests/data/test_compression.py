"""Bytes come from files, pipes and standard input, unzipped by content; a cut file is never read half."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from gia_science.data.compression import ByteSource
from gia_science.data.table import read_table
from gia_science.errors import TableError

CSV = b"smiles,y\n" + b"".join(b"%s,%d\n" % (b"C" * (i % 50 + 1), i) for i in range(5000))
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzf(*blocks: bytes) -> bytes:
    """Blocks as members with the ``BC`` extra field, in the form of the SAM specification, with the end mark."""
    out = b""
    for block in blocks:
        member = gzip.compress(block, mtime=0)
        size = len(member) + 8 - 1
        out += (
            member[:3]
            + b"\x04"
            + member[4:10]
            + b"\x06\x00BC\x02\x00"
            + size.to_bytes(2, "little")
            + member[10:]
        )
    return out + BGZF_END


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.bgz", "a.csv", "a.fasta", "a"])
@pytest.mark.parametrize(
    "packed",
    [gzip.compress(CSV, mtime=0), gzip.compress(CSV[:100], mtime=0) + gzip.compress(CSV[100:], mtime=0)],
)
def test_gzip_is_recognised_by_its_bytes_not_its_name(tmp_path: Path, name: str, packed: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(packed)
    assert len(read_table(path, format="csv")) == 5000


def test_block_compressed_files_are_read_and_a_lost_block_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.bgz"
    whole = bgzf(CSV[:1000], CSV[1000:])
    path.write_bytes(whole)
    assert len(read_table(path)) == 5000
    path.write_bytes(whole.removesuffix(BGZF_END))
    with pytest.raises(TableError, match=r"a\.csv\.bgz: the compressed file is cut off"):
        read_table(path)


@pytest.mark.parametrize("keep", [2, 11, 40, 0.3, 0.5, 0.9, -1, -8])
def test_a_cut_gzip_file_is_an_error_that_names_it(tmp_path: Path, keep: float) -> None:
    packed = gzip.compress(CSV, mtime=0)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(packed[: int(len(packed) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(TableError, match=r"cut\.csv\.gz: the compressed file is cut off"):
        read_table(path)


def test_a_cut_far_behind_the_head_is_found_while_iterating(tmp_path: Path) -> None:
    rows = b"".join(os.urandom(24).hex().encode() + b"\n" for _ in range(50_000))
    path = tmp_path / "long.csv.gz"
    packed = gzip.compress(b"smiles\n" + rows, compresslevel=1, mtime=0)
    path.write_bytes(packed[: len(packed) * 9 // 10])
    with pytest.raises(TableError, match="cut off"):
        read_table(path)


def test_damaged_gzip_data_is_an_error(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(CSV, mtime=0))
    packed[-6] ^= 0xFF
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(TableError, match="damaged"):
        read_table(path)


def test_missing_file_folder_and_impossible_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="a folder, not a file"):
        read_table(tmp_path)
    with pytest.raises(TableError):
        read_table(tmp_path / "a.csv" / "b.csv")
    with pytest.raises(TableError, match="not a file name"):
        read_table("a\0b.csv")
    with pytest.raises(TableError):
        read_table(tmp_path / ("x" * 300))


@pytest.mark.parametrize("content", [CSV, gzip.compress(CSV, mtime=0)])
def test_standard_input_is_read_once_and_stays_open(content: bytes) -> None:
    stdin = io.BytesIO(content)
    source = ByteSource("-", stdin=stdin)
    with source.open() as stream:
        assert stream.read() == CSV
    assert not stdin.closed
    with pytest.raises(TableError, match="<stdin>: a stream can be read only once"):
        source.open()


def test_a_named_pipe_is_read_whole_although_it_cannot_be_opened_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = CSV * 30
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    source = ByteSource(pipe)
    with source.open() as stream:
        assert stream.read() == content
    writer.join()
