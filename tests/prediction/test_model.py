"""What users do with a model: predict and embed whatever they hold."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from gia_science.data.batching import Batch
from gia_science.data.table import open_table
from gia_science.errors import RecipeError, TableError
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.prediction.model import Model

ADDED = ["y_pred", "status", "reason"]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_list_comes_back_with_predictions(molecules: Model) -> None:
    frame = molecules.predict(["CCO", "C1CC", "OCC"])
    assert list(frame.columns) == ["input", *ADDED]
    assert frame["input"].tolist() == ["CCO", "C1CC", "OCC"]
    assert frame["status"].tolist() == ["ok", "error", "ok"]
    assert frame["y_pred"].dtype == np.float64
    assert frame["y_pred"].isna().tolist() == [False, True, False]
    assert frame["y_pred"][0] == frame["y_pred"][2]
    assert "ring" in frame["reason"][1]


def test_one_row_has_the_prediction_that_it_has_among_others(molecules: Model) -> None:
    texts = ["CCO", "CC(=O)Nc1ccc(O)cc1", "C", "[Na+]"]
    together = molecules.predict(texts)["y_pred"]
    for text, value in zip(texts, together, strict=True):
        assert molecules.predict([text])["y_pred"][0] == pytest.approx(value, abs=1e-4)
    assert together.nunique() == len(texts)


def test_predictions_are_in_the_units_of_the_target(molecules: Model) -> None:
    """Mean 5, standard deviation 2: what the network gives is scaled back."""
    (outcome,) = molecules.outcomes(open_table("-", stdin=io.BytesIO(b"smiles\nCCO\n")))
    assert molecules.predict(["CCO"])["y_pred"][0] == pytest.approx(5 + 2 * outcome.output[0], rel=1e-5)


def test_entries_that_are_no_text_are_error_rows(molecules: Model) -> None:
    given = ["CCO", None, float("nan"), 3.5, pd.NA, 7, b"CC", ["C"]]
    frame = molecules.predict(given)
    assert frame["status"].tolist() == ["ok", *["error"] * 7]
    assert frame["reason"].tolist()[1:3] == ["empty SMILES", "empty SMILES"]
    assert all(frame["reason"][1:])


def test_an_empty_list_gives_an_empty_frame_with_its_columns(molecules: Model) -> None:
    frame = molecules.predict([])
    assert list(frame.columns) == ["input", *ADDED]
    assert len(frame) == 0
    assert frame["y_pred"].dtype == np.float64
    assert molecules.embed([]).shape == (0, 16)


def test_a_series_keeps_its_index_and_its_name(molecules: Model) -> None:
    index = pd.MultiIndex.from_tuples([("a", 9), ("a", 3), ("b", 9)])
    series = pd.Series(["CCO", "x", "C"], index=index, name="mine")
    frame = molecules.predict(series)
    assert frame.index.equals(index)
    assert frame.columns[0] == "mine"
    assert frame["status"].tolist() == ["ok", "error", "ok"]


def test_a_frame_keeps_rows_index_and_columns_and_the_input_is_found_by_name(molecules: Model) -> None:
    given = pd.DataFrame(
        {"note": ["a", "b"], "SMILES": ["CCO", "C"], "y_pred": [1, 2], "status": ["x", ""]}, index=[7, 7]
    )
    before = given.copy()
    frame = molecules.predict(given)
    assert list(frame.columns) == [*given.columns, "y_pred_2", "status_2", "reason"]
    assert frame.index.tolist() == [7, 7]
    assert frame["y_pred"].tolist() == ["1", "2"]
    assert frame["status"].tolist() == ["x", ""]
    assert frame["y_pred_2"].notna().all()
    pd.testing.assert_frame_equal(given, before)


def test_a_file_comes_back_as_text_with_every_cell_as_it_was(molecules: Model, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,smiles,y\n007,CCO,"1,5"\n8,C1CC,NA\n9,C\n')
    frame = molecules.predict(path)
    assert frame["id"].tolist() == ["007", "8", "9"]
    assert frame["y"].tolist() == ["1,5", "NA", ""]
    assert frame["status"].tolist() == ["ok", "error", "error"]
    assert frame.equals(molecules.predict(str(path)))
    assert frame.equals(molecules.predict(open_table(path)))


def test_fasta_is_read_by_a_protein_model(make_model, tmp_path: Path) -> None:
    model = make_model("protein")
    path = write(tmp_path / "a.fasta", ">a first\nMKT\nAYI\n>a\nM1\n>b\n\n")
    frame = model.predict(path)
    assert list(frame.columns) == ["id", "description", "sequence", *ADDED]
    assert frame["sequence"].tolist() == ["MKTAYI", "M1", ""]
    assert frame["status"].tolist() == ["ok", "error", "error"]
    assert frame["reason"][2] == "empty sequence"


@pytest.mark.parametrize("text", ["CCO", "M" * 5000, "a\0b", "no/such/file.csv"])
def test_a_bare_text_is_refused_with_a_hint(molecules: Model, text: str) -> None:
    for run in (molecules.predict, molecules.embed, molecules.evaluate):
        with pytest.raises(
            TableError, match=r"no such file: .*a single input goes in a list, as in \[text\]"
        ) as e:
            run(text)
        assert len(str(e.value)) < 250


@pytest.mark.parametrize("data", [None, 3, {"smiles": ["C"]}])
def test_what_holds_no_texts_is_refused(molecules: Model, data: object) -> None:
    with pytest.raises(
        TableError, match=rf"cannot read inputs from this: got {type(data).__name__}, expected"
    ):
        molecules.predict(data)


def test_a_single_text_as_bytes_is_refused(molecules: Model) -> None:
    with pytest.raises(TableError, match="a single text"):
        molecules.predict(b"CCO")


def test_other_iterables_of_texts_are_read(molecules: Model) -> None:
    expected = molecules.predict(["CCO", "C"])
    for given in (("CCO", "C"), iter(["CCO", "C"]), np.array(["CCO", "C"])):
        assert molecules.predict(given).equals(expected)


def test_too_long_an_input_is_refused_or_cut(molecules: Model) -> None:
    long = ["C" * 300]
    assert molecules.predict(long)["status"].tolist() == ["error"]
    frame = molecules.predict(long, long="truncate")
    assert frame["status"].tolist() == ["ok"]
    assert frame["reason"].tolist() == ["only the first 200 of 300 units used"]
    assert np.isnan(molecules.embed(long)).all()
    assert np.isfinite(molecules.embed(long, long="truncate")).all()


def test_classes_come_back_as_labels_and_probabilities(make_model) -> None:
    """Also where the target is called as columns of probabilities are."""
    binary = make_model("smiles", kind="binary", labels=("inactive", "active"), names=("x_prob_y",))
    frame = binary.predict(["CCO", "x"])
    assert list(frame.columns)[1:3] == ["x_prob_y_pred", "x_prob_y_prob_active"]
    probability = frame["x_prob_y_prob_active"]
    assert frame["x_prob_y_pred"][0] == ("active" if probability[0] >= 0.5 else "inactive")
    assert probability.dtype == np.float64
    assert np.isnan(probability[1])
    assert frame["x_prob_y_pred"][1] == ""


def test_probabilities_of_classes_sum_to_one(make_model) -> None:
    model = make_model("composition", kind="multiclass", labels=("a", "b", "c"))
    frame = model.predict(["Fe2O3", "NaCl"])
    shares = frame[["y_prob_a", "y_prob_b", "y_prob_c"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert frame["y_pred"].tolist() == [name[-1] for name in shares.idxmax(axis=1)]


def test_several_targets_have_columns_each(make_model) -> None:
    model = make_model("smiles", names=("a", "b"))
    assert list(model.predict(["C"]).columns)[1:3] == ["a_pred", "b_pred"]
    several = make_model("smiles", kind="multilabel", names=("a", "b"), labels=("0", "1"))
    assert list(several.predict(["C"]).columns)[1:5] == ["a_pred", "a_prob_1", "b_pred", "b_prob_1"]


def test_each_letter_of_a_sequence_has_a_label(residues: Model) -> None:
    """Letters that are left out stand as ``-``: the text never changes its length silently."""
    texts = ["MKTAY", "MK TAY", "mktay*", " MKTAY ", "A", "MK1"]
    frame = residues.predict(texts)
    plain = frame["y_pred"][0]
    assert set(plain) <= set("CEH")
    assert frame["y_pred"].tolist()[1:4] == [plain[:2] + "-" + plain[2:], plain + "-", plain]
    assert [len(text) for text in frame["y_pred"][:5]] == [len(text.strip()) for text in texts[:5]]
    assert frame["y_pred"][5] == ""
    long = residues.predict(["MK" * 150], long="truncate")
    assert len(long["y_pred"][0]) == 300
    assert long["y_pred"][0][200:] == "-" * 100
    assert long["reason"][0] == "only the first 200 of 300 units used"


def test_a_label_of_a_long_protein_is_that_of_the_window_around_it(residues: Model) -> None:
    text = "".join("MKTAYIAKQRGLWSE"[(7 * place) % 15] for place in range(250))
    frame = residues.predict([text, "MK"], long="window")
    assert frame["truncated"].tolist() == ["no", "no"]
    assert frame["reason"].tolist() == ["read in 2 windows of 200 units", ""]
    first, second = residues.predict([text[:200], text[50:]])["y_pred"]
    assert frame["y_pred"][0] == first[:125] + second[75:]


def test_a_long_protein_has_the_mean_of_its_windows(make_model) -> None:
    """Also with descriptors, which are those of each window."""
    model = make_model("protein", providers=("protparam",))
    text = "".join("MKTAYIAKQRGLWSE"[(7 * place) % 15] for place in range(250))
    whole, refused = (model.predict([text], long=long) for long in ("window", "error"))
    assert refused["status"].tolist() == ["error"]
    assert "truncated" not in refused
    first, second = model.predict([text[:200], text[50:]])["y_pred"]
    assert whole["y_pred"][0] == pytest.approx(0.8 * first + 0.2 * second, rel=1e-5)
    cut = model.predict([text], long="truncate")
    assert cut["truncated"].tolist() == ["yes"]
    assert cut["y_pred"][0] == first


def test_windows_are_for_proteins(molecules: Model, make_model) -> None:
    for model in (molecules, make_model("composition")):
        for run in (model.predict, model.embed):
            with pytest.raises(RecipeError, match="windows are for proteins"):
                run(["C"], long="window")


def test_an_input_without_memory_for_it_is_an_error_row(
    molecules: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = PropertyEnsemble.each

    def narrow(network: PropertyEnsemble, batch: Batch) -> torch.Tensor:
        if batch.ids.numel() > 20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(network, batch)

    given = ["C", "C" * 30, "CO", "CCO", "CCCO", "CN", "CCN"]
    expected = molecules.predict(given)
    monkeypatch.setattr(PropertyEnsemble, "each", narrow)
    frame = molecules.predict(given)
    assert frame["status"].tolist() == ["ok", "error", *["ok"] * 5]
    assert frame["reason"][1] == "too long for the memory of this machine: got 30 units"
    kept = [0, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(frame["y_pred"][kept], expected["y_pred"][kept], atol=1e-5)


def test_embeddings_are_one_vector_per_row_and_missing_where_nothing_was_read(molecules: Model) -> None:
    vectors = molecules.embed(["CCO", "x", "OCC", "C"])
    assert vectors.shape == (4, molecules.width)
    assert vectors.dtype == np.float32
    assert np.isnan(vectors).all(axis=1).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert not np.allclose(vectors[0], vectors[3])
