"""Files that a user may name by mistake, at every command: one line that says what is wrong, or rows back."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = "".join(f"{'C' * (place % 9 + 1)}O,{place}.5\n" for place in range(12))
GOOD = f"smiles,pIC50\n{ROWS}"
COMMANDS: dict[str, tuple[str, ...]] = {
    "validate": ("validate", "FILE", "--target", "pIC50"),
    "train": ("train", "FILE", "--target", "pIC50", "--no-baseline"),
    "train without a target": ("train", "FILE"),
    "predict": ("predict", "MODEL", "FILE", "-o", "out.csv"),
    "embed": ("embed", "MODEL", "FILE", "-o", "out.npz"),
    "evaluate": ("evaluate", "MODEL", "FILE", "--no-baseline"),
    "pretrain": ("pretrain", "FILE"),
    "graph": ("graph", "MODEL", "--file", "FILE", "--line", "2"),
    "merge": ("merge", "m.csv", "FILE"),
}


def office(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "<xml/>")
    return stream.getvalue()


def noise(count: int) -> bytes:
    return random.Random(0).randbytes(count)


OBJECTS = [{"smiles": "CCO", "pIC50": 1}, {"smiles": "CC", "pIC50": 2}]
WRONG: dict[str, tuple[bytes, str]] = {
    "noise": (noise(5000), "not a text file: got NUL"),
    "empty": (b"", "the file is empty"),
    "cut gzip": (gzip.compress(noise(9000), mtime=0)[:5000], "the compressed file is cut off"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-16 text, not UTF-8"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + noise(50), "not a text file: got a picture"),
    "workbook": (
        office("[Content_Types].xml", "xl/workbook.xml"),
        "not a text file: got an Excel workbook (save it as CSV)",
    ),
    "old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
        "got an Excel workbook (save it as CSV)",
    ),
    "archive": (office("a.csv"), "got a ZIP archive"),
    "one long line": (b"C" * 10_000_000, "not a table: got a first line of more than"),
    "NUL": (b"smiles,pIC50\nCC\0O,1\n", "not a text file: got NUL"),
    "open quote": (b'smiles,pIC50\n"CC,1\nCCO,2\nCC,3\n', "a quote is opened and not closed"),
    "double names": (b"smiles,pIC50,smiles\nC,1,C\n", "column names stand more than once: got 'smiles'"),
    "double names, many": (f"{'a,' * 5000}{'b,' * 5000}c\n".encode(), "column names stand more than once"),
    "JSON rows": (json.dumps(OBJECTS).encode(), "not a table: got JSON (save it as CSV)"),
    "JSON columns": (json.dumps({"smiles": ["CCO"]}, indent=1).encode(), "not a table: got JSON"),
    "JSON lines": (b'{"smiles":"CCO","pIC50":1}\n{"smiles":"CC","pIC50":2}\n', "not a table: got JSON"),
}
READING = [command for command in COMMANDS if command != "merge"]
NOT_READ = {
    # Shards are copied row by row: what stands in them is not looked at.
    "merge": {"one long line", "open quote", "double names", "double names, many"},
    # Only the header is read.
    "train without a target": {"open quote"},
}


@pytest.fixture
def try_file(gia, molecules, tiny) -> Callable[[str, str], object]:
    """Runs a command on a file: ``try_file("predict", "in.csv")``."""

    def command(name: str, file: str):
        place = {"MODEL": molecules, "FILE": file}
        words = [place.get(word, word) for word in COMMANDS[name]]
        settings: Sequence[str] = tiny if words[0] == "train" else ()
        if words[0] == "pretrain":
            # Descriptors are no setting of a pretraining.
            settings = tiny[: tiny.index(next(word for word in tiny if word.startswith("descriptors"))) - 1]
        return gia(*words, *settings)

    return command


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def named(command: str) -> str:
    return "m.1-of-1.csv" if command == "merge" else "in.csv"


@pytest.mark.parametrize(
    ("kind", "command"),
    [(kind, name) for kind in WRONG for name in COMMANDS if kind not in NOT_READ.get(name, ())],
)
def test_a_wrong_file_is_one_line(try_file, write, tmp_path, kind, command) -> None:
    content, message = WRONG[kind]
    done = try_file(command, write(content, named(command)))
    assert message in done.error
    assert named(command) in done.error
    assert len(done.error) < 2500
    assert len(done.told) == 1
    assert [path.name for path in tmp_path.iterdir()] == [named(command)]


@pytest.mark.parametrize("command", READING)
def test_no_file_a_folder_and_no_name(try_file, tmp_path, command) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert try_file(command, "nothing.csv").error == "nothing.csv: no such file"
    assert try_file(command, "folder.csv").error == "folder.csv: a folder, not a file"
    assert try_file(command, "").error in ("no file: its name is empty", ".: a folder, not a file")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    assert "loop.csv: the file cannot be opened: got Too many levels" in try_file(command, "loop.csv").error


def test_shards_that_are_not_there(try_file, tmp_path) -> None:
    (tmp_path / "m.1-of-1.csv").mkdir()
    assert "1 of 1 shards is missing: got no m.1-of-1.csv" in try_file("merge", "m.1-of-1.csv").error
    assert "is missing" in try_file("merge", "n.1-of-1.csv").error


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_permission(try_file, write, monkeypatch, command) -> None:
    name = write(GOOD, named(command))
    Path(name).chmod(0)
    original = Path.open

    def refuse(path: Path, *arguments, **options):
        # Whoever runs the tests as root may read every file.
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert try_file(command, name).error == f"{name}: the file cannot be opened: got Permission denied"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_header_alone(try_file, write, command) -> None:
    done = try_file(command, write("smiles,pIC50\n", named(command)))
    expected = {
        "validate": (1, "! no rows"),
        "train": (2, "no rows to train on: got a header only"),
        "train without a target": (
            2,
            "which column is to be learnt? (say it with --target; there are: smiles, pIC50)",
        ),
        "predict": (0, "0 rows predicted -> out.csv"),
        "embed": (0, "0 rows embedded -> out.npz"),
        "evaluate": (2, "no row can be scored: got an empty table"),
        "pretrain": (2, "no rows to train on: got a header only"),
        "graph": (2, "no row starts on this line"),
        "merge": (0, "0 rows of 1 shard -> m.csv"),
    }
    code, message = expected[command]
    assert done.code == code
    assert message in done.out + done.err


@pytest.mark.parametrize("command", [command for command in READING if command != "train without a target"])
@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.replace("\n", "\r").replace("\r", "\r\n", 4)[::-1].replace("\r", "\n", 3)[::-1],
        GOOD.rstrip("\n"),
    ],
    ids=["CRLF", "CR", "mixed", "no end"],
)
def test_line_ends(try_file, write, content, command) -> None:
    done = try_file(command, write(content))
    assert done.code == (1 if command == "validate" else 0), done.err
    if command == "predict":
        assert "12 rows predicted" in done.err
    # The inputs of the last rows repeat with other values, and that is what validate finds.
    assert command != "validate" or "in.csv: 12 rows (csv)" in done.out


@pytest.mark.parametrize("command", READING)
def test_ten_thousand_columns(try_file, write, command) -> None:
    more = [f"c{place}" for place in range(9998)]
    rows = [["smiles", "pIC50", *more], *([smiles, "1.5", *more] for smiles in ("C", "CC", "CCC", "CCCC"))]
    done = try_file(command, write("\n".join(map(",".join, rows)) + "\n"))
    if command == "train without a target":
        assert done.error.endswith("c16, c17, ...)")
    else:
        assert done.code == (1 if command == "validate" else 0), done.err


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_cell_of_ten_million_characters_is_an_error_row(try_file, write, command) -> None:
    done = try_file(command, write(b"smiles,pIC50\nCCO," + b"1" * 10_000_000 + b"\nCC,2\n"))
    assert done.code == 1
    assert "line 2: a cell of more than 131072 characters" in done.err


@pytest.mark.parametrize("command", ["validate", "train", "predict", "embed", "evaluate"])
def test_parquet_of_all_types(try_file, tmp_path, command) -> None:
    """Columns that are not read can hold anything: nested values, dates beyond Python's, bytes, nulls alone."""
    count = range(6)
    columns = {
        "smiles": ["C" * (place + 1) for place in count],
        "pIC50": [float(place) if place != 3 else None for place in count],
        "number": list(count),
        "day": [datetime.date(2024, 1, place + 1) for place in count],
        "never": pa.array([2**31 - 1, *count[1:]], pa.date32()),
        "later": pa.array([2**62, *count[1:]], pa.timestamp("us", tz="UTC")),
        "while": pa.array([2**62, *count[1:]], pa.duration("s")),
        "nested": [{"a": place, "b": [1, None]} for place in count],
        "raw": [b"\xff\0"] * 6,
        "label": pa.array(["x"] * 6).dictionary_encode(),
        "nothing": pa.nulls(6),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    done = try_file(command, "in.parquet")
    assert done.code == (1 if command == "validate" else 0), done.err
    if command == "predict":
        assert read_rows(tmp_path / "out.csv")[0]["later"] == f"{2**62} (timestamp[us, tz=UTC])"
        assert [row["smiles"] for row in read_rows(tmp_path / "out.csv")] == columns["smiles"]


@pytest.mark.parametrize("command", READING)
def test_parquet_that_is_damaged_within(gia, try_file, tmp_path, command) -> None:
    letters = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"CC"]).buffers())
    pq.write_table(pa.table({"smiles": letters, "pIC50": [1.0, 2.0]}), tmp_path / "in.parquet")
    if command == "train without a target":
        assert "which column is to be learnt?" in try_file(command, "in.parquet").error
        return
    assert "in.parquet, line 2: the Parquet file is damaged: got" in try_file(command, "in.parquet").error
    shard = (tmp_path / "in.parquet").rename(tmp_path / "m.1-of-1.parquet")
    merged = gia("merge", "m.parquet", shard.name).error
    assert "m.1-of-1.parquet: the Parquet file is cut off or damaged: got" in merged
