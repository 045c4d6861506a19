"""A stored split gives the same parts again, and refuses other data."""

from __future__ import annotations

import json

import pytest

from gia_science.data.source import table_hash
from gia_science.data.splits.base import split_hash
from gia_science.data.splits.methods import make_split
from gia_science.data.splits.recipe import SplitRecipe
from gia_science.data.splits.stored import split_record, stored_split
from gia_science.errors import RecipeError

TEXTS = ["C" * n for n in range(1, 21)]


@pytest.fixture
def stored(split_input, tmp_path):
    rows = split_input("smiles", TEXTS)
    split = make_split(SplitRecipe(seed=3), rows)
    record = split_record(rows.rows, split, data_sha256=table_hash(rows.table))
    path = tmp_path / "split.json"
    path.write_text(json.dumps(record))
    return rows, split, record, path


def test_the_same_parts_come_back(stored) -> None:
    rows, split, record, path = stored
    again = make_split(SplitRecipe(method="file", file=str(path)), rows)
    assert split_hash(again) == split_hash(split) == record["sha256"]
    assert again.describe == f"as in {path}: {split.describe}"
    assert again.notes == ()
    assert record["indices"]["test"] == split.test.tolist()


def test_other_data_is_refused(stored, split_input) -> None:
    *_, path = stored
    other = split_input("smiles", [*TEXTS[:-1], "N"])
    with pytest.raises(RecipeError, match="the split is of other data"):
        make_split(SplitRecipe(method="file", file=str(path)), other)


def test_rows_that_were_not_used_go_with_their_identity_or_are_refused(stored) -> None:
    rows, split, record, path = stored
    line = record["lines"]["test"].pop()
    identity = record["identities"]["test"].pop()
    path.write_text(json.dumps(record))
    with pytest.raises(RecipeError, match=f"says nothing of 1 row: got line {line}"):
        stored_split(str(path), rows.rows, data_sha256=record["data_sha256"])
    record["identities"]["test"].append(identity)
    record["lines"]["test"].append(9999)
    path.write_text(json.dumps(record))
    again = stored_split(str(path), rows.rows, data_sha256=record["data_sha256"])
    assert split_hash(again) == split_hash(split)
    fewer = stored_split(str(path), rows.rows[1:], data_sha256=record["data_sha256"])
    assert "1 row of the file are not used here" in fewer.notes


def test_without_a_hash_of_the_data_rows_are_matched_by_identity_and_it_is_told(stored) -> None:
    rows, split, record, path = stored
    del record["data_sha256"]
    path.write_text(json.dumps(record))
    again = stored_split(str(path), rows.rows[::-1], data_sha256="other")
    assert {rows.identities[-1 - row] for row in again.test} == {rows.identities[row] for row in split.test}
    assert "rows matched by identity" in again.notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        ("[]", "not a split"),
        ("{}", "the split lacks a key"),
        ('{"lines": {"train": [2]}, "identities": {}}', "differ in number"),
        ('{"lines": {"training": [2]}, "identities": {}}', "not valid"),
    ],
)
def test_a_file_that_is_no_split(tmp_path, content, message) -> None:
    path = tmp_path / "split.json"
    path.write_text(content)
    with pytest.raises(RecipeError, match=message):
        stored_split(str(path), [], data_sha256="")
    with pytest.raises(RecipeError, match="cannot read the split: got No such file"):
        stored_split(str(tmp_path / "none.json"), [], data_sha256="")
