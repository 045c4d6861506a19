"""What a protein engineer's messy FASTA or table meets at the command line."""

from __future__ import annotations

import csv

import numpy as np
import pytest

PEPTIDES = [
    "MKVLAA",
    "AAKLV",
    "MMKKLVAA",
    "LLKVA",
    "KVLAMMG",
    "AKAKLM",
    "VVLKMAK",
    "LAMKVA",
    "GGKLA",
    "MKLAG",
]
HELICES = ["".join("H" if residue in "AKL" else "C" for residue in peptide) for peptide in PEPTIDES]


def vectors(gia, model, source: str, **options) -> np.ndarray:
    rows = gia("embed", model, source, **options).rows
    return np.array([[float(row[f"e{index}"] or "nan") for index in range(16)] for row in rows])


def test_lower_case_is_read_as_upper_case_and_counted(gia, write, proteins) -> None:
    done = gia("predict", proteins, write(">a\nmehqllc\n>b\nMEHQLLC\n", "a.fasta"))
    assert done.code == 0
    assert done.rows[0]["label_prob_1"] == done.rows[1]["label_prob_1"]
    assert [row["sequence"] for row in done.rows] == ["mehqllc", "MEHQLLC"]
    assert done.rows[0]["reason"] == "lower-case letters read as upper case"
    assert "1 row read with a remark: see the column reason" in done.told
    same = vectors(gia, proteins, "a.fasta")
    np.testing.assert_array_equal(same[0], same[1])


@pytest.mark.parametrize(
    ("sequence", "status", "reason"),
    [
        ("MKJLA", "ok", "J read as I or L at position 3"),
        ("MKULA", "ok", "U read as C at position 3"),
        ("MKOLA", "ok", "O read as K at position 3"),
        (
            "BZMKX",
            "ok",
            "B read as D or N at position 1; Z read as E or Q at position 2; X read as any residue at",
        ),
        ("MRFNVS*", "ok", "final * (stop) left out"),
        ("ATGAAAACC" * 7, "ok", "looks like DNA or RNA, not protein"),
        ("MKT0A", "error", "unknown letter '0' at position 4"),
        ("MYL--KIKN", "error", "gap '-' at position 4"),
        ("M*VGK*", "error", "stop '*' inside the sequence at position 2"),
    ],
)
def test_letters_beyond_the_twenty_by_one_policy(gia, write, proteins, sequence, status, reason) -> None:
    done = gia("predict", proteins, write(f">p\n{sequence}\n>q some protein\nMKV\n", "a.fasta"))
    assert done.code == (0 if status == "ok" else 1)
    assert [row["id"] for row in done.rows] == ["p", "q"]
    assert (done.rows[0]["status"], done.rows[1]["status"]) == (status, "ok")
    assert reason in done.rows[0]["reason"]
    assert done.rows[1]["description"] == "some protein"


def test_how_sequences_are_read_is_chosen_at_training_and_stands_in_the_card(
    gia, fit, write, tmp_path
) -> None:
    rows = "sequence,y\n" + "".join(f"{peptide},{i}.5\n" for i, peptide in enumerate(PEPTIDES))
    fit(rows, "-t", "y", "--set", "tokens.gaps=drop", "--set", "tokens.unknown=error")
    out = gia("predict", "new", write(">a\nMYL--KIKN\n>b\nMYLKIKN\n>c\nMKJ\n", "a.fasta")).rows
    assert [row["status"] for row in out] == ["ok", "ok", "error"]
    assert out[0]["y_pred"] == out[1]["y_pred"]
    assert out[0]["reason"] == "gaps left out at positions 4, 5"
    assert out[2]["reason"].startswith("non-standard letter 'J' at position 3")
    card = (tmp_path / "new" / "README.md").read_text()
    assert "- letters J, U, O, B, Z, X: the sequence is refused (`unknown: error`)" in card
    assert "- alignment gaps - and .: left out; labels and vectors of residues keep the places" in card
    assert "- longer than 1024 residues: not used in training, an error of that row in prediction" in card


def test_special_letters_and_dna_are_found_before_any_work(gia, write) -> None:
    records = ">a\nMKJLA\n>b\nMYL--KIKN\n>c\n" + "ATGAAAACC" * 7 + "\n>d\nMKT0A\n>e\nM*VGK*\n>f\nMKU*\n"
    done = gia("validate", write(records, "a.fasta"))
    assert done.code == 1
    assert "! 3 of 6 rows cannot be used" in done.out
    assert "  line 7 (d): unknown letter '0' at position 4" in done.out
    assert "! 1 row looks like DNA or RNA, not protein" in done.out
    assert "letters beyond the 20 residues: J 1, U 1" in done.out


def test_an_empty_fasta_file_is_one_error(gia, write, proteins) -> None:
    for command in (("predict", proteins), ("embed", proteins), ("validate",)):
        assert gia(*command, write("", "a.fasta")).error == "a.fasta: the file is empty"


def test_ids_may_repeat_and_both_records_come_back(gia, write, proteins) -> None:
    done = gia("predict", proteins, write(">a\nMK\n>a\nAA\n>b\nMK\n", "a.fasta"))
    assert [(row["id"], row["sequence"]) for row in done.rows] == [("a", "MK"), ("a", "AA"), ("b", "MK")]
    assert "ids that occur more than once, all rows kept: a (lines 1, 3)" in done.told
    assert done.rows[0]["label_prob_1"] == done.rows[2]["label_prob_1"] != done.rows[1]["label_prob_1"]


def test_names_in_headers_stay_text(gia, write, proteins, tmp_path) -> None:
    names = ["x" * 300, "sp|Q99966|CITE1", "../../etc/passwd", "=cmd()"]
    records = "".join(f">{name} Cbp/p300\nMKV\n" for name in names)
    done = gia("predict", proteins, write(records, "a.fasta"), "-o", "out.csv")
    assert done.code == 0
    assert [row.split(",")[0] for row in (tmp_path / "out.csv").read_text().splitlines()[1:]] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.fasta", "out.csv"]


def test_a_sequence_longer_than_the_model_is_an_error_row_or_cut(gia, write, proteins) -> None:
    long = "MKLV" * 375
    done = gia("predict", proteins, write(f">l\n{long}\n>s\nMK\n", "a.fasta"))
    assert done.code == 1
    assert [row["status"] for row in done.rows] == ["error", "ok"]
    assert "got 1500" in done.rows[0]["reason"]
    assert "--long truncate" in done.rows[0]["reason"]
    cut = gia("predict", proteins, "a.fasta", "--long", "truncate")
    assert cut.code == 0
    assert "only the first 1024 of 1500" in cut.rows[0]["reason"]
    assert [row["truncated"] for row in cut.rows] == ["yes", "no"]
    first = gia("predict", proteins, write(f">l\n{long[:1024]}\n", "b.fasta")).rows[0]
    assert float(cut.rows[0]["label_prob_1"]) == pytest.approx(float(first["label_prob_1"]), abs=1e-5)
    assert cut.rows[0]["sequence"] == long
    assert "truncated" not in first


def test_a_sequence_longer_than_the_model_is_read_in_windows(gia, write, proteins) -> None:
    long = ("MKLV" * 200 + "GAWE" * 200)[:1500]
    write(f">l\n{long}\n>s\nMK\n>x\nM1\n", "a.fasta")
    done = gia("predict", proteins, "a.fasta", "--long", "window")
    assert done.code == 1
    assert done.rows[0]["reason"] == "read in 2 windows of 1024 units"
    assert [row["truncated"] for row in done.rows] == ["no", "no", ""]
    parts = gia("predict", proteins, write(f">a\n{long[:1024]}\n>b\n{long[-1024:]}\n", "b.fasta")).rows
    first, second = (float(row["label_prob_1"]) for row in parts)
    expected = (1024 * first + 476 * second) / 1500
    assert float(done.rows[0]["label_prob_1"]) == pytest.approx(expected, abs=1e-5)
    embedded = gia("embed", proteins, "a.fasta", "--tokens", "--long", "window")
    assert [row["unit"] for row in embedded.rows[:1500]] == [str(unit) for unit in range(1, 1501)]


def test_embeddings_do_not_depend_on_what_stands_beside(gia, write, proteins) -> None:
    sequences = ["MKVLAAGG", "MKLV" * 24 + "AA", "MKV", "A" * 700, "KLAKLAK"]
    together = vectors(gia, proteins, write("sequence\n" + "".join(f"{s}\n" for s in sequences)))
    for index, sequence in enumerate(sequences):
        alone = vectors(gia, proteins, write(f"sequence\n{sequence}\n"))
        np.testing.assert_allclose(alone[0], together[index], atol=1e-5)


def test_the_same_file_twice_gives_the_same_bytes(gia, write, proteins, tmp_path) -> None:
    write("".join(f">{index}\n{peptide}\n" for index, peptide in enumerate(PEPTIDES)), "a.fasta")
    for suffix in ("csv", "csv.gz", "parquet", "npz"):
        for options in ((), ("--tokens", "--layer", "0"), ("--pooling", "first")):
            for name in ("one", "two"):
                assert gia("embed", proteins, "a.fasta", "-o", f"{name}.{suffix}", *options).code == 0
            assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_truncated_residues_have_a_vector_each_up_to_the_limit(gia, fit, write, tmp_path) -> None:
    """1,100 residues and a limit of 1,022: the closing token is there, and a column says what was done."""
    rows = "sequence,y\n" + "".join(f"{peptide},{i}.5\n" for i, peptide in enumerate(PEPTIDES))
    assert fit(rows, "-t", "y", "--set", "network.max_length=1022").code == 0
    write(f">l\n{'MKLVA' * 220}\n>s\nMKV\n", "a.fasta")
    done = gia("embed", "new", "a.fasta", "--tokens", "--long", "truncate", "-o", "out.csv")
    assert done.code == 0
    with (tmp_path / "out.csv").open() as stream:
        found = list(csv.DictReader(stream))
    assert [(row["row"], row["id"], row["unit"], row["truncated"]) for row in found] == [
        *(("1", "l", str(unit), "yes") for unit in range(1, 1023)),
        *(("2", "s", str(unit), "no") for unit in range(1, 4)),
    ]
    alone = gia("embed", "new", write(f">l\n{('MKLVA' * 220)[:1022]}\n", "b.fasta"), "--tokens").rows
    for cut, whole in zip(found, alone, strict=False):
        assert float(cut["e0"]) == pytest.approx(float(whole["e0"]), abs=1e-5)


def test_every_residue_has_a_vector_with_its_place_and_letter(gia, write, proteins) -> None:
    """Special tokens have none; what cannot be read has a line that says so."""
    write(">a\nAAAAA\n>g\nmK v*\n>bad\nM--K\n>a\nMU\n", "a.fasta")
    done = gia("embed", proteins, "a.fasta", "--tokens")
    assert done.code == 1
    assert [(row["row"], row["id"], row["unit"], row["token"], row["status"]) for row in done.rows] == [
        *(("1", "a", str(unit), "A", "ok") for unit in range(1, 6)),
        ("2", "g", "1", "m", "ok"),
        ("2", "g", "2", "K", "ok"),
        ("2", "g", "4", "v", "ok"),
        ("3", "bad", "", "", "error"),
        ("4", "a", "1", "M", "ok"),
        ("4", "a", "2", "U", "ok"),
    ]
    assert "gap '-' at position 2" in done.rows[8]["reason"]
    assert [row["e0"] == "" for row in done.rows] == [row["status"] == "error" for row in done.rows]
    assert done.told[-1].startswith("1 of 4 rows not embedded: line 5: gap '-'")


def test_gaps_that_are_dropped_do_not_shift_the_residues(gia, fit, write) -> None:
    rows = "sequence,y\n" + "".join(f"{peptide},{i}.5\n" for i, peptide in enumerate(PEPTIDES))
    fit(rows, "-t", "y", "--set", "tokens.gaps=drop")
    done = gia("embed", "new", write(">p\nMYL--KIKN\n", "a.fasta"), "--tokens")
    assert "".join(row["token"] for row in done.rows) == "MYLKIKN"
    assert [int(row["unit"]) for row in done.rows] == [1, 2, 3, 6, 7, 8, 9]
    assert "gaps left out at positions 4, 5" in done.rows[0]["reason"]


def test_embeddings_of_another_layer_and_pooling_and_what_is_not_there(gia, write, proteins) -> None:
    write(">a\nMKV\n", "a.fasta")
    plain, first, zeroth = (
        gia("embed", proteins, "a.fasta", *options).rows[0]["e0"]
        for options in ((), ("--pooling", "first"), ("--layer", "0"))
    )
    assert len({plain, first, zeroth}) == 3
    assert gia("embed", proteins, "a.fasta", "--pooling", "model", "--layer", "1").rows[0]["e0"] == plain
    for options, message in (
        (("--layer", "9"), "no such layer in the model: got 9"),
        (("--pooling", "attention"), "has not learnt attention pooling"),
        (
            ("--pooling", "men"),
            "--pooling is not valid: got 'men', expected model, mean, first or attention (did",
        ),
        (("--pooling", "mean", "--tokens"), "vectors of single tokens are not pooled"),
    ):
        assert message in gia("embed", proteins, "a.fasta", *options, "-o", "out.csv").error


def test_rows_out_are_rows_in_where_some_cannot_be_read(gia, write, proteins) -> None:
    done = gia("embed", proteins, write(">a\nMK\n>b\nM1\n>c\nAA\n", "a.fasta"))
    assert done.code == 1
    assert [(row["id"], row["status"], row["e0"] == "") for row in done.rows] == [
        ("a", "ok", False),
        ("b", "error", True),
        ("c", "ok", False),
    ]
    assert done.told == ["1 of 3 rows not embedded: line 3: unknown letter '1' at position 2"]


@pytest.mark.parametrize(
    ("content", "sequences"),
    [
        (";note\n>a\nMK\n;more\n", ["MK"]),
        ("\ufeff>a\nMK\n", ["MK"]),
        (">a\r\nMKT\r\n", ["MKT"]),
        (">a\rMKT\r>b\rAA\r", ["MKT", "AA"]),
        (">a\nMKT\nAYI\n\n>b\nMK", ["MKTAYI", "MK"]),
    ],
)
def test_fasta_as_people_write_it(gia, write, proteins, content, sequences) -> None:
    done = gia("predict", proteins, write(content, "a.fasta"))
    assert done.code == 0
    assert [row["sequence"] for row in done.rows] == sequences


@pytest.mark.parametrize(
    ("content", "reason"),
    [(">\nMK\n>b\nAA\n", "record without a name"), (">a\n>b\nMK\n", "empty sequence")],
)
def test_a_record_that_lacks_something_is_an_error_row(gia, write, proteins, content, reason) -> None:
    done = gia("predict", proteins, write(content, "a.fasta"))
    assert done.code == 1
    assert [row["status"] for row in done.rows] == ["error", "ok"]
    assert done.rows[0]["reason"] == reason


def test_text_before_the_first_record_is_an_error_with_its_line(gia, write, proteins) -> None:
    bad = gia("predict", proteins, write(";note\nhello\n>a\nMK\n", "a.fasta"))
    assert bad.error.startswith("a.fasta, line 2: not FASTA: text before the first '>': got 'hello'")


def test_na_is_asparagine_and_alanine(gia, write, proteins) -> None:
    done = gia("predict", proteins, write("id,sequence\nNA,NA\nnan,NAN\n"))
    assert done.code == 0
    assert [row["id"] for row in done.rows] == ["NA", "nan"]


def test_fasta_has_nothing_to_learn_from(gia, write, tiny) -> None:
    write(">a\nMKV\n>b\nAAL\n", "a.fasta")
    for options in ([], ["-t", "y"]):
        bad = gia("train", "a.fasta", "-o", "new", *options, *tiny)
        assert "a FASTA file holds no measurements" in bad.error
        assert "train on a" in bad.error


def labelled(*more: str) -> str:
    rows = [f"{peptide},{helix}" for peptide, helix in zip(PEPTIDES, HELICES, strict=True)]
    return "sequence,ss\n" + "\n".join([*rows, *more]) + "\n"


@pytest.mark.parametrize("kind", [["--kind", "per_token"], []])
def test_one_label_per_residue(gia, fit, write, kind, tmp_path) -> None:
    done = fit(labelled("MKAL,H-?C"), "-t", "ss", *kind)
    assert done.code == 0
    assert "target: ss, per_token with labels C, H" in done.told
    assert any("intervals are over residues" in line for line in done.out.splitlines())
    assert not (tmp_path / "new" / "predictions.csv").exists()
    out = gia("predict", "new", write(">a\nMKVLA\n>b\nmk*\n>c\nM1\n", "a.fasta"))
    assert out.code == 1
    assert [len(row["ss_pred"]) for row in out.rows] == [5, 3, 0]
    assert set(out.rows[0]["ss_pred"]) <= {"H", "C"}
    assert out.rows[1]["ss_pred"].endswith("-")
    scored = gia("evaluate", "new", write(labelled()))
    assert scored.code == 0
    assert "Accuracy" in scored.out


def test_labels_and_residues_must_be_as_many(fit) -> None:
    bad = fit(labelled("MKV,HH"), "-t", "ss", "--kind", "per_token")
    assert "line 12: labels and residues differ in number: got 2 labels, expected 3" in bad.error


def test_evaluate_lists_the_rows_it_cannot_score(gia, write, proteins, tmp_path) -> None:
    rows = "id,sequence,label\na,MKV,1\nb,AAL,0\nc,M1,0\nd,KKK,\ne,KLK,2\n"
    done = gia("evaluate", proteins, write(rows), "--no-baseline", "-o", "scores.json")
    assert done.code == 1
    assert done.told == [
        "not scored: line 4 (c): unknown letter '1' at position 2",
        "not scored: line 6 (e): column 'label': unknown label: got '2', expected 0 or 1",
        "2 rows not scored, listed above",
    ]
    assert '"left_out": 2' in (tmp_path / "scores.json").read_text()


def test_evaluate_fits_the_baseline_on_the_rows_of_the_model(gia, write, proteins) -> None:
    measured = proteins.parent / "amp.csv"
    done = gia("evaluate", proteins, measured)
    assert done.code == 0
    assert (
        "random forest: random forest on composition, length, charge, hydropathy, and the residues at each place"
        in done.out
    )
    assert "constant: mean, or most frequent class, of the training rows" in done.out
    assert "36 of 40 rows were in the training data: the scores flatter" in done.out
    assert "no baselines: not asked for" in gia("evaluate", proteins, measured, "--no-baseline").out


def test_evaluate_says_why_there_is_no_baseline(gia, fit, write, tmp_path) -> None:
    rows = "sequence,y\n" + "".join(f"{peptide},{i}.5\n" for i, peptide in enumerate(PEPTIDES))
    fit(rows, "-t", "y")
    write(rows.replace("0.5", "0.7"), "rows.csv")
    assert "no baselines: the training data has changed" in gia("evaluate", "new", "rows.csv").out
    (tmp_path / "rows.csv").rename(tmp_path / "moved.csv")
    done = gia("evaluate", "new", "moved.csv")
    assert "no baselines: the training data cannot be read again (rows.csv: no such file)" in done.out
    assert done.code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sequence,label\n", "no row can be scored: got an empty table"),
        ("sequence,label\nM1,1\n", "no row can be scored: got line 2: unknown letter '1'"),
        ("sequence,Label\nMK,1\n", "no column 'label' (did you mean 'Label'?"),
        (">a\nMK\n", "no column 'label'"),
    ],
)
def test_nothing_to_score_is_one_error(gia, write, proteins, content, message) -> None:
    assert message in gia("evaluate", proteins, write(content)).error
