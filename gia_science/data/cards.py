"""Dataset cards: what was measured, where it comes from, on what terms, and what is wrong with it."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from gia_science import catalog
from gia_science.data.card_remote import RemoteSource
from gia_science.data.card_schema import BundledSource, CardFile, DatasetCard, PackageSource
from gia_science.data.download import fetch, place_of
from gia_science.data.remote import remote_columns
from gia_science.errors import DefinitionError, TableError, Where
from gia_science.settings import validate

__all__ = [
    "BundledSource",
    "CardFile",
    "DatasetCard",
    "DatasetRows",
    "PackageSource",
    "RemoteSource",
    "Whereabouts",
    "fetch_files",
    "load_card",
    "load_rows",
    "whereabouts",
]

Whereabouts = Literal["bundled", "mirror", "cached", "download"]


@dataclass(frozen=True)
class DatasetRows:
    """The rows of a dataset, as text.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    rows : tuple of (int, tuple of str)
        Line in `source`, counted from 1, and the cells of each row. Rows of several files are numbered instead.
    source : Path
        The file the lines are counted in; where there are several, the first.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    source: Path


def load_card(name: str, *, extra: Path | None = None) -> DatasetCard:
    """Read and check a dataset card.

    Parameters
    ----------
    name : str
        Name of the card, such as ``"nav17"``.
    extra : Path, optional
        A folder of the user's own cards, looked at first.

    Raises
    ------
    DefinitionError
        When there is no such card or it is not valid; the message names the key.
    """
    path = catalog.find("datasets", name, extra=extra)
    where = Where(file=str(path))
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DefinitionError("not a YAML file", got=str(error), where=where) from error
    if not isinstance(content, dict):
        raise DefinitionError("a dataset card is a mapping of keys to values", got=repr(content), where=where)
    card = validate(DatasetCard, content, error=DefinitionError, what="the dataset card", where=where)
    if card.name != name:
        raise DefinitionError("the card has another name than its file", got=repr(card.name), where=where)
    missing = card.column_not_made()
    if missing is not None:
        raise DefinitionError(
            "the card names a column it does not list or make", got=repr(missing), where=where
        )
    return card


def whereabouts(card: DatasetCard) -> Whereabouts:
    """Where the rows of a dataset are, judged by names and sizes: with the package, in a mirror, cached, or far."""
    if not isinstance(card.source, RemoteSource):
        return "bundled"
    places = {place_of(file) for file in card.source.files}
    return next(place for place in ("download", "cached", "mirror") if place in places)


def fetch_files(card: DatasetCard, *, progress: bool | None = None) -> tuple[Path, ...]:
    """Download what is not there of the files of a dataset; none where it is bundled.

    Parameters
    ----------
    card : DatasetCard
    progress : bool, optional
        Draw progress bars; by default on a terminal.

    Returns
    -------
    tuple of Path
        The files, with the checksums on the card.

    Raises
    ------
    TableError
        When a file cannot be had, or is another one than on the card.
    """
    if not isinstance(card.source, RemoteSource):
        return ()
    return tuple(fetch(file, dataset=card.name, progress=progress) for file in card.source.files)


def load_rows(card: DatasetCard, *, extra: Path | None = None) -> DatasetRows:
    """Rows of a dataset, checked against its card; downloaded, and told, where they are not there.

    Parameters
    ----------
    card : DatasetCard
        As `load_card` gives it.
    extra : Path, optional
        The folder that `load_card` was given.

    Raises
    ------
    TableError
        When a file is missing or cannot be downloaded, or differs from the card in its checksum, columns or
        number of rows.
    """
    source = card.source
    if isinstance(source, RemoteSource):
        found, path = remote_columns(source, dataset=card.name)
        table = DatasetRows(card.columns, tuple(found.rows(card.columns)), path)
    elif isinstance(source, BundledSource):
        folder = catalog.find("datasets", card.name, extra=extra).parent
        table = _bundled_rows(source, folder)
    else:
        table = _joined_rows(source, _package_folder(source.package), card.columns)
    where = Where(file=str(table.source))
    if table.columns != card.columns:
        raise TableError(
            "columns differ from the card", got=str(table.columns), expected=str(card.columns), where=where
        )
    if len(table.rows) != card.rows:
        raise TableError(
            "number of rows differs from the card",
            got=str(len(table.rows)),
            expected=str(card.rows),
            where=where,
        )
    return table


def _bundled_rows(source: BundledSource, folder: Path) -> DatasetRows:
    path, text = _checked_text(source.file, folder)
    reader = csv.reader(io.StringIO(text))
    columns = tuple(next(reader, []))
    return DatasetRows(columns, tuple((reader.line_num, tuple(cells)) for cells in reader), path)


def _joined_rows(source: PackageSource, folder: Path, columns: tuple[str, ...]) -> DatasetRows:
    """Rows of name, SMILES and value, in the order of the SMILES file."""
    path, structures = _checked_text(source.structures, folder)
    values_path, values = _checked_text(source.values, folder)
    value_of = {cells[0]: cells[1] for cells in list(csv.reader(io.StringIO(values)))[1:] if len(cells) == 2}
    rows = []
    for line, text in enumerate(structures.splitlines(), start=1):
        smiles, _, name = text.partition(" ")
        if name not in value_of:
            raise TableError(
                "no value for this structure",
                expected=f"one in {values_path}",
                where=Where(str(path), line, record=name),
            )
        rows.append((line, (name, smiles, value_of[name])))
    return DatasetRows(columns, tuple(rows), path)


def _package_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise TableError("the package that ships this dataset is not installed", got=package)
    return Path(spec.origin).parent


def _checked_text(file: CardFile, folder: Path) -> tuple[Path, str]:
    path = folder / file.path
    where = Where(file=str(path))
    if not path.is_file():
        raise TableError("a file of this dataset is missing", hint="reinstall what ships it", where=where)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise TableError(
            "this file is not the one on the dataset card",
            got=f"sha256 {digest}",
            expected=f"sha256 {file.sha256}",
            where=where,
        )
    try:
        return path, content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TableError("not UTF-8 text", got=str(error), where=where) from error
