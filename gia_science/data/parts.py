"""Finished parts of an output that is still being made, from which an interrupted command can go on."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from gia_science.data.lock import FolderLock
from gia_science.data.record import Record
from gia_science.data.writer import atomic_file, check_place, output_format, refuse_nul
from gia_science.errors import TableError, Where, counted

FORMAT = 1
"""Version of the folder's layout."""
_JOB = "job.json"
_PART = re.compile(r"part-\d{8}")
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.part")
_OWN = re.compile(rf"{_PART.pattern}|{_UNFINISHED.pattern}|job\.json")
logger = logging.getLogger("gia_science")


def parts_folder(target: str | Path) -> Path:
    """Folder beside a file in which its parts are kept: ``.out.csv.parts`` for ``out.csv``."""
    final = Path(os.path.realpath(target))
    return final.with_name(f".{final.name}.parts")


def file_digest(path: str | Path) -> dict[str, int | str]:
    """Size and SHA-256 of the bytes of a file."""
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"bytes": stream.tell(), "sha256": digest}


def damaged_part(path: Path) -> TableError:
    """The error over a part that does not hold what was written."""
    return TableError(
        "a finished part is damaged", hint="start anew without --resume", where=Where(file=str(path))
    )


class PartStore:
    """Parts of one output, in a folder beside it that one process holds at a time, as a context manager.

    When the ``with`` block ends well the folder is removed. After an error, Ctrl-C or a kill the finished parts stay;
    a folder without any is removed.

    Parameters
    ----------
    target : str or Path
        The output, a regular file or one that does not exist yet.

    Attributes
    ----------
    folder : Path
        Where the parts lie; what is written there under a name of `atomic_file` is removed when work goes on.
    stored : dict or None
        The job of the parts that were there at the start of the ``with`` block; None where there were none.
    count : int
        Number of finished parts, from `start` on.

    Raises
    ------
    TableError
        When the place cannot be written to, or another process makes the same output.
    """

    def __init__(self, target: str | Path) -> None:
        self._target = target
        self._where = Where(file=str(target))
        self._final = check_place(target)
        self._started = False
        self.folder = parts_folder(target)
        self.stored: dict[str, Any] | None = None
        self.count = 0

    def __enter__(self) -> Self:
        try:
            self._lock = FolderLock(self.folder)
        except BlockingIOError as error:
            raise TableError(
                "another process is writing this file",
                hint="wait for it, or choose another name",
                where=self._where,
            ) from error
        except OSError as error:
            raise TableError(
                "the file cannot be written", got=error.strerror or str(error), where=self._where
            ) from error
        self.stored = self._read_job()
        return self

    def start(self, job: Mapping[str, object], *, resume: bool) -> None:
        """Begin, or go on from the parts that are there.

        Parameters
        ----------
        job : mapping
            All that decides what the output holds, as plain types of JSON; its keys are named to the user.
        resume : bool
            Go on. Otherwise parts that are there are removed, and the user is told.

        Raises
        ------
        TableError
            When parts are to be used that another job made, or when the output is there and no part of it.
        """
        job = json.loads(json.dumps({"format of the parts": FORMAT, **job}))
        goes_on = resume and self.stored is not None
        if goes_on:
            self._refuse_other(job)
        elif resume:
            self._refuse_finished()
        elif left := len(self.paths()):
            found = f"unfinished work of {self._target} found ({counted(left, 'part')})"
            logger.warning("%s: --resume would have gone on with it; starting anew", found)
        self._clear(_UNFINISHED if goes_on else _OWN)
        if not goes_on:
            with atomic_file(self.folder / _JOB) as stream:
                stream.write(json.dumps(job, indent=1, ensure_ascii=False).encode())
        self._started = True
        self.count = len(self.paths())

    def add(self, content: bytes) -> None:
        """Keep one more finished part."""
        with self.part() as stream:
            stream.write(content)

    @contextmanager
    def part(self) -> Iterator[BinaryIO]:
        """Binary file that is one more part when the ``with`` block ends well, and nothing otherwise."""
        assert self._started
        with atomic_file(self.folder / _name(self.count)) as stream:
            yield stream
        self.count += 1

    def paths(self) -> list[Path]:
        """The finished parts in order."""
        there = {path.name for path in self.folder.iterdir() if _PART.fullmatch(path.name)}
        whole = next((number for number in range(len(there)) if _name(number) not in there), len(there))
        return [self.folder / _name(number) for number in range(whole)]

    def add_rows(self, rows: Iterable[Record]) -> None:
        """Keep rows of the output as a part, with line and id of the record that each was made from.

        Raises
        ------
        TableError
            When a cell holds what the output cannot hold: better told now than at the end.
        """
        is_text = output_format(self._target)[0] != "parquet"
        lines = []
        for row in rows:
            if is_text:
                refuse_nul(row.cells, where=self._where)
            lines.append(json.dumps((row.line, row.id, row.cells), ensure_ascii=False) + "\n")
        try:
            self.add("".join(lines).encode())
        except UnicodeEncodeError as error:
            raise TableError(
                "a cell cannot be written as UTF-8", got=error.reason, where=self._where
            ) from error

    def through(self, rows: Iterable[Record], *, size: int) -> Iterator[Record]:
        """Keep rows as parts of `size` rows; when there are no more, all rows that are kept, in order."""
        iterator = iter(rows)
        while part := list(islice(iterator, size)):
            self.add_rows(part)
        yield from self.rows()

    def rows(self) -> Iterator[Record]:
        """All rows that are kept, in order."""
        for path in self.paths():
            with path.open(encoding="utf-8", newline="\n") as stream:
                for text in stream:
                    yield self._row(text, path)

    def _row(self, text: str, path: Path) -> Record:
        try:
            line, identifier, cells = json.loads(text)
        except ValueError as error:
            raise damaged_part(path) from error
        return Record(str(self._target), line, identifier, tuple(cells))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = kind is None or not self.paths()
        if done:
            self._clear(_OWN)
        elif self._started:
            kept = f"{counted(self.count, 'part')} of {self._target}"
            logger.warning("%s finished and kept: --resume goes on from there", kept)
        self._lock.release(remove=done)

    def _clear(self, names: re.Pattern[str]) -> None:
        for path in self.folder.iterdir():
            if names.fullmatch(path.name):
                path.unlink()

    def _read_job(self) -> dict[str, Any] | None:
        try:
            job = json.loads((self.folder / _JOB).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            job = None
        return job if isinstance(job, dict) else {}

    def _refuse_other(self, job: Mapping[str, Any]) -> None:
        stored = self.stored or {}
        changed = [
            _change(name, job[name], stored.get(name)) for name in job if job[name] != stored.get(name)
        ]
        if changed:
            raise TableError(
                "the unfinished work was begun otherwise",
                got="; ".join(changed),
                hint="the same files and options go on with it, without --resume it starts anew",
                where=self._where,
            )

    def _refuse_finished(self) -> None:
        if self._final.exists():
            raise TableError(
                "nothing to resume",
                got="a file that is there, and no unfinished work",
                hint="without --resume it is made anew",
                where=self._where,
            )
        logger.info("nothing to resume: starting with the first row")


def _name(number: int) -> str:
    return f"part-{number:08}"


def _change(name: str, new: object, old: object) -> str:
    """How a setting of a job changed, in words; content that has no short name is just another one."""
    if any(isinstance(value, list | dict) for value in (new, old)):
        return f"another {name}"
    shown = ["not given" if value is None else str(value) for value in (new, old)]
    return f"{name} {shown[0]}, was {shown[1]}"
