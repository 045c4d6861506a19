"""What a dataset card may say: where the rows come from, what was measured, and on what terms."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from gia_science.data.card_remote import RemoteSource, Sha256
from gia_science.settings import Strict


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


Source = Annotated[BundledSource | PackageSource | RemoteSource, Field(discriminator="kind")]


class Target(Strict):
    """A measured quantity.

    Parameters
    ----------
    column : str
        Name of its column.
    kind : str
        ``"regression"``, ``"binary"``, ``"multiclass"`` or ``"per_token"``: one letter for each residue.
    unit : str, optional
        Unit of a number; None for a class or a number without one.
    meaning : str
        What it is, in words.
    """

    column: str
    kind: Literal["regression", "binary", "multiclass", "per_token"]
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
    source : BundledSource, PackageSource or RemoteSource
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
    licence_id : str
        The licence in a word or two, for a list.
    known_problems : tuple of str
        What to know before believing a result, and what is done about it.
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
    licence_id: str
    known_problems: tuple[str, ...] = ()
    evaluation: Evaluation

    @field_validator("targets")
    @classmethod
    def _targets_differ(cls, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        if len({target.column for target in targets}) < len(targets):
            raise ValueError("two targets share a column")
        return targets

    def column_not_made(self) -> str | None:
        """A column that the card names and its rows will not have, or None."""
        named = (self.input, *(target.column for target in self.targets), *filter(None, [self.id]))
        missing = [column for column in named if column not in self.columns]
        if isinstance(self.source, RemoteSource):
            made = self.source.columns_made()
            missing += [column for column in self.columns if column not in made]
        return missing[0] if missing else None
