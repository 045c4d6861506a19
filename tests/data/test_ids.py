"""Identifiers that repeat are told with their lines, in bounded memory."""

from __future__ import annotations

from gia_science.data import ids
from gia_science.data.ids import RepeatedIds
from gia_science.data.record import Record


def described(*names: str | None) -> str | None:
    repeated = RepeatedIds()
    for line, name in enumerate(names, start=2):
        repeated.see(Record("t.csv", line, name, ()))
    return repeated.describe()


def test_distinct_and_missing_ids_are_no_news() -> None:
    assert described() is None
    assert described("a", "b", "A", None, None, "", "") is None


def test_each_repeated_id_is_named_with_all_its_lines() -> None:
    assert described("a", "b", "a", None, "b", "a", "c") == (
        "ids that occur more than once, all rows kept: a (lines 2, 4, 7), b (lines 3, 6)"
    )


def test_long_lists_are_cut() -> None:
    told = described(*"abcdefg", *"abcdefg", *"aaaaa")
    assert told is not None
    assert "a (lines 2, 9, 16, 17, 18, ...)" in told
    assert told.endswith(" and 2 more")


def test_beyond_a_limit_records_are_not_watched(monkeypatch) -> None:
    monkeypatch.setattr(ids, "MOST_RECORDS", 3)
    assert described("a", "b", "a", "c", "d", "d") == (
        "ids that occur more than once, all rows kept: a (lines 2, 4)"
    )
