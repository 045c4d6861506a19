"""What was changed or assumed in reading the rows, gathered by kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Places, amounts and symbols differ from row to row; what was done is what stands before them.
_DETAILS = re.compile(r"(?: at positions? |: |, | \(\d).*")


@dataclass(slots=True)
class NoteCount:
    """A kind of note: its text, in how many rows it was made, and the first of them."""

    text: str
    line: int
    rows: int = 1


class NoteTally:
    """Gathers the notes of readings; memory is bounded by the kinds of notes."""

    def __init__(self) -> None:
        self._counts: dict[str, NoteCount] = {}

    def see(self, line: int, notes: Sequence[str]) -> None:
        """Take note of a row's notes."""
        for note in notes:
            kind = _DETAILS.sub("", note)
            known = self._counts.get(kind)
            if known is None:
                self._counts[kind] = NoteCount(note, line)
                continue
            known.rows += 1
            if known.text != note:
                known.text = kind

    def counts(self) -> list[NoteCount]:
        """Kinds in the order in which they first occurred; a kind whose notes are all equal has their text."""
        return list(self._counts.values())
