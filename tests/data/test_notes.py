"""Notes are gathered by what was done, whatever the place."""

from __future__ import annotations

from gia_science.data.notes import NoteTally


def test_notes_that_differ_only_in_places_are_one_kind() -> None:
    tally = NoteTally()
    tally.see(2, ("J read as I or L at position 3", "first M left out"))
    tally.see(3, ("J read as I or L at positions 1, 2",))
    tally.see(4, ())
    tally.see(5, ("blanks inside the sequence left out (2)", "first M left out"))
    assert [(note.text, note.line, note.rows) for note in tally.counts()] == [
        ("J read as I or L", 2, 2),
        ("first M left out", 2, 2),
        ("blanks inside the sequence left out (2)", 5, 1),
    ]


def test_a_note_keeps_its_own_words_while_it_is_the_only_one_of_its_kind() -> None:
    tally = NoteTally()
    tally.see(2, ("read as a hydrate: CuSO4 with 5 H2O",))
    assert tally.counts()[0].text == "read as a hydrate: CuSO4 with 5 H2O"
    tally.see(3, ("read as a hydrate: NiSO4 with 6 H2O",))
    assert tally.counts()[0].text == "read as a hydrate"


def test_marks_of_what_was_read_are_no_places() -> None:
    tally = NoteTally()
    tally.see(2, ("final * (stop) left out", "holds a wildcard atom (*)"))
    tally.see(3, ("final * (stop) left out",))
    assert [note.text for note in tally.counts()] == ["final * (stop) left out", "holds a wildcard atom (*)"]
