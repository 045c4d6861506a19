"""Scaffold splits: DeepChem's to the row, and the balanced form."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

import pytest
from rdkit import Chem, RDLogger
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from gia_science.data.splits.methods import make_split
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.data.splits.scaffold import murcko_scaffold, scaffold_split
from gia_science.errors import RecipeError

MIRROR = os.environ.get("GIA_DATA_MIRROR")


def published(smiles: list[str]) -> tuple[list[int], list[int], list[int]]:
    """The published algorithm read from its description, on the texts themselves."""
    sets = defaultdict(list)
    for index, text in enumerate(smiles):
        sets[MurckoScaffoldSmiles(mol=Chem.MolFromSmiles(text), includeChirality=False)].append(index)
    train, valid, test = [], [], []
    for members in sorted(sets.values(), key=lambda members: (len(members), members[0]), reverse=True):
        if len(train) + len(members) <= 0.8 * len(smiles):
            train += members
        elif len(train) + len(valid) + len(members) <= (0.8 + 0.1) * len(smiles):
            valid += members
        else:
            test += members
    return sorted(train), sorted(valid), sorted(test)


@pytest.mark.skipif(MIRROR is None, reason="needs the data files of GIA_DATA_MIRROR")
@pytest.mark.parametrize(
    ("name", "column", "unreadable", "sizes"),
    [
        ("delaney-processed.csv", "smiles", 0, (902, 113, 113)),
        ("BBBP.csv", "smiles", 11, (1631, 204, 204)),
        ("bace.csv", "mol", 0, (1210, 151, 152)),
    ],
)
def test_membership_is_that_of_deepchem(split_input, name, column, unreadable, sizes) -> None:
    """ESOL with its trailing blanks, BBBP with SMILES that RDKit does not read, and BACE."""
    with (Path(str(MIRROR)) / "molecules" / name).open(newline="") as stream:
        texts = [row[column] for row in csv.DictReader(stream)]
    RDLogger.DisableLog("rdApp.*")
    kept = [text for text in texts if Chem.MolFromSmiles(text) is not None]
    expected = published(kept)
    RDLogger.EnableLog("rdApp.*")
    assert len(texts) - len(kept) == unreadable
    split = make_split(SplitRecipe(method="scaffold"), split_input("smiles", kept))
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == expected
    assert tuple(map(len, expected)) == sizes


def test_a_written_out_example() -> None:
    """Ten rows: a group of 5 and one of 3 fill training, the later of the single ones validates, the other tests."""
    scaffolds = ["a", "b", "c", "a", "a", "d", "b", "b", "a", "a"]
    split = scaffold_split(scaffolds)
    assert split.train.tolist() == [0, 1, 3, 4, 6, 7, 8, 9]
    assert split.validation.tolist() == [5]
    assert split.test.tolist() == [2]


def test_of_equal_sizes_the_later_group_comes_first_as_in_the_published_order() -> None:
    split = scaffold_split(list("abcdefghij"))
    assert split.test.tolist() == [0]
    assert split.validation.tolist() == [1]


def test_the_scaffold_is_rings_and_linkers_without_stereochemistry() -> None:
    for text, scaffold in [
        ("Cc1cc(Oc2nccc(CCC)c2)ccc1", "c1ccc(Oc2ccccn2)cc1"),
        ("C[C@H]1CC[C@@H](c2ccccc2)C1", "c1ccc(C2CCCC2)cc1"),
        ("CCO", ""),
    ]:
        assert murcko_scaffold(Chem.MolFromSmiles(text)) == scaffold


def test_acyclic_molecules_are_one_group_and_alone_leave_nothing_to_train_on(split_input) -> None:
    chains = split_input("smiles", ["C" * n for n in range(1, 21)])
    with pytest.raises(
        RecipeError, match=r"leaves no training rows: got 1 scaffold in 20 rows, 20 acyclic.*balanced"
    ):
        make_split(SplitRecipe(method="scaffold"), chains)
    split = make_split(SplitRecipe(method="scaffold_balanced"), chains)
    assert [len(split.train), len(split.validation), len(split.test)] == [16, 2, 2]


def test_an_empty_validation_part_is_told() -> None:
    split = scaffold_split(["a"] * 8 + ["b"] * 2)
    assert (len(split.train), len(split.validation), len(split.test)) == (8, 0, 2)
    assert split.notes == ("the split has no validation rows: no scaffold group fits there",)


def test_half_acyclic_data_keep_acyclic_molecules_in_every_part(split_input) -> None:
    texts = ["C" * n for n in range(1, 31)] + ["C" * n + "c1ccccc1" for n in range(30)]
    split = make_split(SplitRecipe(method="scaffold_balanced"), split_input("smiles", texts))
    assert set(range(30, 60)) <= set(split.train.tolist())
    assert min(len(split.validation), len(split.test)) == 6
