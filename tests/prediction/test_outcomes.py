"""Every record comes back once and in order, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from gia_science.data.record import Record
from gia_science.data.rows import Columns
from gia_science.errors import UnreadableInputError
from gia_science.prediction import outcomes as module
from gia_science.prediction.outcomes import Outcome, outcomes
from gia_science.tokens.featurizer import Example, Featurizer

COLUMNS = Columns(input=0, numbers=(1,), number_names=("T",))
ROWS = [
    ("CCO", "1"),
    ("C1CC", "1"),
    ("", "1"),
    ("OCC", "1"),
    ("CCO", "2"),
    ("CC", "x"),
    ("CCO", "1"),
    ("N", ""),
]


class Counter:
    """Stands for the network: the number of tokens and the descriptor of each example."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, examples: Sequence[Example]) -> list[np.ndarray]:
        self.calls.append(len(examples))
        return [np.array([len(example), *example.descriptors], dtype=np.float64) for example in examples]


@pytest.fixture(scope="module")
def featurizer(make_saved) -> Featurizer:
    return make_saved("smiles", providers=(), columns=("T",), layers=1).featurizer


def records(rows: Sequence[tuple[str, ...]] = tuple(ROWS)) -> list[Record]:
    return [Record("a.csv", line, None, cells) for line, cells in enumerate(rows, start=2)]


def run(featurizer: Featurizer, given: list[Record], *, long: str = "error") -> tuple[list[Outcome], Counter]:
    counter = Counter()
    found = outcomes(given, columns=COLUMNS, featurizer=featurizer, compute=counter, long=long)
    return list(found), counter


def test_rows_keep_their_order_and_bad_ones_their_place(featurizer: Featurizer) -> None:
    given = records()
    found, _ = run(featurizer, given)
    assert [outcome.record for outcome in found] == given
    assert [outcome.status for outcome in found] == ["ok", "error", "error", "ok", "ok", "error", "ok", "ok"]
    assert all((outcome.output is None) == (outcome.status == "error") for outcome in found)
    assert "ring" in found[1].reason
    assert found[2].reason == "empty SMILES"
    assert found[5].reason.startswith("column 'T': not a finite number: got 'x'")
    assert found[0].reason == ""


def test_what_is_equal_is_computed_once(featurizer: Featurizer) -> None:
    """CCO and OCC are one molecule; at another temperature it is another row."""
    found, counter = run(featurizer, records())
    assert counter.calls == [3]
    np.testing.assert_array_equal(found[0].output, found[3].output)
    np.testing.assert_array_equal(found[0].output, found[6].output)
    assert found[4].output[1] != found[0].output[1]
    assert np.isnan(found[7].output[1])


@pytest.mark.parametrize("window", [1, 2, 3, 8, 9])
def test_the_size_of_a_window_changes_nothing(
    featurizer: Featurizer, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    whole, _ = run(featurizer, records())
    monkeypatch.setattr(module, "WINDOW", window)
    parts, counter = run(featurizer, records())
    assert len(counter.calls) == -(-len(ROWS) // window)
    for one, other in zip(whole, parts, strict=True):
        assert (one.record, one.reason, one.status) == (other.record, other.reason, other.status)
        if one.output is not None:
            np.testing.assert_array_equal(one.output, other.output)


def test_records_are_read_a_window_at_a_time(featurizer: Featurizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 4)
    read = 0

    def endless() -> Iterator[Record]:
        nonlocal read
        while True:
            read += 1
            yield Record("-", read, None, ("C" * (1 + read % 3), "1"))

    found = outcomes(endless(), columns=COLUMNS, featurizer=featurizer, compute=Counter())
    for place in range(1, 11):
        assert next(found).record.line == place
        assert read == 4 * -(-place // 4)


def test_the_problem_of_a_record_is_its_reason(featurizer: Featurizer) -> None:
    """Also where an equal record without a problem stands beside it."""
    broken = Record("a.csv", 3, None, ("CCO", "1"), problem="more cells than columns")
    found, counter = run(featurizer, [records()[0], broken])
    assert [outcome.status for outcome in found] == ["ok", "error"]
    assert found[1].reason == "more cells than columns"
    assert counter.calls == [1]


def test_what_was_assumed_is_told(featurizer: Featurizer) -> None:
    found, _ = run(featurizer, records([("[13CH4]", "1"), ("C", "1")]))
    assert [outcome.reason for outcome in found] == ["isotopes read as their elements", ""]
    assert [outcome.status for outcome in found] == ["ok", "ok"]


def test_an_input_that_is_too_long_is_an_error_or_is_cut_and_told(featurizer: Featurizer) -> None:
    long = records([("C" * 300, "1"), ("C", "1")])
    refused, _ = run(featurizer, long)
    assert refused[0].reason.startswith("longer than the model allows: got 300 units, expected at most 200")
    cut, _ = run(featurizer, long, long="truncate")
    assert [outcome.status for outcome in cut] == ["ok", "ok"]
    assert cut[0].reason == "only the first 200 of 300 units used"
    assert cut[0].output[0] == 202


def test_what_was_truncated_is_marked(featurizer: Featurizer) -> None:
    cut, _ = run(featurizer, records([("C" * 300, "1"), ("C", "1"), ("x", "1")]), long="truncate")
    assert [outcome.truncated for outcome in cut] == [True, False, False]


def test_records_are_read_until_there_are_enough_characters(
    featurizer: Featurizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three characters each, equal ones counted once; and no window goes beyond a multiple of the largest."""
    given = records([("CCC", str(row)) for row in range(7)])
    whole, _ = run(featurizer, given)
    monkeypatch.setattr(module, "WINDOW_CHARACTERS", 6)
    parts, counter = run(featurizer, given)
    assert counter.calls == [2, 2, 2, 1]
    assert [outcome.output.tolist() for outcome in parts] == [outcome.output.tolist() for outcome in whole]
    assert run(featurizer, records([("CCC", "1")] * 7))[1].calls == [1]
    monkeypatch.setattr(module, "WINDOW", 3)
    assert run(featurizer, given)[1].calls == [2, 1, 2, 1, 1]


def test_windows_are_cut_alike_from_each_multiple_of_the_largest_on(
    featurizer: Featurizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that resumed and shared work computes the same records together; the first are few, to come soon."""
    monkeypatch.setattr(module, "FIRST_WINDOW", 2)
    monkeypatch.setattr(module, "WINDOW", 8)
    given = records([("CCC", str(row)) for row in range(20)])
    assert run(featurizer, given)[1].calls == [2, 2, 4, 2, 2, 4, 2, 2]
    counter = Counter()
    list(outcomes(given[8:], columns=COLUMNS, featurizer=featurizer, compute=counter))
    assert counter.calls == [2, 2, 4, 2, 2]


def test_what_does_not_fit_in_memory_is_an_error_row(featurizer: Featurizer) -> None:
    def compute(examples: Sequence[Example]) -> list[np.ndarray | UnreadableInputError]:
        lack = UnreadableInputError("too long for the memory of this machine")
        return [lack if len(example) > 4 else np.zeros(1) for example in examples]

    given = records([("C", "1"), ("CCC", "1"), ("CC", "1")])
    found = list(outcomes(given, columns=COLUMNS, featurizer=featurizer, compute=compute))
    assert [outcome.status for outcome in found] == ["ok", "error", "ok"]
    assert found[1].reason == "too long for the memory of this machine"


def test_windows_of_a_long_protein_come_back_as_one(make_saved) -> None:
    """Also where one of them cannot be computed: then none is."""
    featurizer = make_saved("protein", providers=(), layers=1).featurizer

    def compute(examples: Sequence[Example]) -> list[np.ndarray | UnreadableInputError]:
        lack = UnreadableInputError("no room")
        first = [example.stream.ids[1] for example in examples]
        return [lack if letter == first[0] else np.zeros(1) for letter in first]

    given = [Record("a", row, None, (text,)) for row, text in enumerate(["M" + "A" * 250, "K" * 450])]
    found = list(
        outcomes(given, columns=Columns(input=0), featurizer=featurizer, compute=compute, long="window")
    )
    assert [outcome.status for outcome in found] == ["error", "ok"]
    assert (found[0].reason, found[1].reason) == ("no room", "read in 4 windows of 200 units")
    assert not found[1].truncated


def test_atoms_have_their_place_and_symbol_in_the_text_of_their_own_row(make_saved) -> None:
    featurizer = make_saved("smiles", providers=(), layers=1).featurizer

    def per_token(examples: Sequence[Example]) -> list[np.ndarray]:
        return [np.arange(int((ex.stream.units >= 0).sum()))[:, None] for ex in examples]

    given = [Record("a", row, None, (text,)) for row, text in enumerate(["CCO", "OCC", "C" * 300])]
    found = list(
        outcomes(given, columns=Columns(input=0), featurizer=featurizer, compute=per_token, long="truncate")
    )
    assert [outcome.units.tolist() for outcome in found[:2]] == [[0, 1, 2], [0, 1, 2]]
    assert [outcome.names for outcome in found[:2]] == [("C", "C", "O"), ("O", "C", "C")]
    assert [outcome.output[:, 0].tolist() for outcome in found[:2]] == [[0, 1, 2], [2, 1, 0]]
    assert len(found[2].units) == len(found[2].names) == 200


def test_no_records_give_no_outcomes(featurizer: Featurizer) -> None:
    found, counter = run(featurizer, [])
    assert found == []
    assert counter.calls == []


def test_only_bad_records_compute_nothing(featurizer: Featurizer) -> None:
    found, counter = run(featurizer, records([("x", "1"), ("y", "1")]))
    assert [outcome.status for outcome in found] == ["error", "error"]
    assert counter.calls == [0]


def test_residues_have_their_place_in_the_text_of_their_own_row(make_saved) -> None:
    """One protein, written with blanks in one row and without in the other."""
    featurizer = make_saved("protein", providers=(), layers=1).featurizer

    def per_token(examples: Sequence[Example]) -> list[np.ndarray]:
        return [np.zeros((int((example.stream.units >= 0).sum()), 3)) for example in examples]

    given = records([("MK TA", ""), ("MKTA", ""), (" mkta* ", "")])
    found = list(outcomes(given, columns=Columns(input=0), featurizer=featurizer, compute=per_token))
    assert [outcome.units.tolist() for outcome in found] == [[0, 1, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert [outcome.length for outcome in found] == [5, 4, 5]
    assert ["".join(outcome.names) for outcome in found] == ["MKTA", "MKTA", "mkta"]


def test_an_output_of_a_whole_input_has_no_places(featurizer: Featurizer) -> None:
    assert run(featurizer, records())[0][0].units is None
