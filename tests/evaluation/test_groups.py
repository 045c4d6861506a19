"""Groups of rows: what they are, in which order they come, and that small ones are one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

from gia_science.errors import EvaluationError
from gia_science.evaluation.groups import FEWEST_ROWS, OTHER, Grouping, built_in_grouping, quarters
from gia_science.tokens.stream import Reading


def built(by: str, domain: str, readings: list[Reading], *, truth=None, regression: bool = True) -> Grouping:
    truth = np.zeros((len(readings), 1)) if truth is None else truth
    return built_in_grouping(by, domain=domain, readings=readings, truth=truth, regression=regression)


def molecules(*smiles: str) -> list[Reading]:
    return [Reading(text, Chem.MolFromSmiles(text), len(text)) for text in smiles]


def test_molecules_go_by_their_scaffold() -> None:
    (labels,) = built("scaffold", "smiles", molecules("Cc1ccccc1", "Oc1ccccc1C", "CCO", "C1CCCC1N")).labels
    assert labels == ("c1ccccc1", "c1ccccc1", "no ring", "C1CCCC1")


def test_compositions_go_by_their_elements() -> None:
    readings = [
        Reading("a", {"O": 0.6, "Fe": 0.4}, 2),
        Reading("b", {"Fe": 0.5, "O": 0.5}, 2),
        Reading("c", {"W": 1.0}, 1),
    ]
    assert built("chemical_system", "composition", readings).labels == (("Fe-O", "Fe-O", "W"),)


@pytest.mark.parametrize(("by", "domain"), [("scaffold", "protein"), ("chemical_system", "smiles")])
def test_a_group_of_another_domain_is_refused(by: str, domain: str) -> None:
    with pytest.raises(EvaluationError, match=f"no {by} groups of this input: got {domain}"):
        built(by, domain, [])


def test_ranges_of_the_target_are_for_numbers_and_each_target_has_its_own() -> None:
    truth = np.array([[1.0, 40], [2, 30], [3, 20], [4, np.nan]])
    grouping = built("target_range", "smiles", molecules("C", "CC", "CCC", "CCCC"), truth=truth)
    assert grouping.labels == (("1", "2", "3", "4"), ("40", "30", "20", ""))
    assert grouping.order == ("1", "2", "3", "4", "20", "30", "40")
    with pytest.raises(EvaluationError, match="no target_range groups of classes"):
        built("target_range", "smiles", molecules("C"), regression=False)


def test_lengths_are_quarters_in_order() -> None:
    readings = [Reading(str(n), None, n) for n in (8, 1, 2, 3, 4, 5, 6, 7)]
    grouping = built("length", "protein", readings)
    assert grouping.order == ("1 to 2", "3 to 4", "5 to 6", "7 to 8")
    assert grouping.labels[0][:2] == ("7 to 8", "1 to 2")


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_equal_values_are_in_one_quarter_and_quarters_do_not_overlap(values: list[int]) -> None:
    x = np.array(values, dtype=float)
    labels, order = quarters(x)
    assert set(labels) == set(order)
    assert len(order) <= 4
    ranges = [(x[np.array(labels) == name].min(), x[np.array(labels) == name].max()) for name in order]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


def test_small_groups_are_one_and_come_last() -> None:
    labels = ("b",) * 10 + ("a",) * 12 + ("x",) * 9 + ("y",) + ("c",) * 10
    measured = np.ones(len(labels), dtype=bool)
    found = Grouping("kind", (labels,)).pooled(0, measured=measured)
    assert [(name, len(rows)) for name, rows in found] == [("a", 12), ("b", 10), ("c", 10), (OTHER, 10)]
    assert sorted(np.concatenate([rows for _, rows in found])) == list(range(42))
    measured[-1] = False
    assert [(name, len(rows)) for name, rows in Grouping("kind", (labels,)).pooled(0, measured=measured)] == [
        ("a", 12), ("b", 10), (OTHER, 19),
    ]  # fmt: skip
    assert FEWEST_ROWS == 10
