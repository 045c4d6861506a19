"""What users pass as X just works, or is refused in one line that says where and why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from pymatgen.core import Composition
from rdkit import Chem

from gia_science.errors import TableError, UnreadableInputError
from gia_science.estimators.given import choose_columns, input_text, take, target_names

TEXTS = ["CCO", "CCN"]


@pytest.mark.parametrize(
    "X",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS, dtype=object)[:, None],
        [[text] for text in TEXTS],
        pd.Series(TEXTS, name="smiles", index=["a", "b"]),
        pd.Series(TEXTS, dtype="string"),
        pd.DataFrame({"anything": TEXTS}),
        pd.Index(TEXTS),
        (text for text in TEXTS),
        map(str, TEXTS),
    ],
    ids=lambda X: type(X).__name__,
)
def test_one_column_in_any_container(X) -> None:
    given = take(X)
    (values,) = given.columns.values()
    assert list(values) == TEXTS
    column, numbers = choose_columns(given, input=None, columns=None)
    assert column in given.columns
    assert numbers == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Chem.MolFromSmiles("OCC"), "CCO"),
        (SeqRecord(Seq("MKV"), id="p1"), "MKV"),
        (Composition("Fe2O3"), "Fe2O3"),
    ],
)
def test_objects_are_read_as_texts(value, text) -> None:
    assert input_text(value) == (text, None)


@pytest.mark.parametrize(
    "X", ["CCO", b"CCO", None, Chem.MolFromSmiles("C"), {"smiles": ["C"]}, 3, [], np.zeros((0, 1))]
)
def test_what_is_no_list_of_inputs_is_refused(X) -> None:
    with pytest.raises(TableError) as caught:
        take(X)
    assert "\n" not in str(caught.value)


def test_all_numeric_columns_go_in_beside_the_text() -> None:
    X = pd.DataFrame({"T": [1, 2], "smiles": TEXTS, "pH": [7.0, None], "acid": [True, False]})
    assert choose_columns(take(X), input=None, columns=None) == ("smiles", ("T", "pH", "acid"))
    assert choose_columns(take(X), input=None, columns=["pH"]) == ("smiles", ("pH",))


def test_two_columns_of_text_are_a_question_to_the_user() -> None:
    X = take(pd.DataFrame({"name": ["ethanol", "ethylamine"], "smiles": TEXTS}))
    with pytest.raises(TableError, match=r"2 columns of text.*name, smiles.*input='smiles'"):
        choose_columns(X, input=None, columns=None)
    assert choose_columns(X, input="smiles", columns=None) == ("smiles", ())


def test_a_column_that_is_not_there_is_told_with_the_nearest_name() -> None:
    with pytest.raises(TableError, match=r"no column 'smile'.*smiles"):
        choose_columns(take(pd.DataFrame({"smiles": TEXTS})), input="smile", columns=None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "missing value"),
        (np.nan, "missing value"),
        (pd.NA, "missing value"),
        (1.5, "a float"),
        (["C"], "a list"),
    ],
)
def test_values_that_are_no_input_have_a_reason(value, reason) -> None:
    text, problem = input_text(value)
    assert text == ""
    assert reason in problem


def test_the_error_over_bad_rows_names_position_label_value_and_reason(regressor, molecules) -> None:
    regressor.fit(molecules.X, molecules.y)
    X = pd.Series(["CCO", None, "C1CC", 7.0], index=["a", "b", "c", "d"])
    with pytest.raises(UnreadableInputError) as caught:
        regressor.predict(X)
    told = str(caught.value)
    assert told.startswith("3 of 4 rows of X cannot be used: position 1 (index 'b'), None: missing value;")
    assert "position 2 (index 'c'), 'C1CC': RDKit cannot read" in told
    assert "position 3 (index 'd'), 7.0: not an input" in told
    assert "on_error='nan'" in told
    assert "\n" not in told


def test_a_default_index_is_not_repeated_beside_the_position() -> None:
    given = take(pd.Series(TEXTS))
    assert given.where(1) == "position 1"


def test_targets_are_called_as_the_series_is_and_never_like_a_column_of_X() -> None:
    assert target_names([1.0], 1, taken=["input"]) == ("y",)
    assert target_names(pd.Series([1.0], name="logS"), 1, taken=["input"]) == ("logS",)
    assert target_names(pd.Series([1.0], name="input"), 1, taken=["input"]) == ("input_2",)
    assert target_names(pd.DataFrame({"a": [1], "b": [2]}), 2, taken=[]) == ("a", "b")
