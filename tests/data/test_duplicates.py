"""Rows of one thing are found, told apart where they disagree, and made one as the policy says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.duplicates import (
    Repeats,
    describe_conflict,
    describe_spread,
    find_duplicates,
    resolve_duplicates,
)
from gia_science.data.rows import Row
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError
from gia_science.tokens.domain import make_tokenizer

SMILES = make_tokenizer("smiles")
NUMBER = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))
PAIR = Targets(names=("a", "b"), kind="regression", mean=(0.0, 0.0), scale=(1.0, 1.0))
CLASS = Targets(names=("y",), kind="multiclass", labels=("low", "mid", "high"))
RESIDUES = Targets(names=("ss",), kind="per_token", labels=("C", "H"))
NAN = math.nan


def rows(*given: tuple[object, ...]) -> list[Row]:
    """Rows from (SMILES, target, ...) with an optional number of their own as last: ``("C", [1.0], 300)``."""
    return [
        Row(line, None, SMILES.read(str(text)), np.array(numbers, dtype=float), np.array(target, dtype=float))
        for line, (text, target, *numbers) in enumerate(given, start=2)
    ]


def test_duplicates_are_found_by_identity_and_numbers() -> None:
    found = find_duplicates(
        rows(
            ("CCO", [1], 300),
            ("OCC", [2], 300),
            ("OCC", [5], 310),  # other conditions: another thing
            ("C", [1], NAN),
            ("[CH4]", [1], NAN),
            ("N", [NAN], 1),
            ("N", [3], 1),
        )
    )
    assert found.rows == 3
    (conflict,) = found.conflicts
    assert (conflict.lines, conflict.identity, conflict.targets) == ((2, 3), "CCO", ((1,), (2,)))


def test_nothing_repeats_in_distinct_rows() -> None:
    found = find_duplicates(rows(("C", [1]), ("N", [1])))
    assert (found.rows, found.conflicts) == (0, ())
    assert find_duplicates([]).rows == 0


def test_a_conflict_in_one_of_several_targets_is_a_conflict() -> None:
    found = rows(("C", [1, NAN]), ("C", [1, 2]), ("C", [1, 3]))
    assert find_duplicates(found[:2]).conflicts == ()
    assert [conflict.lines for conflict in find_duplicates(found).conflicts] == [(2, 3, 4)]
    assert describe_conflict(find_duplicates(found).conflicts[0], PAIR) == "b 2 to 3"


def test_lines_of_an_identity_are_known_whatever_the_numbers() -> None:
    repeats = Repeats()
    for line, number in enumerate((1.0, 2.0)):
        repeats.add(line, identity="C", numbers=np.array([number]), target=np.zeros(0))
    assert repeats.lines() == {"C": [0, 1]}
    assert repeats.found().rows == 0


def test_the_spread_is_told_over_all_conflicts() -> None:
    found = find_duplicates(rows(("C", [0]), ("C", [1]), ("N", [2]), ("N", [2.5]), ("O", [1]), ("O", [1])))
    assert describe_spread(found.conflicts, NUMBER) == "y by up to 1, median 0.75"
    assert describe_spread(found.conflicts, CLASS) == ""


@pytest.mark.parametrize(
    ("policy", "targets", "merged"),
    [
        ("keep", [1, 2, 6, 4], 0),
        ("mean", [3, 4], 2),
        ("median", [2, 4], 2),
        ("first", [1, 4], 2),
        ("drop", [4], 0),
    ],
)
def test_numbers_by_each_policy(policy, targets, merged) -> None:
    resolved = resolve_duplicates(
        rows(("CO", [1]), ("OC", [2]), ("CO", [6]), ("C", [4])), targets=NUMBER, policy=policy
    )
    assert [row.target.tolist() for row in resolved.rows] == [[target] for target in targets]
    assert resolved.merged == merged
    assert len(resolved.left_out) == (3 if policy == "drop" else 0)
    assert resolved.kept == {"keep": [0, 1, 2, 3], "drop": [3]}.get(policy, [0, 3])
    if policy == "drop":
        assert str(resolved.left_out[0]) == "line 2: different targets for one input in lines 2, 3, 4"


def test_rows_that_agree_stay_where_only_conflicts_are_dropped() -> None:
    resolved = resolve_duplicates(rows(("C", [1]), ("C", [1]), ("N", [2])), targets=NUMBER, policy="drop")
    assert [row.line for row in resolved.rows] == [2, 3, 4]


def test_the_most_frequent_label_is_taken_and_a_tie_is_none() -> None:
    given_rows = rows(("C", [0]), ("C", [2]), ("C", [2]), ("N", [1]), ("N", [0]))
    for policy in ("mean", "median"):
        resolved = resolve_duplicates(given_rows, targets=CLASS, policy=policy)
        assert [(row.line, row.target.tolist()) for row in resolved.rows] == [(2, [2])]
        assert [row.line for row in resolved.left_out] == [5, 6]
        assert resolved.left_out[0].reason == "no label is the most frequent in lines 5, 6"


@pytest.mark.parametrize(("policy", "target"), [("first", [1, 5]), ("mean", [1, 6]), ("median", [1, 6])])
def test_each_target_is_made_from_the_rows_that_have_it(policy, target) -> None:
    resolved = resolve_duplicates(
        rows(("C", [1, NAN]), ("C", [NAN, 5]), ("C", [1, 7])), targets=PAIR, policy=policy
    )
    assert [row.target.tolist() for row in resolved.rows] == [target]


def test_other_conditions_are_never_made_one() -> None:
    resolved = resolve_duplicates(rows(("C", [1], 300), ("C", [2], 310)), targets=NUMBER, policy="mean")
    assert len(resolved.rows) == 2


def test_error_stops_at_a_conflict_and_at_nothing_else() -> None:
    agreeing = rows(("C", [1]), ("C", [1]))
    assert len(resolve_duplicates(agreeing, targets=NUMBER, policy="error").rows) == 2
    with pytest.raises(
        TableError, match=r"a.csv: 1 input with different targets: got lines 2, 3, C \(--dupl"
    ):
        resolve_duplicates(rows(("C", [1]), ("C", [2])), targets=NUMBER, policy="error", source="a.csv")


def test_labels_of_residues_have_no_mean() -> None:
    with pytest.raises(RecipeError, match="labels of residues have no mean"):
        resolve_duplicates([], targets=RESIDUES, policy="mean")
    pair = rows(("CC", [0, 1]), ("CC", [1, 1]))
    assert [row.line for row in resolve_duplicates(pair, targets=RESIDUES, policy="first").rows] == [2]
    assert resolve_duplicates(pair, targets=RESIDUES, policy="drop").rows == []
    assert describe_conflict(find_duplicates(pair).conflicts[0], RESIDUES) == ""


@given(
    values=st.lists(st.tuples(st.sampled_from("CNO"), st.integers(-9, 9)), min_size=1, max_size=12),
    policy=st.sampled_from(["keep", "mean", "median", "first", "drop"]),
)
def test_no_row_is_lost_without_a_word_and_no_conflict_stays(values, policy) -> None:
    given_rows = rows(*((text, [value]) for text, value in values))
    resolved = resolve_duplicates(given_rows, targets=NUMBER, policy=policy)
    assert len(resolved.rows) + len(resolved.left_out) + resolved.merged == len(given_rows)
    assert [row.line for row in resolved.rows] == [given_rows[place].line for place in resolved.kept]
    assert policy == "keep" or not find_duplicates(resolved.rows).conflicts
