"""A file is checked first: what the bench reads, what a program reads, and the exit code."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = "id,smiles,y\n" + "".join(f"m{i},{'C' * i}O,{i}.5\n" for i in range(1, 13))


def test_a_sound_file_ends_with_code_0_and_the_next_command(gia, write) -> None:
    done = gia("validate", write(ROWS), "-t", "y")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "in.csv: 12 rows (csv)",
        "input     column 'smiles', read as smiles (by the name of the column); of the first 12 it reads 100% "
        "(protein 100%, composition 100%)",
        "lengths   2 to 13 atoms, median 7.5; 0 over the limit of 1024",
        "target y  regression: 12 numbers, 1.5 to 12.5, median 7",
        "",
        "next: gia train in.csv --target y",
    ]


@pytest.mark.parametrize(
    "more",
    [
        "",
        "x,C1CC,3\n",
        "x,OCC,7.5\nx2,CCCO,\n",
        "x,OCC,7.5\nx,C1CC,2\n" + f"y,{'C' * 1100},1\n",
    ],
    ids=["sound", "bad", "conflict", "all"],
)
def test_the_next_command_works(gia, write, tiny, more) -> None:
    done = gia("validate", write(ROWS + more), "-t", "y")
    assert done.code == (1 if more else 0)
    last = done.out.splitlines()[-1]
    assert last.startswith("next: gia train ")
    words = shlex.split(last.removeprefix("next: gia "))
    assert gia(*words, "-o", "new", "--no-baseline", *tiny).code == 0


def test_conflicting_duplicates_are_shown_with_lines_and_labels(gia, write) -> None:
    done = gia("validate", write("smiles,y\nCCO,0\nOCC,1\nC,0\nN,1\n"), "-t", "y")
    assert done.code == 1
    assert "! 1 row repeats an input: a split must keep them together" in done.out
    assert "  lines 2, 3: CCO, y 0 and 1" in done.out


def test_json_holds_everything(gia, write) -> None:
    content = "id,smiles,y\n" + "a,C1CC,1\n" * 30 + "b,CCN.Cl,2\nb,CCN,3\nc,C,1.5\n"
    done = gia("validate", write(content), "-t", "y", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert len(found["unreadable"]) == 30
    assert found["unreadable"][0] == {
        "line": 2,
        "id": "a",
        "reason": "RDKit cannot read the SMILES: unclosed ring",
    }
    assert found["near_duplicates"] == [{"parent": "CCN", "lines": [32, 33]}]
    assert found["repeated_ids"]["b"] == [32, 33]
    assert found["next"] == "gia train in.csv --target y --bad-rows drop"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b"smiles\n" + b"CCO\n" * 9, mtime=0)[:-12], "the compressed file is cut off"),
        (b"a,b\n1,2\n", "cannot tell which column is the input"),
        (b"CCO,1\nCC,2\n", "the first row looks like data"),
        ("smiles\nC\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(gia, write, content, message) -> None:
    bad = gia("validate", write(content))
    assert message in bad.error
    assert bad.out == ""


def test_every_way_in(gia, write) -> None:
    fasta = gia("validate", write(gzip.compress(b">a\nMKV\n>b\nMKVA\n>c\nAA\n", mtime=0), "a.faa.gz"))
    assert (fasta.code, fasta.out.splitlines()[0]) == (0, "a.faa.gz: 3 rows (fasta)")
    piped = gia("validate", "-", "-t", "y", stdin=ROWS.encode())
    assert (piped.code, piped.out.splitlines()[0]) == (0, "<stdin>: 12 rows (csv)")
    bare = gia(
        "validate",
        write("CCO,1\nCC,2.5\nCCCO,3\n"),
        "--no-header",
        "--input",
        "column_1",
        "--domain",
        "smiles",
    )
    assert bare.code == 0
    assert bare.out.splitlines()[-1] == (
        "next: gia train in.csv --target column_2 --no-header --input column_1 --domain smiles"
    )


def test_a_model_says_how_it_reads_and_what_it_has_seen(gia, write, molecules) -> None:
    measured = molecules.parent / "nav17.csv"
    done = gia("validate", measured, "--model", molecules)
    assert done.code == 1
    assert "! 36 rows were in the training data of the model: scores flatter" in done.out
    assert "(as the model reads)" in done.out
    assert done.out.splitlines()[-1].startswith("next: gia predict ")
    fresh = gia("validate", write("molecule,x\nCCO,1\nCC,2\nCCC,3\n"), "--model", molecules)
    assert fresh.code == 0


def test_the_policies_of_a_model_are_those_of_its_training(gia, fit, write) -> None:
    fit(ROWS, "-t", "y", "--set", "tokens.fragments=largest")
    report = json.loads(
        gia("validate", write("smiles\nCCN.Cl\nCCN\nCCO.Cl\nC\n"), "--model", "new", "--json").out
    )
    assert report["duplicates"]["rows"] == 1
    assert report["near_duplicates"] == []
    assert report["in_training_data"] == 1


def test_a_format_that_does_not_exist_is_refused(gia, write) -> None:
    assert "no such table format: got 'jsn'" in gia("validate", write(ROWS), "--format", "jsn").error


def test_checking_a_file_does_not_load_pytorch(write, tmp_path) -> None:
    """Checking a file takes a moment."""
    write(ROWS)
    code = (
        "import sys\nfrom gia_science.cli.main import main\n"
        "try:\n    main(['validate', 'in.csv', '-t', 'y'])\n"
        "finally:\n    assert not {'torch', 'pytorch_lightning', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_split_is_tried_out_and_said_in_the_next_command(gia, write) -> None:
    done = gia("validate", write(ROWS), "-t", "y", "--split", "value:y")
    assert (
        "  split by value 0.8/0.1/0.1, column 'y', both ends in test; 12 distinct inputs in 12 rows"
        in done.out
    )
    assert "  no input stands in two parts" in done.out.splitlines()
    assert done.out.splitlines()[-1] == "next: gia train in.csv --target y --split value:y"
    found = json.loads(gia("validate", "in.csv", "-t", "y", "--split", "value:y", "--json").out)
    assert found["leakage"]["rows"] == {"train": 10, "validation": 1, "test": 1}


def test_rows_that_a_column_puts_on_two_sides_are_a_problem(gia, write) -> None:
    rows = "".join(f"{'C' * n},{n},{'test' if n > 9 else 'train'}\n" for n in range(1, 13)) + "C,1,test\n"
    done = gia("validate", write("smiles,y,part\n" + rows), "-t", "y", "--split", "part")
    assert done.code == 1
    assert "! split: 1 input of train also in test (1 row of test)" in done.out


def test_a_split_that_does_not_go_with_the_file_is_one_error(gia, write) -> None:
    done = gia("validate", write(ROWS), "-t", "y", "--split", "cluster")
    assert done.error.startswith("the split cluster is not for smiles input")
