"""The forest beside an evaluation is fitted on the rows the model was trained on, or is not there and says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gia_science.data.source import DataSource, table_hash
from gia_science.data.table import read_table
from gia_science.prediction import reference
from gia_science.prediction.model import Model
from gia_science.prediction.reference import FOREST, forest_prediction, training_rows

CHAINS = [("C" * length, length) for length in range(1, 13)]


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = reference.fit_forest
    monkeypatch.setattr(reference, "fit_forest", lambda *args, **options: fit(*args, **options, trees=20))


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


def test_the_forest_is_fitted_on_training_and_validation_rows(trained: Model, measured: pd.DataFrame) -> None:
    rows = training_rows(trained.saved)
    assert rows is not None
    assert [row.line for row in rows] == list(range(2, 12))
    evaluation = trained.evaluate(measured)
    assert evaluation.has_baseline
    assert evaluation.baseline_name == FOREST["smiles"]
    score = evaluation.score("mae", baseline=True)
    assert score.n == 3
    assert score.value != evaluation.score("mae").value


def test_the_forest_learns_what_can_be_learnt(trained: Model) -> None:
    rows = training_rows(trained.saved)
    prediction = forest_prediction("smiles", trained.targets, train=rows, test=rows)
    assert prediction.shape == (10, 1)
    truth = np.stack([row.target for row in rows])
    assert np.corrcoef(prediction[:, 0], truth[:, 0])[0, 1] > 0.7


def test_data_that_changed_is_not_fitted_on(trained: Model, measured: pd.DataFrame) -> None:
    path = Path(str(trained.saved.data.file))
    path.write_text(path.read_text().replace("CC,2\n", "CC,3\n"))
    evaluation = trained.evaluate(measured)
    assert not evaluation.has_baseline
    assert evaluation.baseline_name == "none: the training data has changed or was not a file"


def test_data_that_is_gone_is_told(trained: Model, measured: pd.DataFrame) -> None:
    Path(str(trained.saved.data.file)).unlink()
    evaluation = trained.evaluate(measured)
    assert not evaluation.has_baseline
    assert evaluation.baseline_name.startswith("none: the training data cannot be read again (")
    assert "train.csv: no such file" in evaluation.baseline_name


@pytest.mark.parametrize(
    "changes", [{"data": DataSource()}, {"split": {}}, {"split": {"lines": {"train": [], "validation": []}}}]
)
def test_a_model_of_rows_in_memory_has_no_forest(
    trained: Model, measured: pd.DataFrame, changes: dict[str, object]
) -> None:
    evaluation = Model(replace(trained.saved, **changes)).evaluate(measured)
    assert evaluation.baseline_name == "none: the training data has changed or was not a file"


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
    assert evaluation.score("roc_auc", baseline=True).value == 1.0
