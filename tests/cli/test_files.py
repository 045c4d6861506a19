"""Files as they come: encodings, delimiters, compression, standard input, wrong files, places to write to."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

ALKANES = ["C" * count for count in range(1, 13)]
NAMES = ["tokenizer.json", "featurizer.json", "config.json", "model.safetensors"]


@pytest.mark.parametrize(
    ("content", "header"),
    [
        (b"smiles,x\nCCO,1\n", "smiles,x"),
        (b"smiles;x\nCCO;1\n", "smiles,x"),
        (b"smiles\tx\nCCO\t1\n", "smiles,x"),
        (b"smiles|x\nCCO|1\n", "smiles,x"),
        (b"\xef\xbb\xbfsmiles,x\nCCO,1\n", "smiles,x"),
        (b"smiles,x\r\nCCO,1\r\n", "smiles,x"),
        (b"smiles,x\rCCO,1\r", "smiles,x"),
        (b'"smiles","x"\n"CCO","1"\n', "smiles,x"),
        (b"# measured in May\nsmiles,x\nCCO,1\n", "smiles,x"),
        (b"\n\nsmiles,x\n\nCCO,1\n\n", "smiles,x"),
        (b"smiles,x,\nCCO,1,\n", "smiles,x,"),
        (b"smiles,x\nCCO,1,\n", "smiles,x,"),
        (b" SMILES ,x\nCCO,1\n", " SMILES ,x"),
        (gzip.compress(b"smiles,x\nCCO,1\n", mtime=0), "smiles,x"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else "",
)
def test_tables_as_programs_write_them(gia, write, molecules, content, header) -> None:
    done = gia("predict", molecules, write(content))
    assert done.code == 0, done.err
    head, row = done.out.splitlines()
    assert head == f"{header},pIC50_pred,pIC50_std,status,reason"
    assert row.startswith("CCO,1,")
    assert row.endswith(",ok,")


def test_a_file_of_one_column_may_hold_blank_lines(gia, write, molecules) -> None:
    done = gia("predict", molecules, write("smiles\nCCO\n\nCC\n"))
    assert [row["status"] for row in done.rows] == ["ok", "error", "ok"]
    assert done.rows[1]["reason"] == "empty SMILES"


def test_a_row_with_another_number_of_cells_is_an_error_row(gia, write, molecules) -> None:
    done = gia("predict", molecules, write("smiles,x\nCCO,1,2\nCC\nCCC,4\n"))
    assert done.code == 1
    assert [row["reason"] for row in done.rows] == [
        "3 cells where the header has 2",
        "1 cell where the header has 2",
        "",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("smiles,x\nCC,1\n".encode("utf-16"), "UTF-16 text, not UTF-8"),
        ("smiles,x\nCC,1\n".encode("utf-16-le"), "UTF-16 text, not UTF-8"),
        ("smiles,name\nCC,Müller\n".encode("latin-1"), "in.csv, line 2: not UTF-8 text: got byte 0xFC"),
        (b"PK\x03\x04abcdefg", "a ZIP archive or Excel workbook (export it as CSV)"),
        (b"%PDF-1.4\n", "not a text file: got a PDF"),
        (b"\x89PNG\r\n\x1a\n\0", "not a text file: got a picture"),
        (b"<!DOCTYPE html>\n<html>please log in</html>", "not a table: got a web page"),
        (b"", "in.csv: the file is empty"),
        (b" \n\n", "in.csv: the file is empty"),
        (b"smiles,smiles\nC,C\n", "in.csv"),
        (b'smiles,x\nCC,"1\nCCC,2\n', "in.csv, line 2: a quote is opened and not closed"),
        (b"a,b\n1,2\n", "cannot tell which column is the input: got a, b (say it with --input)"),
        (b"CCO,1\nCC,2\n", "in.csv, line 1: the first row looks like data: got '1'"),
        (b"CCO\nCC\n", "in.csv, line 1: the first row looks like data: got 'CCO'"),
        (gzip.compress(b"smiles\n" + b"CCO\n" * 9, mtime=0)[:-12], "the compressed file is cut off"),
        (b"\x1f\x8b" + b"\0" * 30, "in.csv: the compressed file is damaged"),
    ],
)
def test_a_wrong_file_is_one_error_and_nothing_is_written(
    gia, write, molecules, content, message, tmp_path
) -> None:
    bad = gia("predict", molecules, write(content), "-o", "out.csv")
    assert message in bad.error
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    assert bad.out == ""


def test_a_file_cut_far_behind_its_start_leaves_nothing_behind(gia, write, proteins, tmp_path) -> None:
    letters = np.random.default_rng(0).choice(list("ACDEFGHIKL"), (1500, 3000))
    records = "".join(f">{index}\n{''.join(row)}\n" for index, row in enumerate(letters))
    packed = gzip.compress(records.encode(), compresslevel=1, mtime=0)
    write(packed[: len(packed) // 2], "cut.faa.gz")
    for command, out in (("predict", "out.csv"), ("predict", "out.parquet"), ("embed", "out.npz")):
        bad = gia(command, proteins, "cut.faa.gz", "-o", out)
        assert "cut.faa.gz: the compressed file is cut off" in bad.error
    assert [path.name for path in tmp_path.iterdir()] == ["cut.faa.gz"]


@pytest.mark.parametrize("name", ["a.faa.gz", "a.bgz", "a.fasta", "a.csv", "a"])
def test_gzip_and_fasta_are_told_by_their_content(gia, write, proteins, name) -> None:
    done = gia("predict", proteins, write(gzip.compress(b">a\nMKV\n", mtime=0), name))
    assert done.code == 0
    assert done.rows[0]["id"] == "a"


@pytest.mark.parametrize("name", ["a.mol2", "a.pdb", "a.json"])
def test_types_that_are_not_read_are_named(gia, write, molecules, name) -> None:
    bad = gia("predict", molecules, write("CCO x\n", name))
    told = f"files of type {name[1:]} are not read: expected CSV, TSV, FASTA, SMI, SDF, CIF or Parquet"
    assert told in bad.error


@pytest.mark.parametrize(
    ("place", "message"), [("nothing.csv", "nothing.csv: no such file"), (".", "a folder, not a file")]
)
def test_no_file_at_all(gia, molecules, place, message) -> None:
    for command in ("predict", "embed", "evaluate"):
        assert message in gia(command, molecules, place).error
    assert message in gia("train", place, "-t", "y").error


def test_without_a_header_columns_have_numbers(gia, write, fit, tiny) -> None:
    rows = "".join(f"c1ccccc1{m},{i + 0.5}\n" for i, m in enumerate(ALKANES))
    assert "use --no-header" in fit(rows, "-t", "y").error
    done = fit(rows, "-t", "column_2", "--no-header")
    assert done.code == 0
    assert "input: column 'column_1', read as smiles (atoms)" in done.told
    out = gia("predict", "new", write("CCO,x\nCC,y\n"), "--no-header")
    assert out.code == 0
    assert list(out.rows[0]) == ["column_1", "column_2", "column_2_pred", "column_2_std", "status", "reason"]
    assert [row["column_1"] for row in out.rows] == ["CCO", "CC"]
    assert gia("predict", "new", write("smiles\nCC\n")).code == 0
    assert gia("evaluate", "new", "rows.csv", "--no-header").code == 0


def test_a_column_named_like_data_can_be_insisted_on(gia, write, molecules) -> None:
    assert len(gia("predict", molecules, write("CCO\nCC\n"), "--input", "CCO").rows) == 1
    assert len(gia("predict", molecules, write("CCO\nCC\n"), "--no-header").rows) == 2


def test_the_one_column_without_another_use_is_the_input(fit) -> None:
    rows = "".join(f"c1ccccc1{m},{i + 0.5},{i}\n" for i, m in enumerate(ALKANES))
    assert "cannot tell which column is the input" in fit(f"stuff,y,t\n{rows}", "-t", "y").error
    done = fit(f"stuff,y,t\n{rows}", "-t", "y", "--column", "t")
    assert "input: column 'stuff', read as smiles (atoms)" in done.told


def test_content_does_not_overrule_a_column_called_smiles(fit) -> None:
    """Two of three rows are bad molecules that happen to be good formulas."""
    bad = fit("smiles,y\nC1CC,1.5\nCCO,2\nN1CC,3\n", "-t", "y")
    assert "input: column 'smiles', read as smiles (atoms)" in bad.told
    assert "2 of 3 rows cannot be used" in bad.error


def test_a_header_alone_gives_a_header_alone(gia, write, molecules) -> None:
    done = gia("predict", molecules, write("id,smiles\n"))
    assert (done.code, done.out, done.told) == (
        0,
        "id,smiles,pIC50_pred,pIC50_std,status,reason\n",
        ["0 rows predicted"],
    )
    embedded = gia("embed", molecules, "in.csv")
    assert (embedded.code, len(embedded.out.splitlines())) == (0, 1)


def test_standard_input_and_output(gia, molecules, proteins) -> None:
    done = gia("predict", molecules, "-", stdin=b"smiles\nCCO\n")
    assert (done.code, len(done.rows)) == (0, 1)
    assert gia("predict", proteins, "-", stdin=gzip.compress(b">a\nMK\n", mtime=0)).rows[0]["id"] == "a"
    assert gia("embed", molecules, "-", "-o", "-", stdin=b"smiles\nCCO\n").rows[0]["status"] == "ok"
    assert gia("predict", molecules, "-").error == "<stdin>: the file is empty"


def test_training_on_standard_input_keeps_no_source(gia, tiny, tmp_path) -> None:
    rows = b"smiles,y\n" + b"".join(f"{m},{i}.5\n".encode() for i, m in enumerate(ALKANES))
    done = gia("train", "-", "-t", "y", "-o", "new", *tiny, stdin=rows)
    assert done.code == 0
    scored = gia("evaluate", "new", "-", stdin=rows)
    assert scored.code == 0
    assert "no baselines: the training data has changed or was not a file" in scored.out


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_predictions_can_be_read_back(gia, write, molecules, name) -> None:
    first = gia("predict", molecules, write("id,smiles\n007,CCO\nb,C1CC\n"))
    done = gia("predict", molecules, "in.csv", "-o", name)
    assert (done.code, done.out) == (1, "")
    assert done.told[-1].endswith(f" -> {name}")
    again = gia("predict", molecules, name)
    assert [(row["id"], row["status"]) for row in again.rows] == [("007", "ok"), ("b", "error")]
    found, wanted = float(again.rows[0]["pIC50_pred"]), float(first.rows[0]["pIC50_pred"])
    assert found == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("command", ["predict", "embed", "evaluate"])
def test_no_command_writes_over_its_input(gia, write, molecules, command, tmp_path) -> None:
    content = "smiles,pIC50\nCCO,5\n"
    write(content)
    (tmp_path / "link.csv").symlink_to("in.csv")
    for out in ("in.csv", "./in.csv", "link.csv"):
        bad = gia(command, molecules, "in.csv", "-o", out)
        assert "the output would overwrite the input (choose another name)" in bad.error
    assert (tmp_path / "in.csv").read_text() == content


@pytest.mark.parametrize(
    ("command", "out", "message"),
    [
        ("predict", "out.xlsx", "got '.xlsx', expected .csv, .tsv, .csv.gz, .tsv.gz or .parquet"),
        ("embed", "out.json", "got '.json', expected .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .npz"),
        ("predict", "no/out.csv", "no such folder"),
        ("embed", "no/out.npz", "no such folder"),
        ("evaluate", "no/out.json", "no such folder"),
        ("evaluate", ".", "a folder, not a file"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_told_before_any_work(
    gia, write, molecules, command, out, message
) -> None:
    bad = gia(command, molecules, write("smiles,pIC50\nCCO,5\nC1CC,4\n"), "-o", out)
    assert message in bad.error
    assert len(bad.told) == 1


def test_training_does_not_replace_what_is_there(gia, write, tiny, tmp_path) -> None:
    write("smiles,y\n" + "".join(f"{m},{i}.5\n" for i, m in enumerate(ALKANES)))
    train = ("train", "in.csv", "-t", "y", "--no-baseline", *tiny)
    assert gia(*train, "-o", "new").code == 0
    before = (tmp_path / "new" / "model.safetensors").read_bytes()
    bad = gia(*train, "-o", "new", "--seed", "1")
    assert bad.error == "the model folder exists: got new (--overwrite replaces it)"
    assert (tmp_path / "new" / "model.safetensors").read_bytes() == before
    assert gia(*train, "-o", "new", "--seed", "1", "--overwrite").code == 0
    assert (tmp_path / "new" / "model.safetensors").read_bytes() != before
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("...")
    for place in ("precious", "in.csv"):
        bad = gia(*train, "-o", place, "--overwrite")
        assert "is not a model folder" in bad.error
    assert "is not a folder" in gia(*train, "-o", "in.csv/model").error
    assert (tmp_path / "precious" / "thesis.tex").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "other"])
def test_a_damaged_model_folder_is_one_error(gia, write, molecules, name, damage, tmp_path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(molecules, folder)
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    if damage != "missing":
        damaged = {"cut": content[:-20], "empty": b"", "other": b"{}"}[damage]
        (folder / name).write_bytes(damaged)
    for command in ("predict", "embed", "evaluate"):
        bad = gia(command, "model", write("smiles,pIC50\nCC,1\n"))
        assert f"model/{name}" in bad.error or "model: " in bad.error
        assert len(bad.told) == 1


def test_foreign_and_newer_folders_are_refused(gia, write, molecules, tmp_path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(molecules, folder)
    write("smiles\nCC\n")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "format_version": 99}))
    newer = gia("predict", "model", "in.csv").error
    assert "newer than this release: got 99" in newer
    assert "update gia-science" in newer
    (folder / "config.json").write_text('{"model_type": "bert"}')
    assert "not a model folder of gia-science: got 'bert'" in gia("predict", "model", "in.csv").error
    assert gia("predict", "nowhere", "in.csv").error == "no such model folder: got nowhere"
    assert gia("predict", "in.csv", "in.csv").error == "no such model folder: got in.csv"
    assert "no config.json" in gia("predict", ".", "in.csv").error


def test_a_full_disk_is_one_error(gia, write, molecules, tmp_path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    write("smiles\nCC\n")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    assert "No space left on device" in gia("predict", molecules, "in.csv", "-o", "full.csv").error
