"""Dataset cards: what was measured, where it comes from, on what terms, and what is wrong with it."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import yaml
from pydantic import Field, StringConstraints, field_validator

from gia_science import catalog
from gia_science.errors import DefinitionError, TableError, Where
from gia_science.settings import Strict, validate

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class CardFile(Strict):
    """One file of a dataset.

    Parameters
    ----------
    path : str
        Relative path below the folder of the cards, or below the package that ships the file.
    sha256 : str
        Checksum of its bytes.
    """

    path: str
    sha256: Sha256

    @field_validator("path")
    @classmethod
    def _stays_below(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or PurePosixPath(path).is_absolute() or ".." in parts or "\\" in path or ":" in path:
            raise ValueError("must be a relative path without '..'")
        return path


class BundledSource(Strict):
    """A CSV that lies beside the card."""

    kind: Literal["bundled"]
    file: CardFile


class PackageSource(Strict):
    """A SMILES file and a CSV of values, joined by name, inside an installed Python package.

    Parameters
    ----------
    package : str
        Import name of the package.
    structures : CardFile
        Lines of a SMILES, a blank and a name; no header.
    values : CardFile
        CSV with a header and two columns: name and value.
    """

    kind: Literal["package"]
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    structures: CardFile
    values: CardFile


Source = Annotated[BundledSource | PackageSource, Field(discriminator="kind")]


class Target(Strict):
    """A measured quantity.

    Parameters
    ----------
    column : str
        Name of its column.
    kind : str
        ``"regression"``, ``"binary"`` or ``"multiclass"``.
    unit : str, optional
        Unit of a number; None for a class or a number without one.
    meaning : str
        What it is, in words.
    """

    column: str
    kind: Literal["regression", "binary", "multiclass"]
    unit: str | None = None
    meaning: str


class Evaluation(Strict):
    """How results on the dataset are compared.

    Parameters
    ----------
    split : str
        The recommended split, in words.
    metric : str
        Name of the metric to compare by.
    """

    split: str
    metric: str


class DatasetCard(Strict):
    """What is known of a dataset.

    Parameters
    ----------
    name : str
        Name of the card's file without its suffix.
    title : str
        One line for a list.
    domain : str
        ``"protein"``, ``"smiles"`` or ``"composition"``.
    source : BundledSource or PackageSource
        Where the rows come from, with checksums.
    rows : int
        Number of rows.
    columns : tuple of str
        Names of all columns, in order.
    input : str
        Column of the sequence, SMILES or formula.
    id : str, optional
        Column of identifiers.
    targets : tuple of Target
        What was measured.
    origin, citation, licence : str
        Where the data were collected from, what to cite, and the terms as stated there.
    known_problems : tuple of str
        What to know before believing a result.
    evaluation : Evaluation
        Recommended split and metric.
    """

    name: str
    title: str
    domain: Literal["protein", "smiles", "composition"]
    source: Source
    rows: Annotated[int, Field(gt=0)]
    columns: tuple[str, ...]
    input: str
    id: str | None = None
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    origin: str
    citation: str
    licence: str
    known_problems: tuple[str, ...] = ()
    evaluation: Evaluation

    @field_validator("targets")
    @classmethod
    def _targets_differ(cls, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        if len({target.column for target in targets}) < len(targets):
            raise ValueError("two targets share a column")
        return targets


@dataclass(frozen=True)
class DatasetRows:
    """The rows of a dataset, as text.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    rows : tuple of (int, tuple of str)
        Line in `source`, counted from 1, and the cells of each row.
    source : Path
        The file the lines are counted in.
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
    missing = [key for key in (card.input, *(t.column for t in card.targets)) if key not in card.columns]
    if card.name != name or missing:
        what = (
            "the card names a column it does not list"
            if missing
            else "the card has another name than its file"
        )
        raise DefinitionError(what, got=repr(missing[0] if missing else card.name), where=where)
    return card


def load_rows(card: DatasetCard, *, extra: Path | None = None) -> DatasetRows:
    """Rows of a dataset, checked against its card.

    Parameters
    ----------
    card : DatasetCard
        As `load_card` gives it.
    extra : Path, optional
        The folder that `load_card` was given.

    Raises
    ------
    TableError
        When a file is missing, or differs from the card in its checksum, columns or number of rows.
    """
    source = card.source
    if isinstance(source, BundledSource):
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
