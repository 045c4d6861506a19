"""Commands run in the test's own process, and one tiny model of each domain to run them with."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from gia_science.cli.main import main
from gia_science.data.record import LoadedTable
from gia_science.data.source import dataset_table
from gia_science.training.api import train

TINY: dict[str, Any] = {
    "network.width": 16,
    "network.layers": 1,
    "network.attention.heads": 2,
    "training.epochs": 1,
    "training.min_steps": 1,
    "descriptors": [],
}
"""Settings of a network that is trained in a moment."""
WORKING = ("train", "pretrain", "predict", "embed", "evaluate", "graph")


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, str]]:
        """Standard output as CSV."""
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def told(self) -> list[str]:
        """Lines of standard error."""
        return self.err.splitlines()

    @property
    def error(self) -> str:
        """The error of a command that could not be carried out: the last line, and the only one of its kind."""
        assert self.code == 2, (self.code, self.err)
        errors = [line for line in self.told if line.startswith("error: ")]
        assert errors == self.told[-1:], self.err
        return errors[0].removeprefix("error: ")


def run(*arguments: object, stdin: bytes = b"") -> Finished:
    """Run ``gia``; a traceback, or an end without an exit code, fails the test."""
    words = [str(argument) for argument in arguments]
    if words[:1] and words[0] in WORKING and "--threads" not in words:
        words += ["--threads", "1"]
    streams = [io.TextIOWrapper(io.BytesIO(given), encoding="utf-8") for given in (stdin, b"", b"")]
    with mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]):
        with pytest.raises(SystemExit) as end:
            main(words)
        for stream in streams[1:]:
            stream.flush()
    out, err = (stream.buffer.read() if stream.buffer.seek(0) == 0 else b"" for stream in streams[1:])
    assert isinstance(end.value.code, int)
    assert b"Traceback" not in out + err
    return Finished(end.value.code, out.decode(), err.decode())


@pytest.fixture
def gia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Runs a command in the test's own folder."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a file into the test's own folder and gives its name: ``write(text, name)``."""

    def write_file(content: str | bytes, name: str = "in.csv") -> str:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write_file


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Options of ``gia train`` for a network that is trained in a moment."""
    settings = [f"{key}={yaml.safe_dump(value, default_flow_style=True)}" for key, value in TINY.items()]
    return [word for setting in settings for word in ("--set", setting)]


@pytest.fixture
def fit(gia: Callable[..., Finished], write: Callable[..., str], tiny: list[str]) -> Callable[..., Finished]:
    """Trains a tiny model on a table into the folder ``new``: ``fit(text, "-t", "y")``."""

    def train_on(content: str | bytes, *options: object, name: str = "rows.csv") -> Finished:
        write(content, name)
        return gia("train", name, "-o", "new", "--overwrite", "--no-baseline", *tiny, *options)

    return train_on


def _model(folder: Path, *, dataset: str, places: Sequence[int], target: str, **options: Any) -> Path:
    table = dataset_table(dataset)
    chosen = LoadedTable(
        table.columns, tuple(table.records[place] for place in places), dataset, "memory", table.header
    )
    path = folder / f"{dataset}.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([chosen.header, *(record.cells for record in chosen.records)])
    settings = {**TINY, "baselines": []}
    train(path, target=target, out=folder / "model", settings=settings, progress=False, **options)
    return folder / "model"


@pytest.fixture(scope="session")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Regression of pIC50 from SMILES; the measured rows lie beside it in ``nav17.csv``."""
    folder = tmp_path_factory.mktemp("molecules")
    return _model(folder, dataset="nav17", places=range(40), target="pIC50")


@pytest.fixture(scope="session")
def proteins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binary classes from sequences; the measured rows lie beside it in ``amp.csv``."""
    folder = tmp_path_factory.mktemp("proteins")
    return _model(folder, dataset="amp", places=[*range(20), *range(4600, 4620)], target="label")


@pytest.fixture(scope="session")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Regression of band gaps from formulas; the measured rows lie beside it in ``expt_gap.csv``."""
    folder = tmp_path_factory.mktemp("materials")
    return _model(folder, dataset="expt_gap", places=range(40), target="band_gap_eV")
