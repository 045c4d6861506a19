"""A model reads the columns that it was trained on, and a single input as a table."""

from __future__ import annotations

import pandas as pd
import pytest

from gia_science.errors import TableError, UnreadableInputError
from gia_science.prediction.model import Model


def test_an_input_column_asked_for_is_taken(molecules: Model) -> None:
    frame = pd.DataFrame({"smiles": ["C"], "other": ["CCO"]})
    assert molecules.predict(frame, input="other")["y_pred"][0] == molecules.predict(["CCO"])["y_pred"][0]
    with pytest.raises(TableError, match=r"no column 'othr' .*did you mean 'other'"):
        molecules.predict(frame, input="othr")


def test_the_input_column_of_the_training_comes_first(molecules: Model) -> None:
    """The model was trained on a column called sequence, as it happens."""
    frame = pd.DataFrame({"smiles": ["C"], "sequence": ["CCO"]})
    assert molecules.predict(frame)["y_pred"][0] == molecules.predict(["CCO"])["y_pred"][0]


def test_numeric_columns_of_the_training_are_needed(make_model) -> None:
    model = make_model("smiles", columns=("T",))
    frame = model.predict(pd.DataFrame({"smiles": ["C", "C", "C", "C"], "T": [1.0, 30.0, None, "warm"]}))
    assert frame["status"].tolist() == ["ok", "ok", "ok", "error"]
    assert frame["reason"][3].startswith("column 'T': not a finite number")
    assert frame["y_pred"][:3].nunique() == 3
    with pytest.raises(TableError, match="no column 'T'"):
        model.predict(["C"])


def test_inputs_that_cannot_be_read_are_refused(molecules: Model, make_model) -> None:
    dosed = make_model("smiles", columns=("dose",))
    with pytest.raises(UnreadableInputError, match="ring"):
        molecules.graph("C1CC")
    with pytest.raises(TableError, match="no column 'dose'"):
        dosed.graph("CCO")
    with pytest.raises(UnreadableInputError, match="dose"):
        dosed.graph({"smiles": "CCO", "dose": "much"})
