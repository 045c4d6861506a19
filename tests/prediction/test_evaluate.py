"""A model is scored on what was measured, and says what must be known to read its scores."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gia_science.data.rows import identity_hash
from gia_science.errors import EvaluationError, TableError
from gia_science.prediction.model import Model


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


MEASURED = "smiles,y\nCCO,1\nCC,2\nCCC,\nC1CC,4\nCCCO,5\n"


def test_an_evaluation_scores_what_was_measured(
    molecules: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.csv", MEASURED)
    with caplog.at_level(logging.WARNING, logger="gia_science"):
        evaluation = molecules.evaluate(path, baselines=())
    assert evaluation.rows == 4
    assert evaluation.left_out == 1
    assert evaluation.notes == ("1 row cannot be read and is left out",)
    assert "line 5: " in caplog.text
    predicted = molecules.predict(["CCO", "CC", "CCCO"])["y_pred"]
    score = evaluation.score("mae")
    assert score.n == 3
    assert score.value == pytest.approx(np.abs(predicted - [1, 2, 5]).mean(), rel=1e-4)
    assert not evaluation.baselines
    assert evaluation.no_baselines == "not asked for"


def test_a_frame_and_one_row_can_be_evaluated(molecules: Model) -> None:
    evaluation = molecules.evaluate(pd.DataFrame({"smiles": ["CCO"], "y": [1.0]}))
    assert evaluation.score("mae").n == 1
    assert evaluation.score("r2").value is None
    assert evaluation.no_baselines.startswith("the training data has changed or was not a file")


def test_rows_seen_in_training_are_told(molecules: Model) -> None:
    split = {
        "identities": {
            "train": [identity_hash("CCO")],
            "validation": [identity_hash("CC")],
            "test": [identity_hash("C")],
        }
    }
    model = Model(replace(molecules.saved, split=split))
    frame = pd.DataFrame({"smiles": ["OCC", "CC", "C", "N"], "y": [1, 2, 3, 4]})
    (note,) = model.evaluate(frame, baselines=()).notes
    assert note == "2 of 4 rows were in the training data: the scores flatter"
    assert model.evaluate(frame[2:], baselines=()).notes == ()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("smiles,y\nC1CC,1\n", EvaluationError, "no row can be scored: got line 2: .*ring"),
        ("smiles,y\n", EvaluationError, "no row can be scored: got an empty table"),
        ("smiles,z\nC,1\n", TableError, "no column 'y'"),
        ("smiles,y\nC,high\n", EvaluationError, "column 'y': not a finite number: got 'high'"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    molecules: Model, tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        molecules.evaluate(write(tmp_path / "a.csv", text))


def test_several_targets_are_scored_each_over_its_own_rows(make_model) -> None:
    model = make_model("smiles", kind="multilabel", names=("a", "b"), labels=("0", "1"))
    frame = pd.DataFrame({"smiles": ["C", "CC", "CCC"], "a": ["0", "1", "1.0"], "b": ["0", "", "0"]})
    evaluation = model.evaluate(frame, baselines=())
    first, second = evaluation.targets
    assert [first.model[0].n, second.model[0].n] == [3, 2]
    assert second.model[0].value is None
    mean = evaluation.score("roc_auc")
    assert mean.value == first.model[0].value
    assert mean.reason == "mean over 1 of 2 tasks"


@pytest.mark.parametrize(
    ("kind", "labels", "metric"),
    [("binary", ("no", "yes"), "accuracy"), ("multiclass", ("a", "b", "c"), "accuracy")],
)
def test_classes_are_scored_by_label(make_model, kind: str, labels: tuple[str, ...], metric: str) -> None:
    model = make_model("composition", kind=kind, labels=labels)
    formulas = ["Fe2O3", "NaCl", "H2O", "TiO2"]
    predicted = model.predict(formulas)["y_pred"].tolist()
    assert model.evaluate(pd.DataFrame({"formula": formulas, "y": predicted})).score(metric).value == 1.0
    wrong = [labels[labels.index(label) - 1] for label in predicted]
    assert model.evaluate(pd.DataFrame({"formula": formulas, "y": wrong})).score(metric).value == 0.0


def test_labels_of_residues_are_scored_residue_by_residue(residues: Model) -> None:
    sequences = ["MKTAY", "G LW"]
    predicted = residues.predict(sequences)["y_pred"].tolist()
    evaluation = residues.evaluate(pd.DataFrame({"sequence": sequences, "y": predicted}))
    assert evaluation.score("accuracy").value == 1.0
    assert evaluation.score("accuracy").n == 8
    assert not evaluation.baselines
    assert evaluation.no_baselines == "none for labels of residues"
    masked = ["?" * 5, predicted[1]]
    again = residues.evaluate(pd.DataFrame({"sequence": sequences, "y": masked}))
    assert again.score("accuracy").n == 3
