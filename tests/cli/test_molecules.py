"""What a chemist's messy table meets at the command line."""

from __future__ import annotations

import json
from itertools import cycle

import numpy as np
import pytest
from rdkit import Chem

ALKANES = ["C" * count for count in range(1, 13)]


def labelled(labels: list[str], *, molecules: list[str] = ALKANES) -> str:
    return "smiles,y\n" + "".join(f"{m},{label}\n" for m, label in zip(molecules, cycle(labels)))


def numbered(*, molecules: list[str] = ALKANES) -> str:
    return "smiles,y\n" + "".join(f"{m},{index + 0.25}\n" for index, m in enumerate(molecules))


def predictions(gia, model, write, smiles: list[str]) -> list[str]:
    done = gia("predict", model, write("smiles\n" + "".join(f"{s}\n" for s in smiles)))
    assert done.code == 0, done.err
    return [row["pIC50_pred"] for row in done.rows]


def test_a_bad_row_comes_back_in_place_with_rdkits_reason(gia, write, molecules) -> None:
    done = gia("predict", molecules, write("id,smiles\na,CCO\nb,C1CC\nc,CC\n"))
    assert done.code == 1
    assert [(row["id"], row["status"]) for row in done.rows] == [("a", "ok"), ("b", "error"), ("c", "ok")]
    assert done.rows[1]["pIC50_pred"] == ""
    assert done.rows[1]["reason"] == "RDKit cannot read the SMILES: unclosed ring"
    assert done.told == ["1 of 3 rows not predicted: line 3: RDKit cannot read the SMILES: unclosed ring"]


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("CC1=CC=C[NH+2]([O-])C1", "Explicit valence for atom # 5 N, 4, is greater than permitted"),
        ("", "empty SMILES"),
        ("   ", "empty SMILES"),
        ("CCO ethanol", "blank inside the SMILES"),
        ("C" * 1100, "longer than the model allows: got 1100"),
    ],
)
def test_the_reason_says_what_is_wrong_with_the_molecule(gia, write, molecules, smiles, reason) -> None:
    done = gia("predict", molecules, write(f"id,smiles\na,CCO\nb,{smiles}\nc,CC\n"))
    assert done.code == 1
    assert [row["status"] for row in done.rows] == ["ok", "error", "ok"]
    assert reason in done.rows[1]["reason"]


def test_training_lists_every_bad_row_before_it_stops(fit, tmp_path) -> None:
    bad = fit("id,smiles,y\na,C1CC,1\nb,CCO,2\nc,c1cc,3\nd,CC,high\n", "-t", "y")
    assert bad.told[-4:-1] == [
        "cannot be used: line 2 (a): RDKit cannot read the SMILES: unclosed ring",
        "cannot be used: line 4 (c): RDKit cannot read the SMILES: unclosed ring",
        "cannot be used: line 5 (d): column 'y': not a finite number: got 'high', expected a number such as 0.5",
    ]
    assert bad.error.startswith("rows.csv: 3 of 4 rows cannot be used, the first: line 2 (a): ")
    assert "--bad-rows drop" in bad.error
    assert not (tmp_path / "new").exists()


def test_all_bad_rows_are_listed_however_many(fit) -> None:
    bad = fit("smiles,y\n" + "C1CC,1\n" * 300 + "CC,2\n", "-t", "y")
    assert sum(line.startswith("cannot be used: line ") for line in bad.told) == 300
    assert bad.error.startswith("rows.csv: 300 of 301 rows cannot be used")


def test_where_no_row_can_be_used_a_few_are_enough(fit) -> None:
    bad = fit("id,smiles,y\n" + "a,C1CC,1\n" * 300, "-t", "y")
    assert sum(line.startswith("cannot be used: line ") for line in bad.told) == 10
    assert "... and all of the other 290" in bad.told
    assert "are these the right columns" in bad.error


def test_bad_rows_can_be_dropped_and_are_still_listed(gia, fit, write) -> None:
    rows = "".join(f"r{index},{smiles},{index}\n" for index, smiles in enumerate(ALKANES))
    done = fit(f"id,smiles,y\n{rows}a,C1CC,1\nb,CC,x\n", "-t", "y", "--bad-rows", "drop")
    assert done.code == 0
    assert [line for line in done.told if line.startswith("dropped: ")] == [
        "dropped: line 14 (a): RDKit cannot read the SMILES: unclosed ring",
        "dropped: line 15 (b): column 'y': not a finite number: got 'x', expected a number such as 0.5",
    ]
    assert any("10 training, 1 validation, 1 test rows" in line for line in done.told)
    assert gia("predict", "new", write("smiles\nCC\n")).code == 0


def test_spellings_of_one_molecule_have_one_prediction_and_embedding(gia, write, molecules) -> None:
    drug = Chem.MolFromSmiles("C[C@@H](N)C(=O)Nc1ccc(Cl)cc1")
    spellings = [Chem.MolToSmiles(drug, doRandom=True) for _ in range(10)]
    for group in (
        ["C[C@@H](N)C(=O)O", "N[C@H](C)C(=O)O"],
        ["[H]C([H])([H])O", "CO", "[2H]C([2H])([2H])O", "[13CH3]O", "C([H])O"],
        spellings,
    ):
        assert len(set(predictions(gia, molecules, write, group))) == 1
        vectors = gia("embed", molecules, "in.csv").rows
        assert len({tuple(row[f"e{index}"] for index in range(16)) for row in vectors}) == 1


def test_isotopes_are_folded_and_it_is_said(gia, write, molecules) -> None:
    done = gia("predict", molecules, write("smiles\n[2H]C([2H])([2H])O\nCO\n"))
    assert [row["reason"] for row in done.rows] == ["isotopes read as their elements", ""]
    assert "1 row read with a remark: see the column reason" in done.told


def test_salts_are_kept_unless_the_model_was_told_otherwise(gia, fit, write, molecules) -> None:
    salt, base, ions = predictions(gia, molecules, write, ["CCN.Cl", "CCN", "[Na+].[Cl-]"])
    assert len({salt, base, ions}) == 3
    rows = "smiles,y\nCCN.Cl,1.5\nCCN,2.5\n" + "".join(f"{m},{i}.25\n" for i, m in enumerate(ALKANES))
    done = fit(rows, "-t", "y", "--set", "tokens.fragments=largest")
    assert "1 row repeats an input; it stays on one side of the split" in done.told
    assert "lines 2, 3 are one input, CCN, with different targets: y 1.5 to 2.5; all are used" in done.told
    assert "largest of 2 fragments kept, Cl left out (line 2)" in done.told
    out = gia("predict", "new", write("smiles\nCCN.Cl\nCCN\n")).rows
    assert out[0]["y_pred"] == out[1]["y_pred"]


def test_salts_are_reported_as_near_duplicates_before_training(gia, write) -> None:
    done = gia("validate", write("smiles,y\nCCN.Cl,1.5\nCCN,2.5\nCCO,3\n[Na+].[Cl-],4\n"), "-t", "y")
    assert done.code == 1
    assert "! 1 molecule beside its salts or mixtures" in done.out
    assert "  lines 2, 3: CCN" in done.out


def test_how_molecules_are_read_stands_in_the_card(fit, tmp_path) -> None:
    fit(numbered(), "-t", "y", "--set", "tokens.fragments=largest", "--set", "tokens.stereo=ignore")
    card = (tmp_path / "new" / "README.md").read_text()
    assert "- salts and mixtures: the fragment of most heavy atoms alone (`fragments: largest`)" in card
    assert "- stereochemistry: stereoisomers are one molecule (`stereo: ignore`)" in card
    assert (
        "- isotopes: each is read as its element, deuterium as any other hydrogen (`isotopes: fold`)" in card
    )
    assert "- longer than 1024 atoms: not used in training, an error of that row in prediction" in card


def test_of_classes_the_most_frequent_label_is_used_and_ties_are_left_out(fit) -> None:
    rows = "CCO,0\nOCC,1\nC(O)C,1\nCCN,0\nNCC,1\n"
    done = fit(
        "smiles,y\n" + rows + labelled(["0", "1"]).partition("\n")[2], "-t", "y", "--duplicates", "mean"
    )
    assert done.code == 0
    assert [line for line in done.told if line.startswith(("dropped: ", "duplicates: "))] == [
        "duplicates: mean: 2 rows went into the first of the same input",
        "dropped: line 5: no label is the most frequent in lines 5, 6",
        "dropped: line 6: no label is the most frequent in lines 5, 6",
    ]


def test_the_choice_of_stereochemistry_lives_in_the_model(gia, fit, write) -> None:
    fit(numbered(), "-t", "y", "--set", "tokens.stereo=ignore")
    out = gia("predict", "new", write("smiles\nC[C@@H](N)C(=O)O\nC[C@H](N)C(=O)O\n")).rows
    assert out[0]["y_pred"] == out[1]["y_pred"]
    assert "no such option: --ignore-stereo" in gia("predict", "new", "in.csv", "--ignore-stereo").error


@pytest.mark.parametrize("aggregation", ["gin", "pna"])
def test_a_molecule_of_one_atom_is_predicted(gia, fit, write, aggregation) -> None:
    fit(numbered(), "-t", "y", "--set", f"network.attention.kind={aggregation}")
    done = gia("predict", "new", write("smiles\nC\n[Na+]\n"))
    assert done.code == 0
    assert all(np.isfinite(float(row["y_pred"])) for row in done.rows)


def test_long_molecules_are_read_whole_or_refused_or_cut_on_request(gia, write, molecules) -> None:
    whole, other = predictions(gia, molecules, write, ["C" * 300, "C" * 299 + "O"])
    assert whole != other, "the last atom counts"
    done = gia("predict", molecules, write(f"smiles\n{'C' * 1100}\nC\n"), "--long", "truncate")
    assert done.code == 0
    assert done.rows[0]["status"] == "ok"
    assert "only the first 1024 of 1100" in done.rows[0]["reason"]
    assert [row["truncated"] for row in done.rows] == ["yes", "no"]
    for command in ("predict", "embed"):
        refused = gia(command, molecules, "in.csv", "--long", "window", "-o", "out.csv")
        assert refused.error.startswith("windows are for proteins: a part of a molecule")


def test_atoms_have_their_vectors_in_the_order_of_the_smiles(gia, write, molecules) -> None:
    done = gia("embed", molecules, write("smiles\nOCCN\nNCCO\nC1\n"), "--tokens")
    assert done.code == 1
    assert [(row["row"], row["unit"], row["token"]) for row in done.rows] == [
        *(("1", str(unit), symbol) for unit, symbol in enumerate("OCCN", start=1)),
        *(("2", str(unit), symbol) for unit, symbol in enumerate("NCCO", start=1)),
        ("3", "", ""),
    ]
    found = [row["e0"] for row in done.rows]
    assert found[:4] == found[7:3:-1]
    assert len(set(found[:4])) == 4


def test_a_peptide_of_some_hundred_atoms_is_read_whole(gia, write, molecules) -> None:
    """RDKit writes it as one molecule; batches are made by size, so the small one beside it does not change."""
    peptides = [Chem.MolFromSequence("ACDEFGHIKLMNPQRSTVWY" * 3 + last) for last in "AG"]
    assert min(peptide.GetNumAtoms() for peptide in peptides) > 400
    first, other, small = predictions(gia, molecules, write, [*map(Chem.MolToSmiles, peptides), "CCO"])
    assert first != other, "the last residue counts"
    assert [small] == predictions(gia, molecules, write, ["CCO"])


def test_training_says_how_to_allow_longer_inputs(fit) -> None:
    bad = fit(numbered(molecules=[*ALKANES, "C" * 40]), "-t", "y", "--set", "network.max_length=20")
    assert "got 40 atoms, expected at most 20 (the setting network.max_length=40 allows it)" in bad.error
    assert "--long" not in bad.error


def test_conflicting_duplicates_are_shown_and_stay_together(fit, tmp_path) -> None:
    done = fit("smiles,y\nCCO,0\nOCC,1\n" + labelled(["0", "1"]).partition("\n")[2], "-t", "y")
    assert "1 row repeats an input; it stays on one side of the split" in done.told
    assert "lines 2, 3 are one input, CCO, with different targets: y 0 and 1; all are used" in done.told
    lines = json.loads((tmp_path / "new" / "split.json").read_text())["lines"].values()
    assert [part for part in lines if 2 in part] == [part for part in lines if 3 in part]


def test_a_task_of_one_class_is_undefined_and_left_out_of_the_mean(fit) -> None:
    rows = "".join(
        f"{m},{index % 2},0,{'test' if index % 3 else 'train'}\n" for index, m in enumerate(ALKANES)
    )
    done = fit(f"smiles,a,b,part\n{rows}", "-t", "a", "-t", "b", "--split", "part")
    table = done.out.splitlines()
    assert "target: a, b, multilabel with labels 0, 1" in done.told
    assert any(line.startswith("b ") and "undefined: only one class" in line for line in table)
    assert any(line.startswith("mean over 1 of 2 tasks") and "ROC-AUC" in line for line in table)


@pytest.mark.parametrize("value", ["1.0", "0", "-3.5"])
def test_a_constant_target_is_predicted_as_that_constant(gia, fit, write, value) -> None:
    done = fit(labelled([value]), "-t", "y")
    assert done.code == 0
    assert "the target y is constant in the training rows: so is its prediction" in done.told
    assert any("R²" in line and "undefined" in line for line in done.out.splitlines())
    assert "nan" not in done.out.lower()
    out = gia("predict", "new", write("smiles\nCCO\nc1ccccc1\n")).rows
    assert [float(row["y_pred"]) for row in out] == [float(value)] * 2


def test_missing_targets_are_masked_and_counted(gia, fit, write) -> None:
    rows = "".join(
        f"{m},{'' if i % 3 == 0 else i + 0.5},{'NA' if i % 3 == 1 else i * 2}\n"
        for i, m in enumerate(ALKANES)
    )
    done = fit(f"smiles,a,b\n{rows}N,,\n", "-t", "a", "-t", "b")
    assert done.code == 0
    assert "1 row without a target left out" in done.told
    assert "target a: measured in 8 of 12 rows" in done.told
    assert "target b: measured in 8 of 12 rows" in done.told
    out = gia("predict", "new", write("smiles\nCC\n")).rows
    assert [name for name in out[0] if name.endswith("_pred")] == ["a_pred", "b_pred"]
    assert all(np.isfinite(float(out[0][name])) for name in ("a_pred", "b_pred"))


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["-1", "+1"], ["-1", "+1"]),
        (["active", "inactive"], ["inactive", "active"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
    ],
)
def test_two_labels_are_learnt_and_predictions_speak_them(gia, fit, write, labels, order) -> None:
    done = fit(labelled(labels), "-t", "y")
    assert f"target: y, binary with labels {', '.join(order)}" in done.told
    out = gia("predict", "new", write("smiles\nC\nCCO\n")).rows
    assert {row["y_pred"] for row in out} <= set(labels)
    assert all(0 < float(row[f"y_prob_{order[1]}"]) < 1 for row in out)


def test_classes_with_names_get_a_probability_each(gia, fit, write) -> None:
    done = fit(labelled(["low", "mid", "high"]), "-t", "y")
    assert "target: y, multiclass with labels high, low, mid" in done.told
    (row,) = gia("predict", "new", write("smiles\nCCO\n")).rows
    chances = {label: float(row[f"y_prob_{label}"]) for label in ("low", "mid", "high")}
    assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert row["y_pred"] == max(chances, key=lambda label: chances[label])


def test_labels_beyond_those_asked_for_are_refused_with_their_lines(fit) -> None:
    bad = fit(
        labelled(["0", "1", "2", "3"]), "-t", "y", "--kind", "multiclass", "--set", "target.labels=[0, 1, 2]"
    )
    assert "3 of 12 rows cannot be used" in bad.error
    assert "line 5: column 'y': unknown label: got '3', expected 0 or 1 or 2" in bad.error
    bad = fit(labelled(["0", "1", "2"]), "-t", "y", "--kind", "binary")
    assert bad.error == "a binary target has two labels: got 3: 0, 1, 2 (--kind multiclass?)"
    bad = fit(labelled(["yes"]), "-t", "y")
    assert "single class: got yes" in bad.error


def test_a_decimal_comma_is_refused_with_its_line(fit) -> None:
    bad = fit("smiles;y\n" + "".join(f"{m};{i},5\n" for i, m in enumerate(ALKANES)), "-t", "y")
    assert "rows.csv: delimiter ';' recognised" in bad.told
    assert "the first: line 2: column 'y': not a finite number: got '0,5'" in bad.error
    assert "the decimal sign is a point" in bad.error


def test_a_descriptor_without_a_value_does_not_spoil_a_prediction(gia, fit, write) -> None:
    fit(numbered(), "-t", "y", "--set", "descriptors=[rdkit2d]")
    done = gia("predict", "new", write("smiles\nCC\n[Na+]\n[He]\n"))
    assert done.code == 0
    assert all(np.isfinite(float(row["y_pred"])) for row in done.rows)


def test_a_loss_that_is_not_finite_stops_training_with_a_reason(fit, tmp_path) -> None:
    bad = fit(numbered(), "-t", "y", "--set", "training.learning_rate=1.0e10", "--set", "training.epochs=3")
    assert "loss is no longer finite" in bad.error
    assert "lower training.learning_rate" in bad.error
    assert not (tmp_path / "new").exists()


def test_the_input_column_keeps_the_measured_value(gia, write, molecules) -> None:
    (row,) = gia("predict", molecules, write("smiles,pIC50,pIC50_pred,status\nCCO,5.00,x,old\n")).rows
    assert (row["pIC50"], row["pIC50_pred"], row["status"]) == ("5.00", "x", "old")
    assert float(row["pIC50_pred_2"]) > 0
    assert row["status_2"] == "ok"


def test_every_cell_comes_back_as_the_text_it_was(gia, write, molecules) -> None:
    content = 'id,smiles,note\n007,CCO,"a,b"\n1e3,CC," ""x"" "\nNA,C,"two\nlines"\n'
    done = gia("predict", molecules, write(content))
    assert [(row["id"], row["note"]) for row in done.rows] == [
        ("007", "a,b"),
        ("1e3", ' "x" '),
        ("NA", "two\nlines"),
    ]


def test_one_row_has_the_same_numbers_alone_and_in_a_batch(gia, write, molecules) -> None:
    many = ["CCO", "c1ccccc1C(=O)NC", "C" * 60, "N"]
    together = predictions(gia, molecules, write, many)
    gia("embed", molecules, "in.csv", "-o", "all.csv")
    vectors = np.loadtxt("all.csv", delimiter=",", skiprows=1, usecols=range(3, 19))
    for index, smiles in enumerate(many):
        (alone,) = predictions(gia, molecules, write, [smiles])
        assert float(alone) == pytest.approx(float(together[index]), abs=1e-5)
        (row,) = gia("embed", molecules, "in.csv").rows
        np.testing.assert_allclose([float(row[f"e{i}"]) for i in range(16)], vectors[index], atol=1e-5)
    scored = gia("evaluate", molecules, write("smiles,pIC50\nCCO,5\n"), "--no-baseline")
    assert scored.code == 0
    assert "undefined: only one row" in scored.out


def test_the_same_command_twice_gives_the_same_files(gia, write, tiny, tmp_path) -> None:
    write(numbered())
    for folder in ("one", "two"):
        options = ("--set", "training.epochs=3", "--set", "descriptors=[rdkit2d]")
        done = gia("train", "in.csv", "-t", "y", "-o", folder, "--no-baseline", *tiny, *options)
        assert done.code == 0
        gia("predict", folder, "in.csv", "-o", f"{folder}.csv")
    for name in ("model.safetensors", "metrics.json", "predictions.csv", "split.json", "recipe.yaml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_the_recipe_in_the_folder_makes_the_model_again(gia, fit, tmp_path) -> None:
    fit(numbered(), "-t", "y", "--seed", "3")
    again = gia("train", "--task", "new/recipe.yaml", "-o", "again")
    assert again.code == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("new", "again")]
    assert weights[0] == weights[1]


def test_a_model_is_compared_with_another_on_the_same_rows(gia, molecules, tmp_path) -> None:
    measured = molecules.parent / "nav17.csv"
    words = ("evaluate", molecules, measured, "--no-baseline", "--against", molecules)
    done = gia(*words, "--by", "length", "--by", "target_range", "-o", "scores.json")
    assert done.code == 0
    assert f"first: {molecules}; second: {molecules}; 40 rows of both" in done.out
    assert "no clear difference: RMSE +0 [+0, +0] for the first less the second" in done.out
    assert "RMSE of the model" in done.out
    figures = json.loads((tmp_path / "scores.json").read_text())
    assert figures["comparison"]["difference"] == 0
    assert {group["by"] for group in figures["groups"]} == {"length", "target_range"}
    assert sum(group["model"][0]["n"] for group in figures["groups"]) == 80


def test_baselines_are_chosen_by_name(gia, molecules) -> None:
    measured = molecules.parent / "nav17.csv"
    done = gia("evaluate", molecules, measured, "--baseline", "nearest", "--baseline", "constant")
    assert done.out.splitlines()[0].split()[-2:] == ["constant", "nearest"]
    assert "nearest: mean of the nearest training rows by the Tanimoto similarity of Morgan bits" in done.out
    both = gia("evaluate", molecules, measured, "--baseline", "nearest", "--no-baseline")
    assert both.error == "--baseline and --no-baseline exclude each other: got nearest"
    unknown = gia("evaluate", molecules, measured, "--baseline", "forest")
    assert unknown.error.startswith("no such baseline: got 'forest'")


def test_training_takes_baselines_by_name(gia, write, tiny, tmp_path) -> None:
    rows = "smiles,y\n" + "".join(f"{'C' * n},{n}\n" for n in range(1, 13))
    done = gia("train", write(rows), "-t", "y", "-o", "new", "--baseline", "linear", *tiny)
    assert done.code == 0
    metrics = json.loads((tmp_path / "new" / "metrics.json").read_text())
    assert list(metrics["test"]["baselines"]) == ["linear"]
    assert list(metrics["test"]["targets"][0]["baselines"]) == ["linear"]
    assert "baselines:\n- linear\n" in (tmp_path / "new" / "recipe.yaml").read_text()
    bad = gia("train", write(rows), "-t", "y", "-o", "x", "--baseline", "liner", *tiny)
    assert "no such baseline: got 'liner' (did you mean 'linear'?)" in bad.error
