"""Splits from the command line: by name, by column, and given back from a model folder."""

from __future__ import annotations

import json

import pytest

from gia_science.training.recipe import Recipe

ROWS = "smiles,y,year,part\n" + "".join(
    f"{'C' * n}{ring},{n % 5}.5,{1990 + n},{'test' if n > 9 else 'train'}\n"
    for n in range(1, 13)
    for ring in ("O", "c1ccccc1", "C1CCNC1")
)


@pytest.fixture
def parts(tmp_path):
    return lambda: json.loads((tmp_path / "new" / "split.json").read_text())


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("scaffold_balanced", "balanced scaffold split"),
        ("stratified", "stratified random split"),
        ("time:year", "split by time"),
        ("leave_out:year=1995", "group of column 'year' '1995'"),
    ],
)
def test_a_split_by_name(fit, parts, split, told) -> None:
    done = fit(ROWS, "-t", "y", "--split", split)
    assert done.code == 0
    assert any(line.startswith(f"split: {told}") for line in done.told)
    assert sum(map(len, parts()["lines"].values())) == 36


def test_a_stored_split_holds_the_same_rows_out_and_refuses_another_table(
    fit, parts, gia, tmp_path, tiny
) -> None:
    fit(ROWS, "-t", "y", "--set", "split.seed=7")
    first = parts()
    again = gia(
        "train", "rows.csv", "-t", "y", "-o", "again", "--no-baseline", *tiny, "--split", "new/split.json"
    )
    assert again.code == 0
    second = json.loads((tmp_path / "again" / "split.json").read_text())
    assert second["sha256"] == first["sha256"]
    assert (second["lines"], second["data_sha256"]) == (first["lines"], first["data_sha256"])
    assert Recipe.load(tmp_path / "again" / "recipe.yaml").split.file == "new/split.json"
    (tmp_path / "rows.csv").write_text(ROWS.replace("1991", "1971"))
    other = gia(
        "train", "rows.csv", "-t", "y", "-o", "other", "--no-baseline", *tiny, "--split", "new/split.json"
    )
    assert other.error.startswith("new/split.json: the split is of other data")


def test_the_folder_says_what_the_split_lets_through(fit, tmp_path) -> None:
    done = fit(ROWS + "OCC,1.5,1993,test\n", "-t", "y", "--split", "part")
    assert "split: 1 input of train also in test (1 row of test)" in done.told
    found = json.loads((tmp_path / "new" / "leakage.json").read_text())
    assert found["crossing"] == [{"parts": ["train", "test"], "inputs": 1, "rows": 1}]
    assert sum(found["similarity"]["histogram"]) == 10
    card = (tmp_path / "new" / "README.md").read_text().splitlines()
    assert "- leaks: 1 input of train also in test (1 row of test)" in card
    assert any(
        line.startswith("- leaks: similarity of test rows to the nearest training row") for line in card
    )


def test_a_split_on_the_command_line_takes_back_that_of_a_recipe(gia, write, tmp_path, tiny) -> None:
    write(ROWS, "rows.csv")
    recipe = Recipe.build(
        {
            "data.file": "rows.csv",
            "target.names": ["y"],
            "split": {"method": "folds", "folds": 4, "fold": 3, "seed": 2},
        }
    )
    (tmp_path / "mine.yaml").write_text(recipe.to_yaml())
    done = gia(
        "train", "--task", "mine.yaml", "-o", "new", "--no-baseline", *tiny, "--split", "scaffold_balanced"
    )
    assert done.code == 0
    how = Recipe.load(tmp_path / "new" / "recipe.yaml").split
    assert (how.method, how.folds, how.fold, how.seed) == ("scaffold_balanced", 5, 0, 2)
    assert Recipe.load(tmp_path / "mine.yaml").split.folds == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "time"], "the split is not valid: got 'time', expected time:COLUMN"),
        (
            ["--split", "scaffold", "--set", "split.folds=3"],
            "folds goes with method: folds, not with method: scaffold",
        ),
        (["--split", "scaffold", "--fold", "1"], "--fold goes with --split folds: got --split scaffold"),
        (["--split", "time:yeer"], "did you mean 'year'?"),
        (["--split", "none/split.json"], "none/split.json: cannot read the split"),
    ],
)
def test_what_does_not_go_is_one_line(fit, options, message) -> None:
    assert message in fit(ROWS, "-t", "y", *options).error
