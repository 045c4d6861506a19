"""What a materials scientist's messy table meets at the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pymatgen.core import Composition

from gia_science.prediction.model import Model
from gia_science.prediction.reference import training_rows
from gia_science.training.recipe import Recipe

OXIDES = ["Fe2O3", "Al2O3", "TiO2", "ZnO", "MgO", "CaO", "SiO2", "NiO", "Cu2O", "CuO", "Na2O", "K2O"]


def numbered(*more: str) -> str:
    rows = [f"{formula},{index * 0.5}" for index, formula in enumerate(OXIDES)]
    return "formula,gap\n" + "\n".join([*rows, *more]) + "\n"


def outcomes(gia, model, write, formulas: list[str]) -> list[dict[str, str]]:
    done = gia("predict", model, write("formula\n" + "".join(f'"{formula}"\n' for formula in formulas)))
    assert [row["formula"] for row in done.rows] == formulas
    assert done.code == int(any(row["status"] == "error" for row in done.rows))
    return done.rows


@pytest.mark.parametrize(
    "group",
    [
        ["CuSO4.5H2O", "CuSO4·5H2O", "CuSO4*5H2O", "CuSO9H10"],
        ["D2O", "HDO", "T2O", "H2O", "H0.2O0.1"],
        ["Fe0.5Ni0.5", "FeNi", "Fe50Ni50", "Fe0.3Ni0.3", "NiFe", "Ni1Fe1"],
        ["Nb1O1.9S1e-1", "Nb10O19S"],
        ["(Fe0.5Ni0.5)1e-1Co", "Fe0.05Ni0.05Co"],
        ["{Fe(CN)6}2Zn3", "Fe2(CN)12Zn3"],
        ["(NH4)2[FeCl5(H2O)]", "N2H10FeCl5O"],
    ],
    ids=lambda group: group[0],
)
def test_formulas_of_one_composition_have_one_prediction(gia, write, materials, group) -> None:
    rows = outcomes(gia, materials, write, group)
    assert {row["status"] for row in rows} == {"ok"}
    values = [float(row["band_gap_eV_pred"]) for row in rows]
    np.testing.assert_allclose(values, values[0], atol=1e-6)
    vectors = [[float(row[f"e{i}"]) for i in range(16)] for row in gia("embed", materials, "in.csv").rows]
    np.testing.assert_allclose(vectors, [vectors[0]] * len(group), atol=1e-6)


@pytest.mark.parametrize(
    ("formula", "note"),
    [("CuSO4.5H2O", "read as a hydrate: CuSO4 with 5 H2O"), ("HDO", "read as hydrogen: D"), ("NaN", "")],
)
def test_what_was_assumed_is_said_in_the_row(gia, write, materials, formula, note) -> None:
    (row,) = outcomes(gia, materials, write, [formula])
    assert (row["status"], row["reason"]) == ("ok", note)


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("(Fe", "a bracket is not closed: got '(' at position 1"),
        ("Madeupstuff", "unknown element symbols: got 'Madeupstuff'"),
        ("XO2", "unknown element symbols: got 'X'"),
        ("M2O3", "unknown element symbols: got 'M'"),
        ("MVacO2", "unknown element symbols: got 'M', 'Vac'"),
        ("VacO2", "unknown element symbols: got 'Vac'"),
        ("NA", "unknown element symbols: got 'A'"),
        ("None", "unknown element symbols"),
        ("FE2O3", "(Fe2O3?)"),
        ("fe2o3", "(Fe2O3?)"),
        ("Na+", "charges are not part of a composition"),
        ("SO4-2", "charges are not part of a composition"),
        ("SO4^2-", "charges are not part of a composition"),
        ("Fe3+2O2-3", "charges are not part of a composition"),
        ("La2-xSrxCuO4", "variable amount"),
        ("YBa2Cu3O7-y", "variable amount"),
        ("", "empty formula"),
    ],
)
def test_what_is_no_composition_is_an_error_row(gia, write, materials, formula, reason) -> None:
    before, row, after = outcomes(gia, materials, write, ["NaCl", formula, "Fe1E-5Ni"])
    assert (before["status"], row["status"], after["status"]) == ("ok", "error", "ok")
    assert reason in row["reason"]
    assert row["band_gap_eV_pred"] == ""


def test_all_bad_formulas_are_named_with_their_lines(gia, write, materials) -> None:
    done = gia("predict", materials, write("formula\nFe2O3\n(\nNaCl\nXO2\n"))
    assert done.told[-1].startswith("2 of 4 rows not predicted: line 3: a bracket is not closed")
    assert "; line 5: unknown element symbols" in done.told[-1]


def test_a_long_list_of_bad_rows_is_cut_since_all_stand_in_the_output(gia, write, materials) -> None:
    done = gia("predict", materials, write("formula\n" + "XO2\n" * 25))
    assert done.told[-1].startswith("25 of 25 rows not predicted: line 2: ")
    assert done.told[-1].endswith("; and 15 more")
    assert all(row["reason"] for row in done.rows)


def test_elements_without_a_property_are_predicted(gia, fit, write) -> None:
    fit(numbered(), "-t", "gap", "--set", "descriptors=[element_stats]")
    rows = outcomes(gia, "new", write, ["Ar", "Ga", "HeO", "NaCl"])
    assert all(np.isfinite(float(row["gap_pred"])) for row in rows)
    (alone,) = outcomes(gia, "new", write, ["NaCl"])
    assert float(alone["gap_pred"]) == pytest.approx(float(rows[-1]["gap_pred"]), abs=1e-5)


def test_one_composition_with_two_values_is_told_and_grouped(fit, tmp_path) -> None:
    done = fit(numbered("Cu1.8S1,2.3", "Cu9S5,0.0", "Cu9S5,"), "-t", "gap")
    assert done.code == 0
    assert "1 row without a target left out" in done.told
    assert "1 row repeats an input; it stays on one side of the split" in done.told
    (conflict,) = (line for line in done.told if "with different targets" in line)
    assert conflict.startswith("lines 14, 15 are one input, ")
    assert conflict.endswith("with different targets: gap 0 to 2.3; all are used")
    parts = json.loads((tmp_path / "new" / "split.json").read_text())["lines"].values()
    assert [part for part in parts if 14 in part] == [part for part in parts if 15 in part]


@pytest.mark.parametrize(
    ("policy", "rows", "told"),
    [
        ("keep", 16, "all are used"),
        ("mean", 13, "their mean is used"),
        ("median", 13, "their median is used"),
        ("first", 13, "the first is used"),
        ("drop", 12, "none is used"),
    ],
)
def test_rows_of_one_composition_go_by_the_policy(gia, fit, write, tmp_path, policy, rows, told) -> None:
    done = fit(
        numbered("Cu1.8S1,2.3", "Cu9S5,0.0", "S5Cu9,0.1", "Cu18S10,0.0"), "-t", "gap", "--duplicates", policy
    )
    assert done.code == 0
    (conflict,) = (line for line in done.told if "with different targets" in line)
    assert conflict.startswith("lines 14, 15, 16, 17 are one input, ")
    assert conflict.endswith(f"gap 0 to 2.3; {told}")
    assert "inputs whose targets differ: 1; gap by up to 2.3, median 2.3" in done.told
    lines = json.loads((tmp_path / "new" / "split.json").read_text())["lines"]
    assert sum(map(len, lines.values())) == rows
    card = (tmp_path / "new" / "README.md").read_text()
    assert (
        f"3 rows repeat an input, 1 input with different targets (gap by up to 2.3, median 2.3); {told}"
        in card
    )
    assert f"(`data.duplicates: {policy}`)" in card
    assert Recipe.load(tmp_path / "new" / "recipe.yaml").data.duplicates == policy
    assert (
        "no such option: --duplicates"
        in gia("predict", "new", write("formula\nNaCl\n"), "--duplicates", policy).error
    )
    if policy == "drop":
        assert sum(line.startswith("dropped: line ") for line in done.told) == 4


def test_the_forest_of_an_evaluation_is_fitted_on_the_rows_that_the_policy_made(gia, fit, tmp_path) -> None:
    """The rows of the training data are read again, and go by the same policy."""
    fit(numbered("Cu1.8S1,2.3", "Cu9S5,0.1"), "-t", "gap", "--duplicates", "mean")
    saved = Model.load(tmp_path / "new").saved
    rows = training_rows(saved)
    lines = saved.split["lines"]
    assert rows is not None
    assert sorted(row.line for row in rows) == sorted([*lines["train"], *lines["validation"]])
    targets = {row.line: row.target.tolist() for row in rows}
    assert targets.get(14, [1.2]) == [pytest.approx(1.2)]
    assert 15 not in targets


def test_conflicts_can_stop_training(fit, tmp_path) -> None:
    bad = fit(numbered("Cu1.8S1,2.3", "Cu9S5,0.0"), "-t", "gap", "--duplicates", "error")
    assert bad.error.startswith("rows.csv: 1 input with different targets: got lines 14, 15, ")
    assert not (tmp_path / "new").exists()
    assert fit(numbered("Cu1.8S1,2.3", "Cu9S5,2.3"), "-t", "gap", "--duplicates", "error").code == 0


def test_a_composition_object_is_its_elements(materials) -> None:
    """With its oxidation states left out: they are no part of a composition."""
    given = [Composition({"Fe3+": 2, "O2-": 3}), Composition("Fe2O3"), "Fe2O3", Composition("Fe0.1Ni0.9")]
    out = Model.load(materials).predict(given)
    assert out["status"].tolist() == ["ok"] * 4
    assert out["band_gap_eV_pred"].nunique() == 2
    assert out["band_gap_eV_pred"][:3].nunique() == 1


def test_how_formulas_are_read_is_chosen_at_training_and_stands_in_the_card(
    gia, fit, write, tmp_path
) -> None:
    options = ["--set", "tokens.hydrates=refuse", "--set", "tokens.isotopes=refuse"]
    fit(numbered(), "-t", "gap", *options)
    rows = outcomes(gia, "new", write, ["CuSO4.5H2O", "D2O", "NaCl"])
    assert [row["status"] for row in rows] == ["error", "error", "ok"]
    card = (tmp_path / "new" / "README.md").read_text()
    assert "- hydrates such as CuSO4.5H2O: the formula is refused (`hydrates: refuse`)" in card
    assert "- D and T: the formula is refused (`isotopes: refuse`)" in card
    assert "- longer than 1024 elements: not used in training, an error of that row in prediction" in card


def test_a_gap_of_zero_everywhere_is_predicted_as_zero(gia, fit, write) -> None:
    done = fit("formula,gap\n" + "".join(f"{formula},0\n" for formula in OXIDES), "-t", "gap")
    assert "the target gap is constant in the training rows: so is its prediction" in done.told
    assert [row["gap_pred"] for row in outcomes(gia, "new", write, ["NaCl", "Fe"])] == ["0", "0"]


def test_a_numeric_column_goes_in_beside_the_formula(gia, fit, write) -> None:
    rows = "".join(f"{m},{'' if i % 4 == 3 else i * 10},{i * 0.5}\n" for i, m in enumerate(OXIDES))
    done = fit(f"formula,temperature,gap\n{rows}", "-t", "gap", "--column", "temperature")
    assert done.code == 0
    out = gia("predict", "new", write("formula,temperature\nNaCl,10\nNaCl,\nNaCl,100\nNaCl,NA\nNaCl,hot\n"))
    assert out.code == 1
    cold, missing, warm, also_missing, _ = [row["gap_pred"] for row in out.rows]
    assert len({cold, missing, warm}) == 3
    assert missing == also_missing
    assert "column 'temperature': not a finite number: got 'hot'" in out.rows[-1]["reason"]
    bad = gia("predict", "new", write("formula,Temperature\nNaCl,10\n"))
    assert "no column 'temperature' (did you mean 'Temperature'?" in bad.error


def test_one_composition_at_two_temperatures_is_no_conflict(fit) -> None:
    rows = "".join(f"{formula},{t},{t * 0.5}\n" for formula in OXIDES[:6] for t in (10, 20))
    done = fit(f"formula,t,gap\n{rows}", "-t", "gap", "--column", "t")
    assert done.code == 0
    assert not any("different targets" in line for line in done.told)


def test_the_split_can_stand_in_a_column(fit, tmp_path) -> None:
    words = ["train", "train", "Test", "valid"]
    rows = "".join(f"{m},{words[i % 4]},{i * 0.5}\n" for i, m in enumerate(OXIDES))
    done = fit(f"formula,part,gap\n{rows}", "-t", "gap", "--split", "part")
    assert "split: split column; 6 training, 3 validation, 3 test rows" in done.told
    lines = json.loads((tmp_path / "new" / "split.json").read_text())["lines"]
    assert lines["test"] == [4, 8, 12]


def test_what_is_odd_in_a_split_column_is_told(fit) -> None:
    words = ["train", "train", "test"]
    rows = [f"{m},{words[i % 3]},{i * 0.5}" for i, m in enumerate(OXIDES)]
    table = "formula,part,gap\n" + "\n".join([*rows, "Fe4O6,test,0.1"]) + "\n"
    done = fit(table, "-t", "gap", "--split", "part")
    assert done.code == 0
    assert "split: the split column marks no row for validation" in done.told
    assert any(line.startswith("split: 1 inputs stand in more than one part") for line in done.told)
    alone = fit(table, "-t", "gap", "--split", "part", "--members", "1")
    assert "no validation rows to choose an epoch by: the last averaged weights are kept" in alone.told
    bad = fit(table.replace("test", "1"), "-t", "gap", "--split", "part")
    assert "words in the split column are not known: got '1'" in bad.error
    assert "did you mean 'part'?" in fit(table, "-t", "gap", "--split", "prt").error


def test_a_table_too_small_to_split_is_one_error(fit) -> None:
    assert "no rows to train on: got a header only" in fit("formula,gap\n", "-t", "gap").error
    too_few = "too few rows with a value of gap: got {}, expected 3 or more"
    assert too_few.format(1) in fit("formula,gap\nFeO,1.5\n", "-t", "gap").error
    assert too_few.format(0) in fit("formula,gap\nFeO,\nNaCl,\nKCl,NA\n", "-t", "gap").error
    alike = fit("formula,gap\nFeO,1.5\nFe2O2,2\nFe3O3,3\n", "-t", "gap")
    assert "too few rows for the split: got 1 different inputs" in alike.error


def test_three_rows_are_enough(gia, fit, write) -> None:
    assert fit("formula,gap\nFeO,1.5\nNaCl,2\nKCl,3\n", "-t", "gap").code == 0
    assert outcomes(gia, "new", write, ["NaCl"])[0]["status"] == "ok"


def test_a_target_is_not_needed_to_predict(gia, write, materials) -> None:
    done = gia("predict", materials, write("formula\nFe2O3\n"))
    assert done.code == 0
    assert list(done.rows[0]) == ["formula", "band_gap_eV_pred", "band_gap_eV_std", "status", "reason"]
    assert done.told == ["1 row predicted"]
