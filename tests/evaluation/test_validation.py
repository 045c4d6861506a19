"""The report counts what training would lose, and finds what repeats."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gia_science
from gia_science.data.source import dataset_table
from gia_science.data.table import table_from_frame
from gia_science.errors import DefinitionError, RecipeError, TableError
from gia_science.evaluation.validation import validate
from gia_science.tokens.domain import DOMAINS

GOOD = pd.DataFrame({"smiles": ["C", "CC", "CCC", "CCCO"], "y": ["0.5", "1.5", "2.5", "3.5"]})


def frame(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def problems(data: object, **options: object) -> list[str]:
    return [problem.what for problem in validate(data, **options).problems()]


def test_nothing_is_wrong_with_a_sound_table() -> None:
    report = gia_science.validate(GOOD, target="y")
    assert isinstance(report, gia_science.ValidationReport)
    assert report.ok
    assert (report.rows, report.distinct, report.duplicates.rows) == (4, 4, 0)
    assert report.next_step == "gia train FILE --target y"
    assert str(report).splitlines()[-1] == "next: gia train FILE --target y"


def test_every_bad_row_is_in_the_json_and_ten_in_the_text() -> None:
    data = frame(smiles=["C1CC"] * 25 + ["C", "CC", "CCC"], y=[str(index) for index in range(28)])
    report = validate(data, target="y")
    assert [row.line for row in report.unreadable] == list(range(2, 27))
    assert len(report.to_json()["unreadable"]) == 25
    text = str(report).splitlines()
    assert sum("unclosed ring" in line for line in text) == 10
    assert "  ... and 15 more, all in the output of --json" in text
    assert report.next_step == "gia train FILE --target y --bad-rows drop"


def test_rows_that_only_the_target_spoils_stand_in_their_place() -> None:
    data = frame(smiles=["C", "CC", "C1CC", "CCC", "CCCC"], y=["1", "high", "2", "3", "4"])
    report = validate(data, target="y")
    assert [(bad.line, bad.reason[:12]) for bad in report.unreadable] == [
        (3, "column 'y': "),
        (4, "RDKit cannot"),
    ]


def test_duplicates_with_lines_values_and_spread() -> None:
    data = frame(smiles=["CCO", "OCC", "C", "[CH4]", "N"], y=["0", "1.5", "2", "2", "3"])
    report = validate(data, target="y")
    found = report.to_json()["duplicates"]
    assert (found["rows"], found["distinct"]) == (2, 3)
    assert found["conflicts"] == [
        {"identity": "CCO", "lines": [2, 3], "values": {"y": [0.0, 1.5]}, "spread": {"y": 1.5}}
    ]
    assert "lines 2, 3: CCO, y 0 to 1.5" in str(report)
    assert "--duplicates mean" in report.next_step


def test_conflicting_classes_are_told_in_the_users_words() -> None:
    data = frame(smiles=["CCO", "OCC", "C", "N"], y=["yes", "no", "yes", "no"])
    report = validate(data, target="y")
    (conflict,) = report.to_json()["duplicates"]["conflicts"]
    assert (conflict["values"], conflict["spread"]) == ({"y": ["yes", "no"]}, {})
    assert report.next_step.endswith("--duplicates drop")


def test_other_conditions_are_no_duplicates() -> None:
    data = frame(formula=["NaCl", "ClNa", "KCl", "LiF"], T=["1", "2", "1", "1"], y=["1", "2", "3", "4"])
    assert problems(data, target="y", columns=["T"]) == []
    assert len(problems(data, target="y")) == 2


@pytest.mark.parametrize(
    ("column", "texts", "kinds"),
    [
        ("formula", ["Fe0.5Ni0.5", "NiFe", "NaCl", "KCl"], 3),
        ("formula", ["D2O", "HDO", "H2O", "NaCl"], 2),
        ("sequence", ["MKV", "mkv", "MKV*", "AAA"], 2),
        ("smiles", ["CO", "[H]OC", "OC", "C"], 2),
    ],
)
def test_one_thing_is_one_thing_in_every_domain(column: str, texts: list[str], kinds: int) -> None:
    assert validate(pd.DataFrame({column: texts})).distinct == kinds


def test_salts_are_near_duplicates() -> None:
    data = frame(smiles=["CCN.Cl", "CCN", "CCN.Br", "[Na+].[Cl-]", "CCO.Cl", "CCC"])
    report = validate(data)
    assert [(near.parent, near.lines) for near in report.near_duplicates] == [("CCN", (2, 3, 4))]
    assert report.duplicates.rows == 0
    assert any("tokens.fragments=largest" in problem.what for problem in report.problems())


def test_two_salts_without_their_base_are_near_duplicates_and_equal_salts_are_not() -> None:
    assert len(validate(frame(smiles=["CCN.Cl", "CCN.Br", "C"])).near_duplicates) == 1
    assert validate(frame(smiles=["CCN.Cl", "Cl.CCN", "C"])).near_duplicates == ()


def test_inputs_over_the_limit_are_counted_and_named() -> None:
    report = validate(
        frame(smiles=["C" * 30, "CC", "C", "CCC"], y=["1", "2", "3", "4"]), target="y", max_length=20
    )
    assert report.lengths is not None
    assert (report.lengths.longest, report.lengths.over, report.lengths.limit) == (30, 1, 20)
    assert "got 30 atoms, expected at most 20" in report.unreadable[0].reason
    assert report.next_step == "gia train FILE --target y --set network.max_length=20 --bad-rows drop"


def test_letters_and_readings_of_proteins() -> None:
    report = validate(frame(sequence=["mkJJX", "MUK", "M-K", "ACGT" * 8, "MKV", "AKL"]))
    assert report.special_residues == {"J": 2, "X": 1, "U": 1}
    notes = {note.text: note.rows for note in report.notes}
    assert notes["lower-case letters read as upper case"] == 1
    assert "1 row looks like DNA or RNA, not protein" in [problem.what for problem in report.problems()]
    assert [bad.line for bad in report.unreadable] == [4]


def test_tokens_without_a_place_in_the_vocabulary() -> None:
    assert validate(frame(smiles=["[U+5]", "[U+5].C", "CC"])).unknown_tokens == {"[U+5]": 2}
    assert validate(frame(sequence=["MKJOUBZX", "MK", "AA"])).unknown_tokens == {}
    assert validate(frame(formula=["CuSO4.5H2O", "NaCl", "KCl"])).unknown_tokens == {}


def test_readings_of_formulas_are_gathered() -> None:
    report = validate(frame(formula=["CuSO4.5H2O", "NiSO4.6H2O", "D2O", "KCl"]))
    assert [(note.text, note.rows) for note in report.notes] == [
        ("read as a hydrate", 2),
        ("read as hydrogen: D", 1),
    ]
    assert report.ok


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "1", "1", "1"], "target y: it is 1 in every row, so there is nothing to learn"),
        (
            ["yes", "yes", "yes", "yes"],
            "target y: the target y has a single class: got yes, expected two or more",
        ),
        (["", "NA", "", ""], "target y: "),
        (["a", "b", "c", "d"], "target y: the target is neither numbers nor classes: got 4 distinct values"),
    ],
)
def test_a_target_that_cannot_be_learnt(cells: list[str], message: str) -> None:
    found = problems(GOOD.assign(y=cells), target="y")
    assert any(problem.startswith(message) for problem in found), found


def test_missing_targets_are_counted_each_and_rows_without_any_are_named() -> None:
    data = frame(smiles=["C", "CC", "CCC", "CO", "N"], a=["1", "", "3", "", "2"], b=["1", "2", "", "", "3.5"])
    report = validate(data, target=["a", "b"])
    assert [(column.name, column.missing, column.kind) for column in report.targets] == [
        ("a", 2, "regression"),
        ("b", 2, "regression"),
    ]
    assert report.unmeasured == (5,)


def test_without_a_target_the_columns_that_could_be_one_are_shown() -> None:
    data = frame(
        id=["1", "2", "3", "4"],
        smiles=["C", "CC", "CCC", "N"],
        name=["a", "b", "c", "d"],
        logS=["0.5", "1", "2", ""],
        active=["yes", "no", "yes", "no"],
    )
    report = validate(data)
    assert {column.name: column.kind for column in report.columns} == {
        "name": None,
        "logS": "regression",
        "active": "binary",
    }
    assert "column logS" in str(report)
    assert "column name" not in str(report)
    assert report.next_step == "gia train FILE --target logS"


def test_labels_of_residues_are_recognised() -> None:
    data = frame(sequence=["MKV", "AAKL", "MK"], ss=["HHC", "CCHH", "HC"])
    report = validate(data, target="ss")
    assert report.task is not None
    assert report.task.kind == "per_token"
    assert report.ok
    again = pd.concat([data, frame(sequence=["MK"], ss=["CC"])])
    assert "1 input with different targets" in problems(again, target="ss")
    json.dumps(validate(again, target="ss").to_json(), allow_nan=False)


def test_ids_that_repeat_are_no_problem_but_said(tmp_path: Path) -> None:
    (tmp_path / "a.fasta").write_text(">a\nMK\n>a\nAA\n>b\nMKV\n")
    report = validate(tmp_path / "a.fasta")
    assert report.repeated_ids == {"a": (1, 3)}
    assert report.ok
    assert "a (lines 1, 3)" in str(report)
    assert report.next_step.startswith("gia pretrain ")


def test_how_sure_the_domain_is() -> None:
    named = validate(frame(smiles=["c1ccccc1", "CC(=O)O", "CCO"]))
    assert (named.input.domain, named.input.by) == ("smiles", "by the name of the column")
    assert named.input.shares.keys() == DOMAINS.keys()
    assert named.input.shares["smiles"] == 1.0
    assert named.input.shares["protein"] == named.input.shares["composition"] == pytest.approx(1 / 3)
    content = validate(frame(stuff=["c1ccccc1", "CC(=O)O", "C#N"]))
    assert (content.input.domain, content.input.by) == ("smiles", "by its content")
    assert validate(["CCN", "CC", "C"], domain="smiles").input.by == "as asked for"
    with pytest.raises(TableError, match="cannot tell what the input column holds"):
        validate(["CCN", "CC", "CCO"])


def test_what_the_user_says_wrongly_is_refused() -> None:
    with pytest.raises(RecipeError, match="did you mean 'regression'"):
        validate(GOOD, target="y", kind="regresion")
    with pytest.raises(TableError, match="did you mean 'y'"):
        validate(GOOD, target="Y")
    with pytest.raises(DefinitionError, match="did you mean 'smiles'"):
        validate(GOOD, domain="smile")
    with pytest.raises(RecipeError, match="input and something else at once"):
        validate(GOOD, target="smiles")


@pytest.mark.parametrize(("rows", "told"), [(0, "put rows under the header"), (2, "measure more")])
def test_too_few_rows(rows: int, told: str) -> None:
    report = validate(GOOD[:rows], target="y")
    assert not report.ok
    assert report.next_step.startswith(told)


@pytest.mark.parametrize(
    ("smiles", "y", "told"),
    [
        (["CCO", "CCN", "CCC"], ["1,5", "2,5", "3,5"], "no row can be used, though inputs can be read: mend"),
        (["CCO", "CCN", "CCC", "CC"], ["1,5", "2,5", "3,5", ""], "mend the rows that cannot be used"),
        (["C1CC", "x", "c"], ["1", "2", "3"], "no row can be used: are these the right column"),
    ],
)
def test_who_has_measured_enough_is_told_to_mend_rows(smiles: list[str], y: list[str], told: str) -> None:
    """A spreadsheet with decimal commas has hundreds of measurements: more of them would not help."""
    report = validate(pd.DataFrame({"smiles": smiles, "y": y}), target="y")
    assert report.next_step.startswith(told)


@pytest.mark.parametrize(
    ("name", "target", "rows", "repeats"), [("nav17", "pIC50", 1017, 0), ("expt_gap", "band_gap_eV", 2152, 0)]
)
def test_bundled_data_have_no_repeats(name: str, target: str, rows: int, repeats: int) -> None:
    report = validate(dataset_table(name), target=target)
    assert (report.rows, report.duplicates.rows, len(report.unreadable)) == (rows, repeats, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from(["C", "OC", "CO", "C1CC", ""]), st.sampled_from(["1", "2.5", "x", ""]))
    )
)
def test_every_row_is_accounted_for(rows: list[tuple[str, str]]) -> None:
    data = pd.DataFrame(rows, columns=["smiles", "y"])
    report = validate(table_from_frame(data), target="y", kind="regression")
    used = report.distinct + report.duplicates.rows
    assert used + len(report.unreadable) + len(report.unmeasured) == len(rows)
    json.dumps(report.to_json(), allow_nan=False)
