"""The part of a dataset card that says what is downloaded, how it is read, and which columns are worked out."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from gia_science.settings import Strict

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
TableFormat = Literal["csv", "tsv", "fasta", "flip-fasta"]


class RemoteTable(Strict):
    """A table in a downloaded file.

    Cells are stripped of white space around them.

    Parameters
    ----------
    format : str
        ``"csv"`` and ``"tsv"`` have a header. ``"fasta"`` has the columns ``id``, ``description`` (rest of the
        header) and ``sequence``. ``"flip-fasta"`` is the FASTA of the FLIP benchmark: its header fields such as
        ``TARGET=1.0`` are columns in lower case, and ``SET`` and ``VALIDATION`` make the column ``split``, of
        train, validation and test.
    columns : mapping
        New name to the name in the file; all other columns are left out.
    values : mapping
        Columns that hold one text in every row.
    member : str, optional
        Path of the table inside a zip archive.
    """

    format: TableFormat
    columns: Annotated[dict[str, str], Field(min_length=1)]
    values: dict[str, str] = Field(default_factory=dict)
    member: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return (*self.columns, *self.values)


class RemoteFile(Strict):
    """A file to be downloaded, and the tables in it.

    Parameters
    ----------
    name : str
        Name in a mirror and in the cache.
    url : str
        Address of its bytes.
    sha256, size : str, int
        Checksum and number of its bytes.
    tables : tuple of RemoteTable
        What is read from it.
    """

    name: FileName
    url: Address
    sha256: Sha256
    size: Annotated[int, Field(gt=0)]
    tables: Annotated[tuple[RemoteTable, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _members_of_archives(self) -> Self:
        zipped = PurePosixPath(self.name).suffix == ".zip"
        if any((table.member is not None) != zipped for table in self.tables):
            raise ValueError("member goes with a .zip, and a .zip with a member for each table")
        return self


class Folds(Strict):
    """Number of the cross-validation fold in whose test part each row stands.

    It is that of scikit-learn's ``KFold(folds, shuffle=True, random_state=seed)`` over the rows in order, with
    `stratify` that of `StratifiedKFold` over the labels in that column.
    """

    kind: Literal["folds"]
    column: str
    folds: Annotated[int, Field(ge=2)]
    seed: Annotated[int, Field(ge=0)]
    stratify: str | None = None


class Mutants(Strict):
    """Sequence of each variant from its substitutions and the wild type.

    Substitutions are written as by Sarkisyan et al. 2016: ``SA108D:SN144D`` is A to D at position 108 and N to D
    at 144, counted from 0; empty for the wild type. A stop codon (``*``) ends the sequence before it.
    """

    kind: Literal["mutants"]
    column: str
    mutations: str
    wild_type: Annotated[str, StringConstraints(pattern=r"^[A-Z]+$")]


class TapeGfpCut(Strict):
    """Split of TAPE's fluorescence task: variants with fewer than four substitutions train, the others test."""

    kind: Literal["tape_gfp_cut"]
    column: str
    mutations: str


class DeeplocLocation(Strict):
    """Location from a header such as ``Cell.membrane-M``: what stands before the last hyphen, dots as blanks."""

    kind: Literal["deeploc_location"]
    column: str
    header: str


class MaskedLabels(Strict):
    """Labels of residues, with ``-`` (not known) where the mask has ``0``."""

    kind: Literal["masked_labels"]
    column: str
    labels: str
    mask: str


class ChezodDisorder(Strict):
    """Letters for residues from CheZOD Z-scores: D (disordered) below 8, O (ordered) from 8 on, - for 999."""

    kind: Literal["chezod_disorder"]
    column: str
    scores: str


Derivation = Annotated[
    Folds | Mutants | TapeGfpCut | DeeplocLocation | MaskedLabels | ChezodDisorder,
    Field(discriminator="kind"),
]


def columns_read(step: Derivation) -> tuple[str, ...]:
    """Columns that a derivation reads."""
    match step:
        case Folds():
            return () if step.stratify is None else (step.stratify,)
        case Mutants() | TapeGfpCut():
            return (step.mutations,)
        case DeeplocLocation():
            return (step.header,)
        case MaskedLabels():
            return (step.labels, step.mask)
        case ChezodDisorder():
            return (step.scores,)


class RemoteSource(Strict):
    """Files to be downloaded, their tables put together, and columns worked out from the others.

    Parameters
    ----------
    files : tuple of RemoteFile
    combine : str
        ``"stack"`` puts the rows of one table after those of the other; all have the same columns. ``"join"``
        puts the columns of rows with one ``id`` beside each other, in the order of the first table.
    derive : tuple
        Further columns, each by a method that has a name.
    """

    kind: Literal["remote"]
    files: Annotated[tuple[RemoteFile, ...], Field(min_length=1)]
    combine: Literal["stack", "join"] = "stack"
    derive: tuple[Derivation, ...] = ()

    @property
    def tables(self) -> tuple[RemoteTable, ...]:
        """The tables of all files, in order."""
        return tuple(table for file in self.files for table in file.tables)

    @field_validator("files")
    @classmethod
    def _files_differ(cls, files: tuple[RemoteFile, ...]) -> tuple[RemoteFile, ...]:
        if len({file.name for file in files}) < len(files):
            raise ValueError("two files share a name")
        return files

    @model_validator(mode="after")
    def _columns_fit(self) -> Self:
        names = [table.names for table in self.tables]
        flat = [name for table in names for name in table if name != "id" or self.combine == "stack"]
        if self.combine == "stack" and any(set(table) != set(names[0]) for table in names):
            raise ValueError("tables that are stacked have the same columns")
        if self.combine == "join" and any("id" not in table for table in names):
            raise ValueError("tables that are joined have a column id")
        if self.combine == "join" and len(set(flat)) < len(flat):
            raise ValueError("two tables that are joined share a column beside id")
        there = set(flat) | {"id"} if self.combine == "join" else set(flat)
        for step in self.derive:
            unknown = [column for column in columns_read(step) if column not in there]
            if unknown or step.column in there:
                what = f"reads no column: {unknown[0]}" if unknown else f"there is one already: {step.column}"
                raise ValueError(f"derivation {step.kind} {what}")
            there.add(step.column)
        return self

    def columns_made(self) -> frozenset[str]:
        """Names of all columns, read and worked out."""
        read = {name for table in self.tables for name in table.names}
        return frozenset(read | {step.column for step in self.derive})
