"""An evaluation says what it is over, and a mean is over the targets where a metric is defined."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gia_science.data.targets import Targets
from gia_science.errors import EvaluationError
from gia_science.evaluation.metrics import METRICS
from gia_science.evaluation.report import Evaluation, evaluate_predictions, score_kind

NAN = np.nan
NUMBERS = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))
TWO = Targets(names=("a", "b"), kind="multilabel", labels=("0", "1"))
CLASSES = Targets(names=("y",), kind="multiclass", labels=("x", "y", "z"))


def numbers(**options: object) -> Evaluation:
    truth = np.array([[1.0], [2.0], [4.0], [NAN]])
    prediction = np.array([[2.0], [1.0], [5.0], [0.0]])
    return evaluate_predictions(NUMBERS, truth=truth, prediction=prediction, **options)


def two(*, second: list[float], baseline: bool = False) -> Evaluation:
    truth = np.column_stack([[0.0, 1.0, 0.0, 1.0], second])
    prediction = np.column_stack([[0.1, 0.9, 0.2, 0.8], [0.9, 0.2, 0.8, 0.1]])
    return evaluate_predictions(
        TWO, truth=truth, prediction=prediction, baseline=1 - prediction if baseline else None
    )


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        (NUMBERS, "regression"),
        (TWO, "binary"),
        (Targets(names=("y",), kind="binary", labels=("0", "1")), "binary"),
        (CLASSES, "multiclass"),
        (Targets(names=("y",), kind="per_token", labels=("C", "E")), "multiclass"),
    ],
)
def test_each_kind_of_task_has_its_metrics(targets: Targets, kind: str) -> None:
    assert score_kind(targets) == kind


def test_a_score_is_the_primary_one_or_the_one_asked_for() -> None:
    evaluation = numbers()
    assert evaluation.score().metric == "rmse"
    assert evaluation.score().value == 1.0
    assert evaluation.score("mae").n == 3
    assert evaluation.rows == 4
    with pytest.raises(EvaluationError, match="no such metric for a regression task: got 'rmsd'"):
        evaluation.score("rmsd")


def test_a_score_of_a_baseline_that_is_not_there_is_refused_with_the_reason() -> None:
    evaluation = numbers(baseline_name="none: the file is gone")
    assert not evaluation.has_baseline
    with pytest.raises(
        EvaluationError, match="no baseline beside this evaluation: got none: the file is gone"
    ):
        evaluation.score(baseline=True)


def test_a_baseline_is_scored_on_the_same_rows() -> None:
    evaluation = numbers(baseline=np.full((4, 1), 2.0), baseline_name="mean")
    assert evaluation.has_baseline
    assert evaluation.score("mae", baseline=True).value == pytest.approx(1.0)
    assert evaluation.score("mae", baseline=True).n == evaluation.score("mae").n == 3


def test_a_mean_is_over_the_targets_where_the_metric_is_defined() -> None:
    evaluation = two(second=[0.0, 0.0, NAN, 0.0])
    mean = evaluation.score("roc_auc")
    assert mean.value == 1.0
    assert mean.reason == "mean over 1 of 2 tasks"
    assert mean.n == 4
    undefined = evaluation.targets[1].model[0]
    assert undefined.value is None
    assert undefined.reason == "only one class among the targets"
    assert evaluation.score("accuracy").value == pytest.approx((1.0 + 2 / 3) / 2)


def test_a_mean_over_nothing_is_undefined() -> None:
    truth = np.zeros((3, 2))
    evaluation = evaluate_predictions(TWO, truth=truth, prediction=truth + 0.5)
    assert evaluation.score().value is None
    assert "undefined: mean over 0 of 2 tasks" in {row[2] for row in evaluation.table()}


def test_classes_take_all_columns_of_the_prediction() -> None:
    truth = np.array([[0.0], [2.0], [1.0]])
    prediction = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
    evaluation = evaluate_predictions(
        CLASSES, truth=truth, prediction=prediction, baseline=prediction[:, None, ::-1]
    )
    assert evaluation.score("accuracy").value == pytest.approx(2 / 3)
    assert evaluation.score("accuracy", baseline=True).value == 0.0


def test_a_table_of_one_target_has_a_row_for_each_metric() -> None:
    rows = numbers().table()
    assert [row[1] for row in rows] == [metric.title for metric in METRICS["regression"]]
    assert {row[0] for row in rows} == {"y"}
    assert rows[0][2].startswith("1.00 [")
    assert {row[3] for row in rows} == {""}


def test_a_table_of_several_targets_ends_in_means_with_the_baseline_beside() -> None:
    rows = two(second=[1.0, 0.0, 1.0, 0.0], baseline=True).table()
    per_target = len(METRICS["binary"])
    assert [row[0] for row in rows] == ["a"] * per_target + ["b"] * per_target + [
        "mean over 2 of 2 tasks"
    ] * per_target
    roc_auc = [row for row in rows if row[1] == "ROC-AUC"]
    assert [row[2][:4] for row in roc_auc] == ["1.00"] * 3
    assert [row[3][:1] for row in roc_auc] == ["0"] * 3


def test_the_plain_types_can_be_written_as_strict_json() -> None:
    evaluation = two(second=[0.0, 0.0, 0.0, NAN], baseline=True)
    read = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert read["kind"] == "binary"
    assert read["rows"] == 4
    assert [target["target"] for target in read["targets"]] == ["a", "b"]
    assert read["targets"][1]["model"][0]["value"] is None
    assert read["targets"][1]["model"][0]["reason"] == "only one class among the targets"
    assert len(read["targets"][0]["baseline"]) == len(METRICS["binary"])


def test_notes_and_rows_left_out_are_kept() -> None:
    evaluation = numbers(notes=["one", "two"], left_out=3, baseline_name="x")
    assert evaluation.notes == ("one", "two")
    assert evaluation.left_out == 3
    assert evaluation.to_json()["left_out"] == 3


def test_equal_seeds_give_equal_intervals() -> None:
    assert numbers(seed=1).to_json() == numbers(seed=1).to_json()
