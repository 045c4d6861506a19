"""Training on rows in memory: equal rows, weights, and what is held out to choose the epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.rows import Row
from gia_science.data.targets import Targets
from gia_science.tokens.stream import Reading
from gia_science.training.arrays import (
    Measured,
    inner_split,
    kept_together,
    linked,
    merge_equal,
    relative_weights,
)

NUMBER = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))


def row(identity: str, target: float, line: int = 0) -> Row:
    reading = Reading(parsed=identity, identity=identity, length=1)
    return Row(line, None, reading, np.zeros(0), np.array([target]))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 3)), min_size=1))
def test_a_weight_is_so_many_rows_in_any_order(drawn: list[tuple[str, int, int]]) -> None:
    weighted = Measured([row(a, y) for a, y, _ in drawn], np.array([float(w) for *_, w in drawn]))
    repeated = [row(a, y) for a, y, w in reversed(drawn) for _ in range(w)]
    one, other = merge_equal(weighted), merge_equal(Measured(repeated, np.ones(len(repeated))))
    described = [(item.reading.identity, item.target[0]) for item in one.rows]
    assert described == [(item.reading.identity, item.target[0]) for item in other.rows]
    assert len(set(described)) == len(described)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_weights_have_a_mean_of_one_and_equal_ones_are_none() -> None:
    assert relative_weights(np.array([2.0, 2.0])) is None
    np.testing.assert_allclose(relative_weights(np.array([1.0, 3.0])), [0.5, 1.5])
    np.testing.assert_allclose(relative_weights(np.array([1e308, 3e307, 1e308])).mean(), 1)


@pytest.mark.parametrize(("count", "held"), [(9, 0), (10, 1), (40, 4)])
def test_a_share_of_the_inputs_is_held_out_where_it_is_one_or_more(count: int, held: int) -> None:
    rows = [row(f"m{number % count}", number) for number in range(2 * count)]
    split = inner_split(Measured(rows, np.ones(len(rows))), NUMBER, fraction=0.1, seed=0)
    names = {rows[index].reading.identity for index in split.validation}
    assert len(names) == held
    assert not names & {rows[index].reading.identity for index in split.train}
    assert not len(split.test)


def test_groups_stand_on_one_side() -> None:
    rows = [row(f"m{number}", number) for number in range(40)]
    groups = [str(number // 2) for number in range(40)]
    split = inner_split(Measured(rows, np.ones(40), groups), NUMBER, fraction=0.1, seed=0)
    assert len(split.validation) >= 2
    assert not {groups[i] for i in split.validation} & {groups[i] for i in split.train}


def test_inputs_and_groups_link_over_several_steps() -> None:
    labels = linked(["a", "a", "b", "c"], ["1", "2", "2", "3"])
    assert labels[0] == labels[1] == labels[2] != labels[3]


def test_rows_of_a_group_are_kept_together_and_else_those_of_an_input() -> None:
    rows = [row("a", 1), row("a", 2), row("b", 3)]
    assert kept_together(Measured(rows, np.ones(3))) == ["a", "a", "b"]
    first, second, third = kept_together(Measured(rows, np.ones(3), ["1", "2", "2"]))
    assert first == second == third
