"""Errors are one line for users, carry their place, and survive a process boundary."""

from __future__ import annotations

import pickle

import pytest

from gia_science import errors
from gia_science.errors import GiaError, TableError, Where, listed


def test_message_has_place_what_got_expected_and_hint_in_one_line() -> None:
    error = TableError(
        "no such\ncolumn",
        got="'smile'",
        expected="'smiles'",
        hint="rename it",
        where=Where("a.csv", 3, "smile", "x"),
    )
    assert str(error) == (
        "a.csv, line 3, column 'smile', record 'x': no such column: got 'smile', expected 'smiles' (rename it)"
    )
    assert error.reason == "no such column: got 'smile', expected 'smiles' (rename it)"


def test_expected_alone_reads_well() -> None:
    assert str(GiaError("not a recipe", expected="a mapping")) == "not a recipe: expected a mapping"


def test_errors_come_back_whole_from_a_worker_process() -> None:
    error = TableError("what", got="a", hint="b", where=Where(line=2))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is TableError
    assert (str(copy), copy.where, copy.hint) == (str(error), error.where, "b")


@pytest.mark.parametrize(
    "kind", [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, Exception)]
)
def test_every_error_is_of_the_family_and_a_value_error(kind: type[Exception]) -> None:
    assert issubclass(kind, GiaError)
    assert issubclass(kind, ValueError)


def test_a_list_of_names_stays_a_line_that_can_be_read() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c"], most=2) == "a, b, ..."
    assert listed(["abc"], width=2) == "ab..."
    assert listed([]) == ""
