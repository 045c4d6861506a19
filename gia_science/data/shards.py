"""One table made by several processes: each takes every n-th row, and the files are merged row by row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Self, TypeVar

from gia_science.data.compression import ByteSource
from gia_science.data.lines import refuse_binary
from gia_science.data.parquet import pyarrow_module
from gia_science.data.parts import parts_folder
from gia_science.data.record import Record
from gia_science.data.vectors import WIDTH_NOTE, EmbeddingWriter, is_npz
from gia_science.data.writer import TableWriter, output_format, output_stream
from gia_science.errors import RecipeError, TableError, Where, counted

_SHARD = re.compile(r"([1-9]\d*)/([1-9]\d*)", re.ASCII)
_NAME = re.compile(r"(.*)\.([1-9]\d*)-of-([1-9]\d*)", re.ASCII | re.DOTALL)
_BATCH_ROWS = 1024
_SHOWN = 10
RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` equal shares of the rows of a table, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Shard from ``2/8``; raises `RecipeError` when it is not one."""
        match = _SHARD.fullmatch(text.strip())
        if match is None or int(match[1]) > int(match[2]):
            raise RecipeError(
                "--shard is not valid", got=repr(text), expected="i/n with i from 1 to n, such as 2/8"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def records(self, records: Iterable[Record]) -> Stride:
        """The records of this shard: of 8 shards the second has those at 1, 9, 17, ..., counted from 0."""
        return Stride(records, self.number - 1, self.count)

    def path(self, out: str | Path) -> Path:
        """Name of this shard's file: ``out.2-of-8.csv`` for ``out.csv``."""
        stem, suffix = _split(Path(out))
        return Path(out).with_name(f"{stem}.{self.number}-of-{self.count}{suffix}")


@dataclass(frozen=True, slots=True)
class Stride:
    """Every `step`-th of some records, from position `start` on; iterated as often as they can be."""

    records: Iterable[Record]
    start: int
    step: int = 1

    def __iter__(self) -> Iterator[Record]:
        return islice(self.records, self.start, None, self.step)


def check_shard_target(out: str | Path) -> None:
    """Refuse an output whose shards could not be merged; raises `TableError`."""
    if is_npz(out):
        raise TableError(
            "shards of NPZ files cannot be merged",
            expected=".csv, .tsv, .csv.gz, .tsv.gz or .parquet",
            where=Where(file=str(out)),
        )
    output_format(out)


def find_shards(out: str | Path) -> list[Path]:
    """The files of all shards of an output, beside it, in order.

    Raises
    ------
    TableError
        When there are none, some are missing or unfinished, or there are those of different numbers of shards.
    """
    stem, suffix = _split(Path(out))
    there = [
        path
        for path in Path(out).parent.iterdir()
        if (shard := _shard_of(path)) is not None
        and path.name == shard.path(path.with_name(stem + suffix)).name
    ]
    if not there:
        raise TableError(
            "no shards are there",
            expected=f"{Shard(1, 2).path(out).name} and so on",
            hint="gia predict or gia embed with --shard writes them",
            where=Where(file=str(out)),
        )
    return order_shards(there, out=out)


def order_shards(paths: Sequence[Path], *, out: str | Path) -> list[Path]:
    """Files of shards in order; raises `TableError`, as `find_shards` does, when they are not all of one table."""
    where = Where(file=str(out))
    named = []
    for path in paths:
        shard = _shard_of(path)
        if shard is None or output_format(path)[0] != output_format(out)[0]:
            raise TableError(
                "not the name of a shard",
                got=str(path),
                expected=f"as {Shard(1, 2).path(out).name}",
                where=where,
            )
        named.append((shard, path))
    counts = sorted({shard.count for shard, _ in named})
    if len(counts) > 1:
        raise TableError(
            "shards of different tables",
            got=" and ".join(f"some of {count}" for count in counts),
            hint="remove the old ones, or name the files",
            where=where,
        )
    (count,) = counts
    files: dict[int, Path] = {}
    for shard, path in named:
        if shard.number in files:
            raise TableError("a shard is given twice", got=f"{files[shard.number]}, {path}", where=where)
        files[shard.number] = path
    _refuse_missing({number: files.get(number) for number in range(1, count + 1)}, out, count)
    return [files[number] for number in range(1, count + 1)]


def _refuse_missing(files: dict[int, Path | None], out: str | Path, count: int) -> None:
    lacking = []
    for number, path in files.items():
        place = path or Shard(number, count).path(out)
        if parts_folder(place).exists():
            lacking.append(f"{place.name} (begun, not finished)")
        elif path is None or not path.is_file():
            lacking.append(place.name)
    if lacking:
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        raise TableError(
            f"{len(lacking)} of {count} shards {'is' if len(lacking) == 1 else 'are'} missing",
            got=f"no {', '.join(lacking[:_SHOWN])}{more}",
            hint="the same command with --shard ... --resume makes or finishes them",
            where=Where(file=str(out)),
        )


def merge_shards(out: str | Path, paths: Sequence[Path]) -> int:
    """Write the rows of all shards in the order of the input; cells stay as they are.

    Parameters
    ----------
    out : str or Path
        As in `TableWriter`; appears when it is whole.
    paths : sequence of Path
        Files of all shards in order, of the kind of `out`.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    TableError
        When the columns differ, the numbers of rows do not fit together, or a file is damaged.
    """
    if output_format(out)[0] == "parquet":
        return _merge_parquet(out, paths)
    shards = [_text_rows(path) for path in paths]
    headers = [next(shard, b"") for shard in shards]
    _refuse_other_columns(headers, paths)
    total = 0
    with output_stream(out) as stream:
        stream.write(headers[0])
        for row in _interleaved(shards, paths):
            stream.write(row)
            total += 1
    return total


def _merge_parquet(out: str | Path, paths: Sequence[Path]) -> int:
    schemas = [_parquet_schema(path) for path in paths]
    _refuse_other_columns(
        [(schema.names, list(map(str, schema.types)), _width(schema)) for schema in schemas], paths
    )
    width = _width(schemas[0])
    rows = _interleaved([_parquet_rows(path) for path in paths], paths)
    total = 0
    if width is not None:
        with EmbeddingWriter(out, schemas[0].names[:-1], width=width) as vectors:
            for *cells, vector in rows:
                vectors.write_row(list(map(_text, cells)), vector)
                total += 1
        return total
    numbers = [field.name for field in schemas[0] if str(field.type) == "double"]
    with TableWriter(out, schemas[0].names, numbers=numbers) as writer:
        for row in rows:
            writer.write_row(list(map(_text, row)))
            total += 1
    return total


def _interleaved(shards: Sequence[Iterator[RowT]], paths: Sequence[Path]) -> Iterator[RowT]:
    """One row of each shard in turn; only the last round may lack rows, and those of the last shards."""
    ended: tuple[str, int] | None = None
    for count, turn in enumerate(zip_longest(*shards)):
        for row, path in zip(turn, paths, strict=True):
            if row is None:
                ended = ended or (path.name, count)
            elif ended is not None:
                raise TableError(
                    "the shards do not belong together",
                    got=f"{ended[0]} ends after {counted(ended[1])}, {path.name} goes on",
                    where=Where(file=str(path)),
                )
            else:
                yield row


def _text_rows(path: Path) -> Iterator[bytes]:
    """Rows of a CSV or TSV file as they stand, line ends within quotes included."""
    source = ByteSource(path)
    refuse_binary(source.head, source=source.name)
    if not source.head:
        raise TableError("the file is empty", where=Where(file=source.name))
    with source.open() as stream:
        for line in stream:
            row = line
            while row.count(b'"') % 2 and (more := stream.readline()):
                row += more
            if not row.endswith(b"\n") or row.count(b'"') % 2:
                raise TableError("the file is cut off", where=Where(file=str(path)))
            yield row


def _parquet_schema(path: Path) -> Any:
    with _damage_named(path):
        return pyarrow_module("pyarrow.parquet").read_schema(path)


def _width(schema: Any) -> int | None:
    """Numbers of each vector, where the last column is one of vectors."""
    noted = (schema.field(-1).metadata or {}).get(WIDTH_NOTE) if len(schema) else None
    return int(noted) if noted is not None and noted.isdigit() else None


def _parquet_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    with _damage_named(path), pyarrow_module("pyarrow.parquet").ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: Any) -> Iterator[Any]:
    """Values of a column; of a column of vectors the vector ``(d,)`` of each row, or None."""
    if not pyarrow_module("pyarrow").types.is_list(column.type):
        yield from column.to_pylist()
        return
    for scalar in column:
        # As an array: a list would hold a Python object for each number.
        yield scalar.values.to_numpy() if scalar.is_valid else None


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    arrow = pyarrow_module("pyarrow")
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise TableError(
            "the Parquet file is cut off or damaged", got=str(error), where=Where(file=str(path))
        ) from error


def _text(value: str | float | None) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _refuse_other_columns(headers: Sequence[object], paths: Sequence[Path]) -> None:
    for header, path in zip(headers, paths, strict=True):
        if header != headers[0] or not header:
            raise TableError(
                "the columns of the shards differ",
                got=f"other columns in {path} than in {paths[0]}",
                where=Where(file=str(path)),
            )


def _shard_of(path: Path) -> Shard | None:
    try:
        stem, _ = _split(path)
    except TableError:
        return None
    match = _NAME.fullmatch(stem)
    return Shard(int(match[2]), int(match[3])) if match and int(match[2]) <= int(match[3]) else None


def _split(path: Path) -> tuple[str, str]:
    """Stem and suffix of the name of an output: ``out`` and ``.csv.gz``."""
    _, zipped = output_format(path)
    suffix = "".join(path.suffixes[-2 if zipped else -1 :])
    return path.name.removesuffix(suffix), suffix
