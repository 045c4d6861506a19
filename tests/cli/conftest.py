"""Commands run in the test's own process, and one tiny model of each domain to run them with."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from gia_science import catalog
from gia_science.cli.main import main
from gia_science.data.source import dataset_table
from gia_science.training.api import train

TINY = {
    "network.width": 16,
    "network.layers": 1,
    "network.attention.heads": 2,
    "training.epochs": 1,
    "training.min_steps": 1,
    "descriptors": [],
}
"""Settings of a network that is trained in a moment."""


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str
    out_bytes: bytes

    @property
    def rows(self) -> list[dict[str, str]]:
        """Standard output as CSV."""
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def error(self) -> str:
        """The last line of standard error, which must be the error."""
        lines = self.err.splitlines()
        assert lines, "nothing was said"
        assert lines[-1].startswith("error: "), self.err
        return lines[-1].removeprefix("error: ")


Run = Callable[..., Finished]


def run_command(*arguments: object, stdin: bytes = b"") -> Finished:
    """Run ``gia`` with arguments; a traceback, or an end without an exit code, fails the test."""
    streams = [io.TextIOWrapper(io.BytesIO(given), encoding="utf-8") for given in (stdin, b"", b"")]
    with (
        mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
        pytest.raises(SystemExit) as end,
    ):
        main([str(argument) for argument in arguments])
    for stream in streams[1:]:
        stream.flush()
    out, err = (stream.buffer.getvalue() for stream in streams[1:])  # type: ignore[attr-defined]
    assert isinstance(end.value.code, int)
    assert b"Traceback" not in out + err
    return Finished(end.value.code, out.decode(), err.decode(), out)
