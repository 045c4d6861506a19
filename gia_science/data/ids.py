"""Identifiers that occur more than once: told, never merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gia_science.data.record import Record

MOST_RECORDS = 1_000_000
"""Records that are watched; of a longer table the rest is not, so that memory stays bounded."""
_SHOWN = 5


class RepeatedIds:
    """Notices identifiers that occur more than once."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._repeated: dict[str, list[int]] = {}

    def see(self, record: Record) -> None:
        """Take note of a record's identifier, if it has one."""
        if not record.id or len(self._seen) >= MOST_RECORDS:
            return
        first = self._seen.setdefault(record.id, record.line)
        if first != record.line:
            self._repeated.setdefault(record.id, [first]).append(record.line)

    @property
    def repeated(self) -> Mapping[str, Sequence[int]]:
        """Lines of each identifier that occurs more than once."""
        return self._repeated

    def describe(self) -> str | None:
        """Which identifiers repeat and where, in one line; None where none does."""
        if not self._repeated:
            return None
        shown = [
            f"{name} (lines {', '.join(map(str, lines[:_SHOWN]))}{', ...' if len(lines) > _SHOWN else ''})"
            for name, lines in list(self._repeated.items())[:_SHOWN]
        ]
        count = len(self._repeated)
        more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
        return f"ids that occur more than once, all rows kept: {', '.join(shown)}{more}"
