"""The report on a table as text: facts, what is wrong, notes, and one line that says what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gia_science.data.duplicates import shown_lines
from gia_science.errors import counted
from gia_science.tokens.protein import LIKE_DNA

if TYPE_CHECKING:
    from gia_science.evaluation.findings import ValidationReport

SHOWN = 10
"""Most things of a sort that are named one by one; the JSON has all."""


def report_text(report: ValidationReport) -> str:
    """The report in aligned lines."""
    facts = [("input", _input(report)), *_lengths(report)]
    facts += [(f"target {column.name}", str(column)) for column in report.targets]
    facts += [(f"column {column.name}", str(column)) for column in report.columns if column.kind is not None]
    width = max(len(name) for name, _ in facts)
    lines = [f"{report.source}: {counted(report.rows)} ({report.format})"]
    lines += [f"{name.ljust(width)}  {text}" for name, text in facts]
    for problem in report.problems():
        lines += ["", f"! {problem.what}", *_indented(problem.details)]
    notes = _notes(report)
    if notes:
        lines += ["", "notes", *_indented(notes)]
    if report.leakage is not None:
        lines += ["", "split", *(f"  {line}" for line in report.leakage.lines())]
    return "\n".join([*lines, "", f"next: {report.next_step}"])


def _input(report: ValidationReport) -> str:
    guess = report.input
    told = f"column {guess.column!r}, read as {guess.domain} ({guess.by})"
    if not guess.sample:
        return told
    others = ", ".join(f"{name} {share:.0%}" for name, share in guess.shares.items() if name != guess.domain)
    return f"{told}; of the first {guess.sample} it reads {guess.shares[guess.domain]:.0%} ({others})"


def _lengths(report: ValidationReport) -> list[tuple[str, str]]:
    found = report.lengths
    if found is None:
        return []
    told = f"{found.shortest} to {found.longest} {report.noun}, median {found.median:g}"
    return [("lengths", f"{told}; {found.over} over the limit of {found.limit}")]


def _notes(report: ValidationReport) -> list[str]:
    lines = list(report.remarks)
    lines += [
        f"{note.text}: {counted(note.rows)}, first line {note.line}"
        for note in report.notes
        if note.text != LIKE_DNA
    ]
    if report.special_residues:
        counts = ", ".join(f"{letter} {count}" for letter, count in report.special_residues.items())
        lines.append(f"letters beyond the 20 residues: {counts}")
    if report.unknown_tokens:
        counts = ", ".join(f"{token} ({counted(count)})" for token, count in report.unknown_tokens.items())
        lines.append(f"tokens that the vocabulary does not hold: {counts}")
    if report.repeated_ids:
        shown = [
            f"{name} (lines {shown_lines(of)})" for name, of in list(report.repeated_ids.items())[:SHOWN]
        ]
        more = len(report.repeated_ids) - len(shown)
        told = ", ".join(shown) + (f" and {more} more" if more else "")
        lines.append(f"ids that occur more than once, all rows kept: {told}")
    return lines


def _indented(lines: Sequence[str]) -> list[str]:
    more = [f"  ... and {len(lines) - SHOWN} more, all in the output of --json"] if len(lines) > SHOWN else []
    return [*(f"  {line}" for line in lines[:SHOWN]), *more]
