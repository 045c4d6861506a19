"""What is wrong with a table, as a report: for a reader as text, for programs as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gia_science.data.duplicates import Duplicates, describe_conflict, describe_spread, shown_lines, spreads
from gia_science.data.notes import NoteCount
from gia_science.data.rows import BadRow
from gia_science.data.targets import Targets
from gia_science.errors import counted
from gia_science.evaluation.columns import ColumnSummary
from gia_science.evaluation.findings_text import report_text
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.protein import LIKE_DNA

if TYPE_CHECKING:
    from gia_science.evaluation.leakage import LeakageReport

FEWEST_INPUTS = 3
"""Fewest different inputs that can be split into training, validation and test rows."""


@dataclass(frozen=True)
class DomainGuess:
    """What the input column holds.

    Parameters
    ----------
    column, domain : str
    by : str
        How it was recognised, in words.
    shares : mapping of str to float
        Share of the first texts that each domain can read.
    sample : int
        How many those were.
    """

    column: str
    domain: str
    by: str
    shares: Mapping[str, float]
    sample: int


@dataclass(frozen=True)
class Lengths:
    """Lengths of the inputs that can be read, in residues, atoms or elements.

    Parameters
    ----------
    shortest, longest : int
    median : float
    limit : int
        Longest that is allowed.
    over : int
        Inputs that are longer.
    """

    shortest: int
    median: float
    longest: int
    limit: int
    over: int


@dataclass(frozen=True)
class NearDuplicates:
    """Different molecules with one largest fragment: a base and its salts."""

    parent: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Finding:
    """Something that loses rows, flatters scores, or keeps anything from being learnt.

    Parameters
    ----------
    what : str
    details : tuple of str
        All places and values.
    """

    what: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """What `validate` found.

    Parameters
    ----------
    source, format : str
    rows : int
    input : DomainGuess
    unreadable : tuple of BadRow
        Rows that training would not use: not readable, too long, or with a target that is neither number nor label.
    unmeasured : tuple of int
        Lines of rows without any target.
    lengths : Lengths or None
        None where no row can be read.
    targets, columns : tuple of ColumnSummary
        The targets, or without them every other column that could be one.
    task : Targets or None
        What would be learnt.
    duplicates : Duplicates
    distinct : int
        Different inputs among the rows that can be used.
    near_duplicates : tuple of NearDuplicates
    repeated_ids : mapping of str to tuple of int
        Lines of the identifiers that occur more than once.
    unknown_tokens : mapping of str to int
        Tokens that the vocabulary does not hold, with the number of rows.
    special_residues : mapping of str to int
        How often J, U, O, B, Z and X occur.
    notes : tuple of NoteCount
        What was assumed in reading.
    remarks : tuple of str
        What else the table has to say of itself.
    seen : int
        Rows that the model was trained on.
    leakage : LeakageReport or None
        What a split lets through from training to test, where one was asked for.
    next_step : str
        The command that would work.
    """

    source: str
    format: str
    rows: int
    input: DomainGuess
    unreadable: tuple[BadRow, ...]
    unmeasured: tuple[int, ...]
    lengths: Lengths | None
    targets: tuple[ColumnSummary, ...]
    columns: tuple[ColumnSummary, ...]
    task: Targets | None
    duplicates: Duplicates
    distinct: int
    near_duplicates: tuple[NearDuplicates, ...]
    repeated_ids: Mapping[str, tuple[int, ...]]
    unknown_tokens: Mapping[str, int]
    special_residues: Mapping[str, int]
    notes: tuple[NoteCount, ...]
    remarks: tuple[str, ...] = ()
    seen: int = 0
    leakage: LeakageReport | None = None
    next_step: str = field(default="")

    @property
    def ok(self) -> bool:
        """Whether nothing was found that loses rows or flatters scores."""
        return not self.problems()

    def problems(self) -> list[Finding]:
        """What must be looked at before training, the gravest first."""
        return [
            *self._inputs(),
            *(
                Finding(f"target {target.name}: {target.problem}")
                for target in self.targets
                if target.problem
            ),
            *self._repeats(),
            *(Finding(f"split: {problem}") for problem in (self.leakage.problems() if self.leakage else [])),
            *(
                [Finding(f"{counted(self.seen)} were in the training data of the model: scores flatter")]
                if self.seen
                else []
            ),
        ]

    def _inputs(self) -> list[Finding]:
        found = []
        if not self.rows:
            found.append(Finding("no rows"))
        if self.unreadable:
            what = f"{len(self.unreadable)} of {counted(self.rows)} cannot be used"
            found.append(Finding(what, tuple(map(str, self.unreadable))))
        if self.unmeasured:
            what = f"{counted(len(self.unmeasured))} without a target would be left out"
            found.append(Finding(what, tuple(f"line {line}" for line in self.unmeasured)))
        dna = [note for note in self.notes if note.text == LIKE_DNA]
        found += [
            Finding(f"{counted(note.rows)} {_look(note)}", (f"first: line {note.line}",)) for note in dna
        ]
        if self.rows and self.distinct < FEWEST_INPUTS:
            kinds = counted(self.distinct, "different input")
            found.append(Finding(f"{kinds}: too few to train on, {FEWEST_INPUTS} are needed"))
        return found

    def _repeats(self) -> list[Finding]:
        found, duplicates = [], self.duplicates
        if duplicates.rows:
            word = "repeats" if duplicates.rows == 1 else "repeat"
            found.append(
                Finding(f"{counted(duplicates.rows)} {word} an input: a split must keep them together")
            )
        if duplicates.conflicts and self.task is not None:
            spread = describe_spread(duplicates.conflicts, self.task)
            what = f"{counted(len(duplicates.conflicts), 'input')} with different targets"
            told = [describe_conflict(conflict, self.task) for conflict in duplicates.conflicts]
            details = [
                f"lines {shown_lines(conflict.lines)}: {conflict.identity:.60}{f', {values}' if values else ''}"
                for conflict, values in zip(duplicates.conflicts, told, strict=True)
            ]
            found.append(Finding(f"{what}{f' ({spread})' if spread else ''}", tuple(details)))
        if self.near_duplicates:
            what = counted(len(self.near_duplicates), "molecule")
            what += f" beside {'its' if len(self.near_duplicates) == 1 else 'their'} salts or mixtures"
            hint = "one molecule with the option tokens.fragments=largest"
            details = [f"lines {shown_lines(near.lines)}: {near.parent:.60}" for near in self.near_duplicates]
            found.append(Finding(f"{what}: {hint}", tuple(details)))
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything as plain types."""
        return {
            "file": self.source,
            "format": self.format,
            "ok": self.ok,
            "rows": self.rows,
            "input": {
                "column": self.input.column,
                "domain": self.input.domain,
                "recognised": self.input.by,
                "readable": dict(self.input.shares),
                "sample": self.input.sample,
            },
            "unreadable": [{"line": bad.line, "id": bad.id, "reason": bad.reason} for bad in self.unreadable],
            "unmeasured": list(self.unmeasured),
            "lengths": None if self.lengths is None else vars(self.lengths) | {"unit": self.noun},
            "targets": [column.to_json() for column in self.targets],
            "columns": [column.to_json() for column in self.columns],
            "duplicates": {
                "rows": self.duplicates.rows,
                "distinct": self.distinct,
                "conflicts": self._conflicts(),
            },
            "near_duplicates": [{"parent": n.parent, "lines": list(n.lines)} for n in self.near_duplicates],
            "repeated_ids": {name: list(lines) for name, lines in self.repeated_ids.items()},
            "unknown_tokens": dict(self.unknown_tokens),
            "special_residues": dict(self.special_residues),
            "notes": [{"note": note.text, "rows": note.rows, "first_line": note.line} for note in self.notes],
            "remarks": list(self.remarks),
            "in_training_data": self.seen,
            "leakage": None if self.leakage is None else self.leakage.to_json(),
            "problems": [problem.what for problem in self.problems()],
            "next": self.next_step,
        }

    def _conflicts(self) -> list[dict[str, Any]]:
        if self.task is None:
            return []
        return [
            {
                "identity": conflict.identity,
                "lines": list(conflict.lines),
                "values": {} if self.task.kind == "per_token" else _values(conflict.targets, self.task),
                "spread": {name: of[0] for name, of in spreads([conflict], self.task).items()},
            }
            for conflict in self.duplicates.conflicts
        ]

    @property
    def noun(self) -> str:
        """What lengths count: residues, atoms or elements."""
        return DOMAINS[self.input.domain].noun

    def __str__(self) -> str:
        return report_text(self)


def _look(note: NoteCount) -> str:
    return LIKE_DNA.replace("looks", "looks" if note.rows == 1 else "look")


def _values(rows: Sequence[Sequence[float]], targets: Targets) -> dict[str, list[float | str | None]]:
    """Targets of some rows in the user's words, by name; None where missing."""

    def word(value: float) -> float | str | None:
        if value != value:
            return None
        return targets.labels[int(value)] if targets.labels else value

    return {name: [word(row[index]) for row in rows] for index, name in enumerate(targets.names)}
