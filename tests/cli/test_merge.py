"""Shards of a run, merged, are the run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gia_science.data.table import read_table

TABLE = "id,smiles,note\n" + "".join(
    f'{place:03},{"C" * (place % 9)}c1ccccc1{"NO"[place % 2]},"a, {place}"\n' for place in range(41)
).replace("005,", "005,C1CC", 1)


def column(path: Path, name: str) -> list[str]:
    return read_table(path).column(name)


@pytest.fixture
def shards(gia, write, molecules):
    """Writes the files of all shards: ``shards("out.csv", 3)``."""
    write(TABLE)

    def write_all(out: str, count: int) -> None:
        for number in range(1, count + 1):
            done = gia("predict", molecules, "in.csv", "-o", out, "--shard", f"{number}/{count}")
            assert done.told[-1].endswith(
                f"{Path(out).stem.split('.')[0]}.{number}-of-{count}.{out.split('.', 1)[1]}"
            )

    return write_all


@pytest.mark.parametrize("out", ["out.csv", "out.tsv.gz", "out.parquet"])
def test_shards_are_merged_in_the_order_of_the_input(gia, molecules, shards, tmp_path, out) -> None:
    """Cells, reasons and order are those of one run; the last of six digits may depend on a row's neighbours."""
    shards(out, 3)
    done = gia("merge", out)
    assert (done.code, done.out, done.told) == (0, "", [f"41 rows of 3 shards -> {out}"])
    whole = f"whole{out.removeprefix('out')}"
    gia("predict", molecules, "in.csv", "-o", whole)
    merged, expected = read_table(tmp_path / out), read_table(tmp_path / whole)
    assert merged.header == expected.header
    for column in ("id", "smiles", "note", "status", "reason"):
        assert merged.column(column) == expected.column(column)
    for found, wanted in zip(merged.column("pIC50_pred"), expected.column("pIC50_pred"), strict=True):
        assert (found == wanted == "") or float(found) == pytest.approx(float(wanted), rel=2e-6)


def test_one_shard_of_one_is_the_run(gia, molecules, shards, tmp_path) -> None:
    shards("out.csv", 1)
    gia("merge", "out.csv")
    gia("predict", molecules, "in.csv", "-o", "whole.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_more_shards_than_rows(gia, write, molecules, tmp_path) -> None:
    write("smiles\nCC\nCCC\n")
    for number in range(1, 5):
        gia("predict", molecules, "in.csv", "-o", "out.csv", "--shard", f"{number}/4")
    assert gia("merge", "out.csv").told == ["2 rows of 4 shards -> out.csv"]
    assert column(tmp_path / "out.csv", "smiles") == ["CC", "CCC"]


def test_a_shard_names_the_lines_of_the_file(gia, molecules, shards) -> None:
    done = gia("predict", molecules, "in.csv", "--shard", "6/41")
    assert done.told[-1].startswith("1 of 1 row not predicted: line 7: ")
    assert len(done.rows) == 1


def test_named_files(gia, shards, tmp_path) -> None:
    shards("part.csv", 2)
    done = gia("merge", "all.csv", "part.2-of-2.csv", "part.1-of-2.csv")
    assert done.told == ["41 rows of 2 shards -> all.csv"]
    assert column(tmp_path / "all.csv", "id") == [f"{place:03}" for place in range(41)]


def test_what_cannot_be_merged_is_one_error_and_nothing_is_written(gia, shards, tmp_path) -> None:
    shards("out.csv", 2)
    assert "out.csv: the output would overwrite" not in gia("merge", "out.csv").err
    (tmp_path / "out.csv").unlink()
    bad = gia("merge", "out.2-of-2.csv", "out.1-of-2.csv", "out.2-of-2.csv")
    assert "the output would overwrite the input" in bad.error
    (tmp_path / "out.1-of-2.csv").unlink()
    assert "out.csv: 1 of 2 shards is missing: got no out.1-of-2.csv" in gia("merge", "out.csv").error
    assert "no/out.csv: no such folder" in gia("merge", "no/out.csv").error
    assert "the type of the output file is not known" in gia("merge", "out.json").error
    assert "out.npz: shards of NPZ files cannot be merged: expected .csv, " in gia("merge", "out.npz").error
    assert "no shards are there" in gia("merge", "other.csv").error
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv", "out.2-of-2.csv"}


@pytest.mark.parametrize("out", ["out.csv", "out.tsv.gz", "out.parquet"])
def test_shards_of_embeddings_are_merged(gia, write, molecules, tmp_path, out) -> None:
    """Of lists in Parquet, too; their last bits may depend on a row's neighbours."""
    write(TABLE)
    for number in (1, 2, 3):
        gia("embed", molecules, "in.csv", "-o", out, "--shard", f"{number}/3")
    assert gia("merge", out).told == [f"41 rows of 3 shards -> {out}"]
    whole = f"whole{out.removeprefix('out')}"
    gia("embed", molecules, "in.csv", "-o", whole)
    merged, expected = read_table(tmp_path / out), read_table(tmp_path / whole)
    assert merged.header == expected.header
    for name in ("id", "smiles", "note", "status", "reason"):
        assert merged.column(name) == expected.column(name)
    name = expected.header[-1]
    for found, wanted in zip(merged.column(name), expected.column(name), strict=True):
        numbers = [json.loads(cell or "[]") for cell in (found, wanted)]
        np.testing.assert_allclose(*numbers, rtol=1e-4, atol=1e-6)
    assert merged.column(name)[5] == ""


def test_shards_of_embeddings_that_could_not_be_merged_are_refused(gia, write, molecules) -> None:
    write(TABLE)
    npz = gia("embed", molecules, "in.csv", "-o", "out.npz", "--shard", "1/2")
    assert npz.error.startswith("out.npz: shards of NPZ files cannot be merged")
    tokens = gia("embed", molecules, "in.csv", "-o", "out.csv", "--shard", "1/2", "--tokens")
    assert tokens.error.startswith("--shard does not go with --tokens")


@pytest.mark.parametrize("text", ["0/2", "3/2", "x"])
def test_a_shard_that_is_none(gia, write, molecules, text) -> None:
    bad = gia("predict", molecules, write("smiles\nCC\n"), "-o", "out.csv", "--shard", text)
    assert "--shard is not valid" in bad.error
