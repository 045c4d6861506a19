"""The baselines beside an evaluation are fitted on the rows the model was trained on, or are not there and say why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gia_science.data.source import DataSource, table_hash
from gia_science.data.table import read_table
from gia_science.errors import EvaluationError, TableError
from gia_science.evaluation.compare import compare
from gia_science.prediction.model import Model
from gia_science.prediction.reference import baseline_predictions, training_rows

CHAINS = [("C" * length, length) for length in range(1, 13)]


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES", 20)
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES_OF_CHOICE", 19)


@pytest.fixture
def trained(molecules: Model, tmp_path: Path) -> Model:
    """As trained on a file of alkanes: lines 2 to 9, validated on 10 and 11, tested on 12 and 13."""
    path = tmp_path / "train.csv"
    path.write_text("smiles,y\n" + "".join(f"{text},{value}\n" for text, value in CHAINS))
    data = DataSource(file=str(path), input="smiles", domain="smiles", sha256=table_hash(read_table(path)))
    split = {"lines": {"train": list(range(2, 10)), "validation": [10, 11], "test": [12, 13]}}
    return Model(replace(molecules.saved, data=data, split=split))


@pytest.fixture
def measured() -> pd.DataFrame:
    return pd.DataFrame({"smiles": ["CCCCCO", "CO", "CCCN"], "y": [6.0, 2.0, 4.0]})


def test_baselines_are_fitted_on_training_and_validation_rows(trained: Model, measured: pd.DataFrame) -> None:
    rows = training_rows(trained.saved)
    assert rows is not None
    assert [row.line for row in rows] == list(range(2, 12))
    evaluation = trained.evaluate(measured)
    assert list(evaluation.baselines) == ["constant", "random_forest"]
    assert evaluation.score("mae", baseline="constant").value == pytest.approx((0.5 + 3.5 + 1.5) / 3)
    score = evaluation.score("mae", baseline="random_forest")
    assert score.n == 3
    assert score.value != evaluation.score("mae").value


def test_the_forest_learns_what_can_be_learnt(trained: Model) -> None:
    rows = training_rows(trained.saved)
    (found,) = baseline_predictions("smiles", trained.targets, names=["random_forest"], train=rows, test=rows)
    prediction = found.values
    assert prediction.shape == (10, 1)
    truth = np.stack([row.target for row in rows])
    assert np.corrcoef(prediction[:, 0], truth[:, 0])[0, 1] > 0.7


def test_data_that_changed_is_not_fitted_on(trained: Model, measured: pd.DataFrame) -> None:
    path = Path(str(trained.saved.data.file))
    path.write_text(path.read_text().replace("CC,2\n", "CC,3\n"))
    evaluation = trained.evaluate(measured)
    assert not evaluation.baselines
    assert evaluation.no_baselines == "the training data has changed or was not a file"


def test_data_that_is_gone_is_told(trained: Model, measured: pd.DataFrame) -> None:
    Path(str(trained.saved.data.file)).unlink()
    evaluation = trained.evaluate(measured)
    assert not evaluation.baselines
    assert evaluation.no_baselines.startswith("the training data cannot be read again (")
    assert "train.csv: no such file" in evaluation.no_baselines


@pytest.mark.parametrize(
    "changes", [{"data": DataSource()}, {"split": {}}, {"split": {"lines": {"train": [], "validation": []}}}]
)
def test_a_model_of_rows_in_memory_has_no_forest(
    trained: Model, measured: pd.DataFrame, changes: dict[str, object]
) -> None:
    evaluation = Model(replace(trained.saved, **changes)).evaluate(measured)
    assert evaluation.no_baselines == "the training data has changed or was not a file"


def test_classes_and_numeric_columns_are_given_to_the_forest(make_model, tmp_path: Path) -> None:
    """What decides the class here is the temperature alone."""
    model = make_model("protein", kind="binary", labels=("cold", "hot"), columns=("T",))
    sequences = ["MKT", "GLW", "AAA", "MKTAY", "WWW", "FLA"] * 4
    frame = pd.DataFrame({"sequence": sequences, "T": range(24)})
    frame["y"] = np.where(frame["T"] < 12, "cold", "hot")
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    data = DataSource(file=str(path), input="sequence", sha256=table_hash(read_table(path)))
    saved = replace(model.saved, data=data, split={"lines": {"train": list(range(2, 26))}})
    evaluation = Model(saved).evaluate(path)
    assert evaluation.score("roc_auc", baseline="random_forest").value == 1.0


def test_an_unknown_baseline_is_refused_before_any_work(molecules: Model) -> None:
    with pytest.raises(EvaluationError, match="no such baseline: got 'tree'"):
        molecules.evaluate("no such file.csv", baselines=["tree"])


def test_groups_go_by_a_column_or_by_the_inputs(molecules: Model) -> None:
    smiles = [text for text, _ in CHAINS] * 2
    frame = pd.DataFrame({"smiles": smiles, "y": range(24), "batch": ["", "b", *["a", "b"] * 11]})
    evaluation = molecules.evaluate(frame, by=["batch", "length", "scaffold"])
    found = [(item.by, item.group, item.scores.model[0].n) for item in evaluation.groups]
    assert found[:3] == [("batch", "b", 12), ("batch", "a", 11), ("batch", "other", 1)]
    assert found[-1] == ("scaffold", "no ring", 24)
    assert [group for by, group, _ in found if by == "length"] == ["other"], "quarters of six rows each"
    with pytest.raises(TableError, match="no column 'family'"):
        molecules.evaluate(frame, by=["family"])
    renamed = frame.rename(columns={"batch": "scaffold"})
    groups = molecules.evaluate(renamed, by=["scaffold"]).groups
    assert [item.group for item in groups] == ["b", "a", "other"], "a column goes before what is built in"


def test_residues_are_grouped_with_their_sequence(residues: Model) -> None:
    frame = pd.DataFrame(
        {"sequence": ["MKTAYMKTAYK", "GLW", "G" * 12], "y": ["CCCCCEEEEEH", "CEH", "C" * 12]}
    )
    evaluation = residues.evaluate(frame.assign(chain=["a", "b", "c"]), by=["chain"])
    sizes = [(item.group, item.scores.model[0].n) for item in evaluation.groups]
    assert sizes == [("c", 12), ("a", 11), ("other", 3)]


def test_two_models_are_compared_on_one_table(molecules: Model, make_model) -> None:
    texts, values = zip(*CHAINS, strict=True)
    frame = pd.DataFrame({"smiles": texts, "y": [float(value) for value in values]})
    ours, theirs = (one.evaluate(frame, baselines=()) for one in (molecules, make_model("smiles", layers=2)))
    found = compare(ours, theirs)
    assert found.rows == 12
    assert found.first == ours.score().value
    assert found.second == theirs.score().value != found.first
