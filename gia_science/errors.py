"""One family of errors: what went wrong, what was got, what was expected, a hint, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def counted(number: int, noun: str = "row") -> str:
    """A number with its noun, for messages: ``1 row``, ``2 rows``."""
    return f"{number} {noun}{'s' * (number != 1)}"


def listed(names: Sequence[str], *, most: int = 20, width: int = 80) -> str:
    """The first `most` of some names from a file, each cut to `width` characters: a line that can be read."""
    shown = [name if len(name) <= width else f"{name[:width]}..." for name in names[:most]]
    return ", ".join([*shown, "..."] if len(names) > most else shown)


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the user's input.

    Parameters
    ----------
    file : str, optional
        Name of the file as the user gave it.
    line : int, optional
        Line in the file, counted from 1 with the header as line 1.
    column : str, optional
        Name of the column.
    record : str, optional
        Identifier of the record, such as the first word of a FASTA header.
    """

    file: str | None = None
    line: int | None = None
    column: str | None = None
    record: str | None = None

    def __str__(self) -> str:
        parts = [
            self.file,
            None if self.line is None else f"line {self.line}",
            None if self.column is None else f"column {self.column!r}",
            None if self.record is None else f"record {self.record!r}",
        ]
        return ", ".join(part for part in parts if part)


class GiaError(ValueError):
    """Base of every error that a user can cause and mend.

    Parameters
    ----------
    what : str
        What is wrong, as a short phrase without a final stop.
    got, expected : str, optional
        What was found, and what would have been right.
    hint : str, optional
        What to do about it.
    where : Where, optional
        The place in the user's input.
    """

    def __init__(
        self,
        what: str,
        *,
        got: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        where: Where | None = None,
    ) -> None:
        self.what = what
        self.got = got
        self.expected = expected
        self.hint = hint
        self.where = where
        super().__init__(self.reason)

    def __str__(self) -> str:
        place = str(self.where) if self.where is not None else ""
        return f"{place}: {self.reason}" if place else self.reason

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default reduction; worker processes pass errors back.
        return (_rebuild, (type(self), self.what, self.got, self.expected, self.hint, self.where))

    @property
    def reason(self) -> str:
        """The message in one line, without the place."""
        text = self.what
        if self.got is not None:
            text += f": got {self.got}"
        if self.expected is not None:
            text += f"{',' if self.got is not None else ':'} expected {self.expected}"
        if self.hint is not None:
            text += f" ({self.hint})"
        return " ".join(text.split())


def _rebuild(
    kind: type[GiaError],
    what: str,
    got: str | None,
    expected: str | None,
    hint: str | None,
    where: Where | None,
) -> GiaError:
    return kind(what, got=got, expected=expected, hint=hint, where=where)


class UnreadableInputError(GiaError):
    """The sequence, SMILES or formula of one row cannot be read."""


class TableError(GiaError):
    """A file or table as a whole cannot be used."""


class DefinitionError(GiaError):
    """A tokenizer, dataset card or task recipe is missing or not valid."""


class RecipeError(GiaError):
    """A recipe or one of its options is not valid, or does not fit the data."""


class ModelFolderError(GiaError):
    """A model folder is missing, damaged, foreign or too new."""


class AdapterError(GiaError):
    """An adapter does not fit its model, or its folder is missing, damaged, foreign or too new."""


class TrainingError(GiaError):
    """Training cannot start or cannot go on."""


class EvaluationError(GiaError):
    """A metric or an evaluation cannot be computed from what was given."""


class BaseModelError(GiaError):
    """A pretrained model from elsewhere is missing, damaged, of another kind, or not the one that it should be."""


class EngineError(GiaError):
    """The software that was to distribute the work is missing, or failed."""
