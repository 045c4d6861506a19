"""Every method: parts are disjoint and complete, no identity crosses, and equal requests give equal splits."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gia_science.data.splits.base import split_hash
from gia_science.data.splits.methods import FAMILIES, METHODS, make_split
from gia_science.data.splits.recipe import OPTIONS, MethodName, SplitRecipe
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError
from gia_science.tokens.domain import DOMAINS

POOLS = {
    "protein": [
        "MKVLA" * 5, "KMVLA" * 5, "GIGKFLHSAKKFGKAFVGEIMNS", "GIGKFLHSAKKFGKAFVGEIMNA", "GLFDIVKKVVGALGSL",
        "LLGDFFRKSKEKIGKEFKRIVQRIKDFLRNLVPRTES", "RRWWRWRR", "YYCCPPGG", "TTSSNNQQ", "DDEEDDEE", "HHFFIIVV",
    ],
    "smiles": [
        "c1ccccc1", "Cc1ccccc1", "OCC", "CCO", "CCCC", "C1CCCCC1", "CC1CCCCC1", "c1ccncc1", "C1CC1", "N#N", "CO",
        "c1ccc2ccccc2c1", "O=C1CCCN1", "C[C@H](N)O", "[2H]C1CC1",
    ],
    "composition": [
        "NaCl", "ClNa", "Na2Cl2", "KCl", "LiF", "Fe2O3", "FeO", "Fe3O4", "TiO2", "GaAs", "InP", "SiC", "Al2O3",
        "Fe0.5Ni0.5", "Fe0.51Ni0.49",
    ],
}  # fmt: skip
CASES: list[tuple[str, dict[str, Any]]] = [
    *((domain, {"method": "random"}) for domain in DOMAINS),
    ("smiles", {"method": "stratified"}),
    ("protein", {"method": "folds", "folds": 3, "fold": 2, "repeat": 1}),
    ("smiles", {"method": "scaffold_balanced"}),
    ("protein", {"method": "cluster", "clusters": "kmers"}),
    ("composition", {"method": "composition"}),
    ("composition", {"method": "chemical_system"}),
    ("composition", {"method": "leave_out", "group": "0"}),
    ("smiles", {"method": "leave_out", "group": "1"}),
    ("protein", {"method": "leave_out", "group": 0, "clusters": "kmers"}),
    ("smiles", {"method": "leave_out", "column": "x", "group": "1"}),
    ("smiles", {"method": "time", "column": "x"}),
    ("protein", {"method": "value", "column": "x"}),
    ("composition", {"method": "value", "column": "x", "ends": "high"}),
]


def test_every_method_has_a_function_and_options() -> None:
    assert set(METHODS) == set(OPTIONS) == set(get_args(MethodName))


@pytest.mark.parametrize(("domain", "how"), CASES, ids=str)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_parts_are_complete_and_no_identity_crosses(split_input, domain, how, data) -> None:
    # The whole pool once, so that there are enough groups, and more of it in any order.
    more = data.draw(st.lists(st.sampled_from(POOLS[domain]), max_size=25))
    texts = data.draw(st.permutations([*POOLS[domain], *more]))
    marks = data.draw(st.lists(st.integers(0, 4), min_size=len(texts), max_size=len(texts)))
    rows = split_input(domain, texts, x=marks)
    if how["method"] == "leave_out" and "column" in how:
        inside = {name for name, mark in zip(rows.identities, marks, strict=True) if mark == 1}
        assume(inside)
        assume(len(set(rows.identities) - inside) > 1)
    recipe = SplitRecipe(**how, seed=data.draw(st.integers(0, 2**32 - 1)))
    split = make_split(recipe, rows)
    parts = (split.train, split.validation, split.test)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(texts)))
    assert all(len(part) for part in parts)
    owners = [{rows.identities[row] for row in part} for part in parts]
    assert sum(map(len, owners)) == len(set(rows.identities))
    assert split_hash(split) == split_hash(make_split(recipe, rows))


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_has_families_and_a_method_that_keeps_them_together(split_input, domain) -> None:
    rows = split_input(domain, POOLS[domain])
    families, what = FAMILIES[domain].find(SplitRecipe(method="leave_out", group="0"), rows)
    split = make_split(SplitRecipe(method=FAMILIES[domain].method), rows)
    sides = [{families[row] for row in part} for part in (split.train, split.validation, split.test)]
    assert what
    assert len(families) == len(rows.rows)
    assert sum(map(len, sides)) == len(set(families)) > 2


@pytest.mark.parametrize("method", ["random", "stratified", "folds", "scaffold_balanced"])
def test_another_seed_is_another_split(split_input, method) -> None:
    rows = split_input("smiles", ["C" * n for n in range(1, 41)])
    found = {split_hash(make_split(SplitRecipe(method=method, seed=seed), rows)) for seed in range(5)}
    assert len(found) == 5


def test_repetitions_are_other_folds_and_never_those_of_another_seed(split_input) -> None:
    rows = split_input("smiles", ["C" * n for n in range(1, 41)])
    found = {
        split_hash(make_split(SplitRecipe(method="folds", repeat=repeat, seed=seed), rows))
        for repeat in range(3)
        for seed in range(3)
    }
    assert len(found) == 9


def test_stratified_numbers_are_spread_over_the_parts(split_input) -> None:
    rows = split_input("smiles", ["C" * n for n in range(1, 101)])
    split = make_split(SplitRecipe(method="stratified"), rows)
    for part in (split.validation, split.test):
        assert Counter((part // 10).tolist()) == Counter(range(10))


def test_stratified_labels_are_balanced_and_without_targets_it_is_an_error(split_input) -> None:
    texts = ["C" * n for n in range(1, 101)]
    several = Targets(names=("y", "z"), kind="multilabel", labels=("0", "1"))
    rows = split_input("smiles", texts, y=[n % 5 == 0 for n in range(100)], targets=several)
    split = make_split(SplitRecipe(method="stratified"), rows)
    assert sum(rows.rows[row].target[0] for row in split.test) == 2
    with pytest.raises(RecipeError, match="nothing to stratify by: got rows without targets"):
        make_split(SplitRecipe(method="stratified"), split_input("smiles", texts, targets=None))


@pytest.mark.parametrize(
    ("domain", "method", "hint"),
    [
        ("protein", "scaffold", "--split cluster"),
        ("smiles", "cluster", "--split scaffold_balanced"),
        ("smiles", "chemical_system", "--split scaffold_balanced"),
        ("protein", "composition", "--split cluster"),
    ],
)
def test_a_method_of_another_domain_is_refused_with_one_of_this(split_input, domain, method, hint) -> None:
    with pytest.raises(RecipeError, match=f"not for {domain} input.*{hint}"):
        make_split(SplitRecipe(method=method), split_input(domain, POOLS[domain]))


def test_a_chemical_system_stays_whole(split_input) -> None:
    texts = ["FeO", "Fe2O3", "Fe3O4", *POOLS["composition"]]
    for seed in range(10):
        split = make_split(
            SplitRecipe(method="chemical_system", seed=seed), split_input("composition", texts)
        )
        sides = [{"-".join(sorted(texts[row])) for row in part if texts[row].startswith("Fe") and "O" in texts[row]}
                 for part in (split.train, split.validation, split.test)]  # fmt: skip
        assert sum(map(bool, sides)) == 1


def test_a_group_of_a_column_is_left_out_with_all_rows_of_its_inputs(split_input) -> None:
    texts = ["CCO", "OCC", "C", "CC", "CCC", "CCCC"]
    rows = split_input("smiles", texts, lab=["a", "b", "a", "b", "b", "c"])
    split = make_split(SplitRecipe(method="leave_out", column="lab", group="a"), rows)
    assert split.test.tolist() == [0, 1, 2]
    assert split.notes == ("1 row of other groups left out too: their inputs stand in 'a' as well",)
    with pytest.raises(
        RecipeError, match=r"no such group of column 'lab' to leave out: got 'd' .*there are: 'a', 'b'"
    ):
        make_split(SplitRecipe(method="leave_out", column="lab", group="d"), rows)
    with pytest.raises(TableError, match="no column 'lap'"):
        make_split(SplitRecipe(method="leave_out", column="lap", group="a"), rows)


def test_clusters_are_numbered_by_size(split_input) -> None:
    rows = split_input("smiles", ["C1CC1", "c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "CC1CC1", "N", "C"])
    split = make_split(SplitRecipe(method="leave_out", group=0), rows)
    assert split.test.tolist() == [1, 2, 3]
    assert make_split(SplitRecipe(method="leave_out", group=1), rows).test.tolist() == [0, 4]
